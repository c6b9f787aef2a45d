"""The `TicketDesk` world: requests that people bring to a small service desk."""

from __future__ import annotations

import copy
from typing import Any, Literal

from agentenvs.bfcl.mini.tool import (
    MAX_TEXT,
    RefusalError,
    Result,
    ToolWorld,
    fields,
    named,
    one_line,
    tool,
)
from agentenvs.errors import BadArgument

__all__ = ["TicketDesk"]

MAX_TICKETS = 200
MAX_ENTRIES = 60

_BLANK: dict[str, Any] = {
    "title": "",
    "sender": "",
    "priority": "normal",
    "status": "open",
    "assignee": "",
    "tags": [],
    "notes": [],
    "details": {},
    "attachments": [],
    "merged_into": 0,
}


class TicketDesk(ToolWorld):
    """Tickets by number, and the staff who work on them."""

    tickets: dict[int, dict[str, Any]]
    staff: dict[str, dict[str, Any]]

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        fields("TicketDesk", scenario, tickets=list, staff=list)
        self.tickets = {}
        self.staff = {}
        kinds = {key: type(value) for key, value in _BLANK.items()}
        for ticket in scenario.get("tickets", []):
            fields("a ticket", ticket, id=int, **kinds)
            if ticket.get("id", 0) < 1 or ticket["id"] in self.tickets:
                raise BadArgument(f"Expected an `id` of its own for the ticket {ticket}.")
            body = copy.deepcopy({**_BLANK, **ticket})
            self.tickets[body.pop("id")] = body
        for person in scenario.get("staff", []):
            fields("a person of the staff", person, name=str, role=str, on_duty=bool)
            self.staff[person["name"]] = {
                "role": person.get("role", ""),
                "on_duty": person.get("on_duty", True),
            }

    @tool
    def list_tickets(self, status: Literal["open", "waiting", "closed", "any"] = "open") -> Result:
        """List the tickets that have a status, with number and title.

        Args:
            status: the status wanted.
        """
        chosen = [
            {"ticket_id": number, "title": ticket["title"]}
            for number, ticket in sorted(self.tickets.items())
            if status in ("any", ticket["status"])
        ]
        return {"status": status, "tickets": chosen}

    @tool
    def read_ticket(self, ticket_id: int) -> Result:
        """Show everything about one ticket.

        Args:
            ticket_id: number of the ticket.
        """
        return {"ticket_id": ticket_id, **copy.deepcopy(self._ticket(ticket_id))}

    @tool
    def find_tickets(self, text: str) -> Result:
        """Search titles, senders and notes of all tickets for a piece of text.

        Args:
            text: the words to look for, whatever their case.
        """
        wanted = one_line("text", text).casefold()
        matches = []
        for number, ticket in sorted(self.tickets.items()):
            texts = [ticket["title"], ticket["sender"], *ticket["notes"]]
            if any(wanted in item.casefold() for item in texts):
                matches.append({"ticket_id": number, "title": ticket["title"]})
        return {"matches": matches}

    @tool
    def open_ticket(
        self, title: str, priority: Literal["low", "normal", "high", "urgent"] = "normal"
    ) -> Result:
        """Open a new ticket; it gets the next free number.

        Args:
            title: what it is about, in one line.
            priority: how pressing it is.
        """
        text = one_line("title", title)
        if len(self.tickets) >= MAX_TICKETS:
            raise RefusalError(f"The desk cannot hold more than {MAX_TICKETS} tickets.")
        number = max(self.tickets, default=0) + 1
        self.tickets[number] = copy.deepcopy({**_BLANK, "title": text, "priority": priority})
        return {"ticket_id": number, "title": text, "priority": priority}

    @tool
    def assign_ticket(self, ticket_id: int, person: str) -> Result:
        """Give a ticket to someone of the staff who is on duty.

        Args:
            ticket_id: number of the ticket.
            person: who shall work on it.
        """
        ticket = self._ticket(ticket_id)
        name = named("person", person, self.staff)
        if not self.staff[name]["on_duty"]:
            raise RefusalError(f"{name} is not on duty.")
        ticket["assignee"] = name
        return {"ticket_id": ticket_id, "assignee": name}

    @tool
    def set_priority(
        self, ticket_id: int, priority: Literal["low", "normal", "high", "urgent"]
    ) -> Result:
        """Change how pressing a ticket is.

        Args:
            ticket_id: number of the ticket.
            priority: the new priority.
        """
        self._ticket(ticket_id)["priority"] = priority
        return {"ticket_id": ticket_id, "priority": priority}

    @tool
    def set_status(self, ticket_id: int, status: Literal["open", "waiting", "closed"]) -> Result:
        """Change the status of a ticket: close it, open it again, or let it wait.

        Args:
            ticket_id: number of the ticket.
            status: the new status.
        """
        self._ticket(ticket_id)["status"] = status
        return {"ticket_id": ticket_id, "status": status}

    @tool
    def add_note(self, ticket_id: int, text: str) -> Result:
        """Write a note on a ticket.

        Args:
            ticket_id: number of the ticket.
            text: the note, word for word.
        """
        ticket = self._ticket(ticket_id)
        self._room(ticket["notes"], 1, "notes")
        ticket["notes"].append(one_line("text", text, MAX_TEXT))
        return {"ticket_id": ticket_id, "notes": len(ticket["notes"])}

    @tool
    def tag_ticket(self, ticket_id: int, tags: list[str]) -> Result:
        """Add tags to a ticket; those that it has stay.

        Args:
            ticket_id: number of the ticket.
            tags: the tags to add.
        """
        ticket = self._ticket(ticket_id)
        new = {one_line("tags", tag, 30).casefold() for tag in tags} - set(ticket["tags"])
        self._room(ticket["tags"], len(new), "tags")
        ticket["tags"] = sorted([*ticket["tags"], *new])
        return {"ticket_id": ticket_id, "tags": list(ticket["tags"])}

    @tool
    def set_details(self, ticket_id: int, details: dict[str, str]) -> Result:
        """Fill in named details of a ticket, a room or a device say; others stay.

        Args:
            ticket_id: number of the ticket.
            details: the details by name, for example {'floor': '2'}.
        """
        ticket = self._ticket(ticket_id)
        new = {
            one_line("details", key, 30): one_line("details", value)
            for key, value in details.items()
        }
        self._room(ticket["details"], len(set(new) - set(ticket["details"])), "details")
        ticket["details"].update(new)
        return {"ticket_id": ticket_id, "details": dict(sorted(ticket["details"].items()))}

    @tool
    def attach_file(self, ticket_id: int, file_name: str) -> Result:
        """Note on a ticket which file belongs to it.

        Args:
            ticket_id: number of the ticket.
            file_name: path of the file.
        """
        ticket = self._ticket(ticket_id)
        path = one_line("file_name", file_name)
        if path not in ticket["attachments"]:
            self._room(ticket["attachments"], 1, "attachments")
            ticket["attachments"] = sorted([*ticket["attachments"], path])
        return {"ticket_id": ticket_id, "attachments": list(ticket["attachments"])}

    @tool
    def merge_tickets(self, ticket_id: int, into_id: int) -> Result:
        """Fold a ticket into another about the same thing: its notes move there and it closes.

        Args:
            ticket_id: number of the ticket that closes.
            into_id: number of the ticket that stays.
        """
        source = self._ticket(ticket_id)
        target = self._ticket(into_id)
        if source is target:
            raise RefusalError("A ticket cannot be merged into itself.")
        if source["merged_into"]:
            raise RefusalError(f"Ticket {ticket_id} is already merged.")
        self._room(target["notes"], len(source["notes"]), "notes")
        target["notes"].extend(source["notes"])
        source.update(notes=[], status="closed", merged_into=into_id)
        return {"ticket_id": ticket_id, "merged_into": into_id}

    @tool
    def list_staff(self) -> Result:
        """List the people at the desk with their roles, and whether they are on duty."""
        return {"staff": [{"name": name, **entry} for name, entry in self.staff.items()]}

    def _ticket(self, number: int) -> dict[str, Any]:
        if number not in self.tickets:
            raise RefusalError(f"There is no ticket {number}.")
        return self.tickets[number]

    def _room(self, entries: list[str] | dict[str, str], more: int, what: str) -> None:
        if len(entries) + more > MAX_ENTRIES:
            raise RefusalError(f"A ticket cannot have more than {MAX_ENTRIES} {what}.")
