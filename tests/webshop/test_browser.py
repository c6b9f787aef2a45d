from __future__ import annotations

import contextlib
import copy
import gc
import shutil
import signal
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import agentenvs
from agentenvs.core import Rules
from agentenvs.errors import BadArgument, BrowserError
from agentenvs.webshop import gold_actions
from agentenvs.webshop.browser import WebShopBrowserEnv
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.env import WebShopEnv
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.paths import Place, read
from agentenvs.webshop.site.chromium import Chromium, Programs

try:
    Programs()
except BrowserError as missing:
    pytest.skip(str(missing), allow_module_level=True)


def opened(catalog: Catalog, rules: Rules) -> WebShopBrowserEnv:
    """Return an environment on the shop with colliding option values, in a browser."""
    return WebShopBrowserEnv(catalog=catalog, rules=rules, show_attrs=True, render_mode="rgb_array")


@pytest.fixture(scope="module")
def odd(odd_shop: Catalog) -> Iterator[WebShopBrowserEnv]:
    with opened(odd_shop, "official") as env:
        yield env


@pytest.fixture(scope="module")
def mended(odd_shop: Catalog) -> Iterator[WebShopBrowserEnv]:
    with opened(odd_shop, "fixed") as env:
        yield env


@pytest.fixture(scope="module")
def mini() -> Iterator[WebShopBrowserEnv]:
    with WebShopBrowserEnv(tasks="mini") as env:
        yield env


def twin(env: WebShopBrowserEnv, **kwargs: Any) -> WebShopEnv:
    """Return the same environment without a browser."""
    return WebShopEnv(catalog=env.catalog, rules=env.rules, show_attrs=True, **kwargs)


def play_both(env: WebShopBrowserEnv, actions: Sequence[str], **options: Any) -> dict[str, Any]:
    """Play a plan with and without a browser, and return the last `info`."""
    text = twin(env)
    expected = text.reset(seed=3, options=options)
    assert env.reset(seed=3, options=options) == expected
    info = expected[1]
    for action in actions:
        step = text.step(action)
        assert env.step(action) == step, action
        info = step[-1]
        if step[2] or step[3]:
            break
    return info


def call(name: str, argument: str) -> str:
    import json

    key = "query" if name == "search" else "element"
    return json.dumps([{"name": name, "arguments": {key: argument}}])


def test_a_shopping_trip_through_every_page(odd: WebShopBrowserEnv) -> None:
    info = play_both(
        odd,
        [
            "search[TALL mug]",
            "click[Next >]",
            "click[c000000012]",
            "click[Attributes]",
            "click[< Prev]",
            "click[features]",
            "click[< prev]",
            "click[< prev]",
            "click[< prev]",
            "click[Back to Search]",
            "search[shirt]",
            "click[B000000001]",
            "click[description]",
            "click[< prev]",
            "click[buy now]",
        ],
    )
    assert "success" in info


def test_option_values_that_collide_with_names_buttons_and_brackets(
    odd: WebShopBrowserEnv, mended: WebShopBrowserEnv
) -> None:
    labels = ["red", 'say "hi"', "two\nlines", "large [tall]", "bl\u00e5", " ", "red"]
    labels += ["color: red", "size: red", "color: buy now", "search", "next >"]
    actions = [call("click", label) for label in labels]
    for env in (odd, mended):
        info = play_both(env, ["search[shirt]", "click[b000000001]", *actions, "click[Buy Now]"])
        assert "score_parts" in info


def test_what_is_invalid_leaves_the_page(odd: WebShopBrowserEnv) -> None:
    actions = ["hello", "click[nothing]", "search[]", "click[search]", "[]", "search[mug]", "x"]
    actions += ["click[search]", "click[buy now]", "click[c000000000]", "click[next >]"]
    play_both(odd, actions)


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        ".",
        "..",
        "a/../b",
        "100% +cotton+ & more?#x",
        "<b>'\"</b>",
        "caf\u00e9 \u201cmug\u201d",
        "mug \U0001f9e6",
        "\ue007mug",
        "mug\tlarge",
        "mug\nlarge",
        "mug\r\nlarge",
        "mug\0",
        "mug\ud800",
        "['mug']",
        "a  b ",
        "[" * 9,
    ],
)
def test_odd_queries(odd: WebShopBrowserEnv, query: str) -> None:
    play_both(odd, [call("search", query), "click[next >]"])


@pytest.mark.parametrize("length", [700, 100_000])
def test_long_queries(odd: WebShopBrowserEnv, length: int) -> None:
    query = ("tall mug " * length)[: length - 100]
    play_both(odd, [call("search", query), "click[c000000000]", "click[< prev]"])


def test_a_page_taken_for_another(odd: WebShopBrowserEnv, mended: WebShopBrowserEnv) -> None:
    """The original tells the page by a name in its url, where a query may have it too."""
    actions = ["search[search_results mug]", "click[c000000002]", "click[< prev]", "click[next >]"]
    for env in (odd, mended):
        play_both(env, actions)
    actions = ["search[item_page mug]", "click[c000000002]", "click[reviews]", "click[< prev]"]
    play_both(odd, actions)
    play_both(odd, ["search[mug]", "click[c000000000]", "click[< prev]"], session="item_sub_page")


def test_a_search_from_a_page_without_a_search_bar(
    odd: WebShopBrowserEnv, mended: WebShopBrowserEnv
) -> None:
    for env in (odd, mended):
        play_both(env, ["search[mug]", "search[shirt]"])
    play_both(odd, ["search[shirt]", "click[b000000001]", "search[lamp]"])


def test_several_calls_in_one_action(odd: WebShopBrowserEnv) -> None:
    import json

    calls = [
        {"name": "search", "arguments": {"query": "mug"}},
        {"name": "click", "arguments": {"element": "c000000003"}},
        {"name": "click", "arguments": {"element": "buy now"}},
    ]
    assert "success" in play_both(odd, [json.dumps(calls)])


def test_snapshots_are_gone_back_to(odd: WebShopBrowserEnv) -> None:
    odd.reset(seed=1)
    odd.step("search[shirt]")
    odd.step("click[b000000001]")
    saved = odd.snapshot()
    first = odd.step("click[buy now]")
    odd.reset(seed=2)
    odd.restore(saved)
    assert odd.step("click[buy now]") == first
    odd.restore(saved)
    picture = odd.render()
    assert isinstance(picture, np.ndarray)


def test_the_picture_is_what_the_page_shows(odd: WebShopBrowserEnv) -> None:
    odd.reset(seed=1)
    search = odd.render()
    assert isinstance(search, np.ndarray)
    assert (search.shape, search.dtype) == ((800, 1280, 3), np.uint8)
    odd.step("search[mug]")
    results = odd.render()
    assert isinstance(results, np.ndarray)
    assert (search != results).mean() > 0.05
    assert len(np.unique(results.reshape(-1, 3), axis=0)) > 50
    assert np.array_equal(odd.render(), results)


def test_a_page_that_shows_something_else_is_an_error(
    odd: WebShopBrowserEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd.reset(seed=1)
    odd.step("search[mug]")
    place = Place.of

    def elsewhere(state: Any) -> Place:
        found = place(state)
        return found if found.page != "item" else Place("results", found.session, ("x",), 7)

    with monkeypatch.context() as patched:
        patched.setattr(Place, "of", elsewhere)
        with pytest.raises(BrowserError, match="Expected the browser to show /search_results"):
            odd.step("click[c000000000]")
    assert odd.reset(seed=1)
    assert odd.step("search[mug]")


def test_a_score_that_differs_on_the_page_is_an_error(
    odd: WebShopBrowserEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd.reset(seed=1)
    odd.step("search[mug]")
    odd.step("click[c000000000]")
    monkeypatch.setattr(Chromium, "texts", _tampered(Chromium.texts))
    with pytest.raises(BrowserError, match="Expected the score"):
        odd.step("click[buy now]")


def _tampered(texts: Any) -> Any:
    def read(self: Chromium, selector: str) -> Any:
        found = texts(self, selector)
        return [(e, "7.0") for e, _ in found] if "reward" in selector else found

    return read


def test_gold_plans_score_the_same_in_both(mini: WebShopBrowserEnv) -> None:
    text = WebShopEnv(tasks="mini")
    scores = []
    for task in (mini.task_ids[0], mini.task_ids[1], mini.task_ids[60]):
        options = {"task": task}
        assert mini.reset(options=options) == text.reset(options=options)
        for action in gold_actions(task):
            step = text.step(action)
            assert mini.step(action) == step
        assert step[2]
        scores.append(step[1])
    assert 1.0 in scores


def test_a_random_search_shows_what_the_shop_drew(mini: WebShopBrowserEnv) -> None:
    text = WebShopEnv(tasks="mini")
    assert mini.reset(seed=5) == text.reset(seed=5)
    step = text.step("search[<r>]")
    assert mini.step("search[<r>]") == step
    element = step[-1]["available"]["clickables"][-1]
    for action in (f"click[{element}]", "click[< prev]", "click[next >]"):
        step = text.step(action)
        assert mini.step(action) == step
    element = step[-1]["available"]["clickables"][-1]
    assert mini.step(f"click[{element}]") == text.step(f"click[{element}]")


def test_copies_have_a_browser_of_their_own(odd: WebShopBrowserEnv) -> None:
    odd.reset(seed=1)
    odd.step("search[mug]")
    fork = agentenvs.fork(odd)
    try:
        assert fork.step("click[c000000001]") == odd.step("click[c000000001]")
        assert fork.step("click[buy now]") == odd.step("click[buy now]")
    finally:
        fork.close()
    assert odd.reset(seed=1)


def test_it_is_registered_and_passes_through_gymnasium(odd_shop: Catalog) -> None:
    env = gymnasium.make(
        "agentenvs/WebShopBrowser-v0",
        catalog=odd_shop,
        render_mode="rgb_array",
        window=(390, 844),
    )
    env.reset(seed=0)
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (844, 390, 3)
    env.step("search[mug]")
    env.close()
    env.close()


def test_nothing_is_left_when_an_environment_is_dropped(
    odd_shop: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    env = WebShopBrowserEnv(catalog=odd_shop)
    env.reset(seed=0)
    assert env._window._chromium is not None
    profile = list(tmp_path.glob("agentenvs-chromium-*"))
    assert len(profile) == 1
    watched = weakref.ref(env._window._chromium)
    site = env._window._site
    assert site is not None
    del env
    gc.collect()
    site.close()
    assert watched() is None
    assert not list(tmp_path.glob("agentenvs-chromium-*"))


def test_a_browser_that_dies_is_an_error_and_the_next_reset_starts_another(
    odd_shop: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with WebShopBrowserEnv(catalog=odd_shop) as env:
        env.reset(seed=0)
        chromium = env._window._chromium
        assert chromium is not None
        profiles = set(tmp_path.iterdir())
        chromium.service.process.send_signal(signal.SIGKILL)
        chromium.service.process.wait()
        with pytest.raises(BrowserError, match="The browser could not"):
            env.step("search[mug]")
        assert not profiles & set(tmp_path.iterdir())
        assert not [line for line in _commands() if str(tmp_path) in line]
        env.reset(seed=0)
        assert env.step("search[mug]")[-1]["page"] == "results"


def _commands() -> list[str]:
    """Return the commands of all processes, after a moment for those that are ending."""
    time.sleep(0.5)
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(entry.read_text(errors="replace"))
    return found


def test_nothing_is_started_before_the_first_reset(odd_shop: Catalog) -> None:
    env = WebShopBrowserEnv(catalog=odd_shop, render_mode="rgb_array")
    assert env._window._chromium is None
    with pytest.raises(ResetNeeded, match="Nothing is shown yet"):
        env.render()
    env.close()
    assert copy.deepcopy(env)._window._chromium is None


def test_a_missing_browser_says_what_to_install(
    odd_shop: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    install = r"pip install \"agentenvs\[browser\]\".*apt-get install chromium chromium-driver"
    with pytest.raises(BrowserError, match=f"Expected Chromium at '/no/where'.*{install}"):
        WebShopBrowserEnv(catalog=odd_shop, browser="/no/where")
    monkeypatch.setenv("AGENTENVS_CHROMEDRIVER", "/no/driver")
    with pytest.raises(BrowserError, match="Expected chromedriver at '/no/driver'"):
        WebShopBrowserEnv(catalog=odd_shop)
    monkeypatch.delenv("AGENTENVS_CHROMEDRIVER")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BrowserError, match="Expected Chromium as chromium, .* in PATH"):
        WebShopBrowserEnv(catalog=odd_shop)


def test_clients_of_the_original_click_hidden_radios_by_script(odd: WebShopBrowserEnv) -> None:
    odd.reset(seed=1, options={"task": "odd/human/0"})
    odd.step("search[shirt]")
    odd.step("click[b000000001]")
    chromium = odd._window._chromium
    assert chromium is not None
    radio = chromium.texts("input[type=radio][value=red]")[0][0]
    assert not chromium._run("return arguments[0].checked", radio)
    chromium._run("window.agentenvsLeft = true; arguments[0].click();", radio)
    place = read(chromium._arrived())
    assert place is not None
    assert dict(place.options) == {"color": "red"}
    assert chromium._run("return document.querySelector(':checked').value") == "red"
    odd.close()


def test_a_program_that_is_no_browser(odd_shop: Catalog) -> None:
    with WebShopBrowserEnv(catalog=odd_shop, browser="false") as env:
        with pytest.raises(BrowserError, match="The browser could not start"):
            env.reset(seed=0)
        assert env._window._site is None


@pytest.mark.parametrize("window", [None, 3, "ab", (1280,), (1280, 10), (1280.0, 800), (True, 800)])
def test_a_window_out_of_range(odd_shop: Catalog, window: Any) -> None:
    with pytest.raises(BadArgument, match="`window`"):
        WebShopBrowserEnv(catalog=odd_shop, window=window)


def test_other_arguments_out_of_range(odd_shop: Catalog) -> None:
    with pytest.raises(BadArgument, match="Expected `render_mode` to be None, 'ansi' or 'rgb_a"):
        WebShopBrowserEnv(catalog=odd_shop, render_mode="human")
    with pytest.raises(BadArgument, match="Expected `session` to be what addresses can hold"):
        WebShopBrowserEnv(catalog=odd_shop).reset(options={"session": ".."})


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_ansi_is_the_conversation(odd_shop: Catalog, rules: Rules) -> None:
    assert Shop(odd_shop, rules=rules).rules == rules
    env = WebShopBrowserEnv(catalog=odd_shop, rules=rules, render_mode="ansi")
    assert env.render() == "not begun"
