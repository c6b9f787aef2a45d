from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.errors import AgentEnvsError, RunDamaged
from agentenvs.harness import Completion, Outcomes, read_transcripts, run
from agentenvs.harness.policies import RandomPolicy
from agentenvs.harness.records import Void
from agentenvs.harness.store.parquet import write, write_transcripts, write_voids
from agentenvs.harness.store.voids import void_row

ROWS = [
    {"task_id": "b", "rollout": 0, "success": True, "score": 1, "steps": 3, "odd": [1, {"x": 2}]},
    {"task_id": "a", "rollout": 1, "success": False, "reason": "too long", "wall_s": 0.5},
    {"task_id": "b", "rollout": 2, "success": False, "parse": {"calls": 2, "mended": {"comma": 1}}},
    {"task_id": "a", "rollout": 0, "success": True, "parse": {"calls": 3}, "seed": 2**63},
]
VOID = Void("a", 2, 0, "timeout", "TimeoutError: 30 s", 30.0)


@pytest.fixture(scope="module")
def arrow() -> Any:
    pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    import pyarrow.parquet

    return pyarrow.parquet


def read(arrow: Any, path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = arrow.read_table(path).to_pylist()
    return rows


def test_every_row_comes_back_with_its_types(arrow: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    assert write(Outcomes(ROWS, {"policy": "random"}), path) == 4
    table = arrow.read_table(path)
    assert {field.name: str(field.type) for field in table.schema} == {
        "task_id": "string",
        "rollout": "int64",
        "success": "bool",
        "score": "double",
        "steps": "int64",
        "reason": "string",
        "wall_s": "double",
        "seed": "uint64",
        "parse.calls": "int64",
        "parse.mended.comma": "int64",
        "odd": "string",
    }
    rows = table.to_pylist()
    assert [row["seed"] for row in rows] == [None, None, None, 2**63]
    assert [row["parse.calls"] for row in rows] == [None, None, 2, 3]
    assert json.loads(rows[0]["odd"]) == [1, {"x": 2}]
    assert [row["success"] for row in rows] == [True, False, False, True]


def test_settings_are_in_the_metadata(arrow: Any, ledger: ModuleType, tmp_path: Path) -> None:
    outcomes = run(ledger.ID, RandomPolicy(), n=2, out=tmp_path / "run")
    write(outcomes, tmp_path / "run.parquet")
    schema = arrow.read_schema(tmp_path / "run.parquet")
    assert json.loads(schema.metadata[b"agentenvs.settings"]) == outcomes.settings
    rows = read(arrow, tmp_path / "run.parquet")
    assert [row["seed"] for row in rows] == outcomes.column("seed")
    assert [row["parse.calls"] for row in rows] == [p["calls"] for p in outcomes.column("parse")]


@pytest.mark.parametrize(
    ("values", "kind", "back"),
    [
        ([1, -(2**63)], "int64", None),
        ([0, 2**64 - 1], "uint64", None),
        ([-1, 2**64 - 1], "string", ["-1", str(2**64 - 1)]),
        ([2**200, None], "string", [str(2**200), None]),
    ],
)
def test_integers_of_any_size_are_kept(
    arrow: Any, tmp_path: Path, values: list[int], kind: str, back: list[Any] | None
) -> None:
    rows = [
        {"task_id": "a", "rollout": at, "success": True, "seed": value}
        for at, value in enumerate(values)
    ]
    write(Outcomes(rows), tmp_path / "run.parquet")
    table = arrow.read_table(tmp_path / "run.parquet")
    assert str(table.schema.field("seed").type) == kind
    assert table["seed"].to_pylist() == (back or values)


def test_odd_values_are_kept(arrow: Any, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "task_id": "中 \ud800",
            "rollout": 0,
            "success": False,
            "reason": "\x00 \udfff é",
            "score": 10**400,
            "parse": {"calls": True, "a": {"b": 1}},
            "parse.a.b": "taken",
            "mixed": None,
        },
        {"task_id": "b", "rollout": 0, "success": True, "parse": None, "new_tokens": "many"},
    ]
    write(Outcomes(rows), tmp_path / "run.parquet")
    first, second = read(arrow, tmp_path / "run.parquet")
    assert (first["task_id"], first["reason"]) == ("中 \\ud800", "\x00 \\udfff é")
    assert json.loads(first["score"]) == 10**400
    assert (first["parse.calls"], first["parse.a.b"]) == ("true", 1)
    assert first["parse.a.b_"] == '"taken"'
    assert second["new_tokens"] == '"many"'


def test_counts_of_one_name_stay_together(arrow: Any, tmp_path: Path) -> None:
    parse = {"a": {"b": 1}, "a.b": 2}
    rows = [{"task_id": "a", "rollout": 0, "success": True, "parse": parse}]
    write(Outcomes(rows), tmp_path / "run.parquet")
    assert json.loads(read(arrow, tmp_path / "run.parquet")[0]["parse"]) == parse


def test_names_with_half_a_character(arrow: Any, tmp_path: Path) -> None:
    odd = {"x\ud800": 1, "x\\ud800": 2, "parse": {"a\udfff": 3}}
    write(Outcomes([{"task_id": "a", "rollout": 0, "success": True, **odd}]), tmp_path / "x")
    (row,) = arrow.read_table(tmp_path / "x").to_pylist()
    assert (row["x\\ud800"], row["x\\ud800_"], row["parse.a\\udfff"]) == ("1", "2", 3)


def test_no_rows_are_a_table_too(arrow: Any, tmp_path: Path) -> None:
    assert write(Outcomes(), tmp_path / "run.parquet") == 0
    assert arrow.read_table(tmp_path / "run.parquet").column_names == [
        "task_id",
        "rollout",
        "success",
    ]


def test_scripted_outcomes_stay_marked(arrow: Any, tmp_path: Path) -> None:
    write(Outcomes(ROWS, {"policy": "scripted:wide"}), tmp_path / "run.parquet")
    rows = read(arrow, tmp_path / "run.parquet")
    assert {(row["scripted"], row["policy"]) for row in rows} == {(True, "scripted:wide")}


def test_void_tries(arrow: Any, tmp_path: Path) -> None:
    outcomes = Outcomes(ROWS, {}, [void_row(VOID)])
    assert write_voids(outcomes, tmp_path / "voids.parquet") == 1
    assert read(arrow, tmp_path / "voids.parquet") == outcomes.voids
    assert write_voids(Outcomes(ROWS), tmp_path / "none.parquet") == 0
    assert arrow.read_table(tmp_path / "none.parquet").num_columns == 6


def test_transcripts_have_a_row_for_each_step(
    arrow: Any, ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentenvs.harness.store.parquet._GROUP", 7)
    run(ledger.ID, RandomPolicy(), n=2, out=tmp_path / "run")
    rows = write_transcripts(tmp_path / "run", tmp_path / "steps.parquet")
    found = read(arrow, tmp_path / "steps.parquet")
    assert len(found) == rows > 24
    assert arrow.ParquetFile(tmp_path / "steps.parquet").num_row_groups > 1
    at = iter(found)
    for row in read_transcripts(tmp_path / "run"):
        for number, step in enumerate(row["steps"]):
            got = next(at)
            assert (got["task_id"], got["rollout"], got["step"]) == (
                row["task_id"],
                row["rollout"],
                number,
            )
            assert (got["text"], got["finish_reason"], got["reward"]) == (
                step["text"],
                step["finish_reason"],
                step["reward"],
            )
            assert json.loads(got["news"]) == step["news"]
            assert json.loads(got["parse"]) == step["parse"]
            assert json.loads(got["opening"] or "null") == (None if number else row["opening"])


def test_lone_surrogates_of_a_model_are_written_as_escapes(
    arrow: Any, ledger: ModuleType, tmp_path: Path
) -> None:
    async def policy(request: Any) -> Completion:
        return Completion("\ud83d half")

    run(
        ledger.ID,
        policy,
        tasks=["ledger_1"],
        out=tmp_path / "run",
        policy_kwargs={"request": True},
    )
    write_transcripts(tmp_path / "run", tmp_path / "steps.parquet")
    assert read(arrow, tmp_path / "steps.parquet")[0]["text"] == "\\ud83d half"


def test_a_file_is_there_whole_or_not_at_all(
    arrow: Any, ledger: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "steps.parquet"
    path.write_bytes(b"before")
    run(ledger.ID, RandomPolicy(), out=tmp_path / "run")
    (segment,) = (tmp_path / "run").glob("transcripts-*")
    segment.write_bytes(segment.read_bytes()[:-30])
    with pytest.raises(RunDamaged, match=segment.name):
        write_transcripts(tmp_path / "run", path)
    assert path.read_bytes() == b"before"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run", "steps.parquet"]


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(AgentEnvsError, match=r"agentenvs\[parquet\]"):
        write(Outcomes(ROWS), tmp_path / "run.parquet")
    assert not list(tmp_path.iterdir())
