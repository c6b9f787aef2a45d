"""ToolLab's rules on tensors: thousands of desks answer at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from agentenvs.errors import BadArgument
from agentenvs.toollab import vocabulary as v
from agentenvs.toollab.design import CHANNELS, TAGS, TASKS, Design

__all__ = ["Desks", "TensorWorld"]

_ERRORS = 2


@dataclass(slots=True)
class Desks:
    """Where B episodes stand.

    Attributes:
        item, tag, channel, label, amount, code: (B,) token ids of what is right.
        accepted: (B,) whether the errand was carried out.
        errors: (B,) refused calls so far.
        turns: (B,) the agent's turns so far.
        done: (B,) whether the episode is over.
        success: (B,) whether it ended well.
    """

    item: Any
    tag: Any
    channel: Any
    label: Any
    amount: Any
    code: Any
    accepted: Any
    errors: Any
    turns: Any
    done: Any
    success: Any


class TensorWorld:
    """The rules of `agentenvs/ToolLab-v0`, on token ids instead of texts.

    It agrees with the environment, driven by an `Episode` in its benchmark's own prompt and with
    the lab's tokenizer, token by token.

        >>> from agentenvs.toollab import Design
        >>> world = TensorWorld(Design.of(0))                                 # doctest: +SKIP
        >>> desks = world.begin(tasks, tags)                                  # doctest: +SKIP
        >>> replies = world.answer(desks, rows, words, lengths)               # doctest: +SKIP

    Args:
        design: the world's conventions.
        max_steps: turns after which an episode is cut off, a failure.

    Raises:
        BadArgument: `max_steps` is no int of at least 1.
    """

    #: tokens of a reply: `<tool>`, the word, `<agent>`
    REPLY = 3

    def __init__(self, design: Design, max_steps: int = 5) -> None:
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise BadArgument(
                f"Expected `max_steps` to be an int of at least 1, got {max_steps!r}."
            )
        self.design = design
        self.max_steps = max_steps
        errand, item, count = (torch.from_numpy(part) for part in design.parts(np.arange(TASKS)))
        truth = torch.from_numpy(design.truth.copy())[errand, item]
        counted = torch.from_numpy(design.counted.copy())
        channel, label, code = truth.unbind(1)
        user, agent = (torch.full_like(errand, mark) for mark in (v.USER, v.AGENT))
        self._prompt = torch.stack(
            (user, v.ERRAND + errand, v.ITEM + item, v.COUNT + count, agent), 1
        )
        self._right = {
            "item": v.ITEM + item,
            "channel": v.CHANNEL + channel,
            "label": v.LABEL + label,
            "amount": v.COUNT + counted[label, count],
            "code": v.CODE + code,
        }

    def prompt(self, tasks: Any) -> Any:
        """Return what an agent sees first, `<user> errand item count <agent>`, (B, 5) ids.

        Args:
            tasks: (B,) task indices.
        """
        return self._prompt[tasks]

    def check_tasks(self, tasks: Any) -> None:
        """Make sure that these are task indices.

        Raises:
            BadArgument: they are no (B,) int64 tensor of 0 to 1599.
        """
        if tasks.dim() != 1 or tasks.dtype != torch.int64:
            raise BadArgument(
                f"Expected `tasks` as a (B,) int64 tensor, got {tuple(tasks.shape)} {tasks.dtype}."
            )
        if len(tasks) and not 0 <= int(tasks.min()) <= int(tasks.max()) < TASKS:
            raise BadArgument(
                f"Expected task indices from 0 to {TASKS - 1}, got {int(tasks.min())} to "
                f"{int(tasks.max())}."
            )

    def begin(self, tasks: Any, tags: Any) -> Desks:
        """Return desks at which nothing was said yet.

        Args:
            tasks: (B,) task indices.
            tags: (B,) the items' tags, 0 to 9.

        Raises:
            BadArgument: an index that no task or tag has.
        """
        self.check_tasks(tasks)
        if len(tags) and not 0 <= int(tags.min()) <= int(tags.max()) < len(TAGS):
            raise BadArgument(f"Expected tags from 0 to {len(TAGS) - 1}.")
        no = torch.zeros(len(tasks), dtype=torch.bool)
        zero = torch.zeros(len(tasks), dtype=torch.int64)
        return Desks(
            **{name: table[tasks] for name, table in self._right.items()},
            tag=v.TAG + tags,
            accepted=no,
            errors=zero,
            turns=zero.clone(),
            done=no.clone(),
            success=no.clone(),
        )

    def answer(self, desks: Desks, rows: Any, words: Any, lengths: Any) -> Any:
        """Carry out one turn of the agent at some desks.

        Args:
            desks: they change in place.
            rows: (R,) which desks, each at most once, none of them done.
            words: (R, W) the turn's tokens without `<end>`, W of 4 or more.
            lengths: (R,) how many of them count.

        Returns:
            (R,) the token id of the desk's word; 0 where the episode is over.
        """
        first = torch.where(lengths > 0, words[:, 0], v.PAD)
        find = (lengths == 2) & (first == v.FIND)
        call = (first >= v.CHANNEL) & (first < v.CHANNEL + len(CHANNELS))
        close = ~(find | call)
        before = desks.accepted[rows]
        right = (
            (lengths == 4)
            & (first == desks.channel[rows])
            & (words[:, 1] == desks.tag[rows])
            & (words[:, 2] == desks.label[rows])
            & (words[:, 3] == desks.amount[rows])
            & ~before
        )
        refused = call & ~before & ~right
        errors = desks.errors[rows] + refused
        turns = desks.turns[rows] + 1
        good = close & before & (lengths == 1) & (first == desks.code[rows])
        over = close | (call & before) | (errors >= _ERRORS) | (turns >= self.max_steps)
        desks.accepted[rows] = before | right
        desks.errors[rows] = errors
        desks.turns[rows] = turns
        desks.done[rows] = over
        desks.success[rows] = good
        found = torch.where(words[:, 1] == desks.item[rows], desks.tag[rows], v.UNKNOWN)
        reply = torch.where(find, found, torch.where(right, v.OK, v.ERROR))
        return torch.where(over, v.PAD, reply)
