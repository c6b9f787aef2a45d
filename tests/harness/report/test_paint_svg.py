from __future__ import annotations

from xml.etree import ElementTree

import pytest

from agentenvs.harness.report.paint_svg import plain, themed

_DRAWN = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M 0 0"/></svg>'


@pytest.mark.parametrize("odd", ["\x00", "\x1b[31m", "\u202e", "\ud800", "\uffff", "</svg>&\"'"])
def test_a_title_of_any_letters_leaves_a_file_that_can_be_read(odd: str) -> None:
    shown = plain(themed(_DRAWN, "one", f"a{odd}b"), 3, 3)
    title = ElementTree.fromstring(shown.encode("utf-8"))[0].text  # noqa: S314
    assert title is not None
    assert title.startswith("a")
    assert title.endswith("b")
    assert not set(title) & set("\x00\x1b\u202e\ud800\uffff")
