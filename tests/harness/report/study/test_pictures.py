from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentenvs.harness.report.study.report import study_report

pytest.importorskip("matplotlib", reason="needs the extra `report`")


def test_files_of_long_and_foreign_names_can_be_written(
    tmp_path: Path, write: Callable[..., None]
) -> None:
    from agentenvs.harness.report.figures import save

    names = [json.dumps(name) for name in ("x/" * 2000, "\u4e2d\u6587 $\\frac{$\x1b")]
    text = f'benchmarks = [{", ".join(names)}]\narms = ["base", "post"]\n'
    for at in range(2):
        text += f'[[pairs]]\nname = "p{at}"\nsize = {at + 1}e9\n'
        for number, name in enumerate(names):
            text += f"[pairs.runs.{name}]\n"
            for arm, c in (("base", [0, 3, 9, 16]), ("post", [at, 16, number, 20])):
                write(tmp_path, f"{at}-{number}-{arm}", c)
                text += f'{arm} = "{at}-{number}-{arm}.jsonl"\n'
    study = tmp_path / "study.toml"
    study.write_text(text, "utf-8")
    written = save(study_report(study).pictures(), tmp_path / "figures")
    assert all(path.is_file() for path in written)
    assert any(path.name.startswith("tax_by_size_0_x_x_x") for path in written)
