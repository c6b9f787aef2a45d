"""What `agentenvs lab` does, once the arguments are read."""

from __future__ import annotations

import argparse
import importlib.util
from typing import TYPE_CHECKING

from agentenvs.errors import BadArgument, PolicyError, RunError
from agentenvs.harness.lab.arms import DATA, HOW
from agentenvs.harness.lab.config import LabConfig, bundled, read

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Run what is missing of a study, write its report and print it.

    Raises:
        BadArgument: arguments that do not go together.
        PolicyError: a package is missing; names the extra.
        RunError: some jobs failed, the report of the others being written first; or the folder has
            other settings, is damaged, or another process writes there.
    """
    config = bundled(args.smoke) if args.config is None else read(args.config, args.smoke)
    if args.list:
        _list_arms(config)
        return 0
    if args.out is None:
        raise BadArgument("Expected --out DIR: where the study goes.")
    _need("torch", "transformers", "matplotlib")
    from agentenvs.harness.lab.folder import StudyFolder
    from agentenvs.harness.lab.report import render, report
    from agentenvs.harness.lab.study import JobsFailed, run_study

    failed: RunError | None = None
    try:
        run_study(args.out, config, _arms(args, config), args.seeds, args.jobs, quiet=args.quiet)
    except JobsFailed as error:
        if not _any_done(args.out):
            raise
        failed = error
    folder = StudyFolder(args.out)
    found = report(folder)
    if args.json:
        print((folder.path / "summary.json").read_text(encoding="utf-8"), end="")
    else:
        render(found, _console())
        print(f"page: {folder.path / 'index.html'}")
    if failed is not None:
        raise failed
    return 0


def _arms(args: argparse.Namespace, config: LabConfig) -> list[str]:
    if args.arms is not None:
        if args.full:
            raise BadArgument("Expected --full or --arms, got both.")
        names = [name.strip() for name in args.arms.split(",") if name.strip()]
        if not names:
            raise BadArgument(f"Expected --arms to name arms, got {args.arms!r}.")
        return names
    if args.full or args.smoke:
        return [arm.name for arm in config.arms]
    return list(config.core)


def _need(*modules: str) -> None:
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise PolicyError(f"The lab needs {' and '.join(missing)}: pip install 'agentenvs[lab]'")


def _any_done(out: str) -> bool:
    from agentenvs.harness.lab.folder import StudyFolder

    try:
        return bool(StudyFolder(out).finished())
    except RunError:
        return False


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _list_arms(config: LabConfig) -> None:
    for arm in config.arms:
        start = f" from {arm.start}" if arm.start else ""
        teacher = f", teacher {arm.teacher}" if arm.teacher else ""
        core = " [core]" if arm.core else ""
        print(f"{arm.name:<20} {arm.label}: {HOW[arm.how]}{start}{teacher}; {DATA[arm.data]}{core}")
