"""The verdict on one answer or one episode, by id."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agentenvs.acebench import normal, sentences, special, states, strict
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.overlay import overlay
from agentenvs.acebench.records import (
    AGENT,
    CATEGORIES,
    LANGS,
    NORMAL,
    Lang,
    Records,
    Task,
    read_folder,
)
from agentenvs.acebench.replay import replay
from agentenvs.acebench.tasks import open_records
from agentenvs.core import Rules, check_rules
from agentenvs.errors import BadArgument, UnknownName, did_you_mean

__all__ = ["Verdict", "judge_answer", "judge_state", "verdict"]


def verdict(
    category: str,
    lang: str,
    id: str,
    output: str | None = None,
    agent_messages: Sequence[str] | None = None,
    final_state: Sequence[Mapping[str, Any]] | None = None,
    process: Sequence[str] | None = None,
    rules: Rules = "official",
    *,
    records: Records | str | os.PathLike[str] | None = None,
) -> Verdict:
    """Judge an answer or an episode.

    Args:
        category: for example "normal_atom_bool".
        lang: "en" or "zh".
        id: as in the files, dialogues by turn; `en/...` or `zh/...` before it, or `mini/...`
            for one of the bundled set, serve as well.
        output: what the model said, in the normal and special categories.
        agent_messages: what the agent said, in the agent categories: carried out in a fresh
            world; `final_state` and `process` are ignored then.
        final_state: what an episode left behind: `{class: {attribute: value}}` one a class.
        process: the messages of that episode that went to execution.
        rules: "official" (bug-compatible) or "fixed" (every leaf compared, each call once,
            states both ways, corrected references).
        records: official files: a folder of them, or what `read_folder` gives; default: those
            of the source "acebench".

    Returns:
        Whether it is valid, why not, and in the agent categories the process accuracy and the
        final state.

    Raises:
        UnknownName: there is no such category, language or task.
        BadArgument: nothing to judge was given, or something of the wrong type.
        SourceMissing: the official files are not there.
    """
    check_rules(rules)
    if category not in CATEGORIES:
        hint = did_you_mean(category, CATEGORIES)
        raise UnknownName(f"There is no category {category!r}.{hint}")
    if lang not in LANGS:
        raise UnknownName(f"There is no language {lang!r}. Known: 'en', 'zh'.")
    task, initial = _found(category, lang, id, records)

    if category not in AGENT:
        if not isinstance(output, str):
            raise BadArgument(f"Expected `output` to be a str, got {type(output)}.")
        return judge_answer(task, output, rules)
    if agent_messages is not None:
        _check_texts("agent_messages", agent_messages)
        done = replay(task, agent_messages, initial(), rules)
        return judge_state(task, done.final_state, done.process, rules, initial)
    if final_state is None:
        raise BadArgument("Expected `agent_messages` or `final_state` to judge an episode.")
    if not isinstance(final_state, Sequence) or not all(
        isinstance(one, Mapping) and all(isinstance(part, Mapping) for part in one.values())
        for one in final_state
    ):
        raise BadArgument("Expected `final_state` to be a list of {class: {attribute: value}}.")
    _check_texts("process", process or ())
    return judge_state(task, final_state, process or (), rules, initial)


def _found(
    category: str, lang: Lang, id: str, records: Records | str | os.PathLike[str] | None
) -> tuple[Task, Callable[[], Mapping[str, Any]]]:
    """Return a record, and what gives the first state of its services."""
    known: Mapping[str, Task]
    if isinstance(id, str) and id.startswith("mini/"):
        from agentenvs.acebench import mini

        tasks = mini.tasks().values()
        known = {one.name: one for one in tasks if (one.category, one.lang) == (category, lang)}
        world = mini.world
    else:
        if records is None:
            records = open_records()
        elif not isinstance(records, Records):
            records = read_folder(records)
        known = records.category(lang, category)
        world = records.world
        if isinstance(id, str):
            id = id.removeprefix(f"{lang}/")
    if not isinstance(id, str) or id not in known:
        hint = did_you_mean(id, known)
        raise UnknownName(f"There is no task {id!r} in {category!r}, language {lang!r}.{hint}")
    return known[id], partial(world, lang)


def judge_answer(task: Task, output: str, rules: Rules = "official") -> Verdict:
    """Judge an answer to a task of a normal or special category."""
    is_normal = task.category in NORMAL
    if rules == "official":
        return normal.check(task, output) if is_normal else special.check(task, output)
    references = overlay().references(task, dict)
    if is_normal:
        return strict.check(task, output, references)
    return sentences.check(task, output, references)


def judge_state(
    task: Task,
    state: Sequence[Mapping[str, Mapping[str, Any]]],
    process: Sequence[str],
    rules: Rules,
    initial: Callable[[], Mapping[str, Any]],
) -> Verdict:
    """Judge what an episode of an agent task left behind; `initial` is as in `Overlay`."""
    if rules == "official":
        return states.check(task, state, process)
    return states.check_both_ways(task, state, process, overlay().references(task, initial))


def _check_texts(name: str, texts: object) -> None:
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise BadArgument(f"Expected `{name}` to be a list of texts, got {type(texts)}.")
    for text in texts:
        if not isinstance(text, str):
            raise BadArgument(f"Expected `{name}` to hold texts, got {type(text)}.")
