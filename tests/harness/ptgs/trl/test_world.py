from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs.errors import BadArgument, InfrastructureFault, UnknownName
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.trl import TextWorld
from agentenvs.harness.ptgs.trl import dialogue as dialogues

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
trl = pytest.importorskip("trl", reason="needs the extra `trl`")


@pytest.fixture
def world() -> Iterator[TextWorld]:
    made = TextWorld("ToolLab", max_tokens=8)
    yield made
    made.close()


def play(trainer: Any, world: TextWorld, tasks: list[str], heat: float = 1.0) -> dict[str, Any]:
    with trainer._at(torch.full((len(tasks),), heat)):
        return world.rollout(tasks, trainer)


def test_a_row_is_a_task(world: TextWorld) -> None:
    data = world.dataset()
    assert data["prompt"][:3] == data["task_id"][:3] == list(world.task_ids[:3])


def test_rollouts_are_what_episodes_say_they_are(
    make: Callable[..., Any], world: TextWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    episode = dialogues.Dialogue.__init__

    def init(self: Any, one: Any, *args: Any) -> None:
        kept.append(one)
        episode(self, one, *args)

    monkeypatch.setattr(dialogues.Dialogue, "__init__", init)
    trainer = make(world=world, max_completion_length=64)
    out = play(trainer, world, list(world.task_ids[:6]))
    for at, one in enumerate(kept):
        ids, mask = one.sequence()
        prompt = out["prompt_ids"][at]
        assert prompt + out["completion_ids"][at] == ids
        assert [0] * len(prompt) + out["env_mask"][at] == mask
        assert (out["success"][at], out["reason"][at]) == (one.success, one.reason)
        # The model's own words, and what it would be shown if all were written anew.
        shown = trainer._tokenizer.apply_chat_template(one.messages, return_dict=True)["input_ids"]
        assert shown[: len(ids)] == ids
        assert {turn.temperature for turn in one.token_turns()} == {1.0}
    assert out["logprobs"] is None
    assert {len(mask) for mask in out["env_mask"]} != {1}


@pytest.mark.parametrize("cls", [None, trl.GRPOTrainer], ids=["tempered", "plain"])
def test_a_step_of_many_turns(make: Callable[..., Any], world: TextWorld, cls: Any) -> None:
    given = {"sampler": PTGS(seed=1)} if cls is None else {}
    trainer = make(cls, world=world, given=given, max_completion_length=64, max_steps=1)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    trainer.train()
    assert any((a != b).any() for a, b in zip(before, trainer.model.parameters(), strict=True))
    assert 0 < trainer.state.log_history[0]["reward"] < 1


WORLDS = [("ToolLab", "base", {}), ("FrozenLakeText", "lake", {"manual": False})]


@pytest.mark.parametrize(("env_id", "name", "kwargs"), WORLDS, ids=["toollab", "frozenlake"])
def test_many_turns_are_saved_resumed_and_drawn_again(
    make: Callable[..., Any],
    model: Callable[..., Any],
    same_weights: Callable[[Any, Any], bool],
    env_id: str,
    name: str,
    kwargs: dict[str, Any],
) -> None:
    world = TextWorld(env_id, max_tokens=8, env_kwargs=kwargs)

    def trainer(out: str) -> Any:
        return make(
            world=world,
            parts=model(name, flat=1.0),
            given={"sampler": PTGS(seed=2, keep_events=True)},
            out=out,
            max_completion_length=112,
            steps_per_generation=2,
            max_steps=3,
            save_strategy="steps",
            save_steps=1,
        )

    whole = trainer("whole")
    whole.train()
    assert 0 < whole.sampler.stats()["zero_advantage"] < 1
    again = trainer("again")
    again.train(resume_from_checkpoint=f"{whole.args.output_dir}/checkpoint-1")
    assert same_weights(whole, again)
    assert list(again.sampler.events.rows()) == list(whole.sampler.events.rows())[4:] != []
    world.close()


def test_a_world_plays_the_same_again_and_another_step_otherwise(
    make: Callable[..., Any], world: TextWorld
) -> None:
    trainer = make(world=world, max_completion_length=64)
    tasks = list(world.task_ids[:4])

    def once(step: int, training: bool = True) -> dict[str, Any]:
        torch.manual_seed(0)
        trainer.state.global_step = step
        trainer.model.train(training)
        return play(trainer, world, tasks)

    assert once(0) == once(0)
    assert once(0) != once(1)
    assert once(0, False) == once(1, False)
    rows = once(0)["completion_ids"]
    assert len({tuple(row) for row in rows}) > 1


def test_rows_of_one_task_do_not_share_their_chance(
    make: Callable[..., Any], world: TextWorld
) -> None:
    trainer = make(world=world, max_completion_length=64)
    out = play(trainer, world, [world.task_ids[0]] * 8, heat=0.01)
    tags = {tuple(row[:6]) for row in out["completion_ids"]}
    assert len(tags) > 2


@pytest.mark.parametrize("longest", [1, 3, 7, 8, 11])
def test_a_row_that_is_too_long_ends_as_a_failure(
    make: Callable[..., Any], world: TextWorld, longest: int
) -> None:
    trainer = make(world=world, max_completion_length=longest)
    out = play(trainer, world, list(world.task_ids[:8]))
    assert max(map(len, out["completion_ids"])) <= longest
    assert all(mask[-1] == 1 for mask in out["env_mask"])
    cut = [at for at, reason in enumerate(out["reason"]) if reason == "max_completion_length"]
    assert cut
    assert not any(out["success"][at] for at in cut)


def test_a_row_that_leaves_the_context_ends_as_a_failure(
    make: Callable[..., Any], world: TextWorld
) -> None:
    trainer = make(world=world, max_completion_length=64)
    trainer.model.config.max_position_embeddings = 12
    out = play(trainer, world, list(world.task_ids[:4]))
    assert set(out["reason"]) == {"context_overflow"}
    assert all(
        len(p) + len(c) <= 12 for p, c in zip(out["prompt_ids"], out["completion_ids"], strict=True)
    )
    trainer.model.config.max_position_embeddings = 5
    with pytest.raises(BadArgument, match="context of 5 tokens, got 5"):
        play(trainer, world, list(world.task_ids[:4]))


@pytest.mark.parametrize("positions", [12, 13, 17, 22])
def test_a_table_of_positions_is_not_left(
    make: Callable[..., Any], placed: Callable[..., Any], world: TextWorld, positions: int
) -> None:
    trainer = make(world=world, parts=placed(positions=positions), max_completion_length=64)
    out = play(trainer, world, list(world.task_ids[:8]))
    rows = [p + c for p, c in zip(out["prompt_ids"], out["completion_ids"], strict=True)]
    assert max(map(len, rows)) <= positions
    assert "context_overflow" in out["reason"]


def test_a_row_next_to_the_end_of_the_context_cuts_no_others_reply(
    make: Callable[..., Any], world: TextWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make(world=world, max_completion_length=64)
    trainer.model.config.max_position_embeddings = 24
    asked: list[tuple[int, list[int]]] = []
    generate = trainer._generate_single_turn

    def kept(prompt_ids: Any, *args: Any) -> Any:
        limit = trainer.generation_config.max_new_tokens
        asked.append((limit, [24 - len(ids) for ids in prompt_ids]))
        return generate(prompt_ids, *args)

    monkeypatch.setattr(trainer, "_generate_single_turn", kept)
    play(trainer, world, list(world.task_ids[:8]))
    assert {limit for limit, _ in asked} > {8}
    assert all(limit == 8 <= min(left) or {limit} == set(left) for limit, left in asked)


def test_an_outage_has_no_reward(
    make: Callable[..., Any], world: TextWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentenvs.toollab import ToolLabEnv

    step, calls = ToolLabEnv.step, iter(range(1000))

    def failing(self: Any, action: str) -> Any:
        if next(calls) == 2:
            raise InfrastructureFault("The line is dead.", "connection")
        return step(self, action)

    monkeypatch.setattr(ToolLabEnv, "step", failing)
    sampler = PTGS(keep_events=True)
    trainer = make(world=world, given={"sampler": sampler}, max_completion_length=64, max_steps=1)
    trainer.train()
    assert sorted(row["n"] for row in sampler.events.rows()) == [3, 4]


def test_rewards_are_of_this_world_alone(world: TextWorld) -> None:
    assert world.reward(["", ""], success=[True, None]) == [1.0, None]
    with pytest.raises(BadArgument, match=r"rollouts with `success`, got \[\]"):
        world.reward([""])
    graded = TextWorld("ToolLab", reward="score")
    assert graded.reward([""], score=[0.25], success=[False]) == [0.25]


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"reward": "money"}, BadArgument),
        ({"max_tokens": 0}, BadArgument),
        ({"max_requests": 0}, BadArgument),
        ({"tasks": "none such"}, UnknownName),
        ({"prompt": "none such"}, UnknownName),
    ],
)
def test_arguments_are_checked(kwargs: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        TextWorld("ToolLab", **kwargs)


def test_the_light_prompt_brings_its_parser() -> None:
    assert TextWorld("ToolLab", prompt="light")._arm.parser == "relaxed"
    assert TextWorld("ToolLab")._arm.parser == "official"


def test_temperatures_are_one_a_row(make: Callable[..., Any], world: TextWorld) -> None:
    trainer = make(world=world, max_completion_length=64)
    trainer.row_temperatures = torch.ones(3)
    with pytest.raises(ValueError, match="argument"):
        world.rollout(list(world.task_ids[:4]), trainer)


def test_processes_that_generate_together_go_on_together() -> None:
    from agentenvs.harness.ptgs.trl.world import _anyone

    def trainer(**kind: Any) -> Any:
        plain = {"use_vllm": False, "is_fsdp_enabled": False, "is_deepspeed_enabled": False}
        one = SimpleNamespace(num_processes=1)
        return SimpleNamespace(**{**plain, "accelerator": one, **kind})

    assert _anyone(trainer(), True)
    assert not _anyone(trainer(use_vllm=True), False)
