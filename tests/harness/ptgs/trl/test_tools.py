"""TRL's own tool loop: later turns of some rows are drawn at the temperature of their row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentenvs.harness.ptgs import PTGS, Spread
from agentenvs.harness.ptgs.trl import Subject
from agentenvs.harness.ptgs.trl.observed import Observer

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
trl = pytest.importorskip("trl", reason="needs the extra `trl`")

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>'
WORDS = ("<pad>", "<unk>", "<|im_end|>", "<|im_start|>", CALL, "yes", "no", "assistant")
END, CUE, CALLING, YES, NO = 2, 7, 4, 5, 6


def caller() -> tuple[Any, Any]:
    """Return a model that calls a tool half the time, then says yes or no; it sees one token."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl.chat_template_utils import qwen3_chat_template

    marks = {"pad_token": WORDS[0], "unk_token": WORDS[1], "eos_token": WORDS[END]}
    words = {word: at for at, word in enumerate(WORDS)}
    backend = Tokenizer(models.WordLevel(words, unk_token=WORDS[1]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens([AddedToken(CALL, normalized=False)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **marks,
        extra_special_tokens=["<|im_start|>"],
        chat_template=qwen3_chat_template,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    net = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=8,
            hidden_size=8,
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=256,
            tie_word_embeddings=False,
            pad_token_id=0,
            eos_token_id=END,
            bos_token_id=None,
        )
    )
    chances = torch.full((8, 8), -12.0)
    chances[CUE, [CALLING, YES, NO]] = torch.tensor([2.0, 1.0, 0.0])
    chances[[CALLING, YES, NO], END] = 4.0
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if "o_proj" in name or "down_proj" in name:
                weight.zero_()
        net.model.embed_tokens.weight.copy_(torch.eye(8))
        net.lm_head.weight.copy_(chances.T / 8**0.5)
    return net, tokenizer


def add(a: int) -> str:
    """Add one.

    Args:
        a: a number.

    Returns:
        The sum.
    """
    return f"sum {a + 1}"


class Counter:
    """Counts, and rewards who called it once."""

    def reset(self, **_: Any) -> None:
        self.calls = 0

    def add(self, a: int) -> str:
        """Add one.

        Args:
            a: a number.

        Returns:
            The sum.
        """
        self.calls += 1
        return f"sum {a + 1}"

    def get_reward(self) -> float:
        return float(self.calls == 1)


ROWS = {
    "prompt": [[{"role": "user", "content": text}] for text in ("one", "two")],
    "task_id": ["one", "two"],
}


def said_yes(completions: list[Any], **_: Any) -> list[float]:
    return [float("yes" in (one[-1]["content"] or "")) for one in completions]


@pytest.mark.parametrize(
    "given",
    [
        {"tools": [add]},
        {"environment_factory": Counter, "reward_funcs": None},
    ],
    ids=["tools", "environment"],
)
def test_all_turns_of_a_row_are_drawn_at_its_temperature(
    make: Callable[..., Any], given: dict[str, Any]
) -> None:
    trainer = make(
        parts=caller(),
        rows=ROWS,
        reward=said_yes,
        given={"sampler": Spread(0.5, 2.0), **given},
        max_completion_length=60,
        max_steps=1,
    )
    turns: list[list[float]] = []
    drawn = trainer._generate_single_turn

    def watched(prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        turns.append([ids.temperature for ids in prompt_ids])
        return drawn(prompt_ids, *args, **kwargs)

    trainer._generate_single_turn = watched
    with Observer(trainer, 0) as seen:
        trainer.train()
    assert len(turns) > 2
    assert len(turns[0]) == 8 > len(turns[-1])
    heat = [0.5, 0.7937005, 1.259921, 2.0] * 2
    assert seen.batches[0].temperatures == pytest.approx(heat)
    # Later turns are of some of the rows, each at its own; the observer compares them.
    assert all(set(later) <= set(turns[0]) for later in turns[1:])
    masks = torch.cat([part.inputs["tool_mask"] for part in seen.parts])
    assert (masks == 0).any()


def test_a_turn_at_another_temperature_is_noticed(make: Callable[..., Any]) -> None:
    from agentenvs.errors import AgentEnvsError

    trainer = make(
        parts=caller(),
        rows=ROWS,
        reward=said_yes,
        given={"sampler": PTGS(), "tools": [add]},
        max_completion_length=60,
        max_steps=1,
    )
    drawn = trainer._generate_single_turn

    def swapped(prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        for ids in prompt_ids:
            ids.temperature *= 1.0 if len(prompt_ids) == 8 else 1.1
        return drawn(prompt_ids, *args, **kwargs)

    trainer._generate_single_turn = swapped
    with pytest.raises(AgentEnvsError, match="A later turn was drawn at"), Observer(trainer, 0):
        trainer.train()


def test_a_step_with_tools_is_shown_to_the_self_test(make: Callable[..., Any]) -> None:
    sampler = PTGS(seed=2)
    subject = Subject(
        make(
            parts=caller(),
            rows=ROWS,
            reward=said_yes,
            given={"sampler": sampler, "tools": [add]},
            max_completion_length=60,
        )
    )
    trace = subject.step()
    assert {one.tokens for one in trace.played} == {one.tokens for one in trace.trained}
    drawn = {one.tokens[at] for one in trace.trained for at in one.positions or ()}
    assert {CALLING, END} < drawn <= {CALLING, YES, NO, END}
