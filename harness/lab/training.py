"""How each kind of arm is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    from agentenvs.harness.lab.model import TinyLM
    from agentenvs.harness.lab.world import TensorWorld

__all__ = ["Trained", "make_sampler", "train"]

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
    if isinstance(told.get("target"), Mapping):
        told["target"] = Ramp(**{"total": steps, **told["target"]})
    try:
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


def _pretrain(config: LabConfig, arm: Arm, design: Design, seed: int, on_step: OnStep) -> Trained:
    from agentenvs.harness.lab.model import TinyLM
    from agentenvs.harness.lab.pretrain import pretrain

    told = {"steps": 1000, **config.pretraining, **arm.options}
    if isinstance(told.get("quality"), Mapping):
        told["quality"] = Quality(**told["quality"])
    history: list[dict[str, float]] = []
    fresh = TinyLM.fresh(derive(seed, "weights"), **config.model)

    def keep(step: int, loss: float) -> None:
        history.append({"step": step, "loss": loss})
        on_step(step, int(told["steps"]), None)

    try:
        model = pretrain(design, seed, **told, model=fresh, on_step=keep)
    except TypeError as error:
        raise BadArgument(f"pretrain: {error}.") from None
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
    from agentenvs.harness.lab.policy_gradient import PGConfig, train

    how = _options(PGConfig, config.gradient, arm.options)
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

    options = dict(arm.options)
    parts = options.pop("demonstrators", None)
    how = _options(imitation.ImitationConfig, config.imitation, options)
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
        mixture = [(share, Quality(**quality)) for share, quality in parts or []]
        made = examples.mixed_demonstrations(design, how.steps * how.batch, seed, *mixture)
        model, history = imitation.sft(start, made, how, seed, **rest)
    return Trained(model, history, int(sum(row.get("rollouts", 0) for row in history)), None)
