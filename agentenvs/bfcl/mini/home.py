"""The `Home` world: lamps, machines, doors, blinds and heating of one household."""

from __future__ import annotations

import copy
from typing import Any

from agentenvs.bfcl.mini.tool import RefusalError, Result, ToolWorld, fields, named, tool
from agentenvs.errors import BadArgument

__all__ = ["Home"]

MAX_MINUTES = 24 * 60
COLDEST, WARMEST = 5.0, 30.0

_KINDS: dict[str, dict[str, Any]] = {
    "switch": {"on": False},
    "lamp": {"on": False, "brightness": 100},
    "machine": {"on": False, "program": "", "programs": []},
    "door": {"locked": False},
}
_ROOM: dict[str, Any] = {"temperature": 20.0, "humidity": 45, "heating": 20.0, "blinds": 100}


class Home(ToolWorld):
    """Rooms with climate, heating and blinds; devices by name; scenes by name."""

    rooms: dict[str, dict[str, Any]]
    devices: dict[str, dict[str, Any]]
    scenes: dict[str, dict[str, dict[str, Any]]]

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        fields("Home", scenario, rooms=dict, devices=dict, scenes=dict)
        self.rooms = {}
        self.devices = {}
        room_kinds = {key: type(value) for key, value in _ROOM.items()}
        for name, room in scenario.get("rooms", {}).items():
            self.rooms[name] = {**_ROOM, **fields(f"the room {name!r}", room, **room_kinds)}
        for name, device in scenario.get("devices", {}).items():
            self.devices[name] = self._built(name, copy.deepcopy(device))
        self.scenes = copy.deepcopy(scenario.get("scenes", {}))
        for name, scene in self.scenes.items():
            for device, change in scene.items():
                fields(f"the scene {name!r}", change, on=bool, brightness=int)
                entry = self.devices.get(device, {})
                if entry.get("kind") not in ("switch", "lamp") or not set(change) <= set(entry):
                    raise BadArgument(f"Expected the scene {name!r} to fit the device {device!r}.")

    def _built(self, name: str, device: Any) -> dict[str, Any]:
        kind = device.get("kind") if isinstance(device, dict) else None
        if kind not in _KINDS:
            raise BadArgument(f"Expected a `kind` of {sorted(_KINDS)} for the device {name!r}.")
        known = {key: type(value) for key, value in _KINDS[kind].items()}
        fields(f"the device {name!r}", device, kind=str, room=str, **known)
        if device.get("room") not in self.rooms:
            raise BadArgument(f"Expected the device {name!r} to be in a known room.")
        built = {"room": device["room"], "kind": kind, **copy.deepcopy(_KINDS[kind]), **device}
        return built if kind == "door" else {**built, "timer": 0}

    @tool
    def list_rooms(self) -> Result:
        """List the rooms."""
        return {"rooms": list(self.rooms)}

    @tool
    def list_devices(self, room: str = "") -> Result:
        """List the names of the devices and doors.

        Args:
            room: only those in this room; empty for the whole home.
        """
        where = named("room", room, self.rooms) if room.strip() else ""
        inside = [name for name, entry in self.devices.items() if where in ("", entry["room"])]
        return {"room": where, "devices": inside}

    @tool
    def device_status(self, device: str) -> Result:
        """Show the state of one device or door.

        Args:
            device: its name, for example 'desk lamp' or 'cellar door'.
        """
        name = named("device", device, self.devices)
        return {"device": name, **copy.deepcopy(self.devices[name])}

    @tool
    def room_climate(self, room: str) -> Result:
        """Show temperature, humidity, heating and blinds of one room.

        Args:
            room: name of the room.
        """
        name = named("room", room, self.rooms)
        return {"room": name, **self.rooms[name]}

    @tool
    def turn_on(self, device: str) -> Result:
        """Turn on a lamp or another device.

        Args:
            device: name of the device.
        """
        name, entry = self._switchable(device)
        if entry["kind"] == "machine" and not entry["on"]:
            programs = ", ".join(repr(program) for program in entry["programs"])
            raise RefusalError(
                f"The {name} needs a program, use start_program. Programs: {programs}."
            )
        entry["on"] = True
        return {"device": name, "on": True}

    @tool
    def turn_off(self, device: str) -> Result:
        """Turn off a lamp or another device; this also clears its timer.

        Args:
            device: name of the device.
        """
        name, entry = self._switchable(device)
        entry["on"] = False
        entry["timer"] = 0
        if entry["kind"] == "machine":
            entry["program"] = ""
        return {"device": name, "on": False}

    @tool
    def set_brightness(self, device: str, percent: int) -> Result:
        """Set how bright a lamp shines; whether it is on does not change.

        Args:
            device: name of the lamp.
            percent: from 1 to 100.
        """
        name, entry = self._switchable(device)
        if entry["kind"] != "lamp":
            raise RefusalError(f"The {name} is not a lamp.")
        if not 1 <= percent <= 100:
            raise RefusalError("`percent` must be from 1 to 100.")
        entry["brightness"] = percent
        return {"device": name, "brightness": percent}

    @tool
    def start_program(self, device: str, program: str) -> Result:
        """Start a machine, a dishwasher or an oven say, with one of its programs.

        Args:
            device: name of the machine.
            program: name of the program.
        """
        name, entry = self._switchable(device)
        if entry["kind"] != "machine":
            raise RefusalError(f"The {name} has no programs.")
        chosen = named("program", program, entry["programs"])
        entry["on"] = True
        entry["program"] = chosen
        return {"device": name, "program": chosen}

    @tool
    def set_timer(self, device: str, minutes: int) -> Result:
        """Let a device that is on turn itself off after some time.

        Args:
            device: name of the device.
            minutes: from 1 to 1440; 0 clears the timer.
        """
        name, entry = self._switchable(device)
        if not 0 <= minutes <= MAX_MINUTES:
            raise RefusalError(f"`minutes` must be from 0 to {MAX_MINUTES}.")
        if minutes and not entry["on"]:
            raise RefusalError(f"The {name} is off.")
        entry["timer"] = minutes
        return {"device": name, "timer": minutes}

    @tool
    def set_heating(self, room: str, celsius: float) -> Result:
        """Set the temperature that the heating of a room shall reach.

        Args:
            room: name of the room.
            celsius: degrees, from 5 to 30.
        """
        name = named("room", room, self.rooms)
        if not COLDEST <= celsius <= WARMEST:
            raise RefusalError(f"`celsius` must be from {COLDEST:g} to {WARMEST:g}.")
        self.rooms[name]["heating"] = celsius
        return {"room": name, "heating": celsius}

    @tool
    def set_blinds(self, room: str, percent: int) -> Result:
        """Move the blinds of a room.

        Args:
            room: name of the room.
            percent: how far open: 0 is closed, 100 is fully open.
        """
        name = named("room", room, self.rooms)
        if not 0 <= percent <= 100:
            raise RefusalError("`percent` must be from 0 to 100.")
        self.rooms[name]["blinds"] = percent
        return {"room": name, "blinds": percent}

    @tool
    def lock_door(self, door: str) -> Result:
        """Lock a door.

        Args:
            door: name of the door.
        """
        return self._lock(door, True)

    @tool
    def unlock_door(self, door: str) -> Result:
        """Unlock a door.

        Args:
            door: name of the door.
        """
        return self._lock(door, False)

    @tool
    def apply_scene(self, scene: str) -> Result:
        """Set several devices at once as a stored scene says.

        Args:
            scene: name of the scene.
        """
        name = named("scene", scene, self.scenes)
        for device, change in self.scenes[name].items():
            entry = self.devices[device]
            entry.update(change)
            if not entry["on"]:
                entry["timer"] = 0
        return {"scene": name}

    def _switchable(self, device: str) -> tuple[str, dict[str, Any]]:
        name = named("device", device, self.devices)
        entry = self.devices[name]
        if entry["kind"] == "door":
            raise RefusalError(f"The {name} is a door.")
        return name, entry

    def _lock(self, door: str, locked: bool) -> Result:
        doors = [name for name, entry in self.devices.items() if entry["kind"] == "door"]
        name = named("door", door, doors)
        self.devices[name]["locked"] = locked
        return {"door": name, "locked": locked}
