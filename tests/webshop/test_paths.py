from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.webshop.paths import Place, path, read
from agentenvs.webshop.urls import url
from agentenvs.webshop.views import State

TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)
WORDS = st.lists(TEXTS, min_size=1, max_size=4).map(lambda w: tuple(" ".join(w).lower().split(" ")))
NUMBERS = st.integers(-3, 9_999_999)
OPTIONS = st.dictionaries(TEXTS, TEXTS, max_size=3)
SESSIONS = st.from_regex(r"[A-Za-z0-9._~-]{1,20}", fullmatch=True)
ASINS = st.text("ABC019", min_size=1, max_size=10)
PLACES = st.one_of(
    st.builds(lambda s: Place("search", s), SESSIONS),
    st.builds(lambda s, k, n: Place("results", s, k, n), SESSIONS, WORDS, NUMBERS),
    st.builds(
        lambda s, k, n, a, o: Place("item", s, k, n, a, "", o),
        *(SESSIONS, WORDS, NUMBERS, ASINS, OPTIONS),
    ),
    st.builds(
        lambda s, k, n, a, o: Place("sub", s, k, n, a, "Features", o),
        *(SESSIONS, WORDS, NUMBERS, ASINS, OPTIONS),
    ),
    st.builds(lambda s, a, o: Place("done", s, asin=a, options=o), SESSIONS, ASINS, OPTIONS),
)


@given(PLACES)
def test_every_place_is_read_back_from_its_path(place: Place) -> None:
    sent = path(place)
    assert sent.isascii()
    assert not set(sent) & set(" \"'<>?#\\")
    assert read(sent) == place


@pytest.mark.parametrize("word", [".", ".."])
def test_a_query_of_dots_is_no_folder(word: str) -> None:
    sent = path(Place("results", "s", (word,), 1))
    assert word not in sent.split("/")
    assert read(sent) == Place("results", "s", (word,), 1)


@pytest.mark.parametrize(
    "words", [("['mug']",), ("['a',", "'b']"), ("[]",), ("['",), ("['a']", "[")]
)
def test_a_query_that_looks_like_a_list_stays_what_it_is(words: tuple[str, ...]) -> None:
    place = Place("results", "s", words, 1)
    assert read(path(place)) == place


def test_a_state_has_the_place_that_its_url_shows() -> None:
    state = State("item", "buy", "s", ("red", "mug"), (4,), 2, "A1", 4, "", {"size": "x"})
    assert path(Place.of(state)) == "/item_page/s/A1/red+mug/2/%7B%22size%22%3A%20%22x%22%7D"
    state.page, state.sub = "sub", "Features"
    assert Place.of(state).sub == "Features"
    state.page = "done"
    assert Place.of(state) == Place("done", "s", asin="A1", options={"size": "x"})


@pytest.mark.parametrize("form", ["['red', 'mug']", "red mug", '["red", "mug"]'])
def test_queries_are_read_in_every_form_of_the_original(form: str) -> None:
    for sent in ("red+mug", form, quote(form)):
        assert read(f"/search_results/s/{sent}/3") == Place("results", "s", ("red", "mug"), 3)


def test_a_query_that_only_begins_like_a_list_is_a_query() -> None:
    assert read("/search_results/s/[red/1") == Place("results", "s", ("[red",), 1)
    assert read("/search_results/s/[1, 2]/1") == Place("results", "s", ("[1,", "2]"), 1)
    assert read("/search_results/s/[f(x)]/1") == Place("results", "s", ("[f(x)]",), 1)


def test_slashes_may_stand_unquoted_in_a_query() -> None:
    assert read("/search_results/s/1/2+inch/1") == Place("results", "s", ("1/2", "inch"), 1)


@pytest.mark.parametrize("options", [{}, {"size": "x"}, {"a/b": "it's", "c": '"'}])
def test_options_are_read_as_json_and_as_python_writes_them(options: dict[str, str]) -> None:
    for text in (json.dumps(options), repr(options)):
        for sent in (text, quote(text)):
            found = read(f"/item_page/s/A1/mug/1/{sent}")
            assert found == Place("item", "s", ("mug",), 1, "A1", "", options)
            assert read(f"/done/s/A1/{sent}") == Place("done", "s", asin="A1", options=options)


def test_urls_of_observations_are_read() -> None:
    state = State("sub", "", "s", ("red", "mug"), (), 2, "A1", 4, "Reviews", {"size": "x y"})
    assert read(url(state, "")) == Place.of(state)


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "/",
        "//",
        "/search_results/s",
        "/search_results/s/mug",
        "/search_results/s/mug/x",
        "/search_results/s/mug/1e9",
        "/search_results/s/mug/12345678",
        "/search_results//mug/1",
        "/item_page/s/A1/mug/1",
        "/item_page/s/A1/mug/1/[]",
        "/item_page/s/A1/mug/1/{",
        "/item_page/s/A1/mug/x/{}",
        '/item_page/s/A1/mug/1/{"a":1}',
        "/item_page/s/A1/mug/1/{'a': __import__('os')}",
        "/item_page/s/A1/mug/1/{**{}}",
        "/item_page/s/A1/mug/1/" + "{" * 5000,
        '/done/s/A1/{"a":"' + "x" * 30_000 + '"}',
        "/item_sub_page/s/A1/mug/1/Secrets/{}",
        "/item_sub_page/s/A1/mug/1/{}",
        "/done/s/A1",
        "/static/../done",
        "/%00",
        "/a%0d%0ab",
        "/" + "x" * 201,
        "/etc/passwd",
        "/nothing/of/the/kind",
    ],
)
def test_all_else_leads_nowhere(sent: str) -> None:
    assert read(sent) is None


@pytest.mark.parametrize("part", ["/{", "/1/{", "/1/{}", "/%7B", "/1/Reviews/{", "/+", "/", "/["])
def test_hundreds_of_thousands_of_parts_are_read_in_no_time(part: str) -> None:
    for page in ("item_page", "item_sub_page", "search_results", "done"):
        read(f"/{page}/s/A1" + part * 200_000)


@given(st.text(max_size=60))
def test_no_path_is_too_odd_to_be_read(text: str) -> None:
    for sent in ("/" + text, f"/item_page/s/A1/{text}/1/{{}}", f"/done/s/A1/{text}"):
        read(sent)
