"""What `agentenvs lab` does: the controlled study, from demonstrations to the page."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_to", "lab"]

_EPILOG = """\
examples:
  agentenvs lab --out runs/look --smoke          every arm, cut very short: 90 seconds
  agentenvs lab --out runs/study                 the core arms, one seed: under 10 minutes
  agentenvs lab --out runs/study --full --seeds 10   all arms, 10 seeds: overnight

The same command again finishes what is missing, more arms or seeds join what is there; other
settings in the same folder are refused. Times are for two quiet cores.
"""


def add_to(verbs: Any) -> None:
    """Add the verb to the command."""
    sub = verbs.add_parser(
        "lab",
        help="a controlled study of what post-training costs",
        description="Train a small language model on fully known demonstrations, post-train it "
        "in several ways, measure each, and write a page with tables and figures. Needs the "
        "extra lab.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument("--out", metavar="DIR", help="the study's folder")
    size = sub.add_mutually_exclusive_group()
    size.add_argument(
        "--smoke", action="store_true", help="every arm, cut very short; measures nothing"
    )
    size.add_argument("--full", action="store_true", help="every arm, at full length")
    sub.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="seeds 0 to N - 1 (default: %(default)s)"
    )
    sub.add_argument(
        "--arms",
        metavar="A,B",
        help="these arms, and those that they need or are compared with; --list names them",
    )
    sub.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="processes (default: %(default)s)"
    )
    sub.add_argument(
        "--config", metavar="FILE", help="a JSON file with settings that differ from the study's"
    )
    sub.add_argument("--list", action="store_true", help="list the arms and end")
    sub.add_argument("--json", action="store_true", help="print JSON instead of tables")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    sub.set_defaults(call=lab)


def lab(args: argparse.Namespace) -> int:
    """Run what is missing of a study and report all of it."""
    from agentenvs.harness.lab.command import run

    return run(args)
