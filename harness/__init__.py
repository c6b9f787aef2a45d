"""The experiment: prompts, policies, rollouts, outcomes and measures.

Names load when they are first used, so that each part can be imported alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

if TYPE_CHECKING:
    from agentenvs.harness.ablation.ablate import ablate, ablate_async
    from agentenvs.harness.ablation.result import Ablation
    from agentenvs.harness.episode import Episode, Step, TokenTurn
    from agentenvs.harness.exchange import Completion, Request, Sampling, Where
    from agentenvs.harness.groups import Sampler
    from agentenvs.harness.outcomes import Outcomes, OutcomeWriter
    from agentenvs.harness.policies.base import Policy, make_policy
    from agentenvs.harness.progress import Progress
    from agentenvs.harness.prompts import Light, Plain, Prompt
    from agentenvs.harness.replay.findings import Finding, Verification
    from agentenvs.harness.replay.verify import verify
    from agentenvs.harness.rollout import run, run_async
    from agentenvs.harness.sampler_replay import replay_sampler
    from agentenvs.harness.samplers import make_sampler
    from agentenvs.harness.store.transcripts import conversation, read_transcripts

__all__ = [
    "Ablation",
    "Completion",
    "Episode",
    "Finding",
    "Light",
    "OutcomeWriter",
    "Outcomes",
    "Plain",
    "Policy",
    "Progress",
    "Prompt",
    "Request",
    "Sampler",
    "Sampling",
    "Step",
    "TokenTurn",
    "Verification",
    "Where",
    "ablate",
    "ablate_async",
    "conversation",
    "make_policy",
    "make_sampler",
    "read_transcripts",
    "replay_sampler",
    "run",
    "run_async",
    "verify",
]

_MODULES = {
    "ablation.ablate": ("ablate", "ablate_async"),
    "ablation.result": ("Ablation",),
    "episode": ("Episode", "Step", "TokenTurn"),
    "exchange": ("Completion", "Request", "Sampling", "Where"),
    "groups": ("Sampler",),
    "outcomes": ("OutcomeWriter", "Outcomes"),
    "policies.base": ("Policy", "make_policy"),
    "progress": ("Progress",),
    "prompts": ("Light", "Plain", "Prompt"),
    "replay.verify": ("verify",),
    "replay.findings": ("Finding", "Verification"),
    "rollout": ("run", "run_async"),
    "sampler_replay": ("replay_sampler",),
    "samplers": ("make_sampler",),
    "store.transcripts": ("conversation", "read_transcripts"),
}

__getattr__, __dir__ = lazily(__name__, _MODULES)
