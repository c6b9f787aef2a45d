"""What a study compares: `study.toml`, read and checked."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from agentenvs.errors import BadArgument, RunDamaged, did_you_mean

__all__ = ["Key", "Pair", "StudyFile", "read_study"]

#: pair, benchmark and arm of a run
Key = tuple[str, str, str]

_TOP = (
    "arms",
    "benchmarks",
    "budget",
    "clusters",
    "common",
    "K",
    "missing",
    "pairs",
    "predict",
    "price",
    "runs",
    "target",
    "title",
    "unsolvable",
)
_PAIR = ("family", "name", "runs", "size")
_PREDICT = ("early_K", "early_rollouts", "late_K", "late_rollouts", "seed", "splits")
_PLACES = ("pair", "benchmark", "arm")
_MISSING = ("error", "skip")
_DEEP = "expected TOML that is not nested this deeply."
# Numbers beyond are slips, and their products overflow.
_LEAST, _LARGEST = 1e-100, 1e100
# How many runs that are not there are named.
_NAMED = 100
# Rollouts of a trained arm that a task may cost where a price is all that is told.
_BOUGHT = 8


@dataclass(frozen=True, slots=True)
class Pair:
    """Models that belong together: a base and what was made of it.

    Attributes:
        name: as in the file.
        size: parameters, None where not told.
        family: of models, None where not told.
    """

    name: str
    size: float | None = None
    family: str | None = None


@dataclass(frozen=True)
class StudyFile:
    """A checked `study.toml`.

    Attributes:
        path: where it lies.
        title: of the study.
        benchmarks, arms: their names; the first arm is the base.
        pairs: the models.
        runs: where each run lies, by pair, benchmark and arm.
        missing: the runs of those that are not there; empty unless they may be skipped.
        K: the budgets, None for the default ones.
        price: of one rollout of the base, and of another arm.
        target, budget: the share of tasks to solve, or what may be spent on a task, one of them,
            for the choice of an arm; None both where nothing is to be chosen.
        common: whether arms that played different tasks are compared on those that both have.
        predict: arguments of `split_half` that are not its defaults.
        clusters, unsolvable: for benchmarks that have them, the file that tells which tasks hang
            together, and the one of tasks that no agent can solve.
    """

    path: Path
    title: str
    benchmarks: tuple[str, ...]
    arms: tuple[str, ...]
    pairs: tuple[Pair, ...]
    runs: Mapping[Key, Path]
    missing: tuple[Key, ...]
    K: tuple[int, ...] | None
    price: tuple[float, float]
    target: float | None
    budget: float | None
    common: bool
    predict: Mapping[str, int]
    clusters: Mapping[str, Path]
    unsolvable: Mapping[str, Path]

    def shown(self, path: Path) -> str:
        """Return a path as short as it can be told: relative to the file where it lies below."""
        try:
            return str(path.relative_to(self.path.parent))
        except ValueError:
            return str(path)


def read_study(path: str | os.PathLike[str], missing: str | None = None) -> StudyFile:
    """Read a study's file and look whether its runs are there.

    Paths in it are relative to it. In `runs`, `{pair}`, `{benchmark}` and `{arm}` stand for the
    names; `{{` and `}}` for braces.

    Args:
        path: a TOML file.
        missing: "error" or "skip"; default what the file says, or else "error".

    Raises:
        BadArgument: no TOML there, an unknown or missing key, a value that makes no sense, or a
            file of [clusters] or [unsolvable] that is not there.
        RunDamaged: runs are not there (names up to a hundred), and may not be skipped or are all.
    """
    where = Path(path)
    try:
        plain = tomllib.loads(where.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadArgument(f"{where}: expected a study's file: {error.strerror or error}.") from None
    except ValueError as error:
        raise BadArgument(f"{where}: expected TOML: {error}.") from None
    except RecursionError:
        raise BadArgument(f"{where}: {_DEEP}") from None
    try:
        return _checked(where, plain, missing)
    except BadArgument as error:
        raise BadArgument(f"{where}: {error}") from None
    except RecursionError:
        # Dotted keys nest without recursion; showing such a value does not.
        raise BadArgument(f"{where}: {_DEEP}") from None


def _checked(where: Path, plain: Mapping[str, Any], missing: str | None) -> StudyFile:
    _known("the study", plain, _TOP)
    benchmarks = _names("benchmarks", plain, 1)
    arms = _names("arms", plain, 2)
    tables = _needed("pairs", plain)
    if not isinstance(tables, list) or not tables:
        raise BadArgument(f"Expected one or more [[pairs]], got {tables!r:.40}.")
    pairs = tuple(_pair(at, table) for at, table in enumerate(tables, 1))
    _different("pairs", [pair.name for pair in pairs])
    price, target, budget = _choice(plain)
    runs = _runs(where.parent, plain.get("runs"), tables, pairs, benchmarks, arms)
    lenient = _mode(missing, plain) == "skip"
    gone = tuple(key for key, run in runs.items() if not _there(run))
    found = StudyFile(
        path=where,
        title=_typed("title", plain.get("title", where.stem), str, "text"),
        benchmarks=benchmarks,
        arms=arms,
        pairs=pairs,
        runs=runs,
        missing=gone,
        K=_budgets(plain.get("K")),
        price=price,
        target=target,
        budget=budget,
        common=_typed("common", plain.get("common", False), bool, "true or false"),
        predict=_predict(plain.get("predict", {})),
        clusters=_files("clusters", plain, where.parent, benchmarks),
        unsolvable=_files("unsolvable", plain, where.parent, benchmarks),
    )
    _check_there(found, lenient)
    return found


def _check_there(found: StudyFile, lenient: bool) -> None:
    if not found.missing or (lenient and _cells_left(found)):
        return
    places = list(dict.fromkeys(found.shown(found.runs[key]) for key in found.missing))
    hint = (
        "No pair of runs is left to compare."
        if lenient
        else 'To report the others: missing = "skip".'
    )
    count = len({found.runs[key] for key in found.runs})
    named = ", ".join(places[:_NAMED])
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    raise RunDamaged(
        f"{found.path}: {len(places)} of {count} runs are not there: {named}{more}. {hint}"
    )


def _cells_left(found: StudyFile) -> bool:
    gone = set(found.missing)
    return any(
        not {(pair.name, benchmark, found.arms[0]), (pair.name, benchmark, arm)} & gone
        for pair in found.pairs
        for benchmark in found.benchmarks
        for arm in found.arms[1:]
    )


def _there(run: Path) -> bool:
    """Return whether a run has begun: a file, or a folder with outcomes."""
    try:
        return run.is_file() or (run / "outcomes.jsonl").is_file()
    except OSError:
        # A name that is too long, or a folder that may not be looked into.
        return False


def _runs(
    root: Path,
    template: Any,
    tables: Sequence[Mapping[str, Any]],
    pairs: Sequence[Pair],
    benchmarks: Sequence[str],
    arms: Sequence[str],
) -> dict[Key, Path]:
    """Return where each run lies: as its pair says, or else as the template says."""
    found: dict[Key, Path] = {}
    left: list[Key] = []
    for pair, table in zip(pairs, tables, strict=True):
        own = _own_runs(pair, table.get("runs", {}), benchmarks, arms)
        for benchmark in benchmarks:
            for arm in arms:
                key = (pair.name, benchmark, arm)
                told = own.get((benchmark, arm))
                if told is None:
                    left.append(key)
                found[key] = root / (told or ".")
    if left:
        fill = _template(template, left)
        found.update((key, root / fill(key)) for key in left)
    found = _spelled_alike(found)
    for (pair_name, benchmark, arm), run in found.items():
        if arm != arms[0] and run == found[pair_name, benchmark, arms[0]]:
            raise BadArgument(
                f"Expected a run for each arm, but {arms[0]!r} and {arm!r} of {pair_name!r} on "
                f"{benchmark!r} are the same: {run}."
            )
    return found


def _spelled_alike(runs: Mapping[Key, Path]) -> dict[Key, Path]:
    """Return the runs with one path for each, where they are written in several ways."""
    first: dict[str, Path] = {}
    found = {}
    for key, run in runs.items():
        try:
            found[key] = first.setdefault(os.path.realpath(run), run)
        except ValueError:
            found[key] = run
    return found


def _own_runs(
    pair: Pair, plain: Any, benchmarks: Sequence[str], arms: Sequence[str]
) -> dict[tuple[str, str], str]:
    where = f"`runs` of the pair {pair.name!r}"
    if not isinstance(plain, dict):
        raise BadArgument(f"Expected {where} to be a table of benchmarks, got {plain!r:.40}.")
    _known(where, plain, benchmarks, "benchmark")
    found = {}
    for benchmark, table in plain.items():
        if not isinstance(table, dict):
            raise BadArgument(f"Expected {where} to have a table of arms, got {table!r:.40}.")
        _known(f"{where}, {benchmark}", table, arms, "arm")
        for arm, told in table.items():
            text = _typed(f"runs.{benchmark}.{arm} of {pair.name}", told, str, "a path")
            if not text:
                raise BadArgument(f"Expected {where}, {benchmark}, {arm}, to be a path, got ''.")
            found[benchmark, arm] = text
    return found


def _template(template: Any, keys: Sequence[Key]) -> Callable[[Key], str]:
    if template is None:
        pair, benchmark, arm = keys[0]
        raise BadArgument(
            "Expected `runs` to say where runs lie, found none, and "
            f"{pair!r} has no path of its own for {arm!r} on {benchmark!r}."
        )
    text = _typed("runs", template, str, "a path")
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise BadArgument(f"Expected `runs` to be a path with placeholders: {error}.") from None
    used = [name for _, name, _, _ in parts if name is not None]
    for _, name, form, turned in parts:
        if name is not None and (name not in _PLACES or form or turned):
            shown = name + (f"!{turned}" if turned else "") + (f":{form}" if form else "")
            raise BadArgument(
                f"`runs`: there is no placeholder {{{shown}}}.{did_you_mean(name, _PLACES)}"
            )
    for at, place in enumerate(_PLACES):
        names = {key[at] for key in keys}
        if place not in used and len(names) > 1:
            raise BadArgument(
                f"Expected `runs` to hold {{{place}}}, without which {len(names)} runs would be "
                f"one, got {text!r}."
            )

    def fill(key: Key) -> str:
        names = dict(zip(_PLACES, key, strict=True))
        return "".join(
            literal + (names[name] if name is not None else "") for literal, name, _, _ in parts
        )

    return fill


def _pair(at: int, plain: Any) -> Pair:
    if not isinstance(plain, dict):
        raise BadArgument(f"Expected pair {at} to be a table, got {plain!r:.40}.")
    where = f"pair {at}"
    _known(where, plain, _PAIR)
    if "name" not in plain:
        raise BadArgument(f"Expected `name` in {where}, found none.")
    name = _typed(f"name of {where}", plain["name"], str, "text")
    if not name.strip():
        raise BadArgument(f"Expected `name` of {where} to be text, got {name!r}.")
    family = plain.get("family")
    if family is not None:
        _typed(f"family of {name}", family, str, "text")
    return Pair(name, _optional(f"size of {name}", plain.get("size")), family)


def _budgets(plain: Any) -> tuple[int, ...] | None:
    if plain is None:
        return None
    fine = isinstance(plain, list) and plain and all(type(k) is int and k >= 2 for k in plain)
    if not fine or len(set(plain)) < len(plain):
        raise BadArgument(f"Expected `K` to list different budgets of 2 or more, got {plain!r}.")
    return tuple(sorted(plain))


def _choice(plain: Mapping[str, Any]) -> tuple[tuple[float, float], float | None, float | None]:
    """Return price, target and budget; a price alone asks what eight trained rollouts buy."""
    prices = plain.get("price", [1.0, 1.0])
    if not isinstance(prices, list) or len(prices) != 2:
        raise BadArgument(
            "Expected `price` to list two numbers, of a rollout of the base and of another arm, "
            f"got {prices!r:.60}."
        )
    first, second = (_positive("price", value) for value in prices)
    target = _optional("target", plain.get("target"), 1.0)
    budget = _optional("budget", plain.get("budget"))
    if target is not None and budget is not None:
        raise BadArgument("Expected `target` or `budget`, got both.")
    if target is None and budget is None and "price" in plain:
        budget = _BOUGHT * second
    return (first, second), target, budget


def _predict(plain: Any) -> dict[str, int]:
    if not isinstance(plain, dict):
        raise BadArgument(f"Expected `predict` to be a table, got {plain!r:.40}.")
    _known("[predict]", plain, _PREDICT)
    for key, value in plain.items():
        least = 0 if key == "seed" else 2 if key.endswith("K") else 1
        if type(value) is not int or value < least:
            raise BadArgument(
                f"Expected `{key}` of [predict] to be an integer of at least {least}, "
                f"got {value!r:.40}."
            )
    return dict(plain)


def _files(
    key: str, plain: Mapping[str, Any], root: Path, benchmarks: Sequence[str]
) -> dict[str, Path]:
    told = plain.get(key, {})
    if not isinstance(told, dict):
        raise BadArgument(f"Expected `{key}` to be a table of benchmarks, got {told!r:.40}.")
    _known(f"[{key}]", told, benchmarks, "benchmark")
    found = {}
    for benchmark, text in told.items():
        name = _typed(f"{benchmark} of [{key}]", text, str, "a path")
        found[benchmark] = root / name
        if not _is_file(found[benchmark]):
            raise BadArgument(f"[{key}]: there is no file {name!r:.200} for {benchmark!r}.")
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _mode(given: str | None, plain: Mapping[str, Any]) -> str:
    mode = plain.get("missing", "error") if given is None else given
    if mode not in _MISSING:
        raise BadArgument(f'Expected `missing` to be "error" or "skip", got {mode!r:.40}.')
    return str(mode)


def _known(where: str, plain: Mapping[str, Any], names: Collection[str], what: str = "key") -> None:
    for key in plain:
        if key not in names:
            raise BadArgument(f"There is no {what} {key!r} in {where}.{did_you_mean(key, names)}")


def _needed(key: str, plain: Mapping[str, Any]) -> Any:
    if key not in plain:
        raise BadArgument(f"Expected `{key}`, found none.")
    return plain[key]


def _names(key: str, plain: Mapping[str, Any], least: int) -> tuple[str, ...]:
    names = _needed(key, plain)
    fine = isinstance(names, list) and all(isinstance(n, str) and n.strip() for n in names)
    if not fine or len(names) < least:
        raise BadArgument(f"Expected `{key}` to list {least} or more names, got {names!r:.60}.")
    _different(key, names)
    return tuple(names)


def _different(key: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadArgument(f"Expected each of `{key}` once, twice: {', '.join(map(repr, twice))}.")


def _typed(key: str, value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise BadArgument(f"Expected `{key}` to be {what}, got {value!r:.40}.")
    return value


def _optional(key: str, value: Any, most: float = math.inf) -> float | None:
    return None if value is None else _positive(key, value, most)


def _positive(key: str, value: Any, most: float = math.inf) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf or value > most:
        upto = "" if math.isinf(most) else f" of at most {most:g}"
        raise BadArgument(f"Expected `{key}` to be a positive number{upto}, got {value!r:.40}.")
    if not _LEAST <= value <= _LARGEST:
        raise BadArgument(
            f"Expected `{key}` to be a number of {_LEAST:g} to {_LARGEST:g}, got {value!r:.40}."
        )
    return float(value)
