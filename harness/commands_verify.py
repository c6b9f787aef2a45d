"""The verb `verify`: a run played again without a model, row by row."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentenvs.harness import terminal

if TYPE_CHECKING:
    from agentenvs.harness.replay.findings import Verification

__all__ = ["add_to"]

_SHOWN = 20
# Below this, starting processes takes longer than one process takes for everything.
_FEW_BYTES = 2**19
_MOST_JOBS = 8
_EPILOG = """\
examples:
  agentenvs verify runs/wide
  agentenvs verify runs/wide --quick           (has anything changed since the certificate?)
  agentenvs verify runs/shop --env catalog=data/webshop --json

A certificate says that the recorded actions lead to the recorded outcomes, and that nothing was
changed since. It does not say that a model wrote them.
"""


def add_to(verbs: Any, key_value: Callable[[str], Any], positive: Callable[[str], int]) -> None:
    """Add the verb to the parser of the command."""
    sub = verbs.add_parser(
        "verify",
        help="play a run again without a model, and name rows that do not hold",
        description="Play every recorded rollout again without a model: each outcome, what came "
        "back step by step, seeds, temperatures, data and settings. Where everything holds, write "
        "certificate.json into the run folder; else name the rows, and exit with 1.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument("run", metavar="RUN", help="a run folder with transcripts")
    sub.add_argument(
        "--quick",
        action="store_true",
        help="play nothing; compare the rows with the certificate's sums alone",
    )
    sub.add_argument(
        "--jobs", type=positive, metavar="N", help="processes (default: by the run's size)"
    )
    sub.add_argument(
        "--env",
        metavar="KEY=VALUE",
        type=key_value,
        action="append",
        default=[],
        help="where something lies on this machine, such as catalog=PATH",
    )
    sub.add_argument(
        "--id",
        metavar="MODULE:ID",
        help="the module that registers the environment, where it is not of this package",
    )
    sub.add_argument("--no-write", action="store_true", help="write no certificate")
    sub.add_argument("--json", action="store_true", help="print everything as one JSON object")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    sub.set_defaults(call=_verify)


def _verify(args: argparse.Namespace) -> int:
    from agentenvs.harness.replay.verify import verify

    found = verify(
        args.run,
        jobs=args.jobs or _jobs(args.run),
        quick=args.quick,
        write=not args.no_write,
        env_id=args.id,
        env_kwargs=dict(args.env),
        progress=not args.quiet and not args.quick,
    )
    if args.json:
        terminal.say_json(found.as_dict())
    else:
        _show(found, written=not args.no_write and not args.quick)
    return 0 if found.ok else 1


def _jobs(run: str) -> int:
    try:
        size = os.path.getsize(os.path.join(run, "outcomes.jsonl"))
    except OSError:
        return 1
    return 1 if size < _FEW_BYTES else min(_MOST_JOBS, os.cpu_count() or 1)


def _show(found: Verification, written: bool) -> None:
    from agentenvs.harness.replay.grouped import counts, grouped

    console = terminal.console()

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    how = "as certified" if found.quick else "verified"
    say(f"{found.verified} of {found.rows} rollouts {how} ({found.seconds:.1f} s)")
    if found.open:
        say(f"{found.open} rollouts of the plan have no outcome; they are not verified")
    if found.voids:
        reasons = Counter(str(void.get("reason")) for void in found.voids)
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        say(f"{len(found.voids)} void tries ({told}); they are no outcomes, and not verified")
    for note in found.notes:
        say(f"note: {note}")
    if found.ok:
        if written:
            say("certificate.json written")
        return
    if found.uncertified:
        say(f"{found.uncertified} were added since: run `agentenvs verify {found.run}`")
    findings = [finding for finding in found.findings if finding.kind != "uncertified"]
    if not findings:
        return
    say("; ".join(counts(findings)))
    lines = grouped(findings, _SHOWN)
    for line in lines[:_SHOWN]:
        say(f"  {line}")
    if len(lines) > _SHOWN:
        say(f"  ... and {len(lines) - _SHOWN} more; --json has all")
    if found.stale and any(finding.kind == "stale" for finding in findings):
        say("what differs from the run, so that a stale row proves nothing:")
        for line in found.stale:
            say(f"  {line}")
