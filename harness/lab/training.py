"""How each kind of arm is trained."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.arms import Arm
from agentenvs.harness.lab.config import LabConfig
from agentenvs.harness.lab.records import Recorder
from agentenvs.harness.ptgs.protocol import Sampler
from agentenvs.harness.seeds import derive
from agentenvs.toollab.demos import Quality
from agentenvs.toollab.design import Design

if TYPE_CHECKING:
    from agentenvs.harness.lab.imitation import ImitationConfig
    from agentenvs.harness.lab.model import TinyLM
    from agentenvs.harness.lab.policy_gradient import PGConfig
    from agentenvs.harness.lab.world import TensorWorld

__all__ = ["Trained", "check", "make_sampler", "train"]

OnStep = Callable[[int, int, "TinyLM | None"], None]
_SAMPLERS = ("Fixed", "HeatMatched", "PTGS", "Spread")


class Trained(NamedTuple):
    """What came out of a training.

    Attributes:
        model: the trained model.
        history: a row of numbers for each step, as the trainer tells it.
        rollouts: how many rollouts of its own it took, those thrown away included.
        recorder: the sampler with all groups, where there was one.
    """

    model: TinyLM
    history: list[dict[str, float]]
    rollouts: int
    recorder: Recorder | None


def check(config: LabConfig, names: Iterable[str]) -> None:
    """Refuse options that an arm's trainer would not take, before anything is trained.

    Args:
        config: the settings.
        names: the arms that are to be trained.

    Raises:
        BadArgument: says which arm, what was expected and what is there.
    """
    for name in names:
        arm = config.arm(name)
        try:
            if arm.how == "pretrain":
                _pretraining(config, arm, 0)
            elif arm.how == "gradient":
                make_sampler(arm.sampler, 0, _gradients(config, arm).steps)
            else:
                _imitation(config, arm)
        except BadArgument as error:
            raise BadArgument(f"Arm {name}: {error}") from None


def train(
    config: LabConfig,
    arm: Arm,
    seed: int,
    models: Callable[[str], TinyLM],
    world: TensorWorld,
    on_step: OnStep,
) -> Trained:
    """Train an arm's model.

    What is drawn depends on the seed and the kind of training, not on the arm, so that two arms
    of one kind see the same tasks in the same order.

    Args:
        config: the settings.
        arm: which.
        seed: of everything.
        models: gives the model of an arm of the same seed.
        world: the tensor world.
        on_step: called after each step with its number, the number of steps and the model as it
            is then; None in pre-training, which is not measured along the way.

    Raises:
        BadArgument: options that the trainer does not take.
    """
    design = Design.of(config.world)
    own = derive(seed, "lab", arm.how)
    if arm.how == "pretrain":
        return _pretrain(config, arm, design, own, on_step)
    start = models(str(arm.start))
    if arm.how == "gradient":
        return _gradient(config, arm, start, world, design, own, on_step)
    return _imitate(config, arm, start, models, world, design, own, on_step)


def make_sampler(plain: Mapping[str, Any] | None, seed: int, steps: int = 200) -> Sampler:
    """Return the sampler that settings name; a fixed temperature of 1 for None.

    Args:
        plain: `kind`, one of Fixed, HeatMatched, PTGS and Spread, and its arguments; for
            HeatMatched those of the PTGS within. A `target` may be an object with the arguments
            of `Ramp`.
        seed: of its draws.
        steps: over which a ramp goes that does not say it itself.

    Raises:
        BadArgument: no such kind, or arguments that it does not take.
    """
    from agentenvs.harness.ptgs.baselines import Fixed, HeatMatched, Spread
    from agentenvs.harness.ptgs.sampler import PTGS
    from agentenvs.harness.ptgs.schedule import Ramp

    told: dict[str, Any] = {"kind": "Fixed", "t": 1.0} if plain is None else dict(plain)
    kind = told.pop("kind", None)
    if kind not in _SAMPLERS:
        raise BadArgument(f"Expected a sampler of {', '.join(_SAMPLERS)}, got {kind!r}.")
    try:
        if isinstance(told.get("target"), Mapping):
            told["target"] = Ramp(**{"total": steps, **told["target"]})
        if kind == "Fixed":
            return Fixed(**told)
        if kind == "Spread":
            return Spread(**told)
        if kind == "HeatMatched":
            return HeatMatched(PTGS(**told, seed=seed))
        return PTGS(**told, seed=seed, keep_events=True)
    except TypeError as error:
        raise BadArgument(f"Sampler {kind}: {error}.") from None


def _options(kind: Any, *layers: Mapping[str, Any]) -> Any:
    """Make a trainer's settings of layers, later ones above."""
    merged = {key: value for layer in layers for key, value in layer.items()}
    try:
        return kind(**merged)
    except TypeError as error:
        raise BadArgument(f"{kind.__name__}: {error}.") from None


def _gradients(config: LabConfig, arm: Arm) -> PGConfig:
    from agentenvs.harness.lab.policy_gradient import PGConfig

    how: PGConfig = _options(PGConfig, config.gradient, arm.options)
    return how


def _imitation(config: LabConfig, arm: Arm) -> tuple[ImitationConfig, list[tuple[float, Quality]]]:
    """Return an arm's settings, and the mixture of demonstrators where it has one."""
    from agentenvs.harness.lab.imitation import ImitationConfig

    options = dict(arm.options)
    parts = options.pop("demonstrators", None) or []
    how: ImitationConfig = _options(ImitationConfig, config.imitation, options)
    listed = parts if isinstance(parts, list | tuple) else [parts]
    for part in listed:
        if not isinstance(part, list | tuple) or [isinstance(x, dict) for x in part] != [
            False,
            True,
        ]:
            raise BadArgument(
                f"Expected `demonstrators` as [share, quality] pairs, got {part!r:.60}."
            )
    return how, [(share, _options(Quality, quality)) for share, quality in listed]


def _pretraining(config: LabConfig, arm: Arm, seed: int) -> tuple[TinyLM, dict[str, Any]]:
    """Return a fresh model, and how it is to be trained."""
    from agentenvs.harness.lab.model import TinyLM
    from agentenvs.harness.lab.pretrain import pretrain

    told = {"steps": 1000, **config.pretraining, **arm.options}
    if isinstance(told.get("quality"), Mapping):
        told["quality"] = _options(Quality, told["quality"])
    taken = inspect.signature(pretrain).parameters
    odd = [key for key in told if key not in taken or key in ("design", "seed", "model", "on_step")]
    if odd:
        raise BadArgument(f"pretrain: there is no setting {odd[0]!r}.")
    for key in ("steps", "batch"):
        if type(told.get(key, 1)) is not int or told.get(key, 1) < 1:
            raise BadArgument(f"Expected `{key}` to be an int of at least 1, got {told[key]!r}.")
    try:
        return TinyLM.fresh(derive(seed, "weights"), **config.model), told
    except TypeError as error:
        raise BadArgument(f"model: {error}.") from None


def _pretrain(config: LabConfig, arm: Arm, design: Design, seed: int, on_step: OnStep) -> Trained:
    from agentenvs.harness.lab.pretrain import pretrain

    fresh, told = _pretraining(config, arm, seed)
    history: list[dict[str, float]] = []

    def keep(step: int, loss: float) -> None:
        history.append({"step": step, "loss": loss})
        on_step(step, int(told["steps"]), None)

    model = pretrain(design, seed, **told, model=fresh, on_step=keep)
    return Trained(model, history, 0, None)


def _gradient(
    config: LabConfig,
    arm: Arm,
    start: TinyLM,
    world: TensorWorld,
    design: Design,
    seed: int,
    on_step: OnStep,
) -> Trained:
    from agentenvs.harness.lab.policy_gradient import train

    how = _gradients(config, arm)
    recorder = Recorder(make_sampler(arm.sampler, derive(seed, "sampler"), how.steps))
    model, history = train(
        start,
        world,
        design.train,
        how,
        recorder,
        seed,
        on_step=lambda step, model, _: on_step(step, how.steps, model),
    )
    return Trained(model, history, recorder.rollouts, recorder)


def _imitate(
    config: LabConfig,
    arm: Arm,
    start: TinyLM,
    models: Callable[[str], TinyLM],
    world: TensorWorld,
    design: Design,
    seed: int,
    on_step: OnStep,
) -> Trained:
    from agentenvs.harness.lab import examples, imitation

    how, mixture = _imitation(config, arm)
    rest: dict[str, Any] = {
        "on_step": lambda step, model, _: on_step(step, how.steps, model),
    }
    if arm.how == "rejection":
        model, history = imitation.rejection_sampling(start, world, design.train, how, seed, **rest)
    elif arm.how == "distil":
        teacher = models(str(arm.teacher))
        model, history = imitation.distil(start, teacher, world, design.train, how, seed, **rest)
    elif arm.how == "sft":
        each = how.rollouts // len(design.train)
        kept, success = examples.own_successes(
            start, world, design.train, each, seed, how.temperature
        )
        # A start that never succeeds has nothing to show itself.
        model, history = start, [{"step": 0.0}]
        if len(kept.ids):
            model, history = imitation.sft(start, kept, how, seed, **rest)
        played = each * len(design.train)
        history[0].update(rollouts=played, success=success, kept=len(kept.ids))
    else:
        made = examples.mixed_demonstrations(design, how.steps * how.batch, seed, *mixture)
        model, history = imitation.sft(start, made, how, seed, **rest)
    return Trained(model, history, int(sum(row.get("rollouts", 0) for row in history)), None)
