"""Are scored log-probabilities, and entropies, those at each row's T?"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from agentenvs.harness.ptgs.selftest.explanations import entropy, explanations, right
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Seen, TrainerRaised, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.probe import (
    Precision,
    Probe,
    chunk_rows,
    exact,
    last_logits,
    sizes_of,
)

__all__ = ["Sheet", "closest", "entropies", "make_sheet", "missing", "scores"]

_ROWS, _LENGTH = 16, 3


class Sheet(NamedTuple):
    """Rows to be scored, and what the forward pass says of them.

    Attributes:
        prompts: (B, P).
        completions: (B, L).
        temperatures: (B,) all different, float32.
        z: (B, L, V) float64.
        sizes: (B, L) of the logits that count.
        precision: of the trainer's numbers.
    """

    prompts: Any
    completions: Any
    temperatures: Any
    z: Any
    sizes: Any
    precision: Precision


def make_sheet(trainer: Guarded, probe: Probe) -> Sheet:
    """Return rows of the probe's prompts with completions."""
    rows = max(4, min(_ROWS, chunk_rows(trainer.vocabulary, _LENGTH + probe.prompts.shape[1])))
    prompts = probe.prompts[torch.arange(rows) % len(probe.prompts)]
    completions = probe.completions(rows, _LENGTH)
    z = last_logits(trainer, torch.cat([prompts, completions], 1), _LENGTH + 1)[:, :-1]
    t = probe.temperatures(rows)
    return Sheet(prompts, completions, t, z, sizes_of(z), probe.precision)


def scores(trainer: Guarded, sheet: Sheet) -> Seen:
    """Compare the trainer's log-probabilities with log softmax(z / T).

    Raises:
        Wrong: another number, or shape.
        Undecided: the temperatures make no difference.
    """
    got, _ = trainer.score(sheet.prompts, sheet.completions, sheet.temperatures)
    _finite(got, "log-probabilities")
    if not got.requires_grad:
        raise Wrong("`score` gave numbers without a graph: nothing can learn from them")
    chosen, t = sheet.completions[..., None], sheet.temperatures.double()[:, None]
    wanted, others = _laws(sheet, lambda logs: logs.gather(-1, chosen)[..., 0])
    sizes = sheet.sizes.maximum(sheet.z.gather(-1, chosen)[..., 0].abs())
    tolerance = sheet.precision.of_logs(sizes, t)
    return _compare("scored log-probabilities", got, wanted, others, tolerance)


def entropies(trainer: Guarded, sheet: Sheet) -> Seen:
    """Compare the trainer's entropies with those of softmax(z / T).

    Raises:
        Wrong: another number, or shape.
        Undecided: the trainer has none, or the temperatures make no difference.
    """
    _, got = trainer.score(sheet.prompts, sheet.completions, sheet.temperatures)
    if got is None:
        raise Undecided("the trainer gives no entropies; if it has none, leave this check out")
    _finite(got, "entropies")
    wanted, others = _laws(sheet, entropy)
    t = sheet.temperatures.double()[:, None]
    logs = (sheet.z / t[..., None]).log_softmax(-1)
    # To first order the entropy moves with logit i by -p_i (log p_i + H).
    weights = (logs.exp() * (logs.clamp(min=-1e30) + wanted[..., None]).abs()).sum(-1)
    precision = sheet.precision
    tolerance = weights * precision.of_logs(sheet.sizes, t) + precision.of_logits(wanted)
    return _compare("entropies", got, wanted, others, tolerance)


def missing(trainer: Guarded, sheet: Sheet) -> Seen:
    """See that scoring without temperatures raises.

    Raises:
        Wrong: it does not.
    """
    trainer.score(sheet.prompts, sheet.completions, sheet.temperatures)
    try:
        got, _ = trainer.score(sheet.prompts, sheet.completions, None)
    except TrainerRaised as raised:
        return Seen(f"without temperatures scoring raises {type(raised.error).__name__}", {})
    got = exact(got.detach()).cpu()
    chosen = sheet.completions[..., None]
    plain = sheet.z.log_softmax(-1).gather(-1, chosen)[..., 0]
    silent = ", as if T were 1" if float((got - plain).abs().max()) < 1e-2 else ""
    raise Wrong(f"without temperatures scoring goes on{silent}: it has to raise")


def _finite(got: Any, what: str) -> None:
    if not bool(torch.isfinite(got).all()):
        raise Wrong(f"`score` gave {what} that are not finite")


def _laws(sheet: Sheet, of: Any) -> tuple[Any, dict[str, Any]]:
    length = sheet.z.shape[1]
    t = sheet.temperatures.double()

    def along(logs: list[Any]) -> Any:
        return of(torch.stack(logs, 1))

    wanted = along([right(sheet.z[:, i], t) for i in range(length)])
    columns = [dict(explanations(sheet.z[:, i], t)) for i in range(length)]
    return wanted, {name: along([column[name] for column in columns]) for name in columns[0]}


def closest(got: Any, others: dict[str, Any], tolerance: Any) -> str | None:
    """Return the explanation that gives these numbers, if one does."""
    for name, numbers in others.items():
        if bool(((got - numbers).abs() <= 2 * tolerance).all()):
            return name
    return None


def _compare(what: str, got: Any, wanted: Any, others: dict[str, Any], tolerance: Any) -> Seen:
    got = exact(got.detach()).cpu()
    off = (got - wanted).abs()
    told = {"error": float(off.max()), "tolerance": float(tolerance.max())}
    if bool((off > tolerance).any()):
        why = closest(got, others, tolerance)
        at = int((off / tolerance).argmax())
        raise Wrong(
            f"{what} are {why or 'not those at T, and no common mistake says why'} (off by up to "
            f"{float(off.max()):.2g}, allowed {float(tolerance.flatten()[at]):.1g})",
            told,
        )
    blind = [
        name
        for name, numbers in others.items()
        if not bool(((numbers - wanted).abs() > 2 * tolerance).any())
    ]
    if blind:
        raise Undecided(
            f"{what} are right, but they would be the same if they were {blind[0]}", told
        )
    return Seen(
        f"{what} of {got.numel()} tokens at {len(got)} temperatures are those of softmax(z / T), "
        f"to {float(off.max()):.1g}",
        told,
    )
