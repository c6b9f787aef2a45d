"""A small trainer that is right, and that mutants are made of by overriding one thing.

GRPO with PTGS over a toy world: a task is a token to open with, and a rollout succeeds if it names
the task's secret token at least once. A GRU over ten tokens is the policy.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from agentenvs.harness.ptgs.scoring import check_temperatures, row_scores
from agentenvs.harness.ptgs.selftest import Played, Trace, Trained

VOCABULARY, LENGTH, GROUP, TASKS = 10, 3, 8, 12
NAMES = [f"task {i}" for i in range(TASKS)]


class Policy(nn.Module):
    def __init__(self, vocabulary: int = VOCABULARY, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.recur = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: Any) -> Any:
        return self.head(self.recur(self.embed(ids))[0])


class Reference:
    """GRPO, scored and sampled at T."""

    vocabulary = VOCABULARY
    per_step, minibatches = 6, 2

    def __init__(self, sampler: Any, seed: int = 0) -> None:
        self.sampler = sampler
        self.generator = torch.Generator().manual_seed(seed)
        self.model = self.fresh_model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.order = np.random.default_rng(seed)

    def fresh_model(self) -> nn.Module:
        # Only here may the global generator be seeded: nn has no other.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            model = Policy(self.vocabulary)
            with torch.no_grad():
                model.head.weight.mul_(6.0)
        return model

    def parameters(self) -> Any:
        return self.model.parameters()

    def logits(self, ids: Any) -> Any:
        return self.model(ids)

    def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
        t = check_temperatures(temperatures, len(prompts))
        ids = prompts
        with torch.no_grad():
            for _ in range(length):
                z = self.model(ids)[:, -1].float()
                chances = self.warp(z, t).softmax(-1)
                fresh = torch.multinomial(chances, 1, generator=self.generator)
                ids = torch.cat([ids, fresh], 1)
        return ids[:, prompts.shape[1] :]

    def warp(self, z: Any, t: Any) -> Any:
        return z / t[:, None]

    def score(self, prompts: Any, completions: Any, temperatures: Any) -> tuple[Any, Any]:
        t = check_temperatures(temperatures, len(prompts))
        ids = torch.cat([prompts, completions], 1)
        z = self.model(ids)[:, prompts.shape[1] - 1 : -1]
        return tuple(self.scored(z, completions, t))

    def scored(self, z: Any, tokens: Any, t: Any) -> Any:
        return row_scores(z, tokens, t)

    def old(self, prompts: Any, completions: Any, t: Any) -> Any:
        with torch.no_grad():
            return self.score(prompts, completions, t)[0]

    def choose(self) -> list[int]:
        return sorted(self.order.choice(TASKS, self.per_step, replace=False).tolist())

    def tell(self, names: list[str], won: Any) -> None:
        self.sampler.update(names, won.sum(1).numpy(), won.shape[1])

    def temperatures_of(self, names: list[str]) -> Any:
        return torch.from_numpy(self.sampler.rollout_temperatures(names, GROUP)).float()

    def step(self) -> Trace:
        tasks = self.choose()
        names = [NAMES[i] for i in tasks]
        t = self.temperatures_of(names).flatten()
        prompts = torch.tensor(tasks).remainder(VOCABULARY)[:, None].repeat_interleave(GROUP, 0)
        prompts = torch.cat([prompts, torch.full_like(prompts, 1)], 1)
        completions = self.sample(prompts, t, LENGTH)
        secret = torch.tensor([(7 * i + 2) % VOCABULARY for i in tasks]).repeat_interleave(GROUP)
        success = self.outcomes(completions, secret)
        ids = torch.cat([prompts, completions], 1)
        played = [
            Played(names[i // GROUP], float(t[i]), ids[i].tolist(), bool(success[i]))
            for i in range(len(ids))
        ]
        won = success.view(len(names), GROUP)
        self.tell(names, won)
        return Trace(played, self.learn(prompts, completions, t, won))

    def outcomes(self, completions: Any, secret: Any) -> Any:
        return (completions == secret[:, None]).any(1)

    def learn(self, prompts: Any, completions: Any, t: Any, won: Any) -> list[Trained]:
        reward = won.float()
        spread = reward.std(1, keepdim=True)
        advantage = ((reward - reward.mean(1, keepdim=True)) / (spread + 1e-6)).flatten()
        kept = (spread > 0).expand_as(reward).flatten().nonzero()[:, 0]
        if not len(kept):
            return []
        old = self.old(prompts, completions, t)
        kept = kept[torch.randperm(len(kept), generator=self.generator)]
        trained = []
        for update, rows in enumerate(kept.chunk(self.minibatches)):
            own = self.temperatures_of_rows(t, rows)
            logs, _ = self.score(prompts[rows], completions[rows], own)
            ratio = (logs - old[rows]).exp()
            gain = advantage[rows, None]
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for i, row in enumerate(rows.tolist()):
                ids = torch.cat([prompts[row], completions[row]]).tolist()
                trained.append(
                    Trained(
                        ids,
                        float(own[i]),
                        logs[i].tolist(),
                        old[row].tolist(),
                        list(range(prompts.shape[1], len(ids))),
                        update,
                    )
                )
        return trained

    def temperatures_of_rows(self, t: Any, rows: Any) -> Any:
        return t[rows]

    def save(self, folder: str) -> None:
        where = Path(folder)
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "generator": self.generator.get_state(),
            },
            where / "trainer.pt",
        )
        (where / "order.json").write_text(json.dumps(self.order.bit_generator.state))
        self.sampler.save(where / "sampler.npz")

    def load(self, folder: str) -> None:
        where = Path(folder)
        state = torch.load(where / "trainer.pt", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.order.bit_generator.state = json.loads((where / "order.json").read_text())
        self.sampler.load(where / "sampler.npz")
