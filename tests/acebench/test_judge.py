from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agentenvs.acebench
from agentenvs.acebench import Verdict, gold_actions, judge, mini, verdict
from agentenvs.acebench.records import AGENT, Records, read_folder
from agentenvs.errors import BadArgument, UnknownName

ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "normal_atom_bool": (
        {
            "question": "?",
            "function": [{"name": "F", "parameters": {"properties": {"n": {"type": "integer"}}}}],
            "time": "",
        },
        {"ground_truth": {"F": {"n": 1}}},
    ),
    "special_irrelevant": (
        {"question": "?", "function": [], "time": ""},
        {"ground_truth": "Due to the limitations of the function, I cannot solve this problem."},
    ),
    "agent_multi_step": (
        {
            "question": "?",
            "initial_config": {},
            "path": [],
            "function": [{"name": "turn_on_wifi"}],
            "involved_classes": ["BaseApi"],
        },
        {
            "ground_truth": [{"BaseApi": {"wifi": True, "logged_in": True}}],
            "mile_stone": ["[turn_on_wifi()]"],
        },
    ),
}


@pytest.fixture
def place(tmp_path: Path, tiny: Any) -> Path:
    for lang in ("en", "zh"):
        (tmp_path / f"data_{lang}" / "possible_answer").mkdir(parents=True)
        for category, (row, answer) in ROWS.items():
            for folder, entry in (("", row), ("possible_answer", answer)):
                text = json.dumps({"id": f"{category}_18", **entry})
                (tmp_path / f"data_{lang}" / folder / f"data_{category}.json").write_text(text)
    (tmp_path / "world.json").write_text(json.dumps(tiny))
    return tmp_path


@pytest.fixture
def made(place: Path) -> Records:
    return read_folder(place)


def test_an_answer_under_both_rules(made: Records) -> None:
    given = ("normal_atom_bool", "en", "normal_atom_bool_18", "[F(n=2)]")
    assert verdict(*given, records=made) == Verdict(True)
    found = verdict(*given, rules="fixed", records=made)
    assert found[:4] == (False, "value_error", None, None)
    assert found.detail == "F.n: expected 1, got 2"


def test_a_special_answer_under_both_rules(made: Records) -> None:
    given = ("special_irrelevant", "zh", "special_irrelevant_18", "the limitations of the function")
    assert verdict(*given, records=made).valid
    assert verdict(*given, rules="fixed", records=made).error_type == "error_detection"


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_an_episode(made: Records, rules: Any) -> None:
    given = ("agent_multi_step", "en", "agent_multi_step_18")
    state = [{"BaseApi": {"wifi": True, "logged_in": True}}]
    said = ["[turn_on_wifi()]", "finish conversation"]
    found = verdict(*given, agent_messages=said, final_state=[], rules=rules, records=made)
    assert found == Verdict(True, "", 1.0, state)
    assert verdict(*given, final_state=state, rules=rules, records=made).valid
    nothing = verdict(*given, final_state=[], process=said[:1], rules=rules, records=made)
    assert nothing[:4] == (False, "wrong number of class", 1.0, [])


def test_the_names_of_environments_serve(made: Records) -> None:
    given: dict[str, Any] = {"output": "[F(n=1)]", "records": made}
    for name in ("normal_atom_bool_18", "en/normal_atom_bool_18"):
        assert verdict("normal_atom_bool", "en", name, **given).valid


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_bundled_tasks_are_judged_without_the_source(
    rules: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "open_records", None)
    for name, task in mini.tasks().items():
        if task.category in AGENT:
            steps = gold_actions(name) if task.category == "agent_multi_step" else []
            found = verdict(task.category, task.lang, name, agent_messages=steps, rules=rules)
            assert found.final_state is not None
        else:
            assert not verdict(task.category, task.lang, name, output="", rules=rules).valid
    with pytest.raises(UnknownName, match="no task 'mini/normal_atom_bool_99'"):
        verdict("normal_atom_bool", "en", "mini/normal_atom_bool_99", output="")


def test_a_folder_will_do(place: Path) -> None:
    given = ("normal_atom_bool", "en", "normal_atom_bool_18", "[F(n=1)]")
    assert verdict(*given, records=place).valid
    assert verdict(*given, records=str(place)).valid


@pytest.mark.parametrize(
    ("category", "lang", "id", "message"),
    [
        ("normal_atom_boll", "en", "normal_atom_bool_18", "Did you mean 'normal_atom_bool'"),
        ("normal_atom_bool", "fr", "normal_atom_bool_18", "Known: 'en', 'zh'"),
        ("normal_atom_bool", "en", "normal_atom_bool_19", "Did you mean 'normal_atom_bool_18'"),
        ("normal_atom_bool", "en", "special_irrelevant_18", "no task"),
    ],
)
def test_unknown_names(made: Records, category: str, lang: str, id: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        verdict(category, lang, id, "[]", records=made)


@pytest.mark.parametrize(
    ("category", "given", "message"),
    [
        ("normal_atom_bool", {}, "`output` to be a str"),
        ("normal_atom_bool", {"output": "", "rules": "mine"}, "'official' or 'fixed'"),
        ("agent_multi_step", {"output": "x"}, "`agent_messages` or `final_state`"),
        ("agent_multi_step", {"agent_messages": "[f()]"}, "a list of texts"),
        ("agent_multi_step", {"agent_messages": [1]}, "to hold texts"),
        ("agent_multi_step", {"final_state": {}}, "`final_state` to be a list"),
        ("agent_multi_step", {"final_state": [{"A": 1}]}, "`final_state` to be a list"),
        ("agent_multi_step", {"final_state": [], "process": "x"}, "a list of texts"),
    ],
)
def test_bad_arguments(made: Records, category: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        verdict(category, "en", f"{category}_18", records=made, **given)


def test_what_the_package_offers() -> None:
    assert agentenvs.acebench.verdict is verdict
    assert set(dir(agentenvs.acebench)) >= {"Verdict", "verdict"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agentenvs.acebench.nothing  # noqa: B018
