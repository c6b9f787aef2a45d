"""Whether four arms were asked alike: what is meant to differ, and what spoils the comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import load_env_creator

from agentenvs.errors import SettingsDiffer
from agentenvs.harness.arms import HARNESSES
from agentenvs.harness.store.folder import FREE

__all__ = ["ARMS", "Difference", "differences", "harness_of", "model_of", "refuse"]

#: the four arms, as `MODEL-HARNESS`, in the order of `agentenvs.harness.tax.factorial.CELLS`
ARMS = ("base-none", "base-light", "post-none", "post-light")
# Tasks are compared through the outcomes; names of sets and the order of tasks decide nothing.
_UNSEEN = FREE | {"format", "out", "scripted", "task_hash", "task_ids", "tasks"}
# What a policy tells of itself is another matter for another model, but for these.
_SAMPLED = frozenset(
    {
        "frequency_penalty",
        "max_new_tokens",
        "max_tokens",
        "min_p",
        "presence_penalty",
        "repetition_penalty",
        "stop",
        "temperature",
        "top_k",
        "top_p",
        "typical_p",
    }
)
_INTERFACE = frozenset(
    {
        "context",
        "device",
        "dtype",
        "form",
        "native_tools",
        "policy",
        "quantization",
        "server",
        "torch",
        "transformers",
    }
)
# What an endpoint pins changes nothing in a distribution; what it leaves to the server may.
_NEUTRAL, _LEFT = "pinned", "left_to_server"
# Sampling defaults of a checkpoint that were not used.
_UNUSED = "ignored_defaults"


class Difference(NamedTuple):
    """A setting in which arms differ that should not, or that is worth knowing.

    Attributes:
        text: what differs, in one line.
        fault: whether it spoils the comparison; else it is only told.
    """

    text: str
    fault: bool


def model_of(arm: str) -> str:
    """Return "base" or "post"."""
    return arm.partition("-")[0]


def harness_of(arm: str) -> str:
    """Return "none" or "light"."""
    return arm.partition("-")[2]


def differences(
    settings: Mapping[str, Mapping[str, Any]],
    planned: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Difference]:
    """Return what differs between arms beyond what an ablation is about.

    Meant, hence not told: the policy between the two models; prompt, parser and the decoding
    that goes with them between the two harnesses; how a run was carried out (concurrency,
    retries, engine, transcripts). Told: n, how the two models were run (chat or completion,
    number format, device, context), and versions of other packages. Faults: everything else,
    which is the environment and its arguments, data, seed, sampling, limits, user, version of
    agentenvs; another policy in the two arms of one model; an arm with another prompt or parser
    than its name says.

    Args:
        settings: what the run of each arm recorded, `run.json`; not all arms need be there.
        planned: the settings of arms that are still to be played, as far as they are known.
    """
    found = []
    told: dict[str, dict[str, Any]] = {}
    for arm, recorded in settings.items():
        if "env_id" not in recorded:
            found.append(
                Difference(f"{arm}: nothing is known of how the outcomes were made", fault=True)
            )
            continue
        told[arm] = dict(_flat(_as_read(recorded)))
        found.extend(Difference(text, fault=True) for text in _claims(arm, told[arm]))
    partial = {arm: dict(_flat(_as_read(known))) for arm, known in (planned or {}).items()}
    own = _own(next((known for known in (*told.values(), *partial.values())), {}))
    for key in dict.fromkeys(key for known in (*told.values(), *partial.values()) for key in known):
        values = {
            arm: known.get(key)
            for arm, known in (*told.items(), *partial.items())
            if arm in told or key in known
        }
        for groups, fault in _rules(key, own):
            if any(_unlike([values[arm] for arm in group if arm in values]) for group in groups):
                found.append(Difference(_line(key, values), fault))
                break
    return found


def refuse(
    settings: Mapping[str, Mapping[str, Any]],
    planned: Mapping[str, Mapping[str, Any]],
    anyway: bool,
) -> None:
    """Refuse arms that were not asked alike, unless they are to be compared anyway.

    Args:
        settings: as for `differences`.
        planned: as for `differences`.
        anyway: accept them.

    Raises:
        SettingsDiffer: names what differs, in which arms.
    """
    faults = [found.text for found in differences(settings, planned) if found.fault]
    if faults and not anyway:
        raise SettingsDiffer(
            "The arms were not asked alike:\n  "
            + "\n  ".join(faults)
            + "\nPlay the odd ones again with the others' settings. To compare them all the same, "
            "with a warning for each: anyway=True (--anyway)."
        )


_Groups = Sequence[Sequence[str]]
_BY_MODEL: _Groups = (ARMS[:2], ARMS[2:])
_BY_HARNESS: _Groups = (ARMS[::2], ARMS[1::2])
_ALL: _Groups = (ARMS,)


def _rules(key: str, own: frozenset[str]) -> Iterator[tuple[_Groups, bool]]:
    """Yield groups of arms that should agree in a setting, and whether it is a fault if not."""
    first, last = key.split(".", 1)[0], key.rsplit(".", 1)[-1]
    if first == "policy":
        yield _BY_MODEL, True
        sampled = last in _SAMPLED and _NEUTRAL not in key.split(".")
        if sampled or last == _LEFT:
            yield _ALL, True
        elif last in _INTERFACE:
            yield _ALL, False
    elif first in ("harness", "prompt", "parser") or key in own:
        yield _BY_HARNESS, True
    else:
        yield _ALL, key != "n" and (first != "versions" or last == "agentenvs")


def _claims(arm: str, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield where an arm was not played with the harness that it goes by."""
    prompt, parser = HARNESSES[harness_of(arm)]
    for key, wanted in (("prompt.name", prompt), ("parser", parser)):
        if known.get(key) != wanted:
            yield f"{key}: expected {_show(wanted)} in {arm}, got {_show(known.get(key))}"


def _own(known: Mapping[str, Any]) -> frozenset[str]:
    """Return the arguments of the environment that belong to its own prompt and decoding."""
    env_id = known.get("env_id")
    if not isinstance(env_id, str) or env_id not in gymnasium.registry:
        return frozenset()
    creator: Any = gymnasium.registry[env_id].entry_point
    creator = load_env_creator(creator) if isinstance(creator, str) else creator
    names = (*getattr(creator, "own_decoding", {}), *getattr(creator, "own_prompt", ()))
    return frozenset(f"env_kwargs.{name}" for name in names)


def _as_read(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a run folder gives them back, which has no tuples."""
    read: dict[str, Any] = json.loads(json.dumps(dict(settings), default=repr))
    return read


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings to be compared, nested ones under dotted names."""
    for key, value in settings.items():
        if not prefix and (key in _UNSEEN - {"n"}):
            if key == "history":
                yield from _versions(value)
        elif key == _UNUSED:
            continue
        elif isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            # A policy of another kind may lack what is empty here.
            yield f"{prefix}{key}", None if value in ([], {}) else value


def _versions(history: Any) -> Iterator[tuple[str, Any]]:
    """Yield the versions that a run was made with, all of them where it was taken up again."""
    seen: dict[str, list[Any]] = {}
    for call in history if isinstance(history, Sequence) else ():
        versions = call.get("versions") if isinstance(call, Mapping) else None
        for name, version in versions.items() if isinstance(versions, Mapping) else ():
            if version not in seen.setdefault(name, []):
                seen[name].append(version)
    for name, found in seen.items():
        yield f"versions.{name}", ", ".join(map(str, found))


def _unlike(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values[1:])


def _line(key: str, values: Mapping[str, Any]) -> str:
    """Return `key: 1 in base-none and base-light, 2 in post-none`."""
    arms: dict[str, list[str]] = {}
    for arm, value in values.items():
        arms.setdefault(_show(value), []).append(arm)
    return f"{key}: " + ", ".join(f"{text} in {' and '.join(who)}" for text, who in arms.items())


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
