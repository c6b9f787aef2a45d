from __future__ import annotations

from agentenvs.webshop.kept import Kept


def test_a_full_cache_begins_anew() -> None:
    kept: Kept[int, str] = Kept(limit=3)
    for number in range(5):
        assert kept.keep(number, str(number)) == str(number)
        assert kept[number] == str(number)
        assert len(kept) <= 3
    assert kept == {3: "3", 4: "4"}
