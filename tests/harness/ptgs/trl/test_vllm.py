"""TRL's vLLM backend around a stand-in for the engine, which draws as it is asked to."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import Spread
from agentenvs.harness.ptgs.trl import TextWorld, with_temperatures

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
trl = pytest.importorskip("trl", reason="needs the extra `trl`")

SHARED = {
    "repetition_penalty": 1.0,
    "temperature": 7.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": None,
    "max_completion_length": 5,
    "logprobs": 0,
    "structured_outputs_regex": None,
    "generation_kwargs": {},
    "enable_sleep_mode": False,
    "tensor_parallel_size": 1,
}


class Params(SimpleNamespace):
    """Sampling parameters, of which vLLM takes one for each prompt."""

    def clone(self) -> Params:
        return copy.deepcopy(self)


class Engine:
    """Draws tokens of the trainer's model, and says with what chance."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.asked: list[list[tuple[float, int, int]]] = []

    def draw(self, prompt: list[int], t: float, most: int) -> tuple[list[int], list[float]]:
        ids, logs = list(prompt), []
        with torch.no_grad():
            while len(ids) < len(prompt) + most and ids[-1] != 2:
                out = self.trainer.model(input_ids=torch.tensor([ids])).logits[0, -1] / t
                token = int(torch.multinomial(out.softmax(-1), 1))
                logs.append(float(out.log_softmax(-1)[token]))
                ids.append(token)
        return ids[len(prompt) :], logs

    def generate(self, prompts: list[Any], sampling_params: Any, use_tqdm: bool) -> list[Any]:
        assert len(prompts) == len(sampling_params)
        self.asked.append([(p.temperature, p.n, p.max_tokens) for p in sampling_params])
        found = []
        for prompt, params in zip(prompts, sampling_params, strict=True):
            drawn = self.draw(prompt["prompt_token_ids"], params.temperature, params.max_tokens)
            logs = [{i: SimpleNamespace(rank=1, logprob=x)} for i, x in zip(*drawn, strict=True)]
            out = SimpleNamespace(token_ids=drawn[0], logprobs=logs)
            ids = list(prompt["prompt_token_ids"])
            found.append(SimpleNamespace(prompt_token_ids=ids, outputs=[out]))
        return found

    def post(self, url: str, json: dict[str, Any]) -> dict[str, Any]:
        self.asked.append([(json["temperature"], json["n"], json["max_tokens"])])
        assert url.endswith("/v1/completions")
        choices = []
        for prompt in json["prompt"]:
            assert type(prompt) is list
            ids, logs = self.draw(prompt, json["temperature"], json["max_tokens"])
            names = [f"token_id:{token}" for token in ids]
            told = {
                "tokens": names,
                "token_logprobs": logs,
                "top_logprobs": [{n: x} for n, x in zip(names, logs, strict=True)],
            }
            choices.append({"prompt_token_ids": prompt, "token_ids": ids, "logprobs": told})
        return {"choices": choices}


def behind_vllm(trainer: Any, mode: str, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Let a trainer generate by TRL's own vLLM code, around a stand-in for the engine."""
    from trl.generation import vllm_client, vllm_generation

    monkeypatch.setattr(vllm_generation, "SamplingParams", Params, raising=False)
    engine = Engine(trainer)
    backend = object.__new__(vllm_generation.VLLMGeneration)
    client = object.__new__(vllm_client.VLLMClient)
    vars(client).update(base_url="http://here", model="it", _post=engine.post)
    config = SimpleNamespace(model_config=SimpleNamespace(max_model_len=128))
    engine.llm_engine = config  # type: ignore[attr-defined]
    vars(backend).update(
        {**SHARED, "mode": mode, "model": trainer.model, "accelerator": trainer.accelerator},
        llm=engine,
        vllm_client=client,
    )
    trainer.use_vllm, trainer.vllm_mode, trainer.vllm_generation = True, mode, backend
    trainer._last_loaded_step = 0
    return engine


@pytest.mark.parametrize("mode", ["colocate", "server"])
def test_each_row_is_asked_for_at_its_temperature(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    trainer = make(given={"sampler": Spread(0.5, 2.0)}, max_steps=1)
    engine = behind_vllm(trainer, mode, monkeypatch)
    trainer.train()
    heat = [0.5, 0.7937005, 1.259921, 2.0]
    asked = [row for call in engine.asked for row in call]
    assert [row[1:] for row in asked] == [(1, 5)] * len(asked)
    wanted = heat * 2 if mode == "colocate" else heat
    assert [row[0] for row in asked] == pytest.approx(wanted)
    # What was drawn is scored at the same temperature: the chances are the same.
    logged = trainer.state.log_history[0]
    assert logged["sampling/sampling_logp_difference/max"] < 1e-4
    assert logged["sampling/importance_sampling_ratio/min"] > 0.999
    assert "generate" not in {*vars(engine), *vars(trainer.vllm_generation.vllm_client)}


def test_a_server_gets_rows_back_in_their_order(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make()
    engine = behind_vllm(trainer, "server", monkeypatch)
    monkeypatch.setattr(
        engine, "draw", lambda prompt, t, most: ([prompt[-1], round(10 * t)], [-1.0, -t])
    )
    heat = [0.5, 2.0, 0.5, 1.0]
    drawn, logs = trainer._generate_single_turn(
        with_temperatures([[6], [7], [8], [9]], heat), None, {}, 4
    )
    assert drawn == [[6, 5], [7, 20], [8, 5], [9, 10]]
    assert logs == [[-1.0, -t] for t in heat]
    assert [call[0][0] for call in engine.asked] == [0.5, 2.0, 1.0]


@pytest.mark.parametrize("mode", ["colocate", "server"])
def test_many_turns_have_the_chances_of_what_was_drawn(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    world = TextWorld("ToolLab", max_tokens=8)
    trainer = make(
        world=world, given={"sampler": Spread(0.5, 2.0)}, max_completion_length=64, max_steps=1
    )
    engine = behind_vllm(trainer, mode, monkeypatch)
    trainer.vllm_generation.max_completion_length = 64
    trainer.train()
    assert trainer.state.log_history[0]["sampling/sampling_logp_difference/max"] < 1e-4
    assert {row[2] for call in engine.asked for row in call} == {8}
    assert trainer.vllm_generation.max_completion_length == 64
    world.close()


def test_a_server_that_answers_for_too_few_prompts_is_named(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make()
    engine = behind_vllm(trainer, "server", monkeypatch)
    post = engine.post
    client = trainer.vllm_generation.vllm_client
    client._post = lambda url, json: {"choices": post(url, json)["choices"][:-1]}
    with pytest.raises(BadArgument, match="Expected 2 `prompt_ids` from the server, got 1"):
        trainer._generate_single_turn(with_temperatures([[6], [7]], [1.0, 1.0]), None, {}, 2)


@pytest.mark.parametrize(
    ("logprobs_mode", "settings", "refused"),
    [
        ("raw_logprobs", {}, True),
        ("processed_logprobs", {}, False),
        ("raw_logprobs", {"vllm_importance_sampling_correction": False}, False),
        (None, {"vllm_mode": "colocate"}, False),
    ],
)
def test_a_server_that_tells_chances_at_one_temperature_is_refused(
    make: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    logprobs_mode: str | None,
    settings: dict[str, Any],
    refused: bool,
) -> None:
    from trl.trainer import grpo_trainer

    told = {"model_config": {"logprobs_mode": logprobs_mode}}
    client = SimpleNamespace(get_server_info=lambda: told)
    monkeypatch.setattr(
        grpo_trainer, "VLLMGeneration", lambda **_: SimpleNamespace(vllm_client=client)
    )
    settings = {"use_vllm": True, "vllm_mode": "server", **settings}
    if refused:
        with pytest.raises(BadArgument, match="processed_logprobs`, got raw_logprobs"):
            make(**settings)
    else:
        assert make(**settings).use_vllm
