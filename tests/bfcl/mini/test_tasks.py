from __future__ import annotations

import ast
import json
import re
from collections import Counter
from typing import Any

import pytest

from agentenvs.bfcl import mini
from agentenvs.bfcl.mini.load import read
from agentenvs.errors import BadArgument
from agentenvs.syntax import parse_call_list

ROWS = mini.rows()
GOLD = mini.answers()
each_task = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])

READS = frozenset(
    {
        "device_status",
        "find_text",
        "find_tickets",
        "list_devices",
        "list_files",
        "list_folders",
        "list_rooms",
        "list_staff",
        "list_tickets",
        "read_file",
        "read_ticket",
        "room_climate",
    }
)

#: numbers that a user's words or a result lead to without being written there
DERIVED = {
    "mini_desk_3": {"22": "the number after 21"},
    "mini_desk_7": {"11": "the number after 10"},
    "mini_office_2": {"7": "the number after 6"},
    "mini_home_9": {"0": "completely closed"},
    "mini_home_12": {"21.5": "two above 19.5"},
    "mini_home_13": {"0": "shut"},
    "mini_home_14": {"120": "two hours"},
    "mini_home_16": {"16.5": "a degree and a half below 18"},
}


def test_there_are_tasks_of_every_grade() -> None:
    levels = Counter(row["level"] for row in ROWS)
    assert len(ROWS) >= 30
    assert levels[1] >= 10
    assert all(levels[level] >= 8 for level in (2, 3, 4))
    assert [row["level"] for row in ROWS] == sorted(row["level"] for row in ROWS)


def test_ids_count_up_in_each_family() -> None:
    families: dict[str, list[int]] = {}
    for row in ROWS:
        family, number = row["id"].rsplit("_", 1)
        families.setdefault(family, []).append(int(number))
    assert all(numbers == list(range(len(numbers))) for numbers in families.values())


@each_task
def test_levels_mean_what_the_readme_says(row: dict[str, Any]) -> None:
    plan = GOLD[row["id"]]
    users = [turn for turn in row["question"] if turn]
    calls = [len(turn) for turn in plan]
    match row["level"]:
        case 1:
            assert calls == [1]
        case 2:
            assert len(calls) == 1
            assert calls[0] in (2, 3)
        case 3:
            assert len(users) in (2, 3)
            assert all(calls)
        case 4:
            assert len(users) in (3, 4)


def test_requests_are_all_different() -> None:
    texts = [turn[0]["content"] for row in ROWS for turn in row["question"] if turn]
    assert len(set(texts)) == len(texts)


@each_task
def test_gold_plays_without_an_error(row: dict[str, Any], play: Any) -> None:
    game = play(row)
    for turn in GOLD[row["id"]]:
        for call in turn:
            before = game.state()
            result = game(call)
            assert "error" not in result, call
            name = call.split("(")[0]
            assert (game.state() == before) == (name in READS), call


@each_task
def test_a_turn_is_empty_only_where_something_is_missing(row: dict[str, Any]) -> None:
    for index, turn in enumerate(GOLD[row["id"]]):
        if turn:
            continue
        assert row["level"] == 4
        following = row["question"][index + 1]
        if following == []:
            (needed,) = row["missed_function"][str(index + 1)]
            assert GOLD[row["id"]][index + 1][0].startswith(f"{needed}(")


@each_task
def test_withheld_functions_are_not_needed_earlier(row: dict[str, Any]) -> None:
    for turn, names in row.get("missed_function", {}).items():
        early = [call for calls in GOLD[row["id"]][: int(turn)] for call in calls]
        assert not {call.split("(")[0] for call in early} & set(names)
        assert GOLD[row["id"]][int(turn) - 1] == []


def test_every_tool_is_used() -> None:
    used = {call.split("(")[0] for plan in GOLD.values() for turn in plan for call in turn}
    assert used == {doc["name"] for world in mini.worlds() for doc in mini.docs(world)}


def test_some_tasks_withhold_and_some_leave_out() -> None:
    withheld = [row["id"] for row in ROWS if "missed_function" in row]
    asked = [i for i, plan in GOLD.items() if [] in plan and i not in withheld]
    assert len(withheld) >= 3
    assert len(asked) >= 3


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+(?:\.\d+)?", text.casefold()))


@each_task
def test_no_gold_value_is_hidden(row: dict[str, Any]) -> None:
    """What a gold call says was said by the user, or stands in what a read tool shows."""
    derived = set(DERIVED.get(row["id"], {}))
    enums = {
        option
        for world in row["involved_classes"]
        for doc in mini.docs(world)
        for p in doc["parameters"]["properties"].values()
        for option in p.get("enum", [])
    }
    known = words(json.dumps(row["initial_config"], ensure_ascii=False).replace("\\n", " "))
    known |= enums | derived
    for index, turn in enumerate(GOLD[row["id"]]):
        if row["question"][index]:
            known |= words(row["question"][index][0]["content"])
        for call in turn:
            (node,) = parse_call_list(call)
            for _, value in node.kwargs:
                if isinstance(value, bool):
                    continue
                for word in words(str(value)):
                    number = word.removesuffix(".0")
                    assert word in known or number in known, (call, word)


@each_task
def test_free_text_is_quoted_by_the_user(row: dict[str, Any]) -> None:
    """Notes and titles are compared word for word, so they must be given word for word."""
    shown = json.dumps(row["initial_config"], ensure_ascii=False)
    for index, turn in enumerate(GOLD[row["id"]]):
        said = " ".join(t[0]["content"] for t in row["question"][: index + 1] if t)
        for call in turn:
            (node,) = parse_call_list(call)
            for key, value in node.kwargs:
                if key in ("title", "text", "line", "content"):
                    for line in value.splitlines():
                        assert line in said or line in shown, call


def test_rows_and_answers_are_fresh_copies() -> None:
    mini.rows()[0]["question"].clear()
    mini.answers()["mini_home_0"].clear()
    assert mini.rows() == ROWS
    assert mini.answers() == GOLD


def test_the_prompt_has_one_place_for_the_functions() -> None:
    assert mini.SYSTEM_PROMPT.count("{functions}") == 1
    assert "[f(a=1), g(b='x')]" in mini.SYSTEM_PROMPT
    assert not hasattr(mini, "PROMPT")


def damaged(edit: Any, in_gold: bool = False) -> tuple[str, str]:
    row, gold = json.loads(json.dumps([ROWS[-1], {"id": ROWS[-1]["id"]}]))
    gold["ground_truth"] = mini.answers()[row["id"]]
    edit(gold if in_gold else row)
    return json.dumps(row), json.dumps(gold)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda row: row.pop("level"), "to have ['level']"),
        (lambda row: row.update(level=5), "`level`"),
        (lambda row: row.update(involved_classes=["Shop"]), "`involved_classes`"),
        (lambda row: row["initial_config"].update(Home={}), "`initial_config`"),
        (lambda row: row["initial_config"]["Files"].update(x=1), "got 'x'"),
        (lambda row: row.update(question=[]), "`question`"),
        (lambda row: row["question"].__setitem__(0, []), "turn 0"),
        (lambda row: row["question"][0][0].update(role="system"), "turn 0"),
        (lambda row: row["question"].__setitem__(1, row["question"][0]), "turn 1"),
        (lambda row: row.update(missed_function={"0": ["read_file"]}), "hand over, got '0'"),
        (lambda row: row.update(missed_function={"1": ["fly"]}), "known functions"),
        (lambda row: row.update(missed_function=[]), "`missed_function`"),
    ],
)
def test_a_damaged_task_is_a_clear_error(edit: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=re.escape(said)):
        read(*damaged(edit))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda gold: gold.update(id="other"), "same order"),
        (lambda gold: gold.pop("ground_truth"), "a list for each turn"),
        (lambda gold: gold["ground_truth"].pop(), "a list for each turn"),
        (lambda gold: gold["ground_truth"].__setitem__(0, "x()"), "turn 0"),
        (lambda gold: gold["ground_truth"].__setitem__(0, ["x("]), "to be a call"),
        (lambda gold: gold["ground_truth"].__setitem__(0, [3]), "to be a call"),
        (lambda gold: gold["ground_truth"].__setitem__(0, ["fly()"]), "known function"),
        (lambda gold: gold["ground_truth"].__setitem__(0, ["read_file('a')"]), "by keyword"),
        (lambda gold: gold["ground_truth"].__setitem__(0, ["read_file()"]), "arguments"),
    ],
)
def test_a_damaged_plan_is_a_clear_error(edit: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=re.escape(said)):
        read(*damaged(edit, in_gold=True))


def test_lines_must_be_objects_and_ids_single() -> None:
    task, gold = damaged(lambda row: None)
    assert len(read(task, gold)) == 1
    with pytest.raises(BadArgument, match="line 2 of tasks"):
        read(f"{task}\n{{", gold)
    with pytest.raises(BadArgument, match="line 1 of gold"):
        read(task, "[]")
    with pytest.raises(BadArgument, match="to occur once"):
        read(f"{task}\n{task}", f"{gold}\n{gold}")


def test_code_holds_no_task(root: Any) -> None:
    for path in sorted((root / "agentenvs" / "bfcl").rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        strings = [
            node.value
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        for row in ROWS:
            said = [turn[0]["content"] for turn in row["question"] if turn]
            gold = [call for turn in GOLD[row["id"]] for call in turn]
            calls = [call for call in gold if not call.endswith("()")]
            assert not any(part in text for text in strings for part in (*said, *calls)), path
            assert not any(re.search(rf"{row['id']}\b", text) for text in strings), path
