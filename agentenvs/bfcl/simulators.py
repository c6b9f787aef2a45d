"""The official simulators, loaded from the pinned wheel under a private package name."""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
from importlib.abc import InspectLoader
from types import CodeType, ModuleType
from typing import Any

from agentenvs.bfcl.ordered import OrderedSet, with_ordered_sets
from agentenvs.errors import UnknownName, did_you_mean
from agentenvs.sources import Tree

__all__ = ["DOC_FILES", "MODULES", "simulator"]

#: class name -> module of the official `func_source_code` package
MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
#: class name -> file of function docs
DOC_FILES = {
    name: f"bfcl_eval/data/multi_turn_func_doc/{module}.json" for name, module in MODULES.items()
}
_OFFICIAL = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_LOADING = threading.RLock()


class _TextLoader(InspectLoader):
    """Loads a module from a text in memory; its sets keep texts in order."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, fullname: str) -> str:
        return self._text

    def is_package(self, fullname: str) -> bool:
        return False

    def get_code(self, fullname: str) -> CodeType:
        return compile(with_ordered_sets(self._text), f"<{fullname}>", "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["set"] = OrderedSet
        super().exec_module(module)


def simulator(tree: Tree, class_name: str) -> type[Any]:
    """Return an official simulator class.

    The module lives under a private package name that carries the data's hash, so that
    `bfcl_eval` is never imported and an installed copy stays untouched.

    Raises:
        UnknownName: there is no such class.
        SourceError: the wheel cannot be read.
    """
    if class_name not in MODULES:
        hint = did_you_mean(class_name, MODULES)
        raise UnknownName(f"There is no simulator {class_name!r}.{hint}")
    with _LOADING:
        module = _load(tree, MODULES[class_name])
    found: type[Any] = getattr(module, class_name)
    return found


def _load(tree: Tree, module: str) -> ModuleType:
    package = f"_agentenvs_bfcl_{tree.digest[:12]}"
    name = f"{package}.{module}"
    if name in sys.modules:
        return sys.modules[name]
    if package not in sys.modules:
        parent = ModuleType(package, "Private home of the official BFCL simulators.")
        parent.__path__ = []
        sys.modules[package] = parent
    text = tree.read(f"{_OFFICIAL.replace('.', '/')}/{module}.py").decode()
    for needed in sorted(set(re.findall(rf"{re.escape(_OFFICIAL)}\.(\w+)", text))):
        _load(tree, needed)
    loader = _TextLoader(text.replace(_OFFICIAL, package))
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None:
        raise UnknownName(f"There is no simulator module {module!r}.")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise
    return loaded
