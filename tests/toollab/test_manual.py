from __future__ import annotations

from agentenvs.toollab import Design
from agentenvs.toollab.design import CHANNELS, CODES, ITEMS, LABELS
from agentenvs.toollab.manual import policy, system


def test_it_has_every_convention_and_every_count() -> None:
    for world in (0, 3):
        design = Design.of(world)
        text = policy(design)
        channel, label, code = design.canonical[2, 1]
        assert f"- repair, clothes: {CHANNELS[channel]}, {LABELS[label]}, {CODES[code]}\n" in text
        assert text.count(" is ") - text.count("answer is") == 40
        assert all(item in text for item in ITEMS)


def test_it_says_how_to_write_only_where_the_format_is_the_benchmarks_own() -> None:
    design = Design.of(0)
    assert system(design).startswith(policy(design))
    assert "find ITEM" in system(design)
    assert "find ITEM" not in policy(design)


def test_exceptions_are_not_told() -> None:
    one, other = Design.of(0), Design.of(0)
    assert policy(one) == policy(other)
    # Nothing but the conventions and the counts goes into it.
    assert str(policy(one)).count("exception") == 1
