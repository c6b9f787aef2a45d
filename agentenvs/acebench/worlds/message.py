"""Short messages between a handful of people, in an inbox with little room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from agentenvs.acebench.worlds.base import BaseApi, failed, succeeded

__all__ = ["MessageApi"]

_FUNCTIONS = BaseApi.functions["en"] | {
    "send_message",
    "view_messages_between_users",
    "delete_message",
    "search_messages",
    "get_latest_message_id",
    "get_earliest_message_id",
    "get_all_message_times_with_ids",
}


class MessageApi(BaseApi):
    """Messages by number.

    A message sent has no `time`; from then on whatever compares times raises. Search alone
    needs no device login.
    """

    functions = MappingProxyType({"en": _FUNCTIONS, "zh": _FUNCTIONS})
    scored: ClassVar[tuple[str, ...]] = ("inbox",)

    def load(self, state: Mapping[str, Any]) -> None:
        """Take the initial values."""
        self.max_capacity: int = state["max_capacity"]
        self.user_list: Mapping[str, Any] = state["user_list"]
        self.inbox: dict[Any, Any] = {int(key): entry for key, entry in state["inbox"].items()}
        self.message_id_counter: int = state["message_id_counter"]

    def send_message(self, sender_name: Any, receiver_name: Any, message: Any) -> Any:
        """Send a message; it takes a place in the inbox."""
        if not self.logged_in:
            return failed(self.texts["send_no_login"])
        if not self.wifi:
            return failed(self.texts["send_no_wifi"])
        if len(self.inbox) >= self.max_capacity:
            return failed(self.texts["inbox_full"])
        for name in (sender_name, receiver_name):
            if name not in self.user_list:
                return failed(self.texts["no_person"].format(name=name))
        self.message_id_counter += 1
        entry = {
            "sender_id": self.user_list[sender_name]["user_id"],
            "receiver_id": self.user_list[receiver_name]["user_id"],
            "message": message,
        }
        self.inbox = {**self.inbox, self.message_id_counter: entry}
        return succeeded(self.texts["sent"].format(name=receiver_name))

    def view_messages_between_users(self, sender_name: Any, receiver_name: Any) -> Any:
        """Return the messages that one person sent to another."""
        if not self.logged_in:
            return failed(self.texts["view_no_login"])
        for name in (sender_name, receiver_name):
            if name not in self.user_list:
                return failed(self.texts["no_person"].format(name=name))
        route = (
            self.user_list[sender_name]["user_id"],
            self.user_list[receiver_name]["user_id"],
        )
        found = [
            {
                "id": number,
                "sender": sender_name,
                "receiver": receiver_name,
                "message": entry["message"],
            }
            for number, entry in self.inbox.items()
            if (entry["sender_id"], entry["receiver_id"]) == route
        ]
        if not found:
            return failed(self.texts["none_between"])
        return {"status": True, "messages": found}

    def search_messages(self, user_name: Any, keyword: Any) -> Any:
        """Return the messages from or to a person that hold a keyword."""
        if user_name not in self.user_list:
            return failed(self.texts["no_person"].format(name=user_name))
        person = self.user_list[user_name]["user_id"]
        wanted = keyword.lower()
        found = [
            {
                "id": number,
                "sender_id": entry["sender_id"],
                "receiver_id": entry["receiver_id"],
                "message": entry["message"],
            }
            for number, entry in self.inbox.items()
            if person in (entry["sender_id"], entry["receiver_id"])
            and wanted in entry["message"].lower()
        ]
        if not found:
            return failed(self.texts["no_keyword"])
        return {"status": True, "messages": found}

    def delete_message(self, message_id: Any) -> Any:
        """Delete a message by its number."""
        if not self.logged_in:
            return failed(self.texts["delete_no_login"])
        if message_id not in self.inbox:
            return failed(self.texts["no_message"])
        self.inbox = {key: entry for key, entry in self.inbox.items() if key != message_id}
        return succeeded(self.texts["deleted"].format(id=message_id))

    def get_latest_message_id(self) -> Any:
        """Return the number of the latest message."""
        return self._by_time(max, "latest")

    def get_earliest_message_id(self) -> Any:
        """Return the number of the earliest message."""
        return self._by_time(min, "earliest")

    def get_all_message_times_with_ids(self) -> Any:
        """Return the times of all messages by number."""
        if not self.logged_in:
            return failed(self.texts["times_no_login"])
        return {number: entry["time"] for number, entry in self.inbox.items()}

    def _by_time(self, pick: Callable[..., Any], which: str) -> Any:
        if not self.logged_in:
            return failed(self.texts[f"{which}_no_login"])
        if not self.inbox:
            return failed(self.texts["inbox_empty"])
        number = pick(self.inbox, key=lambda key: self.inbox[key]["time"])
        return succeeded(self.texts[which].format(id=number), message_id=number)
