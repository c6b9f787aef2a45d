"""Playing many episodes in step with one another, and scoring what was played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.model import TinyLM
from agentenvs.harness.lab.world import TensorWorld
from agentenvs.toollab.design import TAGS
from agentenvs.toollab.vocabulary import AGENT, END, PAD, TOOL

__all__ = ["MAX_TURN", "Rollouts", "by_length", "lengths", "sample", "score"]

#: most tokens of a turn: a call of four words and `<end>` fit
MAX_TURN = 6

#: rows that are played together: enough to keep a core busy, few enough to stay in its cache
_BLOCK = 512
#: ended rows are let go when no more than this share is left
_DROP = 0.75


class Rollouts(NamedTuple):
    """B episodes as they were played, in the order in which they were asked for.

    Attributes:
        ids: (B, L) token ids, from `<user>` to the `<end>` of the last turn, padded with 0.
        agent: (B, L) whether the model drew the token; a drawn `<end>` is one of them, an
            `<end>` that stands because a turn was cut off is not.
        logps: (B, L) its log-probability at the row's temperature; 0 elsewhere.
        success: (B,) the outcomes.
        tasks: (B,) task indices.
        temperatures: (B,) the rows' temperatures.
        turns: (B,) how many turns the agent took.
    """

    ids: Any
    agent: Any
    logps: Any
    success: Any
    tasks: Any
    temperatures: Any
    turns: Any


@torch.no_grad()  # type: ignore[untyped-decorator]
def sample(
    model: TinyLM,
    world: TensorWorld,
    tasks: Any,
    temperatures: Any,
    generator: Any,
    max_turn: int = MAX_TURN,
) -> Rollouts:
    """Let a model act in B episodes.

    A turn ends with a drawn `<end>`, or is cut off after `max_turn` drawn tokens. What a row
    draws depends on the generator's state and the row's index, not on the other rows, up to
    rounding of the logits.

    Args:
        model: who acts.
        world: the rules, and with them the most turns of an episode.
        tasks: (B,) int64 task indices.
        temperatures: (B,) floats above 0.
        generator: a `torch.Generator`; everything is drawn from it.
        max_turn: most drawn tokens a turn, at least 4.

    Raises:
        BadArgument: an argument out of range, or of another shape.
    """
    world.check_tasks(tasks)
    temperatures = _check_temperatures(temperatures, len(tasks))
    if isinstance(max_turn, bool) or not isinstance(max_turn, int) or max_turn < 4:
        raise BadArgument(f"Expected `max_turn` to be an int of at least 4, got {max_turn!r}.")
    width = world.prompt(tasks[:0]).shape[1]
    width += world.max_steps * (max_turn + 1) + (world.max_steps - 1) * world.REPLY
    # One number more: the first is for the item's tag.
    uniforms = torch.rand(len(tasks), 1 + width, generator=generator)
    parts = [
        _play(model, world, tasks[i], temperatures[i], uniforms[i], max_turn)
        for i in torch.arange(len(tasks)).split(_BLOCK)
    ]
    whole = Rollouts(*(torch.cat(columns) for columns in zip(*parts, strict=True)))
    end = int(lengths(whole).max()) if len(tasks) else 0
    return whole._replace(
        ids=whole.ids[:, :end].contiguous(),
        agent=whole.agent[:, :end].contiguous(),
        logps=whole.logps[:, :end].contiguous(),
    )


def _check_temperatures(temperatures: Any, rows: int) -> Any:
    if temperatures.shape != (rows,):
        raise BadArgument(
            f"Expected `temperatures` of shape ({rows},), got {tuple(temperatures.shape)}."
        )
    temperatures = temperatures.to(torch.float32)
    if not (torch.isfinite(temperatures) & (temperatures > 0)).all():
        raise BadArgument("Expected `temperatures` above 0 and finite.")
    return temperatures


def _play(
    model: TinyLM, world: TensorWorld, tasks: Any, temperatures: Any, uniforms: Any, max_turn: int
) -> Rollouts:
    """Play one block; what is yet to be drawn is -1 in `ids`, what is there already is fed."""
    rows, width = len(tasks), uniforms.shape[1] - 1
    ids = torch.full((rows, width), -1)
    agent = torch.zeros(rows, width, dtype=torch.bool)
    logps = torch.zeros(rows, width)
    desks = world.begin(tasks, (uniforms[:, 0] * len(TAGS)).long())
    uniforms = uniforms[:, 1:]
    words = torch.zeros(rows, max_turn, dtype=torch.int64)
    said = torch.zeros(rows, dtype=torch.int64)
    opening = world.prompt(tasks)
    begun = opening.shape[1]
    ids[:, :begun] = opening
    logits, cache = _open(model, opening, tasks, width)
    live = torch.arange(rows)
    for at in range(begun, width):
        token = ids[live, at]
        free = (token < 0).nonzero()[:, 0]
        if len(free):
            drawn = live[free]
            scores = (logits[free] / temperatures[drawn, None]).log_softmax(-1)
            fresh = _draw(scores, uniforms[drawn, at])
            token[free] = fresh
            ids[drawn, at] = fresh
            agent[drawn, at] = True
            logps[drawn, at] = scores.gather(1, fresh[:, None])[:, 0]
            ended = fresh == END
            words[drawn, said[drawn].clamp(max=max_turn - 1)] = fresh
            said[drawn] += ~ended
            cut = ~ended & (said[drawn] == max_turn)
            over = drawn[ended | cut]
            if len(over):
                _reply(world, desks, over, words, said, ids, at + 1 + cut[ended | cut].long())
                said[over] = 0
        left = (~desks.done[live]).nonzero()[:, 0]
        if not len(left):
            break
        if len(left) <= _DROP * len(live):
            live, token, cache = live[left], token[left], cache.take(left)
        logits = model.step(token, cache)
    return Rollouts(ids, agent, logps, desks.success, tasks, temperatures, desks.turns)


def _open(model: TinyLM, opening: Any, tasks: Any, width: int) -> tuple[Any, Any]:
    """Feed what agents see first, once for each task, and return logits and cache of all rows."""
    _, first, which = _unique(tasks)
    cache = model.start(len(first), width)
    logits = None
    for column in opening[first].unbind(1):
        logits = model.step(column, cache)
    return logits[which], cache.take(which)  # type: ignore[index]


def _unique(tasks: Any) -> tuple[Any, Any, Any]:
    """Return the distinct tasks, a row that has each, and for all rows which it is."""
    distinct, which = torch.unique(tasks, return_inverse=True)
    first = torch.empty_like(distinct)
    first[which] = torch.arange(len(tasks))
    return distinct, first, which


def _draw(scores: Any, uniforms: Any) -> Any:
    """Draw one token a row, (R,), by inverting its cumulative distribution, exp(scores) (R, V)."""
    cdf = scores.exp().cumsum(-1)
    total = cdf[:, -1]
    # Rounding must not reach the total, behind which there is no token.
    target = torch.minimum(uniforms * total, total.nextafter(torch.zeros(())))
    return torch.searchsorted(cdf, target[:, None], right=True)[:, 0]


def _reply(
    world: TensorWorld, desks: Any, over: Any, words: Any, said: Any, ids: Any, at: Any
) -> None:
    """Write what follows the turns of the rows `over` into `ids`, from the positions `at` on."""
    replies = world.answer(desks, over, words[over], said[over])
    # Where a turn was cut off, `<end>` stands before; elsewhere it was drawn.
    ids[over, at - 1] = END
    done = desks.done[over]
    ended, ends = over[done], at[done]
    columns = torch.arange(ids.shape[1])
    ids[ended] = ids[ended].masked_fill(columns >= ends[:, None], PAD)
    goes, at = over[~done], at[~done]
    ids[goes, at] = TOOL
    ids[goes, at + 1] = replies[~done]
    ids[goes, at + 2] = AGENT


def lengths(rollouts: Rollouts) -> Any:
    """Return how many tokens each row has before its padding, (B,)."""
    # A drawn <pad> is a token like any other.
    kept = rollouts.agent | (rollouts.ids != PAD)
    places = torch.arange(1, kept.shape[1] + 1)
    return (kept * places).amax(1) if kept.shape[1] else torch.zeros(len(kept), dtype=torch.int64)


def by_length(sizes: Any, rows: int) -> Iterator[tuple[Any, int]]:
    """Split rows into groups of like length, so that little is spent on padding.

    Args:
        sizes: (B,) tokens a row.
        rows: most rows of a group.

    Yields:
        Row indices, and the longest of their sizes.
    """
    for group in torch.sort(sizes, stable=True).indices.split(rows):
        if len(group):
            yield group, int(sizes[group[-1]])


def score(model: TinyLM, rollouts: Rollouts, temperatures: Any) -> tuple[Any, Any]:
    """Return the model's log-probabilities of the agent's tokens, and the entropies there.

    Both under softmax(logits / T): what was drawn at T has to be scored at the same T. The
    gradient flows to the model where it is on.

    Args:
        model: may be another than the one that played.
        rollouts: what was played.
        temperatures: (B,) floats above 0.

    Returns:
        (B, L) log-probabilities and (B, L) entropies in nats of the distribution that the token
        at that place is from; 0 where the agent drew nothing.

    Raises:
        BadArgument: temperatures of another shape, or not above 0.
    """
    temperatures = _check_temperatures(temperatures, len(rollouts.ids))
    chosen, spread, places = [], [], []
    for rows, width in by_length(lengths(rollouts), _BLOCK):
        hidden = model.hidden(rollouts.ids[rows, : width - 1])
        at = rollouts.agent[rows, :width].nonzero()
        row, column = at.unbind(1)
        scores = (
            functional.linear(hidden[row, column - 1], model.head) / temperatures[rows[row], None]
        )
        scores = scores.log_softmax(-1)
        wanted = rollouts.ids[rows[row], column]
        chosen.append(scores.gather(1, wanted[:, None])[:, 0])
        spread.append(-(scores.exp() * scores).sum(1))
        places.append(rows[row] * rollouts.ids.shape[1] + column)
    empty = torch.zeros(rollouts.ids.numel())
    at = torch.cat(places) if places else torch.zeros(0, dtype=torch.int64)
    logps, entropy = (
        empty.index_put((at,), torch.cat(values)) if values else empty
        for values in (chosen, spread)
    )
    return logps.view_as(rollouts.ids), entropy.view_as(rollouts.ids)
