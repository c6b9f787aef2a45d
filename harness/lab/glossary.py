"""The terms of a study's page, each in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["PAPER", "glossary"]

#: the paper's name and address
PAPER = ("arXiv 2610.01509", "https://arxiv.org/abs/2610.01509")


def glossary(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return terms with what they mean, in the order in which a reader needs them."""
    tasks, n = summary["tasks"], summary["n"]
    weights = {arm["weights"] for arm in summary["arms"].values() if arm.get("weights")}
    size = f" of {min(weights):,} weights" if len(weights) == 1 else ""
    return [
        (
            "Model and task",
            f"A small transformer{size}, trained from scratch on known demonstrations, plays short "
            "tool dialogues: for an errand and an item it finds the item's tag, makes the call "
            "that the convention asks for, and closes with a code word; it succeeds or fails.",
        ),
        (
            "Arm",
            "One way of training on from a start, mostly the base model; GRPO and PPO reinforce "
            "what succeeded, imitation copies successes or another model, and 'better data' are "
            "demonstrators who know more.",
        ),
        (
            "Training and held-out tasks",
            f"What an arm learns from outcomes, it learns on the {tasks['train']} training tasks; "
            f"the {tasks['heldout']} held-out tasks have other pairs of errand and item.",
        ),
        (
            "Canonical tasks, exceptions",
            "A canonical task follows the convention of its kind; an exception "
            f"({tasks['exceptions']} of the training tasks) departs from it, which "
            "demonstrators seldom know, and so the base model seldom gets it right.",
        ),
        (
            "pass@k",
            "The share of tasks that at least one of k tries solves; a try, or rollout, is one "
            f"dialogue, of which {n} were played for each task.",
        ),
        (
            "Tax_S(K)",
            "The Sharpening Tax: how much less than for the arm's start trying again, up to K "
            "times, mends what the first try fails; above 0, training took away some of what "
            f"more tries used to give (here K = {' and '.join(map(str, summary['budgets']))}).",
        ),
        (
            "k*",
            "The number of tries from which the start solves as many tasks as the arm trained "
            f"from it; > {n} if it does not catch up within {n}.",
        ),
        (
            "PTGS",
            "Posterior-tempered group sampling: each training task is played at a temperature T "
            "of its own, hotter (more random) where its estimated success is below a target and "
            "cooler above it.",
        ),
        (
            "Seed",
            "One repetition of everything with other demonstrations, first weights and random "
            "numbers in the same world; \u00b1 is half of the 95 % t interval over seeds.",
        ),
    ]
