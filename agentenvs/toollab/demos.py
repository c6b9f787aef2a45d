"""The fully known demonstrations, and how often they succeed, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.toollab import vocabulary as v
from agentenvs.toollab.design import CHANNELS, CODES, COUNTS, LABELS, TAGS, TASKS, Design, Ints

__all__ = ["EXPERT", "LENGTH", "Demos", "Quality", "demonstrations", "success_probability"]

#: most tokens of a demonstration: find, two calls, the closing word
LENGTH = 29
_NO_SLIP, _TAG, _COUNT, _CODE = range(4)
_SLIPS = 3


@dataclass(frozen=True, slots=True)
class Quality:
    """How good demonstrators are.

    Attributes:
        careless: how often one detail of a dialogue, the tag, the count or the closing word, is
            drawn at random.
        perturb: how often the channel or the label of the first call is another one than meant.
        known_boost: how much of what is not known of the exceptions is known after all: 0 leaves
            `Design.known` as it is, 1 makes every demonstrator know every exception.

    Raises:
        BadArgument: one of them is not within 0 to 1.
    """

    careless: float = 0.5
    perturb: float = 0.5
    known_boost: float = 0.0

    def __post_init__(self) -> None:
        for name in ("careless", "perturb", "known_boost"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise BadArgument(f"Expected `{name}` to be a number within 0 to 1, got {value!r}.")

    def known(self, design: Design) -> NDArray[np.float64]:
        """Return the chance, by errand and item, that a demonstrator knows what is asked for."""
        chance: NDArray[np.float64] = design.known + self.known_boost * (1.0 - design.known)
        return chance


#: demonstrators who know every exception and seldom slip
EXPERT = Quality(careless=0.03, perturb=0.05, known_boost=1.0)


class Demos(NamedTuple):
    """Demonstrations as arrays, a row each.

    Attributes:
        ids: (n, 29) int16, padded with 0; a dialogue as `vocabulary.render` gives it, with the
            tool's last word where that ended it.
        agent: (n, 29) whether the demonstrator wrote the token; `<end>` is one of them.
        task: (n,) index of the task.
        success: (n,) whether the errand was carried out and closed as wanted.
    """

    ids: NDArray[np.int16]
    agent: NDArray[np.bool_]
    task: Ints
    success: NDArray[np.bool_]


def demonstrations(
    design: Design, n: int, rng: np.random.Generator, quality: Quality | None = None
) -> Demos:
    """Return `n` dialogues about tasks drawn uniformly from all 1600.

    A demonstrator acts on what it believes: what the pair really asks for, if it is canonical or
    the demonstrator knows better, else the convention. It finds the item, makes a call, where
    that is refused makes the call that it believes in (again, if need be), and closes an
    accepted one. See `Quality` for what goes wrong on the way.

    Args:
        design: the world.
        n: how many.
        rng: all draws come from it.
        quality: how good the demonstrators are.

    Raises:
        BadArgument: `n` is negative or no int.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise BadArgument(f"Expected `n` to be an int >= 0, got {n!r}.")
    quality = quality or Quality()
    task = rng.integers(TASKS, size=n)
    errand, item, count = design.parts(task)
    tag = rng.integers(len(TAGS), size=n)
    truth = design.truth[errand, item]
    aware = rng.random(n) < quality.known(design)[errand, item]
    belief = np.where(aware[:, None], truth, design.canonical[errand, design.kind[item]])

    slip = np.where(rng.random(n) < quality.careless, rng.integers(1, 1 + _SLIPS, size=n), _NO_SLIP)
    said_tag = np.where(slip == _TAG, rng.integers(len(TAGS), size=n), tag)
    heard = np.where(slip == _COUNT, rng.integers(len(COUNTS), size=n), count)
    code = np.where(slip == _CODE, rng.integers(len(CODES), size=n), belief[:, 2])

    way = belief[:, :2]
    first = way.copy()
    changed = np.flatnonzero(rng.random(n) < quality.perturb)
    field = rng.integers(2, size=n)[changed]
    sizes = np.array([len(CHANNELS), len(LABELS)])[field]
    # An offset of 1 to size - 1 reaches each other value alike.
    offset = 1 + (rng.random(n)[changed] * (sizes - 1)).astype(np.int64)
    first[changed, field] = (first[changed, field] + offset) % sizes

    wanted = design.counted[truth[:, 1], count]

    def amounts(call: Ints) -> Ints:
        said: Ints = design.counted[call[:, 1], heard]
        return said

    def accepted(call: Ints) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = (
            (call == truth[:, :2]).all(axis=1) & (said_tag == tag) & (amounts(call) == wanted)
        )
        return right

    at_once = accepted(first)
    at_last = at_once | accepted(way)
    script = _Script(n)
    rows = np.arange(n)
    script.write(rows, 0, v.USER, v.ERRAND + errand, v.ITEM + item, v.COUNT + count)
    script.say(rows, 4, v.FIND, v.ITEM + item)
    script.write(rows, 8, v.TOOL, v.TAG + tag)
    for at, some, call, passed in ((10, rows, first, at_once), (18, ~at_once, way, at_last)):
        chosen = np.flatnonzero(some) if some is not rows else rows
        words = (v.CHANNEL + call[:, 0], v.TAG + said_tag, v.LABEL + call[:, 1])
        script.say(chosen, at, *words, v.COUNT + amounts(call))
        script.write(chosen, at + 6, v.TOOL, np.where(passed, v.OK, v.ERROR))
    script.say(np.flatnonzero(at_once), 18, v.CODE + code)
    script.say(np.flatnonzero(at_last & ~at_once), 26, v.CODE + code)
    return Demos(script.ids, script.agent, task, at_last & (code == truth[:, 2]))


class _Script:
    """Dialogues under way: tokens, and whose they are."""

    def __init__(self, n: int) -> None:
        self.ids = np.full((n, LENGTH), v.PAD, dtype=np.int16)
        self.agent = np.zeros((n, LENGTH), dtype=bool)

    def write(self, rows: Ints, at: int, *tokens: int | Ints) -> None:
        """Put tokens, one for all rows or an array over all dialogues, into some of them."""
        for column, token in enumerate(tokens, at):
            self.ids[rows, column] = token[rows] if isinstance(token, np.ndarray) else token

    def say(self, rows: Ints, at: int, *tokens: int | Ints) -> None:
        """Put a demonstrator's turn."""
        self.write(rows, at, v.AGENT, *tokens, v.END)
        self.agent[rows, at + 1 : at + 2 + len(tokens)] = True


def success_probability(design: Design, quality: Quality | None = None) -> NDArray[np.float64]:
    """Return the exact probability that a demonstration of each task succeeds.

    With c = careless, a demonstrator's calls are accepted, tag and count being right, with
    probability 1 where it believes in the right channel and label, perturb / 6 where one of them
    is wrong (the slip of the first call mends it), 0 where both are. Then a right closing word
    follows: (1 - c) + (c / 3)(1/10 + 1/10) for a right belief, and (c / 3)(1/4) by chance. This
    is averaged over what the demonstrator may believe.

    Args:
        design: the world.
        quality: how good the demonstrators are.

    Returns:
        (1600,) probabilities by task index; all counts of a pair have the same.
    """
    quality = quality or Quality()
    share = quality.careless / _SLIPS
    unspoilt = 1.0 - quality.careless + share / len(TAGS) + share / len(COUNTS)
    by_chance = share / len(CODES)

    same = design.truth == design.canonical[:, design.kind]
    one_off = np.array([1.0 / (len(CHANNELS) - 1), 1.0 / (len(LABELS) - 1)]) * quality.perturb / 2
    first_mends = np.where(~same[..., 0] & same[..., 1], one_off[0], 0.0)
    first_mends += np.where(same[..., 0] & ~same[..., 1], one_off[1], 0.0)
    calls = np.where(same[..., :2].all(axis=-1), 1.0, first_mends)

    unaware = calls * (np.where(same[..., 2], unspoilt, 0.0) + by_chance)
    aware = unspoilt + by_chance
    known = quality.known(design)
    chance: NDArray[np.float64] = known * aware + (1.0 - known) * unaware
    return np.repeat(chance.ravel(), len(COUNTS))
