"""What makes a method of a tool world a tool: checked arguments, and a doc derived from it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, get_args, get_origin

from agentenvs.errors import BadArgument

__all__ = [
    "MAX_ITEMS",
    "MAX_TEXT",
    "RefusalError",
    "Result",
    "ToolWorld",
    "docs_of",
    "fields",
    "named",
    "one_line",
    "tool",
]

MAX_TEXT = 2_000
MAX_ITEMS = 20
MAX_NUMBER = 1_000_000_000

Result = dict[str, Any]
W = TypeVar("W", bound="ToolWorld")
P = ParamSpec("P")


class RefusalError(Exception):
    """Raised inside a tool that cannot do what was asked; becomes the result's `error`."""


class ToolWorld:
    """Base of the worlds: public attributes are the state, public methods are the tools."""

    def __init__(self) -> None:
        self._load_scenario({})

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        """Set the whole state from a copy of `scenario`.

        Args:
            scenario: JSON-able; what it leaves out is empty.
            long_context: part of the loading protocol; these worlds have no longer form.

        Raises:
            BadArgument: the scenario has another shape than the world's.
        """
        raise NotImplementedError


def tool(method: Callable[Concatenate[W, P], Result]) -> Callable[Concatenate[W, P], Result]:
    """Make a method a tool: arguments are checked by its annotations, refusals are results."""
    signature = inspect.signature(method, eval_str=True)
    hints = {name: p.annotation for name, p in signature.parameters.items() if name != "self"}

    @functools.wraps(method)
    def call(self: W, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as problem:
            return {"error": f"{method.__name__}: {str(problem)[:200]}"}
        try:
            for name, hint in hints.items():
                if name in bound.arguments:
                    bound.arguments[name] = _checked(name, hint, bound.arguments[name])
            return method(*bound.args, **bound.kwargs)
        except RefusalError as problem:
            return {"error": str(problem)}

    return call


def _checked(name: str, hint: Any, value: Any) -> Any:
    """Return `value` as the annotated type, or refuse it saying what was expected."""
    if get_origin(hint) is Literal:
        options = get_args(hint)
        if not isinstance(value, str) or value not in options:
            known = ", ".join(repr(option) for option in options)
            raise RefusalError(f"`{name}` must be one of {known}, got {_shown(value)}.")
        return value
    if hint is str:
        if not isinstance(value, str):
            raise RefusalError(f"`{name}` must be a string, got {_shown(value)}.")
        if len(value) > MAX_TEXT:
            raise RefusalError(f"`{name}` is longer than {MAX_TEXT} characters.")
        return value
    if hint is bool:
        if not isinstance(value, bool):
            raise RefusalError(f"`{name}` must be true or false, got {_shown(value)}.")
        return value
    if hint is int or hint is float:
        return _number(name, hint, value)
    inner = get_args(hint)
    if get_origin(hint) is list:
        if not isinstance(value, list | tuple):
            raise RefusalError(f"`{name}` must be a list, got {_shown(value)}.")
        _few(name, len(value))
        return [_checked(f"{name}[{i}]", inner[0], item) for i, item in enumerate(value)]
    if not isinstance(value, Mapping):
        raise RefusalError(f"`{name}` must be a dict, got {_shown(value)}.")
    _few(name, len(value))
    return {
        _checked(f"a key of {name}", inner[0], key): _checked(
            f"{name}[{_shown(key)}]", inner[1], item
        )
        for key, item in value.items()
    }


def _number(name: str, hint: type[int] | type[float], value: Any) -> int | float:
    wanted = "an integer" if hint is int else "a number"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusalError(f"`{name}` must be {wanted}, got {_shown(value)}.")
    if not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise RefusalError(f"`{name}` is not a number between -{MAX_NUMBER} and {MAX_NUMBER}.")
    if hint is int and not float(value).is_integer():
        raise RefusalError(f"`{name}` must be an integer, got {_shown(value)}.")
    return hint(value)


def _few(name: str, count: int) -> None:
    if count > MAX_ITEMS:
        raise RefusalError(f"`{name}` has more than {MAX_ITEMS} entries.")


def _shown(value: Any) -> str:
    """Return a short text for any value; containers by their type alone, they may be huge."""
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "...")
    return f"a value of type {type(value).__name__}"


def one_line(name: str, value: str, limit: int = 200) -> str:
    """Return `value` stripped, or refuse it when it is empty, long or of several lines."""
    text = value.strip()
    if not text:
        raise RefusalError(f"`{name}` must not be empty.")
    if len(text) > limit:
        raise RefusalError(f"`{name}` is longer than {limit} characters.")
    if len(text.splitlines()) > 1:
        raise RefusalError(f"`{name}` must be one line.")
    return text


def named(what: str, name: str, known: Iterable[str]) -> str:
    """Return the known name that `name` means, whatever its case, spaces or underscores.

    Raises:
        RefusalError: there is none; the text lists the known ones.
    """
    names = list(known)
    wanted = _key(name)
    for candidate in names:
        if _key(candidate) == wanted:
            return candidate
    listing = ", ".join(repr(n) for n in sorted(names)[:40]) or "none"
    raise RefusalError(f"There is no {what} {_shown(name)}. Known: {listing}.")


def _key(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def fields(where: str, value: Any, **kinds: type | tuple[type, ...]) -> dict[str, Any]:
    """Return `value` if it is a dict with no other keys than `kinds`, each of its kind.

    Raises:
        BadArgument: it is not; the text names `where` and the entry.
    """
    if not isinstance(value, dict):
        raise BadArgument(f"Expected {where} to be a dict, got {type(value).__name__}.")
    for key, item in value.items():
        if key not in kinds:
            raise BadArgument(f"Expected {where} to have only {sorted(kinds)}, got {key!r}.")
        if not isinstance(item, kinds[key]):
            raise BadArgument(f"Expected {key!r} of {where} to be {kinds[key]}, got {type(item)}.")
    return value


def docs_of(world: type[ToolWorld]) -> list[dict[str, Any]]:
    """Return the function docs of a world, from signatures and docstrings, in code order."""
    return [_doc(name, member) for name, member in vars(world).items() if not name.startswith("_")]


def _doc(name: str, method: Callable[..., Any]) -> dict[str, Any]:
    text = inspect.getdoc(method) or ""
    summary, _, rest = text.partition("\n\nArgs:\n")
    described: dict[str, str] = {}
    key = ""
    for line in rest.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            key, _, first = line.strip().partition(": ")
            described[key] = first
        elif line.strip():
            described[key] += " " + line.strip()
    properties: dict[str, Any] = {}
    required = []
    for parameter in inspect.signature(method, eval_str=True).parameters.values():
        if parameter.name == "self":
            continue
        properties[parameter.name] = _schema(parameter.annotation)
        properties[parameter.name]["description"] = described[parameter.name]
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        else:
            properties[parameter.name]["default"] = parameter.default
    return {
        "name": name,
        "description": " ".join(summary.split()),
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }


def _schema(hint: Any) -> dict[str, Any]:
    plain = {str: "string", int: "integer", float: "float", bool: "boolean"}
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) is list:
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    if get_origin(hint) is dict:
        return {"type": "dict", "additionalProperties": _schema(get_args(hint)[1])}
    return {"type": plain[hint]}
