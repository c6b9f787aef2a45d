"""What samples at a temperature a rollout: transformers, servers, vLLM, SGLang."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAT = (0.67, 1.5)

# What other packages warn of as they are imported is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.hf
def test_continuous_batching_draws_each_rollout_at_its_own_temperature(
    recipe: Callable[[str], ModuleType], tiny: Callable[..., Any]
) -> None:
    model, prompt = tiny(eos_token_id=None, pad_token_id=0), [1, 5, 6]
    play = recipe("continuous_batching_context_manager").play
    limits = {"num_blocks": 64, "max_batch_tokens": 256, "seed": 5}
    rows = play(model, [prompt] * 600, HEAT * 300, max_new_tokens=1, **limits)
    torch = pytest.importorskip("torch")
    logits = model(torch.tensor([prompt])).logits[0, -1]
    for heat, drawn in zip(HEAT, (rows[::2], rows[1::2]), strict=True):
        seen = torch.bincount(torch.tensor(drawn)[:, 0], minlength=29)
        chances = {t: (logits / t).softmax(-1) for t in HEAT}
        fit = {t: float((seen * p.log()).sum()) for t, p in chances.items()}
        assert max(fit, key=lambda t: fit[t]) == heat
        assert_drawn_from(seen, chances[heat])


def assert_drawn_from(seen: Any, chances: Any) -> None:
    """Fail where counts are further from chances than one time in a million."""
    from mpmath import gammainc

    due = chances * seen.sum()
    often = due > 5
    parts = [(int(s), float(d)) for s, d in zip(seen[often], due[often], strict=True)]
    parts.append((int(seen[~often].sum()), float(due[~often].sum())))
    square = sum((s - d) ** 2 / d for s, d in parts if d > 0)
    assert gammainc((len(parts) - 1) / 2, square / 2, regularized=True) > 1e-6


@pytest.fixture
def echo() -> Iterator[Any]:
    """Return a server on loopback that says the same to everything and keeps what it was sent."""
    path = ROOT / "tests" / "harness" / "policies" / "endpoint" / "fake.py"
    spec = importlib.util.spec_from_file_location("agentenvs_tests_recipes_endpoint", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    server = module.Server()
    yield SimpleNamespace(server=server, model=module.MODEL)
    server.stop()


def test_each_request_to_a_server_has_its_tasks_temperature(
    recipe: Callable[[str], ModuleType], echo: Any, tmp_path: Path
) -> None:
    evaluate = recipe("def evaluate(").evaluate
    out = evaluate(echo.model, echo.server.url, tmp_path / "run", rollouts=4)
    sent = [seen.body["temperature"] for seen in echo.server.seen]
    by_task: dict[str, list[float]] = {}
    for task, heat_of_one in zip(out.column("task_id"), out.column("temperature"), strict=True):
        by_task.setdefault(task, []).append(heat_of_one)
    heat = np.array([sorted(row, key=lambda t: t != 1.0) for row in by_task.values()])
    assert set(sent) == set(heat.ravel())
    assert (heat[:, :2] == 1).all()
    # Nothing succeeds, so the second round is hot, each task at a temperature of its own.
    assert (heat[:, 2] == heat[:, 3]).all()
    assert len(set(heat[:, 2])) > len(heat) // 2
    assert heat[:, 2].mean() > 1.1


@pytest.mark.parametrize(("package", "holds"), [("vllm", "from vllm"), ("sglang", "sglang.srt")])
def test_engines_take_a_list_of_settings(
    recipe: Callable[[str], ModuleType], package: str, holds: str
) -> None:
    pytest.importorskip(package, reason=f"needs {package}")
    module = recipe(holds)
    made = module.sampling(np.array(HEAT), 4)
    as_dicts = [
        row if isinstance(row, dict) else {"temperature": row.temperature, "n": row.n}
        for row in made
    ]
    assert [(row["temperature"], row["n"]) for row in as_dicts] == [(0.67, 4), (1.5, 4)]
    with pytest.raises(Exception, match="temperature"):
        module.sampling([-1.0], 4)
