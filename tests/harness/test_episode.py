from __future__ import annotations

from types import ModuleType
from typing import Any

import gymnasium
import pytest

from agentenvs.core import ToolCall
from agentenvs.errors import AgentEnvsError, BadArgument
from agentenvs.harness import Completion, Episode, Request, Sampling
from agentenvs.harness.seeds import nth


def begin(ledger: ModuleType, **kwargs: Any) -> Episode:
    env = gymnasium.make(ledger.ID)
    return Episode(env, **{"task": "ledger_2", "form": "completion", **kwargs})


def finish(episode: Episode, texts: list[str]) -> list[Request]:
    asked = []
    for text in texts:
        assert episode.request is not None
        asked.append(episode.request)
        episode.respond(Completion(text))
    return asked


def test_a_solution_ends_in_success(ledger: ModuleType) -> None:
    episode = begin(ledger)
    finish(episode, ledger.gold("", "ledger_2"))
    assert (episode.done, episode.success, episode.score, episode.reason) == (True, True, 1.0, "")
    assert episode.request is None


def test_a_failure_says_why(ledger: ModuleType) -> None:
    episode = begin(ledger)
    finish(episode, ["No.", "No."])
    assert (episode.success, episode.score, episode.reason) == (False, 0.0, "balance")


def test_answering_when_it_is_over_is_an_error(ledger: ModuleType) -> None:
    episode = begin(ledger)
    finish(episode, ["No.", "No."])
    with pytest.raises(AgentEnvsError, match="over"):
        episode.respond(Completion("Still no."))


@pytest.mark.parametrize("prompt", ["light", "none"])
def test_each_prompt_begins_with_the_one_before_and_its_reply(
    ledger: ModuleType, prompt: str
) -> None:
    texts = ledger.gold("", "ledger_2")
    asked = finish(begin(ledger, prompt=prompt), texts)
    for one, two, text in zip(asked, asked[1:], texts, strict=False):
        assert one.prompt is not None
        assert two.prompt is not None
        assert two.prompt.startswith(one.prompt + text)


@pytest.mark.parametrize("prompt", ["light", "none"])
def test_chat_messages_only_grow(ledger: ModuleType, prompt: str) -> None:
    texts = ledger.gold("", "ledger_2")
    asked = finish(begin(ledger, prompt=prompt, form="chat"), texts)
    for one, two, text in zip(asked, asked[1:], texts, strict=False):
        assert one.messages is not None
        assert two.messages is not None
        assert two.messages[: len(one.messages)] == one.messages
        assert two.messages[len(one.messages)] == {"role": "assistant", "content": text}
        assert two.messages[-1]["role"] == "user"


@pytest.mark.parametrize("prompt", ["light", "none"])
def test_the_text_is_the_conversation_rendered(ledger: ModuleType, prompt: str) -> None:
    episode = begin(ledger, prompt=prompt)
    for text in ledger.gold("", "ledger_2"):
        assert episode.request is not None
        assert episode.request.prompt == episode.prompt.text(episode.messages)
        episode.respond(Completion(text))


def test_tools_that_come_later_are_shown_alone_when_they_come(ledger: ModuleType) -> None:
    asked = finish(begin(ledger), ledger.gold("", "ledger_2"))
    assert [tool["name"] for tool in asked[1].tools] == ["deposit"]
    assert [tool["name"] for tool in asked[2].tools] == ["deposit", "withdraw"]
    assert asked[2].prompt is not None
    assert asked[2].prompt.count("def deposit(") == asked[2].prompt.count("def withdraw(") == 1


def test_requests_carry_sampling_stop_strings_seed_and_place(ledger: ModuleType) -> None:
    sampling = Sampling(0.5, 0.9, 64)
    episode = begin(ledger, sampling=sampling, seed=11, rollout=3, env_id="here")
    first, second = finish(episode, ["[deposit(amount=1)]", "No."])
    assert (first.temperature, first.top_p, first.max_tokens) == (0.5, 0.9, 64)
    assert "\nUser:" in first.stop
    assert (first.seed, second.seed) == (nth(11, 0), nth(11, 1))
    assert second.where == ("here", "ledger_2", 3, 1, 11)


def test_chat_requests_have_no_stop_strings(ledger: ModuleType) -> None:
    request = begin(ledger, form="chat").request
    assert request is not None
    assert request.stop == ()
    assert request.prompt is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Done.\n\nUser:\nMore?", "Done.\n"),
        ("User:\nMore?", ""),
        ("One\nTool results:\nx\n\nUser:\ny", "One"),
        ("No User: heading", "No User: heading"),
    ],
)
def test_replies_are_cut_where_the_model_goes_on_for_others(
    ledger: ModuleType, text: str, kept: str
) -> None:
    episode = begin(ledger)
    finish(episode, [text])
    assert episode.steps[0].text == kept


def test_the_seed_decides_what_the_environment_draws(ledger: ModuleType) -> None:
    def receipts(seed: int) -> str:
        episode = begin(ledger, seed=seed)
        finish(episode, ["[deposit(amount=1)]"])
        return episode.steps[0].news[0]["content"]

    assert receipts(1) == receipts(1) != receipts(2)


def test_calls_that_a_server_has_parsed_are_carried_out(ledger: ModuleType) -> None:
    episode = begin(ledger)
    calls = (ToolCall("deposit", {"amount": 3}), ToolCall("deposit", {"amount": 1}))
    episode.respond(Completion("Gladly.", calls, finish_reason="tool_calls"))
    assert episode.steps[0].parse["status"] == "calls"
    assert '"content": "Gladly."' in episode.steps[0].text
    finish(episode, ["Deposited.", "[withdraw(amount=3)]", "Withdrawn."])
    assert episode.success


def test_an_empty_list_of_parsed_calls_leaves_the_words(ledger: ModuleType) -> None:
    episode = begin(ledger)
    episode.respond(Completion("Gladly.", ()))
    assert episode.steps[0].text == "Gladly."


def test_a_conversation_that_no_longer_fits_is_a_failure(ledger: ModuleType) -> None:
    episode = begin(ledger)
    episode.respond(Completion(finish_reason="context"))
    assert (episode.done, episode.success, episode.reason) == (True, False, "context_overflow")
    assert episode.steps[0].finish_reason == "context"


def test_the_limit_on_replies_is_a_failure(ledger: ModuleType) -> None:
    episode = begin(ledger, max_requests=2)
    finish(episode, ["[deposit(amount=1)]", "[deposit(amount=1)]"])
    assert (episode.done, episode.success, episode.reason) == (True, False, "max_requests")


def test_a_last_allowed_reply_may_still_win(ledger: ModuleType) -> None:
    episode = begin(ledger, max_requests=4)
    finish(episode, ledger.gold("", "ledger_2"))
    assert episode.success


def test_an_unknown_form_is_refused(ledger: ModuleType) -> None:
    with pytest.raises(BadArgument, match="form"):
        begin(ledger, form="letters")


def tokens(text: str) -> tuple[int, ...]:
    return tuple(text.encode())


def play_tokens(ledger: ModuleType, texts: list[str]) -> Episode:
    episode = begin(ledger)
    for text in texts:
        request = episode.request
        assert request is not None
        assert request.prompt is not None
        episode.respond(
            Completion(text, token_ids=tokens(text), prompt_token_ids=tokens(request.prompt))
        )
    return episode


def test_trainers_get_one_sequence_with_the_models_tokens_marked(ledger: ModuleType) -> None:
    texts = ledger.gold("", "ledger_2")
    ids, mask = play_tokens(ledger, texts).sequence()
    assert len(ids) == len(mask)
    drawn = bytes(token for token, own in zip(ids, mask, strict=True) if own)
    assert drawn.decode() == "".join(texts)
    assert bytes(ids).decode().endswith(texts[-1])


def test_trainers_get_each_decision_at_its_temperature(ledger: ModuleType) -> None:
    episode = play_tokens(ledger, ["No.", "No."])
    first, second = episode.token_turns()
    assert first.completion_ids == second.completion_ids == tokens("No.")
    assert first.temperature == 1.0
    assert second.prompt_ids[: len(first.prompt_ids)] == first.prompt_ids
    assert episode.new_tokens == 6


def test_a_reply_that_reads_back_otherwise_is_no_sequence(ledger: ModuleType) -> None:
    episode = play_tokens(ledger, ["No.  ", "No."])
    with pytest.raises(AgentEnvsError, match="token_turns"):
        episode.sequence()


def test_one_reply_without_tokens_leaves_none(ledger: ModuleType) -> None:
    episode = play_tokens(ledger, ["[deposit(amount=1)]"])
    episode.respond(Completion("No."))
    assert episode.new_tokens is None
    with pytest.raises(AgentEnvsError, match="token ids"):
        episode.token_turns()


def test_a_server_that_counts_tokens_without_telling_them_is_believed(ledger: ModuleType) -> None:
    episode = begin(ledger)
    assert episode.new_tokens is None
    episode.respond(Completion("No.", new_tokens=4))
    episode.respond(Completion("No.", token_ids=(7, 8, 9), new_tokens=30))
    assert episode.done
    assert episode.new_tokens == 7


def test_a_count_that_begins_late_is_none(ledger: ModuleType) -> None:
    episode = begin(ledger)
    episode.respond(Completion("No."))
    episode.respond(Completion("No.", new_tokens=4))
    assert episode.new_tokens is None
