from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import agentenvs
from agentenvs.acebench.conversation import END
from agentenvs.acebench.tasks import turns_of
from agentenvs.acebench.users import ScriptedUser
from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness import Completion, Request, run, run_async
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.policies import CallablePolicy, PolicyUser
from agentenvs.harness.policies.user import UserAsked
from agentenvs.harness.store.transcripts import read_transcripts

ENV = "agentenvs/ACEBench-v0"
TASKS = [name for name in agentenvs.tasks(ENV, "mini") if "agent_multi_turn" in name]


class Partner:
    """A user that waits, and keeps what it was asked."""

    name, form, scripted = "partner", "chat", False

    def __init__(self, wait_s: float = 0.0, turns: int = 3) -> None:
        self.wait_s = wait_s
        self.turns = turns
        self.asked: list[Request] = []
        self.at_once = self.most_at_once = 0

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.wait_s)
        self.at_once -= 1
        step = request.where.step
        return Completion(END if step == self.turns else f" words {step} {request.seed} \n")

    def describe(self) -> dict[str, Any]:
        return {"kind": "test"}

    async def close(self) -> None:
        pass


def words(prompt: str) -> str:
    return "What would you like?"


def test_a_waiting_user_holds_up_no_other_rollout() -> None:
    partner = Partner(0.02)
    outcomes = run(ENV, words, tasks=TASKS, n=2, user=partner)
    assert len(outcomes) == 2 * len(TASKS)
    assert partner.most_at_once == 2 * len(TASKS)


def test_a_function_that_blocks_does_not_block_the_loop() -> None:
    threads = set()

    def user(messages: list[Any]) -> str:
        threads.add(threading.get_ident())
        time.sleep(0.01)
        return END if len(messages) > 4 else "Please go on."

    async def both() -> int:
        ticks = 0
        task = asyncio.create_task(run_async(ENV, words, tasks=TASKS, n=2, user=user))
        while not task.done():
            await asyncio.sleep(0.001)
            ticks += 1
        await task
        return ticks

    assert asyncio.run(both()) > 1
    assert threading.get_ident() not in threads


def test_a_function_named_by_a_spec_is_asked_as_one_that_is_given(tmp_path: Path) -> None:
    place = tmp_path / "mine.py"
    place.write_text(
        "import threading\n\n\ndef user(messages):\n"
        "    roles = ' '.join(message['role'] for message in messages)\n"
        "    return f'{roles} {threading.current_thread() is threading.main_thread()}'\n"
    )
    said = []

    def policy(request: Request) -> str:
        assert request.messages is not None
        said.append(request.messages[-1]["content"])
        return END

    actor = CallablePolicy(policy, form="chat", request=True)
    run(ENV, actor, tasks=TASKS[:1], n=1, user=f"callable:{place}:user")
    assert said[0] == "system user False"


def test_the_user_sees_words_alone_with_roles_flipped_and_no_tools() -> None:
    partner = Partner()

    def agent(messages: Any) -> str:
        return "[turn_on_wifi()]" if len(messages) == 2 else "Which one?"

    run(ENV, CallablePolicy(agent, form="chat"), tasks=TASKS[:1], user=partner, harness="none")
    last = partner.asked[-1]
    assert last.messages is not None
    assert last.tools == ()
    roles = [message["role"] for message in last.messages]
    assert roles == ["system", "user", *(["assistant", "user"] * (len(partner.asked) - 1))]
    assert "turn_on_wifi" not in str(last.messages)
    assert turns_of(TASKS[0])[0].question in last.messages[0]["content"]


def test_seeds_are_its_own_and_derived_from_the_rollout() -> None:
    def seeds(seed: int, concurrency: int) -> dict[tuple[str, int, int], int | None]:
        partner = Partner()
        run(ENV, words, tasks=TASKS, n=2, seed=seed, user=partner, concurrency=concurrency)
        return {(r.where.task, r.where.rollout, r.where.step): r.seed for r in partner.asked}

    first = seeds(0, 64)
    assert first == seeds(0, 3)
    assert len(set(first.values())) == len(first) == 2 * len(TASKS) * 4
    assert not set(first.values()) & set(seeds(1, 64).values())
    acting: list[int | None] = []

    def agent(request: Request) -> str:
        acting.append(request.seed)
        return "Yes?"

    run(ENV, CallablePolicy(agent, request=True), tasks=TASKS, n=2, user=Partner())
    assert not set(first.values()) & set(acting)


def test_settings_are_recorded_and_have_to_agree(tmp_path: Path) -> None:
    sampling = Sampling(0.7, 0.9, 33)
    run(ENV, words, tasks=TASKS[:2], user=Partner(), user_sampling=sampling, out=tmp_path / "r")
    settings = json.loads((tmp_path / "r" / "run.json").read_text("utf-8"))
    assert settings["user"] == {
        "kind": "test",
        "name": "partner",
        "form": "chat",
        "scripted": False,
        "sampling": {"temperature": 0.7, "top_p": 0.9, "max_tokens": 33},
    }
    assert settings["env_kwargs"]["user"] == "partner"
    with pytest.raises(agentenvs.errors.SettingsDiffer, match=r"user.sampling.temperature"):
        run(ENV, words, tasks=TASKS[:2], user=Partner(), out=tmp_path / "r")


def test_a_run_with_a_user_is_the_same_whatever_its_order(tmp_path: Path) -> None:
    def transcript(name: str, **settings: Any) -> list[Any]:
        run(ENV, words, tasks=TASKS[:4], n=2, user=Partner(), out=tmp_path / name, **settings)
        rows = read_transcripts(tmp_path / name)
        return sorted((row["task_id"], row["rollout"], str(row["steps"])) for row in rows)

    assert transcript("a") == transcript("b", concurrency=1)


def test_a_completion_model_gets_text_and_stops_at_the_next_heading() -> None:
    seen: list[str] = []

    def user(prompt: str) -> str:
        seen.append(prompt)
        return "I need help.\nAssistant:\nAnd more" if len(seen) < 3 else END

    run(ENV, words, tasks=TASKS[:1], user=user, user_kwargs={"form": "completion"})
    assert seen[0].endswith("\nUser:\n")
    assert seen[1].count("I need help.") == 1
    assert "And more" not in seen[1]
    assert "Assistant:\nWhat would you like?" in seen[1]


def test_a_failing_user_is_a_failure_of_the_policy() -> None:
    class Broken(Partner):
        async def generate(self, request: Request) -> Completion:
            raise OSError("no line")

    with pytest.raises(PolicyError, match=r"The user failed in task .*no line"):
        run(ENV, words, tasks=TASKS[:1], user=Broken())


@pytest.mark.parametrize("answer", ["words", Completion(None), None])  # type: ignore[arg-type]
def test_a_user_that_gives_no_completion_is_told_so(answer: Any) -> None:
    class Odd(Partner):
        async def generate(self, request: Request) -> Completion:
            return answer  # type: ignore[no-any-return]

    with pytest.raises(PolicyError, match=r"The user failed in task .*expected a Completion"):
        run(ENV, words, tasks=TASKS[:1], user=Odd())


def test_a_conversation_too_long_for_the_user_ends() -> None:
    class Full(Partner):
        async def generate(self, request: Request) -> Completion:
            done = request.where.step == 1
            return Completion("Hello.", finish_reason="context" if done else "stop")

    outcomes = run(ENV, words, tasks=TASKS[:1], user=Full())
    assert list(outcomes.column("steps")) == [1]


def test_scripts_and_recorded_turns_are_the_environments_own(tmp_path: Path) -> None:
    scripted = run(ENV, "scripted:wide", tasks=TASKS, n=3, user="scripted")
    assert sum(scripted.column("success")) > 0
    run(ENV, words, tasks=TASKS[:1], user=["Hello.", END], out=tmp_path / "r")
    settings = json.loads((tmp_path / "r" / "run.json").read_text("utf-8"))
    assert settings["env_kwargs"]["user"] == ["Hello.", END]
    assert "user" not in settings


def test_a_script_can_be_a_policy() -> None:
    def user(request: Request) -> str:
        script = ScriptedUser(turns_of(request.where.task)[0])
        heard = [m["content"] for m in request.messages or () if m["role"] == "user"][1:]
        return [script.open(), *map(script.reply, heard)][-1]

    played = CallablePolicy(user, form="chat", request=True)
    outcomes = run(ENV, "scripted:wide", tasks=TASKS, n=6, user=played, harness="none")
    assert sum(outcomes.column("success")) > 0


def test_a_step_that_asked_can_be_tried_again() -> None:
    import gymnasium

    partner = Partner()
    user = PolicyUser(partner, Sampling(0.0), ENV)
    env = gymnasium.make(ENV, tasks="mini", user=user, render_mode="ansi", disable_env_checker=True)
    user.begin(TASKS[0], 0, 5)

    def settle(step: Any) -> Any:
        while True:
            try:
                return step()
            except UserAsked as asked:
                asyncio.run(user.answer(asked.messages))

    observation, _ = settle(lambda: env.reset(seed=0, options={"task": TASKS[0]}))
    assert observation.startswith("words 0")
    shown = env.render()
    with pytest.raises(UserAsked):
        env.step("Yes?")
    assert env.render() == shown
    observation, *_ = settle(lambda: env.step("Yes?"))
    assert observation.startswith("words 1")
    assert str(env.render()).count("Yes?") == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"user": "scripted", "user_sampling": Sampling()},
        {"user_kwargs": {"form": "chat"}},
        {"user": Partner(), "env_kwargs": {"user": "scripted"}},
    ],
)
def test_settings_that_contradict_each_other_are_errors(settings: dict[str, Any]) -> None:
    with pytest.raises(BadArgument, match="user"):
        run(ENV, words, tasks=TASKS[:1], **settings)


def test_an_environment_without_a_user_takes_none() -> None:
    with pytest.raises(BadArgument, match="user"):
        run("BFCLv4", words, tasks="mini", user=Partner())
