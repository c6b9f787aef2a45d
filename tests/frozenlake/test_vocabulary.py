from __future__ import annotations

import gymnasium
import pytest

from agentenvs.errors import BadArgument
from agentenvs.frozenlake import task_ids
from agentenvs.frozenlake import vocabulary as v
from agentenvs.frozenlake.lakes import MOVES
from agentenvs.frozenlake.vocabulary import ID, VOCABULARY, render
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion
from agentenvs.toollab.vocabulary import VOCABULARY as TOOLLAB


def test_every_word_has_one_id() -> None:
    assert VOCABULARY[6:] == (".", "O", "G", "P", "left", "down", "right", "up")
    assert [ID[word] for word in VOCABULARY] == list(range(14))


def test_what_every_world_has_lies_alike() -> None:
    assert VOCABULARY[:6] == TOOLLAB[:6]


def test_names_of_single_tokens() -> None:
    ids = (v.PAD, v.UNK, v.END, v.USER, v.AGENT, v.TOOL, v.ICE, v.HOLE, v.GOAL, v.PLAYER)
    assert [VOCABULARY[at] for at in ids] == list(VOCABULARY[:10])
    assert VOCABULARY[v.MOVE :] == MOVES


def test_render() -> None:
    messages = [
        {"role": "user", "content": "P .\nO G"},
        {"role": "assistant", "content": " right  down\n"},
        {"role": "tool", "content": ". .\nO P"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "Done!"},
    ]
    words = "<user> P . O G <agent> right down <end> <tool> . . O P <agent> <end> <agent> <unk>"
    assert [VOCABULARY[at] for at in render(messages)] == [*words.split(), "<end>"]
    assert render(messages, cue=True) == [*render(messages), v.AGENT]


def test_a_role_without_a_word_is_refused() -> None:
    with pytest.raises(BadArgument, match="roles user, assistant, tool, got 'system'"):
        render([{"role": "system", "content": "rules"}])


def test_a_whole_episode_fits_and_has_no_unknown_word() -> None:
    env = gymnasium.make("agentenvs/FrozenLakeText-v0", manual=False, disable_env_checker=True)
    for task in task_ids("mini"):
        episode = Episode(env, "none", task=task, seed=0)
        while episode.request is not None:
            episode.respond(Completion("left left"))
        ids = render(episode.messages)
        assert v.UNK not in ids
        assert len(ids) == 17 + 21 * len(episode.steps) <= 122
