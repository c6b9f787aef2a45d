"""The experiment: prompts, policies, rollouts, outcomes and measures."""
