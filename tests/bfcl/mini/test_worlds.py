from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.bfcl import mini
from agentenvs.bfcl.mini.desk import TicketDesk
from agentenvs.bfcl.mini.files import Files
from agentenvs.bfcl.mini.home import Home
from agentenvs.errors import BadArgument


def loaded(world: Any, scenario: dict[str, Any]) -> Any:
    world._load_scenario(scenario)
    return world


@pytest.fixture
def files() -> Files:
    return loaded(
        Files(),
        {
            "files": {"a.txt": "one\nTWO", "box/b.txt": "three"},
            "folders": ["box", "empty"],
            "bin": {"gone.txt": "x"},
            "protected": ["box/b.txt"],
        },
    )


@pytest.fixture
def desk() -> TicketDesk:
    return loaded(
        TicketDesk(),
        {
            "staff": [{"name": "Ada", "role": "keys"}, {"name": "Bo", "on_duty": False}],
            "tickets": [
                {"id": 3, "title": "Door stuck", "notes": ["again"]},
                {"id": 5, "title": "Key lost", "status": "closed", "sender": "Cy"},
            ],
        },
    )


@pytest.fixture
def home() -> Home:
    return loaded(
        Home(),
        {
            "rooms": {"den": {"temperature": 17.0}},
            "devices": {
                "lamp": {"kind": "lamp", "room": "den", "on": True},
                "fan": {"kind": "switch", "room": "den"},
                "oven": {"kind": "machine", "room": "den", "programs": ["bread"]},
                "door": {"kind": "door", "room": "den"},
            },
            "scenes": {"dark": {"lamp": {"on": False, "brightness": 5}}},
        },
    )


def test_listing_a_folder(files: Files) -> None:
    assert files.list_files() == {"folder": "", "files": ["a.txt"]}
    assert files.list_files("/") == files.list_files(".") == files.list_files()
    assert files.list_files("box/") == {"folder": "box", "files": ["box/b.txt"]}
    assert "Folders: box, empty" in files.list_files("boxes")["error"]


def test_search_ignores_case(files: Files) -> None:
    assert files.find_text("two") == {
        "matches": [{"file": "a.txt", "line": 2, "text": "TWO"}],
        "count": 1,
    }


def test_equal_files_by_other_ways_give_equal_states_and_results(files: Files) -> None:
    other = copy.deepcopy(files)
    assert files.append_line("a.txt", "three") == other.write_file("a.txt", "one\nTWO\nthree\n")
    assert files.move_file("a.txt", "box") == other.rename_file("./a.txt", "box/a.txt")
    assert vars(files) == vars(other)


@pytest.mark.parametrize("name", ["", " ", "..", "a/../b", "x/y/z", "/box/", "n" * 61, "a\nb"])
def test_bad_paths_are_refused(files: Files, name: str) -> None:
    before = copy.deepcopy(vars(files))
    assert "error" in files.write_file(name, "text")
    assert vars(files) == before


def test_a_protected_file_stays(files: Files) -> None:
    before = copy.deepcopy(vars(files))
    for result in (
        files.write_file("box/b.txt", "new"),
        files.append_line("box/b.txt", "new"),
        files.delete_file("box/b.txt"),
        files.move_file("box/b.txt", ""),
        files.rename_file("box/b.txt", "c.txt"),
    ):
        assert result == {"error": "The file 'box/b.txt' is protected."}
    assert vars(files) == before
    files.protect_file("box/b.txt", False)
    assert files.delete_file("box/b.txt") == {"deleted": "box/b.txt"}


def test_the_bin_gives_back(files: Files) -> None:
    files.delete_file("a.txt")
    assert "a.txt" in files.bin
    assert files.restore_file("a.txt") == {"file": "a.txt", "lines": 2}
    assert files.restore_file("a.txt") == {"error": "There is already a 'a.txt'."}
    assert "It holds: gone.txt" in files.restore_file("b.txt")["error"]


def test_files_are_bounded(files: Files) -> None:
    for i in range(200):
        files.write_file(f"f{i}", "x")
        files.create_folder(f"d{i}")
        files.append_line("a.txt", "y" * 2000)
    assert len(files.files) == 100
    assert len(files.folders) == 30
    assert len(files.files["a.txt"]) <= 10_000
    assert "error" in files.copy_file("a.txt", "new.txt")
    assert "error" not in files.rename_file("a.txt", "new.txt")


def test_tickets_count_up(desk: TicketDesk) -> None:
    assert desk.open_ticket(" New ", "high")["ticket_id"] == 6
    assert desk.tickets[6]["title"] == "New"
    assert desk.list_tickets()["tickets"] == [
        {"ticket_id": 3, "title": "Door stuck"},
        {"ticket_id": 6, "title": "New"},
    ]


def test_only_people_on_duty_get_tickets(desk: TicketDesk) -> None:
    assert desk.assign_ticket(3, "ada") == {"ticket_id": 3, "assignee": "Ada"}
    assert desk.assign_ticket(3, "Bo") == {"error": "Bo is not on duty."}
    assert desk.assign_ticket(4, "Ada") == {"error": "There is no ticket 4."}
    assert desk.tickets[3]["assignee"] == "Ada"


def test_merging_moves_notes_and_closes(desk: TicketDesk) -> None:
    desk.merge_tickets(3, 5)
    assert desk.tickets[5]["notes"] == ["again"]
    assert (desk.tickets[3]["status"], desk.tickets[3]["merged_into"]) == ("closed", 5)
    assert "already merged" in desk.merge_tickets(3, 5)["error"]
    assert "into itself" in desk.merge_tickets(5, 5)["error"]


def test_tags_and_details_add_up(desk: TicketDesk) -> None:
    desk.tag_ticket(3, ["Red", "door"])
    assert desk.tag_ticket(3, ["red", "blue"])["tags"] == ["blue", "door", "red"]
    desk.set_details(3, {"room": "1"})
    assert desk.set_details(3, {"floor": "2"})["details"] == {"floor": "2", "room": "1"}


def test_the_search_sees_title_sender_and_notes(desk: TicketDesk) -> None:
    for text, number in (("DOOR", 3), ("again", 3), ("cy", 5)):
        assert [m["ticket_id"] for m in desk.find_tickets(text)["matches"]] == [number]


def test_the_desk_is_bounded(desk: TicketDesk) -> None:
    for i in range(250):
        desk.open_ticket(f"t{i}")
        desk.add_note(3, f"n{i}")
        desk.tag_ticket(3, [f"t{i}"])
        desk.attach_file(3, f"f{i}")
        desk.set_details(3, {f"k{i}": "v"})
    assert len(desk.tickets) == 200
    ticket = desk.tickets[3]
    assert [len(ticket[k]) for k in ("notes", "tags", "attachments", "details")] == [60] * 4


def test_results_are_no_way_into_the_state(desk: TicketDesk, home: Home) -> None:
    desk.read_ticket(3)["notes"].append("x")
    home.device_status("oven")["programs"].append("x")
    home.room_climate("den")["blinds"] = 3
    assert desk.tickets[3]["notes"] == ["again"]
    assert home.devices["oven"]["programs"] == ["bread"]
    assert home.rooms["den"]["blinds"] == 100


def test_machines_need_a_program(home: Home) -> None:
    assert "Programs: 'bread'" in home.turn_on("oven")["error"]
    assert home.start_program("oven", "Bread") == {"device": "oven", "program": "bread"}
    assert home.turn_on("oven") == {"device": "oven", "on": True}
    home.turn_off("oven")
    assert home.devices["oven"]["program"] == ""


def test_turning_off_clears_the_timer(home: Home) -> None:
    assert home.set_timer("fan", 5) == {"error": "The fan is off."}
    home.turn_on("fan")
    home.set_timer("fan", 5)
    home.set_timer("lamp", 7)
    home.turn_off("fan")
    home.apply_scene("dark")
    assert (home.devices["fan"]["timer"], home.devices["lamp"]["timer"]) == (0, 0)
    assert home.devices["lamp"]["brightness"] == 5


def test_what_does_not_fit_a_device_is_refused(home: Home) -> None:
    before = copy.deepcopy(vars(home))
    for result in (
        home.turn_on("door"),
        home.set_brightness("fan", 10),
        home.set_brightness("lamp", 0),
        home.start_program("fan", "bread"),
        home.start_program("oven", "soup"),
        home.set_timer("lamp", 1441),
        home.set_heating("den", 30.5),
        home.set_blinds("den", 101),
        home.lock_door("lamp"),
        home.apply_scene("light"),
        home.room_climate("cellar"),
    ):
        assert set(result) == {"error"}
    assert vars(home) == before


@pytest.mark.parametrize(
    ("world", "scenario"),
    [
        (Files, {"file": {}}),
        (Files, {"files": {"x/a": ""}}),
        (Files, {"files": {"a": "ends\n"}}),
        (Files, {"files": {"a": 1}}),
        (Files, {"folders": [[]]}),
        (Files, {"protected": ["a"]}),
        (TicketDesk, {"tickets": [{"title": "no id"}]}),
        (TicketDesk, {"tickets": [{"id": 1}, {"id": 1}]}),
        (TicketDesk, {"tickets": [{"id": 1, "titel": ""}]}),
        (TicketDesk, {"staff": ["Ada"]}),
        (Home, {"rooms": {"den": {"temperature": "warm"}}}),
        (Home, {"devices": {"lamp": {"kind": "lamp", "room": "den"}}}),
        (Home, {"rooms": {"den": {}}, "devices": {"lamp": {"kind": "light", "room": "den"}}}),
        (Home, {"scenes": {"dark": {"lamp": {"on": False}}}}),
    ],
)
def test_a_scenario_of_another_shape_is_an_error(world: Any, scenario: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        world()._load_scenario(scenario)


@pytest.mark.parametrize("row", mini.rows(), ids=lambda row: row["id"])
def test_worlds_copy_and_load_without_sharing(row: dict[str, Any]) -> None:
    for name, scenario in row["initial_config"].items():
        kept = copy.deepcopy(scenario)
        first, second = (loaded(mini.worlds()[name](), scenario) for _ in range(2))
        third = copy.deepcopy(first)
        assert vars(first) == vars(second) == vars(third)
        for value in vars(first).values():
            value.clear()
        assert scenario == kept
        assert vars(second) == vars(third)


NAMES = sorted(
    {
        word
        for row in mini.rows()
        for scenario in row["initial_config"].values()
        for part in scenario.values()
        for word in part
        if isinstance(word, str)
    }
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(1, 60)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_json_argument_makes_a_tool_raise(data: st.DataObject) -> None:
    row = data.draw(st.sampled_from(mini.rows()))
    name = data.draw(st.sampled_from(row["involved_classes"]))
    world = loaded(mini.worlds()[name](), row["initial_config"].get(name, {}))
    for _ in range(data.draw(st.integers(1, 8))):
        doc = data.draw(st.sampled_from(mini.docs(name)))
        keys = [*doc["parameters"]["properties"], "self", "other"]
        typed = {
            "string": st.text(max_size=12) | st.sampled_from(NAMES),
            "integer": st.integers(-5, 120),
            "float": st.floats(0, 40),
            "boolean": st.booleans(),
            "array": st.lists(st.text(min_size=1, max_size=5), max_size=3),
            "dict": st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=5)),
        }
        if data.draw(st.booleans()):
            arguments = {
                key: data.draw(st.sampled_from(p["enum"]) if "enum" in p else typed[p["type"]])
                for key, p in doc["parameters"]["properties"].items()
            }
        else:
            arguments = data.draw(st.dictionaries(st.sampled_from(keys), VALUES, max_size=3))
        before = copy.deepcopy(vars(world))
        result = getattr(world, doc["name"])(**arguments)
        assert isinstance(result, dict)
        assert len(json.dumps(result)) < 100_000
        json.dumps(list(vars(world).values()))
        if "error" in result:
            assert vars(world) == before
