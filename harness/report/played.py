"""What was played and by whom, from the settings: a line for the page, and its title."""

from __future__ import annotations

import json
import re
from typing import Any, TypeGuard

from agentenvs.harness.report.formats import count
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import shortened
from agentenvs.harness.report.voice import trained

__all__ = ["called", "played", "title_of"]

_LONGEST = 60
# No temperature and no number of tokens is larger.
_MOST = 1e9
# What follows the name of an environment in its id.
_VERSION = re.compile(r"-v\d+$")


def played(found: Findings) -> str:
    """Return benchmark, tasks and how both were asked, in a line; "" where nothing is known.

    What differs between the arms is left out here; the settings tell of it.
    """
    alike = {one.name: _value(one.base) for one in found.settings if one.kind == "same"}
    parts = [_benchmark(alike)] if _benchmark(alike) else []
    clusters, tasks = found.comparison.clusters, found.comparison.tasks
    if clusters < tasks:
        parts.append(
            f"{count(tasks, 'task')} that count as {count(clusters, 'group')}, since some hang "
            "together"
        )
    arm, examples = alike.get("harness"), alike.get("prompt.examples")
    if isinstance(arm, str):
        many = int(examples) if _is_number(examples) else 0
        shown = f" with {count(many, 'example')}" if many else ""
        parts.append(f"prompt \u201c{shortened(arm, _LONGEST)}\u201d{shown}")
    temperature = alike.get("sampling.temperature")
    if _is_number(temperature):
        parts.append(f"temperature {temperature:g}")
    tokens = alike.get("sampling.max_tokens")
    if _is_number(tokens):
        parts.append(f"at most {count(int(tokens), 'token')} a reply")
    return f"Played: {', '.join(parts)}." if parts else ""


def called(found: Findings) -> tuple[str, str]:
    """Return what tells the arms apart: policies, else files, "unnamed" where nothing is known."""
    known = zip(found.comparison.policies, found.names or (None, None), strict=True)
    one, two = (policy or name or "unnamed" for policy, name in known)
    if one == two and found.names is not None and found.names[0] != found.names[1]:
        one, two = (
            one if one == name else f"{one}, {name}"
            for one, name in zip((one, two), found.names, strict=True)
        )
    return shortened(one, _LONGEST), shortened(two, _LONGEST)


def title_of(findings: Findings) -> str:
    """Return a title that tells this page from others: the benchmark and both models."""
    alike = {one.name: _value(one.base) for one in findings.settings if one.kind == "same"}
    one, two = called(findings)
    where = _benchmark(alike)
    if (one, two) == ("unnamed", "unnamed"):
        who = "what post-training cost" if where else "What post-training cost"
    else:
        who = f"{one} {chr(0x2192) if trained(findings) else 'and'} {two}"
    return f"{where}: {who}" if where else who


def _benchmark(alike: dict[str, Any]) -> str:
    """Return the benchmark and its set of tasks, "" where the arms do not name the same."""
    env, tasks = alike.get("env_id"), alike.get("tasks")
    if not isinstance(env, str):
        return ""
    name = shortened(_VERSION.sub("", env.rpartition("/")[2]), _LONGEST)
    return f"{name} {shortened(tasks, _LONGEST)}" if isinstance(tasks, str) and name else name


def _value(told: str | None) -> Any:
    return None if told is None else json.loads(told)


def _is_number(value: Any) -> TypeGuard[float]:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and 0 <= value < _MOST
