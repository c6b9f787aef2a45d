"""The examples train, go on where they were killed, and pass the self-test; spoilt ones do not."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
pytest.importorskip("safetensors", reason="needs the extra `hf`")

from agentenvs.errors import SettingsDiffer  # noqa: E402
from agentenvs.harness.outcomes import Outcomes  # noqa: E402
from agentenvs.harness.ptgs.selftest import Report, selftest  # noqa: E402
from agentenvs.harness.ptgs.selftest.suite import CHECKS  # noqa: E402
from agentenvs.harness.samplers import make_sampler  # noqa: E402

FOLDER = Path(__file__).resolve().parents[1] / "examples"
BOTH = pytest.mark.parametrize("name", ["grpo", "ppo"])
Load = Callable[..., ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    def loaded(name: str, *changes: tuple[str, str]) -> ModuleType:
        path = FOLDER / f"{name}.py"
        source = path.read_text()
        for old, new in changes:
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        module = ModuleType(f"example_{name}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102
        return module

    return loaded


def small(module: ModuleType, out: Path, **more: Any) -> Any:
    given = {"steps": 2, "tasks": 2, "group": 4, "save_every": 1, "eval_n": 2, **more}
    return module.Args(out=str(out), eval_sets=("mini",), **given)


def report(module: ModuleType, only: tuple[str, ...] = CHECKS, **more: Any) -> Report:
    args = module.Args(**({"tasks": 4, "group": 8} | more))
    without = [name for name in CHECKS if name not in only]
    return selftest(lambda sampler: module.build(sampler, args), without=without)


@BOTH
def test_it_passes_the_self_test(load: Load, name: str) -> None:
    found = report(load(name))
    assert found.passed, str(found)


SPOILT = {
    "scores at T = 1": (
        (" / heat[:, None, None]", ""),
        {"scores", "entropies", "identity", "loss"},
    ),
    "samples at T = 1": ((" / temperatures[rows, None]", ""), {"samples", "loss"}),
    "samples rows that are left at others' T": (
        ("temperatures[rows, None]", "temperatures[due, None]"),
        {"loss"},
    ),
    "takes a missing T for 1": (
        ("check_temperatures(temperatures, len(ids))",
         "torch.ones(len(ids)) if temperatures is None else temperatures"),
        {"missing"},
    ),
    "shuffles rows away from their T": (
        ("batch = Rollouts(*(column[part] for column in rollouts))",
         "batch = Rollouts(*(column[part] for column in rollouts))._replace("
         "temperatures=rollouts.temperatures[part].flip(0))"),
        {"rows", "loss"},
    ),
    "plays all at T = 1": (
        ("flat = torch.from_numpy(np.asarray(heats, dtype=np.float32).reshape(-1))",
         "flat = torch.ones(len(rows))"),
        {"temperatures"},
    ),
    "tells of mixed groups alone": (
        ("self.sampler.record(tasks, np.reshape(won, (args.tasks, args.group)))",
         "[self.sampler.update([t], [sum(w)], [len(w)]) for t, w in zip(tasks, "
         "np.reshape(won, (args.tasks, args.group)).tolist()) if 0 < sum(w) < len(w)]"),
        {"uniform"},
    ),
    "forgets the posterior": (
        ("self.sampler.load_state_dict(", "("),
        {"resume"},
    ),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_one_fails_it(load: Load, name: str, how: str) -> None:
    change, wanted = SPOILT[how]
    found = report(load(name, change), tuple(wanted))
    assert set(found.failed) == wanted, str(found)


@BOTH
@pytest.mark.parametrize("sampler", ["fixed:t=0.8", "spread:low=0.7,high=1.4", "heat-matched"])
def test_any_sampler_sets_the_temperatures(load: Load, name: str, sampler: str) -> None:
    module = load(name)
    trainer = module.build(make_sampler(sampler), module.Args(tasks=2, group=4))
    wanted = make_sampler(sampler).rollout_temperatures(trainer.pool[:2], 4).flatten()
    assert [one.temperature for one in trainer.step().played] == pytest.approx(wanted)


@BOTH
def test_it_trains_evaluates_and_leaves_a_model_and_rows(
    load: Load, name: str, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers", reason="needs the extra `hf`")
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    module = load(name)
    folder = module.train(small(module, tmp_path, eval_temperatures=(1.0, 0.5)))
    assert folder == tmp_path / "step-000002"
    assert transformers.AutoModelForCausalLM.from_pretrained(folder).config.vocab_size == 86
    rows = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    assert (tmp_path / "curves.png").stat().st_size > 1000
    for heat in ("1", "0.5"):
        counts = Outcomes.load(tmp_path / f"mini-t{heat}-n2-step2.jsonl").counts()
        assert len(counts.task_ids) == 24
        assert set(counts.n) == {2}


@BOTH
@pytest.mark.parametrize("env", ["ToolLab", "FrozenLakeText"])
def test_it_takes_steps_in_both_environments(load: Load, name: str, env: str) -> None:
    module = load(name)
    trainer = module.build(make_sampler("ptgs"), module.Args(env=env, tasks=4, group=4))
    before = [weight.detach().clone() for weight in trainer.parameters()]
    traces = [trainer.step() for _ in range(3)]
    assert not all(map(torch.equal, before, trainer.parameters()))
    assert {one.task for trace in traces for one in trace.played} == set(trainer.pool[:12])
    assert 0 < sum(row["success"] for row in trainer.history) < 3


def test_weights_move_by_what_was_learnt_alone(load: Load) -> None:
    module = load("grpo")
    trainer = module.build(make_sampler("fixed"), module.Args(tasks=1, group=2))
    for _ in range(6):
        before = [weight.detach().clone() for weight in trainer.parameters()]
        trainer.step()
        same = all(map(torch.equal, before, trainer.parameters()))
        assert same == (trainer.history[-1]["zero_advantage"] == 1.0)
    assert {row["zero_advantage"] for row in trainer.history} == {0.0, 1.0}


class Killed(BaseException):
    """Raised where a process would have died."""


def mortal(module: ModuleType, patch: pytest.MonkeyPatch, at: int) -> list[int]:
    """Let the module die at the moment `at`: before or behind anything that leaves a trace."""
    passed = [0]

    def tick() -> None:
        passed[0] += 1
        if passed[0] == at:
            raise Killed

    def around(owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def wrapped(*args: Any, **more: Any) -> Any:
            tick()
            got = inner(*args, **more)
            tick()
            return got

        patch.setattr(owner, name, wrapped)

    trainer = module.GRPO if hasattr(module, "GRPO") else module.PPO
    for owner, name in ((trainer, "step"), (trainer, "save"), (Path, "rename")):
        around(owner, name)
    for name in ("write_state", "write_rows"):
        around(module, name)
    patch.setattr(module, "draw", lambda *_: None)
    return passed


def traces(out: Path) -> dict[str, bytes]:
    """Return all files but the one of torch, which is compared by its content."""
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.*")}
    (state,) = [name for name in found if name.endswith("trainer.pt")]
    return {**found, state: content(torch.load(out / state, weights_only=True))}


def content(state: Any) -> bytes:
    """Return all numbers of a state; files of torch differ by which strings are one object."""
    if isinstance(state, dict):
        return b"".join(repr(key).encode() + content(state[key]) for key in state)
    if isinstance(state, list | tuple):
        return b"".join(map(content, state))
    return state.numpy().tobytes() if torch.is_tensor(state) else repr(state).encode()


def resumed(load: Load, name: str, folder: Path, at: int) -> tuple[int, dict[str, bytes]]:
    """Run with a death at `at`, then again; return the moments passed and what is left."""
    for moment in (at, 0):
        module = load(name)
        with pytest.MonkeyPatch.context() as patch:
            passed = mortal(module, patch, moment)
            try:
                module.train(small(module, folder))
            except Killed:
                continue
            break
    return passed[0], traces(folder)


@BOTH
def test_a_killed_run_goes_on_bit_for_bit(load: Load, name: str, tmp_path: Path) -> None:
    last, whole = resumed(load, name, tmp_path / "whole", 0)
    assert last == 30
    # All moments: see the slow test. Here those around the second checkpoint's birth.
    for at in (3, last // 2, last // 2 + 5, last - 2):
        assert resumed(load, name, tmp_path / f"at-{at}", at)[1] == whole, at


@pytest.mark.slow
@BOTH
def test_a_run_goes_on_bit_for_bit_whenever_it_was_killed(
    load: Load, name: str, tmp_path: Path
) -> None:
    last, whole = resumed(load, name, tmp_path / "whole", 0)
    for at in range(1, last + 1):
        assert resumed(load, name, tmp_path / f"at-{at}", at)[1] == whole, at


def test_a_finished_run_takes_further_steps(load: Load, tmp_path: Path) -> None:
    module = load("grpo")
    module.draw = lambda *_: None  # type: ignore[attr-defined]
    module.train(small(module, tmp_path / "one", steps=1))
    module.train(small(module, tmp_path / "one", steps=2))
    module.train(small(module, tmp_path / "two", steps=2))
    one, two = traces(tmp_path / "one"), traces(tmp_path / "two")
    assert one.pop("mini-t1-n2-step1.jsonl")
    assert one == two


def test_other_settings_are_refused(load: Load, tmp_path: Path) -> None:
    module = load("grpo")
    module.draw = lambda *_: None  # type: ignore[attr-defined]
    module.train(small(module, tmp_path, steps=0, eval_n=0))
    with pytest.raises(SettingsDiffer, match=r"lr 0\.0005, not 0\.1"):
        module.train(small(module, tmp_path, lr=0.1))


@BOTH
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--env Chess", "Expected `env` to be one of ToolLab, FrozenLakeText, got 'Chess'"),
        ("--steps -1", "Expected `steps` of 0 up, got -1"),
        ("--lr 0", "Expected `lr` above 0, got 0.0"),
        ("--lr nan", "Expected `lr` above 0, got nan"),
        ("--tasks 201", "Expected at most 200 `tasks`, got 201"),
        ("--sampler hot", "There is no sampler 'hot'"),
        ("--start lab:none", "There is no bundled model 'none'"),
        ("--start {tmp}", "Expected a folder with a saved model"),
        ("--env FrozenLakeText --start lab:base", "Expected a model of the words of FrozenLake"),
        ("--eval-temperatures 1 0", "Expected temperatures that are finite and above 0"),
        ("--eval-temperatures hot", "invalid float value: 'hot'"),
        ("--eval-sets none", "There is no task set or task 'none'"),
    ],
)
def test_a_bad_argument_says_what_was_expected(
    load: Load,
    name: str,
    line: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    try:
        code = load(name).main([*line.format(tmp=tmp_path).split(), "--out", str(out)])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_what_they_share_is_the_same_in_both() -> None:
    files = [(FOLDER / f"{name}.py").read_text().replace("GRPO", "PPO") for name in ("grpo", "ppo")]
    kinds = (ast.FunctionDef, ast.ClassDef)
    one, other = (
        {n.name: ast.dump(n) for n in ast.walk(ast.parse(file)) if isinstance(n, kinds)}
        for file in files
    )
    own = {"__init__", "step", "update", "save", "load", "Args", "PPO"}
    assert {name for name in one.keys() & other.keys() if one[name] != other[name]} == own


def test_commands_of_their_page_are_taken(load: Load) -> None:
    page = (FOLDER / "README.md").read_text()
    commands = re.findall(r"^python examples/(\w+)\.py(.*(?:\\\n.*)*)", page, re.M)
    assert {name for name, _ in commands} == {"grpo", "ppo", "study"}
    for name, rest in commands:
        if name != "study":
            load(name).parse(rest.replace("\\\n", " ").split())
    for figure in re.findall(r"\((figures/[\w.-]+)\)", page):
        assert (FOLDER / figure).exists(), figure
