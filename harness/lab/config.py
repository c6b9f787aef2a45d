"""What a study runs with: plain data, read from a committed file, with a hash.

`assets/lab/config.json` holds the settings of the study that is reported, above the trainers' own
defaults; `assets/lab/smoke.json` changes some of them for a quick look at everything.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, did_you_mean
from agentenvs.harness.lab import arms as arms_
from agentenvs.harness.lab.arms import Arm
from agentenvs.toollab.design import check_world

__all__ = ["Evaluation", "LabConfig", "Probe", "bundled", "read"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How models are measured.

    Attributes:
        n: rollouts a task, at each temperature.
        temperatures: those at which the training and the held-out tasks are played; the first
            is the reference, at which taxes are measured.
        budgets: the K of the taxes in tables, the last one n.
        checkpoint_every: training steps between measurements along the way.
        checkpoint_n: rollouts a training task in those.
    """

    n: int
    temperatures: tuple[float, ...]
    budgets: tuple[int, ...]
    checkpoint_every: int
    checkpoint_n: int

    def check(self) -> None:
        """Refuse what cannot be measured.

        Raises:
            BadArgument: says which value.
        """
        _at_least(1, checkpoint_every=self.checkpoint_every)
        _at_least(2, n=self.n, checkpoint_n=self.checkpoint_n)
        _temperatures("temperatures", self.temperatures)
        budgets = self.budgets
        rising = len(set(budgets)) == len(budgets) and list(budgets) == sorted(budgets)
        if not budgets or not rising or budgets[0] < 2 or budgets[-1] != self.n:
            raise BadArgument(
                f"Expected `budgets` to rise from at least 2 to n = {self.n}, got {budgets}."
            )
        if self.checkpoint_n < budgets[0]:
            raise BadArgument(
                f"Expected `checkpoint_n` of at least the first budget, {budgets[0]}, "
                f"got {self.checkpoint_n}."
            )


@dataclass(frozen=True, slots=True)
class Probe:
    """How success is followed over temperature, on the training tasks.

    Attributes:
        n: rollouts a task, at each temperature.
        temperatures: those played for the probe alone. The evaluation's reference must be among
            them: tasks are binned by the evaluation and measured by the probe, so that chance
            in the one is not taken for change in the other. Further temperatures of the
            evaluation join the curve.
        hot: the temperature at which heating is judged against the reference.
        bins: where one bin of difficulty ends and the next begins, in chance of success.
    """

    n: int
    temperatures: tuple[float, ...]
    hot: float
    bins: tuple[float, ...]

    def check(self, reference: float) -> None:
        """Refuse what cannot be probed.

        Raises:
            BadArgument: says which value.
        """
        _at_least(1, n=self.n)
        _temperatures("temperatures", self.temperatures)
        for name, value in (("the reference", reference), ("`hot`", self.hot)):
            if value not in self.temperatures:
                raise BadArgument(
                    f"Expected the probe's temperatures to hold {name}, {value:g}, "
                    f"got {self.temperatures}."
                )
        inside = all(
            0 < low < high < 1 for low, high in zip(self.bins, self.bins[1:], strict=False)
        )
        if not 1 <= len(self.bins) <= 5 or not inside or not 0 < self.bins[0] < 1:
            raise BadArgument(
                f"Expected one to five `bins` that rise within 0 and 1, got {self.bins}."
            )


@dataclass(frozen=True)
class LabConfig:
    """Every setting of a study but which arms and seeds it runs.

    Attributes:
        name: of the settings, "study" or "smoke" say.
        world: which world of ToolLab.
        model: the shape of the model.
        pretraining: arguments of the pre-training.
        gradient: arguments of all policy gradients; an arm's options go above them.
        imitation: arguments of all imitation; likewise.
        evaluation, probe: how models are measured.
        arms: the ways to train, needs first.
    """

    name: str
    world: int
    model: Mapping[str, Any]
    pretraining: Mapping[str, Any]
    gradient: Mapping[str, Any]
    imitation: Mapping[str, Any]
    evaluation: Evaluation
    probe: Probe
    arms: tuple[Arm, ...]

    def arm(self, name: str) -> Arm:
        """Return an arm by its name."""
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def reference(self) -> float:
        """The temperature at which taxes are measured."""
        return self.evaluation.temperatures[0]

    @property
    def core(self) -> tuple[str, ...]:
        """The names of the arms that the default mode runs."""
        return tuple(arm.name for arm in self.arms if arm.core)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON has it."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @cached_property
    def digest(self) -> str:
        """A hash of every setting: 16 hexadecimal digits."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def bundled(smoke: bool = False) -> LabConfig:
    """Return the settings of the reported study, or those of the quick look at everything."""
    plain = _bundled("config")
    return from_dict(_merged(plain, _bundled("smoke")) if smoke else plain)


def read(path: str | os.PathLike[str], smoke: bool = False) -> LabConfig:
    """Return the bundled settings with those of a JSON file above them.

    Args:
        path: a JSON object; what it lacks stays as it is, lists are replaced whole. Under
            `arms`, an object with arms by name changes those alone.
        smoke: whether the quick settings lie below.

    Raises:
        BadArgument: no JSON object there, or settings that cannot be run; says which.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadArgument(f"{path}: expected a JSON file with settings: {error}.") from None
    if not isinstance(found, dict):
        raise BadArgument(f"{path}: expected a JSON object with settings, got {found!r:.40}.")
    below = _merged(_bundled("config"), _bundled("smoke")) if smoke else _bundled("config")
    return from_dict(_merged(below, {"name": Path(path).stem, **found}))


def from_dict(plain: Mapping[str, Any]) -> LabConfig:
    """Return settings from plain data.

    Raises:
        BadArgument: a key too few or too many, a value of the wrong type or out of range.
    """
    made: LabConfig = _build(
        LabConfig,
        "",
        {
            **plain,
            "evaluation": _build(Evaluation, "evaluation", plain.get("evaluation")),
            "probe": _build(Probe, "probe", plain.get("probe")),
            "arms": tuple(
                _build(Arm, f"arms[{at}]", arm) for at, arm in enumerate(_arms(plain.get("arms")))
            ),
        },
    )
    check_world(made.world)
    made.evaluation.check()
    made.probe.check(made.reference)
    arms_.check(made.arms)
    return made


def _arms(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise BadArgument(f"`arms`: expected a list, got {plain!r:.40}.")
    return plain


def _bundled(name: str) -> dict[str, Any]:
    text = resources.files("agentenvs.assets").joinpath("lab", f"{name}.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[key] = _merged(under, value)
        elif key == "arms" and isinstance(value, Mapping):
            merged[key] = _changed_arms(below[key], value)
        else:
            merged[key] = value
    return merged


def _changed_arms(arms: list[dict[str, Any]], changes: Mapping[str, Any]) -> list[Any]:
    """Return the arms with some of them changed, by name."""
    names = [arm["name"] for arm in arms]
    for name, change in changes.items():
        if name not in names:
            raise BadArgument(f"`arms.{name}`: there is no such arm.{did_you_mean(name, names)}")
        if not isinstance(change, Mapping):
            raise BadArgument(f"`arms.{name}`: expected an object, got {change!r:.40}.")
    return [_merged(arm, changes.get(arm["name"], {})) for arm in arms]


_PLAIN: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "str": (str,),
    "float": (int, float),
    "str | None": (str, type(None)),
    "Mapping[str, Any]": (dict,),
    "Mapping[str, Any] | None": (dict, type(None)),
}


def _build(kind: Any, where: str, plain: Any) -> Any:
    """Make a dataclass out of a JSON object; its annotations say what each value must be."""
    if not isinstance(plain, Mapping):
        raise BadArgument(f"Expected `{where}` to be an object, got {plain!r:.40}.")
    values = {}
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for key in plain:
        if key not in fields:
            raise BadArgument(f"{_at(where, key)}: there is no such setting.")
    for name, about in fields.items():
        if name not in plain:
            optional = (about.default, about.default_factory) != (dataclasses.MISSING,) * 2
            if not optional:
                raise BadArgument(f"{_at(where, name)}: expected a value, found none.")
            continue
        values[name] = _value(_at(where, name), str(about.type), plain[name])
    return kind(**values)


def _value(where: str, kind: str, value: Any) -> Any:
    if kind in ("tuple[float, ...]", "tuple[int, ...]"):
        inner = kind[6:].split(",")[0]
        if not isinstance(value, list | tuple):
            raise BadArgument(f"{where}: expected a list, got {value!r:.40}.")
        return tuple(_value(f"{where}[{at}]", inner, one) for at, one in enumerate(value))
    if kind in _PLAIN:
        types = _PLAIN[kind]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            said = kind.replace("Mapping[str, Any]", "object").replace("None", "null")
            raise BadArgument(f"{where}: expected {said}, got {value!r:.40}.")
        return value * 1.0 if isinstance(value, int) and kind == "float" else value
    return value


def _at(where: str, key: str) -> str:
    return f"`{where}.{key}`" if where else f"`{key}`"


def _at_least(least: int, **values: int) -> None:
    for name, value in values.items():
        if value < least:
            raise BadArgument(f"Expected `{name}` of at least {least}, got {value}.")


def _temperatures(name: str, values: tuple[float, ...]) -> None:
    # Files are named by them, with six digits.
    known = {f"{value:g}" for value in values}
    if not values or len(known) < len(values) or not all(0 < t <= 10 for t in values):
        raise BadArgument(
            f"Expected `{name}` to be different numbers above 0 and up to 10, as far as six digits "
            f"go, got {values}."
        )
