from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.store.row_sums import setting_sums, sum_holds, text_key, with_sum

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)


@given(TEXTS)
def test_a_line_with_its_sum_is_still_the_object(text: str) -> None:
    line = with_sum(json.dumps({"text": text}))
    found = json.loads(line)
    assert found.pop("sum")
    assert found == {"text": text}
    assert sum_holds(line.encode()) is True


@given(TEXTS, st.data())
def test_every_changed_character_shows(text: str, data: st.DataObject) -> None:
    line = with_sum(json.dumps({"text": text}))
    at = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.characters(min_codepoint=32, max_codepoint=126))
    changed = line[:at] + other + line[at + 1 :]
    assert changed == line or sum_holds(changed.encode()) is not True


def test_a_line_without_a_sum_says_nothing() -> None:
    assert sum_holds(b'{"a":1}') is None
    assert sum_holds(b"") is None
    # A text that looks like one stands within quotes.
    assert sum_holds(json.dumps({"a": ',"sum":"0123456789abcdef"}'}).encode()) is None


def test_a_sum_that_was_cut_off_is_none() -> None:
    line = with_sum('{"a":1}').encode()
    assert sum_holds(line[:-1]) is None


def test_texts_with_lone_surrogates_have_a_name() -> None:
    assert text_key("\ud800") != text_key("\ud801")


def test_settings_have_a_sum_each() -> None:
    one = setting_sums({"a": {"x": 1, "y": [1.0]}, "b": None, "n": 3}, {"n"})
    assert set(one) == {"a", "b"}
    assert setting_sums({"b": None, "a": {"y": [1.0], "x": 1}}, ()) == one
    assert setting_sums({"a": {"x": 1, "y": [1]}}, ())["a"] != one["a"]
