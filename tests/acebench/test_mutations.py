"""Under the mended rules every reference passes, and none with any one leaf changed."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest

from agentenvs.acebench import sentences, strict
from agentenvs.acebench.overlay import overlay
from agentenvs.acebench.records import AGENT, LANGS, NORMAL, SPECIAL, Records, Task
from agentenvs.acebench.states import check_both_ways


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every leaf of plain data with the way to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        if isinstance(part, dict | list):
            yield from leaves(part, (*path, key))
        else:
            yield (*path, key), part


def changed(leaf: Any) -> dict[str, Any]:
    """Return what a leaf could be mistaken for, by the kind of the change."""
    if isinstance(leaf, bool):
        return {"flip": not leaf, "number": int(leaf)}
    if isinstance(leaf, int | float):
        return {
            "more": leaf + 1,
            "tenfold": leaf * 10 or 10,
            "sign": -leaf or -1,
            "text": str(leaf),
        }
    if isinstance(leaf, str):
        return {"prefix": f"not {leaf}", "suffix": f"{leaf} extra", "digit": f"{leaf}0"}
    return {"nothing": "x"}


def put(data: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


def text_of(task: Task, answer: Mapping[str, Mapping[str, Any]]) -> str:
    known = {function["name"] for function in task.functions}
    texts = []
    for key, arguments in answer.items():
        name = key if key in known else key[: key.rindex("_")]
        given = ", ".join(f"{parameter}={value!r}" for parameter, value in arguments.items())
        texts.append(f"{name}({given})")
    return f"[{', '.join(texts)}]"


@pytest.mark.parametrize("lang", LANGS)
def test_normal_references(records: Records, lang: Any) -> None:
    tried: Counter[str] = Counter()
    for category in NORMAL:
        for task in records.category(lang, category).values():
            answers = overlay().references(task, dict)
            for answer in answers:
                found = strict.check(task, text_of(task, answer), answers)
                assert found.valid, (task.name, found)
                assert strict.check(task, f"I say {text_of(task, answer)}.", answers).valid
                for path, leaf in leaves(answer):
                    for kind, value in changed(leaf).items():
                        wrong = copy.deepcopy(answer)
                        put(wrong, path, value)
                        found = strict.check(task, text_of(task, wrong), answers)
                        assert not found.valid, (task.name, path, kind)
                        assert found.error_type
                        assert found.detail
                        tried[kind] += 1
    assert min(tried[kind] for kind in ("flip", "more", "tenfold", "sign", "prefix", "suffix")) > 80


def sentence(task: Task, name: str, words: list[str]) -> str:
    if task.category == "special_incomplete":
        return f"Missing necessary parameters ({', '.join(words)}) for the api ({name})"
    told = f"There is incorrect value ({', '.join(words)}) for the parameters ({name})"
    return f"{told} in the conversation history."


@pytest.mark.parametrize("lang", LANGS)
def test_special_references(records: Records, lang: Any) -> None:
    tried = 0
    for category in SPECIAL:
        for task in records.category(lang, category).values():
            answers = overlay().references(task, dict)
            if category == "special_irrelevant":
                right = [str(answer) for answer in answers]
                wrong = [text for one in right for text in (f"not {one}", f"{one} extra")]
            else:
                right, wrong = [], []
                for answer in answers:
                    right.append(repr([sentence(task, *item) for item in answer.items()]))
                    for path, leaf in leaves(answer):
                        for value in (f"not {leaf}", f"{leaf} extra", f"{leaf}0"):
                            other = copy.deepcopy(answer)
                            put(other, path, value)
                            wrong.append(repr([sentence(task, *one) for one in other.items()]))
                    for name, words in answer.items():
                        wrong.append(repr([sentence(task, f"{name}X", words)]))
                        wrong.append(repr([sentence(task, name, [*words, "more"])]))
                        wrong.append(repr([sentence(task, name, words[1:])]))
            assert all(sentences.check(task, text, answers).valid for text in right), task.name
            for text in wrong:
                found = sentences.check(task, text, answers)
                assert not found.valid, (task.name, text)
                assert found.detail
            tried += len(wrong)
    assert tried > 700


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("category", AGENT)
def test_agent_references(records: Records, lang: Any, category: str) -> None:
    initial = partial(records.world, lang)
    for task in records.category(lang, category).values():
        answers = overlay().references(task, initial)
        judge = partial(check_both_ways, task, process=(), answers=answers)
        for answer in answers:
            state = copy.deepcopy(answer)
            assert judge(state).valid, task.name
            for path, leaf in list(leaves(state)):
                for value in changed(leaf).values():
                    put(state, path, value)
                    assert judge(state).error_type == "class attributes wrong", (task.name, path)
                put(state, path, leaf)
            assert judge(state).valid
            assert judge(state[1:]).error_type == "wrong number of class"
            assert judge([*state, {"Other": {}}]).error_type == "wrong number of class"
            for one in state:
                for part in one.values():
                    part["more"] = 1
                    assert not judge(state).valid
                    del part["more"]
