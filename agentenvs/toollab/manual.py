"""The desk's conventions in words, for models that never saw a demonstration."""

from __future__ import annotations

from agentenvs.toollab.design import (
    CHANNELS,
    CODES,
    COUNTS,
    ERRANDS,
    ITEMS,
    KINDS,
    LABELS,
    Design,
)

__all__ = ["policy", "system"]

_FORM = """\
Write one command at a time and nothing else:
- find ITEM
- CHANNEL TAG LABEL COUNT, for example: {channel} k3 {label} {count}
- the closing word alone"""


def policy(design: Design) -> str:
    """Return the conventions of a world as text; of exceptions it says only that there are some."""
    parts = [
        "You work at an errand desk. The user names an errand, an item and a count, for example: "
        f"{ERRANDS[0]} {ITEMS[0]} {COUNTS[6]}. First find the item: the answer is its tag. Then "
        "carry out the errand once, by the channel and with the label of the desk's convention, "
        "with the tag, and with the count as the label counts it. The answer is ok, or error: "
        "then you may try once more, for some pairs of errand and item are exceptions to the "
        "convention. After ok, close with the convention's closing word: let your last message "
        "have this one word, written as here, without a sentence around it or a full stop.",
        "Items:",
    ]
    for at, kind in enumerate(KINDS):
        names = [name for name, of in zip(ITEMS, design.kind, strict=True) if of == at]
        parts.append(f"- {kind}: {', '.join(names)}")
    parts.append("Conventions (channel, label, closing word):")
    for errand, row in zip(ERRANDS, design.canonical, strict=True):
        for kind, (channel, label, code) in zip(KINDS, row, strict=True):
            parts.append(f"- {errand}, {kind}: {CHANNELS[channel]}, {LABELS[label]}, {CODES[code]}")
    parts.append("How the labels count:")
    for label, amounts in zip(LABELS, design.counted, strict=True):
        said = ", ".join(
            f"{count} is {COUNTS[amount]}" for count, amount in zip(COUNTS, amounts, strict=True)
        )
        parts.append(f"- {label}: {said}")
    return "\n".join(parts)


def system(design: Design) -> str:
    """Return the conventions and how commands are written."""
    form = _FORM.format(channel=CHANNELS[0], label=LABELS[0], count=COUNTS[1])
    return f"{policy(design)}\n\n{form}"
