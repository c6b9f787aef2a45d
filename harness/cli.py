"""The `agentenvs` command: arguments in, one function a verb, errors without tracebacks."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from agentenvs import __version__
from agentenvs.errors import AgentEnvsError, BadArgument, UnknownName
from agentenvs.harness import (
    commands,
    commands_ablate,
    commands_data,
    commands_lab,
    commands_report,
    commands_runs,
    commands_site,
    commands_tax,
    commands_verify,
    commands_view,
)

__all__ = ["build_parser", "main"]

_RUN_EPILOG = """\
examples:
  agentenvs run BFCLv4 --tasks mini --policy scripted:wide -n 8 --out runs/wide
  agentenvs run BFCLv4 --tasks base --policy hf:models/gemma --examples 2 --max-tokens 128 \\
      --env docs=compact --out runs/gemma

The same command again finishes what is missing; another setting in the same folder is refused.
"""


def _key_value(text: str) -> tuple[str, Any]:
    key, sep, value = text.partition("=")
    if not sep or not key.isidentifier():
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, got {text!r}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return value


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number of 0 or more, got {text!r}")
    return value


def _part(text: str) -> tuple[int, int]:
    first, sep, after = text.partition(":")
    if not sep or not first.isdecimal() or not after.isdecimal():
        raise argparse.ArgumentTypeError(f"expected FIRST:AFTER, such as 0:32, got {text!r}")
    return int(first), int(after)


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1, got {text!r}")
    return value


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = argparse.ArgumentParser(
        prog="agentenvs",
        description="Text agent benchmarks, rollouts, and what post-training cost.",
        epilog="Exit codes: 0 success, 1 failure, 2 wrong usage or unknown name, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"agentenvs {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_list(verbs)
    commands_data.add_to(verbs)
    _add_run(verbs)
    _add_play(verbs)
    commands_tax.add_to(verbs, _positive, _fraction)
    commands_ablate.add_to(verbs, _positive, _fraction, _key_value)
    commands_report.add_to(verbs, _positive, _fraction)
    commands_view.add_to(verbs)
    commands_runs.add_to(verbs)
    commands_site.add_to(verbs)
    commands_verify.add_to(verbs, _key_value, _positive)
    commands_lab.add_to(verbs)
    return parser


def _add_list(verbs: Any) -> None:
    sub = verbs.add_parser(
        "list",
        help="environments, task sets, policies",
        description="List the environments with their task sets, or the tasks of one set.",
    )
    sub.add_argument("env", nargs="?", help="an environment, such as BFCLv4")
    sub.add_argument("--tasks", metavar="SET", help="list the task ids of this set, one a line")
    sub.set_defaults(call=lambda a: commands.show_list(a.env, a.tasks))


def _add_arms(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--tasks", metavar="SET", help="a task set, a task, or several with commas")
    sub.add_argument(
        "--harness",
        choices=("light", "none"),
        default="light",
        help="light: one light prompt and the relaxed parser; none: the benchmark's own prompt "
        "and decoding (default: %(default)s)",
    )
    sub.add_argument(
        "--env",
        metavar="KEY=VALUE",
        type=_key_value,
        action="append",
        default=[],
        help="an argument of the environment, such as docs=compact or rules=fixed",
    )
    sub.add_argument("--examples", type=int, default=0, help="generic worked examples, 0 to 4")
    sub.add_argument("--seed", type=int, default=0, help="default: %(default)s")


def _add_run(verbs: Any) -> None:
    sub = verbs.add_parser(
        "run",
        help="roll out a policy and record the outcomes",
        description="Roll out a policy n times on every task and record the outcomes.",
        epilog=_RUN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument("env_id", metavar="ENV", help="an environment, such as BFCLv4")
    sub.add_argument("--policy", required=True, help="see `agentenvs list` for the kinds")
    _add_arms(sub)
    sub.add_argument("-n", type=_positive, default=8, help="rollouts a task (default: %(default)s)")
    sub.add_argument("--out", metavar="DIR", help="the run folder; without it nothing is kept")
    sub.add_argument(
        "--rollouts",
        metavar="FIRST:AFTER",
        type=_part,
        help="play this part of the n alone, such as 0:32; `agentenvs merge` joins parts",
    )
    sub.add_argument("--prompt", choices=("light", "none"), help="cross the arms: this prompt")
    sub.add_argument(
        "--parser",
        choices=("relaxed", "strict", "native", "official"),
        help="cross the arms: this reading of replies",
    )
    sub.add_argument("--temperature", type=float, default=1.0, help="default: %(default)s")
    sub.add_argument("--top-p", type=float, default=1.0, help="default: %(default)s")
    sub.add_argument(
        "--max-tokens",
        type=_positive,
        default=512,
        help="new tokens a reply (default: %(default)s)",
    )
    sub.add_argument(
        "--max-requests", type=_positive, help="end an episode as failed after so many replies"
    )
    sub.add_argument(
        "--concurrency", type=_positive, help="live episodes (default: 64; 2 with a browser)"
    )
    sub.add_argument(
        "--retries",
        type=_count,
        default=2,
        help="further tries at a rollout that a fault of the infrastructure ended "
        "(default: %(default)s)",
    )
    sub.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="local: in this process; ray: over a Ray cluster, extra `ray` (default: %(default)s)",
    )
    sub.add_argument(
        "--engine-arg",
        metavar="KEY=VALUE",
        type=_key_value,
        action="append",
        default=[],
        help="an argument of the engine, such as workers=8",
    )
    sub.add_argument(
        "--policy-arg",
        metavar="KEY=VALUE",
        type=_key_value,
        action="append",
        default=[],
        help="an argument of the policy, such as dtype=bfloat16",
    )
    sub.add_argument(
        "--user", help="who plays the user where an environment has one: scripted, or a policy"
    )
    sub.add_argument(
        "--user-arg",
        metavar="KEY=VALUE",
        type=_key_value,
        action="append",
        default=[],
        help="an argument of the user's policy",
    )
    sub.add_argument(
        "--sampler",
        metavar="SPEC",
        help="sets temperatures and learns from outcomes, such as "
        "ptgs:tau=1.5,gamma=0.95,target=0.5; see `agentenvs list`",
    )
    sub.add_argument(
        "--group",
        type=_positive,
        help="rollouts that share what the sampler gives; n is a multiple (default: n)",
    )
    sub.add_argument("--no-transcripts", action="store_true", help="keep the outcomes alone")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    sub.set_defaults(call=commands.run_policy)


def _add_play(verbs: Any) -> None:
    sub = verbs.add_parser(
        "play",
        help="act in an environment yourself",
        description="Act in an environment from the terminal. Replies go through the same prompt "
        "and parser as a model's; an empty line repeats the help, /quit leaves.",
    )
    sub.add_argument("env_id", metavar="ENV", help="an environment, such as BFCLv4")
    sub.add_argument("--task", help="the task to play; default one drawn by --seed")
    _add_arms(sub)
    sub.set_defaults(call=commands.play)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0 on success, 1 on a failure, 2 on wrong usage or an unknown name, 130 when
        interrupted; failures are told in one message on standard error.
    """
    args = build_parser().parse_args(argv)
    try:
        return int(args.call(args) or 0)
    except BrokenPipeError:
        # The reader has left; Python must not complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        goes_on = args.verb in ("data", "lab") or (args.verb in ("ablate", "run") and args.out)
        again = "; the same command again goes on" if goes_on else ""
        print(f"interrupted{again}", file=sys.stderr)
        return 130
    except (BadArgument, UnknownName) as error:
        print(f"agentenvs: {error}", file=sys.stderr)
        return 2
    except (AgentEnvsError, OSError) as error:
        print(f"agentenvs: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
