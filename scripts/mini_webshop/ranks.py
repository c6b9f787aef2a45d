"""Print how hard a catalog's search is: python scripts/mini_webshop/ranks.py FOLDER."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence

from agentenvs.webshop import Catalog, Goal, compile_catalog, search

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Print where the goal's product stands when the instruction itself is the query."""
    if len(arguments) != 1:
        print("usage: python scripts/mini_webshop/ranks.py FOLDER", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        catalog = Catalog.open(compile_catalog(arguments[0], f"{folder}/catalog"))
        for kind in ("synthetic", "human"):
            goals = catalog.goals(kind)
            _print(catalog, f"{kind} goals", [goals.goal(n) for n in range(len(goals))])
        firsts = {goal.asin: goal for goal in _all(catalog)}
        _print(catalog, "one a product", list(firsts.values()))
    return 0


def _all(catalog: Catalog) -> list[Goal]:
    goals = catalog.goals("synthetic")
    return [goals.goal(n) for n in reversed(range(len(goals)))]


def _print(catalog: Catalog, what: str, goals: Sequence[Goal]) -> None:
    ranks = []
    for goal in goals:
        found = search(catalog, goal.instruction_text, 50)
        ranks.append(found.index(goal.asin) + 1 if goal.asin in found else 51)
    shares = "  ".join(
        f"top {k}: {sum(rank <= k for rank in ranks) / max(len(ranks), 1):.0%}" for k in (1, 10, 50)
    )
    print(f"{what:15}{len(ranks):6}  {shares}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
