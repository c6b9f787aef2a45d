"""Reminders by number, with little room."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from agentenvs.acebench.worlds.base import BaseApi, failed, succeeded

__all__ = ["ReminderApi"]

_FUNCTIONS = BaseApi.functions["en"] | {
    "add_reminder",
    "delete_reminder",
    "view_all_reminders",
    "view_reminder_by_title",
}


class ReminderApi(BaseApi):
    """Reminders; all but the list of all of them need device login.

    In Chinese there are `mark_as_notified` and `search_reminders`; the latter raises where it
    finds something.
    """

    functions = MappingProxyType(
        {"en": _FUNCTIONS, "zh": _FUNCTIONS | {"mark_as_notified", "search_reminders"}}
    )
    scored: ClassVar[tuple[str, ...]] = ("reminder_list",)

    def load(self, state: Mapping[str, Any]) -> None:
        """Take the initial values."""
        self.max_capacity: int = state["max_capacity"]
        self.reminder_list: dict[Any, Any] = {
            int(key): entry for key, entry in state["reminder_list"].items()
        }
        self.reminder_id_counter: int = state["reminder_id_counter"]

    def add_reminder(self, title: Any, description: Any, time: Any) -> Any:
        """Add a reminder; it takes a place in the list."""
        if not self.logged_in:
            return failed(self.texts["add_reminder_no_login"])
        if len(self.reminder_list) >= self.max_capacity:
            return failed(self.texts["reminders_full"])
        self.reminder_id_counter += 1
        entry = {
            "reminder_id": self.reminder_id_counter,
            "title": title,
            "description": description,
            "time": time,
            "notified": False,
        }
        self.reminder_list = {**self.reminder_list, self.reminder_id_counter: entry}
        return succeeded(self.texts["reminder_added"].format(title=title))

    def view_all_reminders(self) -> Any:
        """Return all reminders."""
        if not self.reminder_list:
            return failed(self.texts["no_reminders"])
        return {"status": True, "reminders": [dict(one) for one in self.reminder_list.values()]}

    def view_reminder_by_title(self, title: Any) -> Any:
        """Return the first reminder of a title."""
        if not self.logged_in:
            return failed(self.texts["reminder_no_login"])
        for entry in self.reminder_list.values():
            if entry["title"] == title:
                return {"status": True, "reminder": dict(entry)}
        return failed(self.texts["no_title"].format(title=title))

    def delete_reminder(self, reminder_id: Any) -> Any:
        """Delete a reminder by its number."""
        if not self.logged_in:
            return failed(self.texts["delete_reminder_no_login"])
        if reminder_id not in self.reminder_list:
            return failed(self.texts["no_reminder"])
        self.reminder_list = {
            key: entry for key, entry in self.reminder_list.items() if key != reminder_id
        }
        return succeeded(self.texts["reminder_deleted"].format(id=reminder_id))

    def mark_as_notified(self, reminder_id: Any) -> Any:
        """Mark a reminder as notified."""
        if not self.logged_in:
            return failed(self.texts["mark_no_login"])
        if reminder_id not in self.reminder_list:
            return failed(self.texts["no_reminder"])
        self.reminder_list = {
            key: {**entry, "notified": True} if key == reminder_id else entry
            for key, entry in self.reminder_list.items()
        }
        return succeeded(self.texts["reminder_marked"].format(id=reminder_id))

    def search_reminders(self, keyword: Any) -> Any:
        """Look for a keyword in titles and descriptions."""
        if not self.logged_in:
            return failed(self.texts["search_no_login"])
        wanted = keyword.lower()
        for entry in self.reminder_list.values():
            if wanted in entry["title"].lower() or wanted in entry["description"].lower():
                raise AttributeError("'dict' object has no attribute 'to_dict'")
        return failed(self.texts["no_reminder_found"])
