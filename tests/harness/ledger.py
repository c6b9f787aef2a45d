"""A small environment of two user turns; the second one brings a new tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium

from agentenvs.actions import Action, read_json_action
from agentenvs.core import Message, TextEnv, Tool, Transition
from agentenvs.syntax import read_call_list

ID = "tests/Ledger-v0"
TASKS = tuple(f"ledger_{index}" for index in range(12))
DEPOSIT = Tool(
    "deposit",
    "Put money in.",
    {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]},
)
WITHDRAW = Tool(
    "withdraw",
    "Take money out.",
    {
        "type": "object",
        "properties": {"amount": {"type": "integer"}, "to": {"type": "string", "default": "me"}},
        "required": ["amount"],
    },
)


def gold(env_id: str, task: str) -> list[str]:
    """Return the solution of a task."""
    size = int(task.removeprefix("ledger_")) + 1
    return [
        f"[deposit(amount={size}), deposit(amount=1)]",
        "Deposited.",
        f"[withdraw(amount={size}, to='Ada')]",
        "Withdrawn.",
    ]


class Ledger(TextEnv):
    """Deposit in the first turn, withdraw in the second; each result carries a receipt."""

    own_decoding: ClassVar[Mapping[str, Any]] = {"decoding": "official"}

    def __init__(self, *, decoding: str = "native", max_steps: int = 20, **kwargs: Any) -> None:
        super().__init__(task_ids=TASKS, **kwargs)
        self.decoding = decoding
        self.max_steps = max_steps

    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        self._size = int(task.removeprefix("ledger_")) + 1
        self._balance = self._turn = self._steps = 0
        self._right = True
        text = f"Deposit {self._size}, then 1."
        return Transition(
            text,
            [{"role": "user", "content": text}],
            info={
                "system": f"You keep a ledger. {'Be exact. ' * 30}",
                "policy": "Amounts are whole.",
                "tools": [DEPOSIT.schema()],
            },
        )

    def _read(self, action: str) -> Action:
        tools = {tool.name: tool for tool in (DEPOSIT, WITHDRAW)}
        if self.decoding == "native":
            read = read_json_action(action) or read_call_list(action, tools)
        else:
            read = read_call_list(action, tools)
        return read or Action("words", content=action)

    def _act(self, action: str) -> Transition:
        self._steps += 1
        read = self._read(action)
        info: dict[str, Any] = {"parse": {"status": read.status, "reason": read.reason}}
        if self._steps >= self.max_steps:
            return Transition("", [], truncated=True, reason="steps", info=info)
        if read.status == "calls":
            results: list[Message] = []
            for call in read.calls:
                amount = call.arguments.get("amount")
                good = isinstance(amount, int) and call.name in ("deposit", "withdraw")
                if good:
                    self._balance += amount if call.name == "deposit" else -amount
                receipt = int(self.np_random.integers(10_000))
                content = f'{{"ok": {str(good).lower()}, "receipt": {receipt}}}'
                results.append({"role": "tool", "name": call.name, "content": content})
            return Transition("\n".join(m["content"] for m in results), results, info=info)
        self._right &= self._balance == (self._size + 1 if self._turn == 0 else 1)
        self._turn += 1
        if self._turn == 2:
            reason = "" if self._right else "balance"
            return Transition(
                "",
                [],
                terminated=True,
                success=self._right,
                score=float(self._right),
                reason=reason,
                info=info,
            )
        text = f"Now withdraw {self._size}."
        info["tools"] = [DEPOSIT.schema(), WITHDRAW.schema()]
        return Transition(text, [{"role": "user", "content": text}], info=info)

    def _save(self) -> Any:
        return (self._size, self._balance, self._turn, self._steps, self._right)

    def _load(self, state: Any) -> None:
        self._size, self._balance, self._turn, self._steps, self._right = state


def register() -> None:
    """Make the id known to Gymnasium."""
    if ID not in gymnasium.registry:
        gymnasium.register(id=ID, entry_point=Ledger)
