"""`python -m agentenvs.harness.ptgs.selftest FILE.py:BUILD`, or `package.module:BUILD`.

Exit status: 0 every check passed, 1 one failed or was not run, 2 there is no such thing to test.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentenvs.errors import AgentEnvsError, BadArgument
from agentenvs.harness.ptgs.selftest import selftest


def find_build(name: str) -> Callable[[Any], Any]:
    """Return what `FILE.py:NAME` or `package.module:NAME` names; runs that file.

    Raises:
        BadArgument: no such file, module or name.
    """
    home, colon, attribute = name.rpartition(":")
    if not colon or not home or not attribute:
        raise BadArgument(f"Expected FILE.py:BUILD or package.module:BUILD, got {name!r}.")
    if home.endswith(".py"):
        path = Path(home).resolve()
        if not path.is_file():
            raise BadArgument(f"No file {home!r}.")
        # As if Python ran the file: what lies beside it can be imported.
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise BadArgument(f"Expected a Python file, got {home!r}.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")
        try:
            module = importlib.import_module(home)
        except ModuleNotFoundError as error:
            if error.name is None or not (home + ".").startswith(error.name + "."):
                raise
            raise BadArgument(f"No module {error.name!r}.") from None
    build = getattr(module, attribute, None)
    if not callable(build):
        what = "nothing" if build is None else type(build).__name__
        raise BadArgument(f"Expected {attribute!r} in {home!r} to be callable, got {what}.")
    return build  # type: ignore[no-any-return]


def main(arguments: Sequence[str] | None = None) -> int:
    """Test, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m agentenvs.harness.ptgs.selftest",
        description="Does a trainer sample at T and score at T?",
    )
    parser.add_argument("build", help="FILE.py:BUILD or package.module:BUILD")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=16384, help="most draws at a temperature")
    parser.add_argument("--tokens", type=int, default=1024, help="most tokens to enumerate")
    parser.add_argument("--steps", type=int, default=2, help="fewest steps before the checkpoint")
    parser.add_argument("--most-steps", type=int, default=8, help="most of them")
    parser.add_argument("--without", action="append", default=[], metavar="CHECK")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--traceback", action="store_true", help="print what the trainer raised")
    asked = parser.parse_args(arguments)
    try:
        report = selftest(
            find_build(asked.build),
            seed=asked.seed,
            draws=asked.draws,
            tokens=asked.tokens,
            steps=asked.steps,
            most_steps=max(asked.most_steps, asked.steps),
            without=asked.without,
        )
    except AgentEnvsError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(report.as_dict(), indent=2) if asked.json else report)
    if asked.traceback:
        for check in report:
            if check.error is not None:
                traceback.print_exception(check.error)
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
