"""Trainers that are wrong in one way each, after the mistakes that real ones make."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from agentenvs_tests_reference import GROUP, Reference
from torch.nn import functional

from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.scoring import RowScores, row_scores
from agentenvs.harness.ptgs.selftest import Trained

SCORING = {"scores", "entropies", "identity", "loss"}


class ScoresAtOne(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens, torch.ones_like(t))


class ScoresAtTheMean(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens, t.mean().expand_as(t))


class ScoresAtTheFirst(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens, t[:1].expand_as(t))


class DividesTwice(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z / t[:, None, None], tokens, t)


class MultipliesByT(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens, 1 / t)


class DividesBehindTheLogSoftmax(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        right = row_scores(z, tokens, t)
        logs = z.log_softmax(-1).gather(-1, tokens[..., None])[..., 0] / t[:, None]
        return RowScores(logs, right.entropies)


class ScoresTheNextToken(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens.roll(1, 1), t)


class SortsTheBatch(Reference):
    """Sorts temperatures, as a length-grouped batch does with rows, and forgets the rows."""

    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens, t.sort().values)


class EntropyAtOne(Reference):
    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        logs = row_scores(z, tokens, t).log_probs
        return RowScores(logs, row_scores(z, tokens, torch.ones_like(t)).entropies)


class NoGraph(Reference):
    def score(self, prompts: Any, completions: Any, temperatures: Any) -> Any:
        return tuple(part.detach() for part in super().score(prompts, completions, temperatures))

    def learn(self, *played: Any) -> list[Trained]:
        return Learns.learn(self, *played)


class MissingIsOne(Reference):
    def score(self, prompts: Any, completions: Any, temperatures: Any) -> Any:
        if temperatures is None:
            temperatures = torch.ones(len(prompts))
        return super().score(prompts, completions, temperatures)


class SamplesAtOne(Reference):
    def warp(self, z: Any, t: Any) -> Any:
        return z


class SamplesAtTheMean(Reference):
    def warp(self, z: Any, t: Any) -> Any:
        return z / t.mean()


class SamplesAtTheFirst(Reference):
    def warp(self, z: Any, t: Any) -> Any:
        return z / t[0]


class SamplesAtOthersT(Reference):
    def warp(self, z: Any, t: Any) -> Any:
        return z / t.roll(1)[:, None]


class SamplesAtTSquared(Reference):
    """A row's processor and the configuration's temperature, one after the other."""

    def warp(self, z: Any, t: Any) -> Any:
        return z / t[:, None] ** 2


class TopPLeftOn(Reference):
    def warp(self, z: Any, t: Any) -> Any:
        chances, order = (z / t[:, None]).softmax(-1).sort(-1, descending=True)
        kept = chances.cumsum(-1) - chances < 0.9
        return torch.full_like(z, -torch.inf).scatter(
            -1, order, chances.log().where(kept, -torch.inf)
        )


class TopKLeftOn(Reference):
    def warp(self, z: Any, t: Any) -> Any:
        least = z.topk(6).values[:, -1:]
        return (z / t[:, None]).where(z >= least, -torch.inf)


class DropoutOn(Reference):
    def logits(self, ids: Any) -> Any:
        hidden = self.model.recur(self.model.embed(ids))[0]
        return self.model.head(functional.dropout(hidden, 0.1))


class ShufflesTApart(Reference):
    def learn(self, prompts: Any, completions: Any, t: Any, won: Any) -> list[Trained]:
        other = t[torch.randperm(len(t), generator=self.generator)]
        return super().learn(prompts, completions, other, won)


class FirstTOfTheSplit(Reference):
    def temperatures_of_rows(self, t: Any, rows: Any) -> Any:
        return t[rows[:1]].expand(len(rows))


class SplitsTWithoutTheShuffle(Reference):
    def temperatures_of_rows(self, t: Any, rows: Any) -> Any:
        return t[: len(rows)]


class AsksAnew(Reference):
    """Asks the sampler again when it scores, when it was told already."""

    def tell(self, names: list[str], won: Any) -> None:
        super().tell(names, won)
        self.names = names

    def learn(self, prompts: Any, completions: Any, t: Any, won: Any) -> list[Trained]:
        return super().learn(prompts, completions, self.temperatures_of(self.names).flatten(), won)


class MixesUpGroups(Reference):
    """Keeps groups together, and loses the order of the rows inside them."""

    def learn(self, prompts: Any, completions: Any, t: Any, won: Any) -> list[Trained]:
        other = t.view(-1, GROUP).roll(1, 1).flatten()
        return super().learn(prompts, completions, other, won)


class RedrawsEachTurn(Reference):
    """Plays later tokens at other temperatures, and keeps the log-probabilities that they had."""

    drawn: Any = None

    def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
        ids, logs = prompts, []
        for turn in range(length):
            t = temperatures * 1.2**turn
            drawn = super().sample(ids, t, 1)
            with torch.no_grad():
                logs.append(self.score(ids, drawn, t)[0])
            ids = torch.cat([ids, drawn], 1)
        self.drawn = torch.cat(logs, 1)
        return ids[:, prompts.shape[1] :]

    def old(self, prompts: Any, completions: Any, t: Any) -> Any:
        return self.drawn


class OldAtOne(Reference):
    def old(self, prompts: Any, completions: Any, t: Any) -> Any:
        return super().old(prompts, completions, torch.ones_like(t))


class LossAtOne(Reference):
    """`score` is right, but the loss goes another way, and the old log-probabilities too."""

    within = False

    def learn(self, *played: Any) -> list[Trained]:
        self.within = True
        try:
            return super().learn(*played)
        finally:
            self.within = False

    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens, torch.ones_like(t) if self.within else t)


class Learns:
    """Stands in for a loss where there is nothing to learn from."""

    def learn(self, prompts: Any, completions: Any, t: Any, won: Any) -> list[Trained]:
        ids = torch.cat([prompts, completions], 1).tolist()
        with torch.no_grad():
            logs = self.score(prompts, completions, t)[0].tolist()
        places = list(range(prompts.shape[1], len(ids[0])))
        rows = zip(ids, t.tolist(), logs, strict=True)
        return [Trained(i, t, x, x, places) for i, t, x in rows]


class NeverAsks(Reference):
    def temperatures_of(self, names: list[str]) -> Any:
        return torch.ones(len(names), GROUP)


class PlaysAtAnotherT(Reference):
    """Rounds what the sampler gave, play and loss alike."""

    def temperatures_of(self, names: list[str]) -> Any:
        return super().temperatures_of(names).bfloat16().float()


class PlaysAtTheGroupsT(Reference):
    def temperatures_of(self, names: list[str]) -> Any:
        super().temperatures_of(names)
        return torch.from_numpy(self.sampler.temperatures(names))[:, None].repeat(1, GROUP).float()


class PlaysAtTheFirstT(Reference):
    """Takes the temperature of a group's first rollout for the whole group."""

    def temperatures_of(self, names: list[str]) -> Any:
        return super().temperatures_of(names)[:, :1].repeat(1, GROUP)


class AsksUnderOtherNames(Reference):
    def temperatures_of(self, names: list[str]) -> Any:
        return super().temperatures_of([f"prompt of {name}" for name in names])


class TellsMixedOnly(Reference):
    def tell(self, names: list[str], won: Any) -> None:
        kept = [i for i in range(len(names)) if 0 < int(won[i].sum()) < GROUP]
        if kept:
            super().tell([names[i] for i in kept], won[kept])


class TellsBehindAFilter(Reference):
    """Keeps the half of the groups whose rewards vary most, and tells of these."""

    def tell(self, names: list[str], won: Any) -> None:
        kept = won.float().var(1).argsort(descending=True, stable=True)[: len(names) // 2]
        super().tell([names[int(i)] for i in kept], won[kept])


class TellsFailures(Reference):
    def tell(self, names: list[str], won: Any) -> None:
        super().tell(names, ~won)


class TellsOneRollout(Reference):
    """Tells a group's mean as one rollout."""

    def tell(self, names: list[str], won: Any) -> None:
        super().tell(names, won.float().mean(1, keepdim=True) > 0.5)


class TellsOtherTasks(Reference):
    def tell(self, names: list[str], won: Any) -> None:
        super().tell(names[1:] + names[:1], won)


class TellsInAnotherOrder(Reference):
    """Right counts, but not who it was: with `ref_share`, that is other rollouts' outcomes."""

    def tell(self, names: list[str], won: Any) -> None:
        self.sampler.record(names, won.roll(1, 1).numpy())


class TellsPrompts(Reference):
    def tell(self, names: list[str], won: Any) -> None:
        super().tell([f"prompt of {name}" for name in names], won)


class NeverTells(Reference):
    def tell(self, names: list[str], won: Any) -> None:
        del names, won


class ForgetsThePosterior(Reference):
    def load(self, folder: str) -> None:
        fresh = self.sampler.state_dict()
        super().load(folder)
        self.sampler.load_state_dict(fresh)


class ForgetsTheWeights(Reference):
    def load(self, folder: str) -> None:
        super().load(folder)
        self.model = self.fresh_model()


class SeedsAnew(Reference):
    def load(self, folder: str) -> None:
        super().load(folder)
        self.generator.manual_seed(0)
        self.order = np.random.default_rng(0)


class AnotherSampler(Reference):
    """Takes the counts over, but into a sampler with a seed of its own."""

    def load(self, folder: str) -> None:
        super().load(folder)
        state, other = self.sampler.state_dict(), PTGS(tau=1.5, gamma=0.95, target=0.5, seed=77)
        state["header"] = state["header"] | {"settings": other.describe()}
        other.load_state_dict(state)
        asked = self.sampler

        class Mixed:
            def rollout_temperatures(self, names: Any, n: int) -> Any:
                asked.rollout_temperatures(names, n)
                return other.rollout_temperatures(names, n)

            def update(self, names: Any, won: Any, n: Any) -> None:
                asked.update(names, won, n)
                other.update(names, won, n)

        self.sampler = Mixed()


class Mutant(NamedTuple):
    """A wrong trainer, the checks that fail, and some words of the first of them."""

    build: Any
    failed: set[str]
    check: str
    words: str


MUTANTS = [
    Mutant(ScoresAtOne, SCORING, "scores", "those at T = 1 for every row"),
    Mutant(ScoresAtTheMean, SCORING, "scores", "those at the mean T of the batch"),
    Mutant(ScoresAtTheFirst, SCORING, "scores", "those at the first row's T"),
    Mutant(DividesTwice, SCORING, "scores", "those at T squared"),
    Mutant(MultipliesByT, SCORING, "scores", "those at 1 / T"),
    Mutant(DividesBehindTheLogSoftmax, SCORING - {"entropies"}, "scores", "divided behind"),
    Mutant(ScoresTheNextToken, SCORING - {"entropies"}, "scores", "no common mistake says why"),
    Mutant(SortsTheBatch, SCORING, "scores", "in ascending order"),
    Mutant(EntropyAtOne, {"entropies"}, "entropies", "those at T = 1 for every row"),
    Mutant(NoGraph, {"scores", "identity"}, "scores", "without a graph"),
    Mutant(MissingIsOne, {"missing"}, "missing", "goes on, as if T were 1"),
    Mutant(SamplesAtOne, {"samples"}, "samples", "those at T = 1 for every row"),
    Mutant(SamplesAtTheMean, {"samples"}, "samples", "the mean T of the batch"),
    Mutant(SamplesAtTheFirst, {"samples"}, "samples", "the first row's T"),
    Mutant(SamplesAtOthersT, {"samples"}, "samples", "the T of other rows"),
    Mutant(SamplesAtTSquared, {"samples"}, "samples", "T squared"),
    Mutant(TopPLeftOn, {"samples"}, "samples", "as by a top-p of 0.9"),
    Mutant(TopKLeftOn, {"samples"}, "samples", "as by a top-k of 6"),
    Mutant(DropoutOn, {"forward"}, "forward", "dropout has to be off"),
    Mutant(ShufflesTApart, {"rows"}, "rows", "shuffled or split apart"),
    Mutant(FirstTOfTheSplit, {"rows", "loss"}, "rows", "lost their temperature"),
    Mutant(SplitsTWithoutTheShuffle, {"rows", "loss"}, "rows", "shuffled or split apart"),
    Mutant(MixesUpGroups, {"rows"}, "rows", "mixed up inside it"),
    Mutant(AsksAnew, {"rows"}, "rows", "lost their temperature"),
    Mutant(
        OldAtOne, {"loss"}, "loss", "old log-probabilities that reached the loss are those at T = 1"
    ),
    Mutant(
        RedrawsEachTurn, {"loss"}, "loss", "old log-probabilities that reached the loss are not"
    ),
    Mutant(LossAtOne, {"loss"}, "loss", "those at T = 1"),
    Mutant(NeverAsks, {"temperatures"}, "temperatures", "was not asked"),
    Mutant(PlaysAtAnotherT, {"temperatures"}, "temperatures", "the sampler gave"),
    Mutant(PlaysAtTheGroupsT, {"temperatures"}, "temperatures", "that is the group's"),
    Mutant(PlaysAtTheFirstT, {"spread"}, "spread", "8 of 8 rollouts of task"),
    Mutant(AsksUnderOtherNames, {"temperatures"}, "temperatures", "was not asked; asked for"),
    Mutant(TellsMixedOnly, {"uniform"}, "uniform", "before groups are filtered"),
    Mutant(TellsBehindAFilter, {"told", "uniform"}, "told", "was not told of task"),
    Mutant(TellsFailures, {"told"}, "told", "successes for task"),
    Mutant(TellsOneRollout, {"told"}, "told", "of 1 successes"),
    Mutant(TellsOtherTasks, {"told"}, "told", "successes for task"),
    Mutant(TellsInAnotherOrder, {"told"}, "told", "in the order of `rollout_temperatures`"),
    Mutant(TellsPrompts, {"told", "uniform"}, "told", "which was not played"),
    Mutant(NeverTells, {"told", "uniform"}, "told", "was not told of task"),
    Mutant(ForgetsThePosterior, {"resume"}, "resume", "that of a fresh one"),
    Mutant(ForgetsTheWeights, {"resume"}, "resume", "parameters in training"),
    Mutant(SeedsAnew, {"resume"}, "resume", "asked for other tasks"),
    Mutant(AnotherSampler, {"resume"}, "resume", "is played at"),
]
