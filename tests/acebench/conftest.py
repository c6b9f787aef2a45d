from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentenvs.acebench.records import Records, read_folder


@pytest.fixture(scope="session")
def acebench_data() -> Path:
    """Return the folder of ACEBench's files, or skip."""
    folder = os.environ.get("AGENTENVS_DATA")
    if not folder:
        pytest.skip("AGENTENVS_DATA does not name the folder of official files")
    place = Path(folder) / "acebench"
    if not (place / "data_en").is_dir():
        pytest.skip(f"there are no ACEBench files in {place}")
    return place


@pytest.fixture(scope="session")
def records(acebench_data: Path) -> Records:
    """Return the official records."""
    return read_folder(acebench_data)


@pytest.fixture(scope="session")
def official_acebench(acebench_data: Path) -> Iterator[None]:
    """Let the package find the official files where the tests do, or skip."""
    from agentenvs.acebench import tasks

    def forget() -> None:
        for known in (tasks.open_tree, tasks.open_records, tasks._units):
            known.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTENVS_ACEBENCH", str(acebench_data))
        forget()
        yield
    forget()


_TINY = {
    "en": ("Ann", "Bob", "Tea House", "green tea", "black tea", "Oslo", "Rome", "Riga"),
    "zh": ("安", "波", "茶馆", "绿茶", "红茶", "奥斯陆", "罗马", "里加"),
}


def _tiny(lang: str) -> dict[str, Any]:
    first, second, shop, green, black, oslo, rome, riga = _TINY[lang]
    cabins = ("Economy Class", "Business Class") if lang == "en" else ("经济舱", "商务舱")
    route = ("origin", "destination", "depart_time", "arrival_time")
    prices = ("economy_price", "business_price")
    flights = [
        ("T1", (oslo, rome, "2024-07-20 08:00:00", "2024-07-20 10:00:00"), (100, 300)),
        ("T2", (rome, riga, "2024-07-20 09:00:00", "2024-07-20 11:00:00"), (110, 310)),
        ("T3", (rome, riga, "2024-07-20 12:00:00", "2024-07-20 14:00:00"), (120, 320)),
        ("T4", (oslo, rome, "2024-07-14 20:00:00", "2024-07-14 22:00:00"), (200, 500)),
    ]
    booked = [("res_1", "T1", cabins[0], 1), ("res_2", "T4", cabins[1], 2), ("res_3", "X", "?", 0)]
    state: dict[str, Any] = {
        "BaseApi": {"wifi": False, "logged_in": True},
        "MessageApi": {
            "max_capacity": 3,
            "user_list": {first: {"user_id": "P1"}, second: {"user_id": "P2"}},
            "inbox": {
                "1": {
                    "sender_id": "P1",
                    "receiver_id": "P2",
                    "message": "Hi",
                    "time": "2024-02-01",
                },
                "2": {
                    "sender_id": "P2",
                    "receiver_id": "P1",
                    "message": "Lo",
                    "time": "2024-01-01",
                },
            },
            "message_id_counter": 2,
        },
        "ReminderApi": {
            "max_capacity": 2,
            "reminder_list": {
                "1": {
                    "reminder_id": 100,
                    "title": "Walk",
                    "description": "with the dog",
                    "time": "2024-01-01 10:00",
                    "notified": False,
                }
            },
            "reminder_id_counter": 1,
        },
        "FoodPlatform": {
            "users": {
                first: {"user_id": "F1", "password": "one", "balance": 20.0},
                second: {"user_id": "F2", "password": "two", "balance": 5.0},
            },
            "merchant_list": {
                shop: {
                    "merchant_id": "M1",
                    "service_type": "Tea",
                    "menu": [{"product": green, "price": 4.0}, {"product": black, "price": 2.5}],
                }
            },
            "logged_in_users": [],
            "orders": [],
        },
        "Travel": {
            "users": {
                "u1": {
                    "user_name": first,
                    "password": "one",
                    "cash_balance": 500.0,
                    "bank_balance": 1000.0,
                    "membership_level": "regular",
                },
                "u2": {
                    "user_name": second,
                    "password": "two",
                    "cash_balance": 50.0,
                    "bank_balance": 60.0,
                    "membership_level": "gold",
                },
            },
            "flights": [
                {
                    "flight_no": number,
                    **dict(zip(route, way, strict=True)),
                    **dict(zip(prices, costs, strict=True)),
                }
                for number, way, costs in flights
            ],
            "reservations": [
                {
                    "reservation_id": name,
                    "user_id": "u1",
                    "flight_no": number,
                    "payment_method": "bank",
                    "cabin": cabin,
                    "baggage": bags,
                    "origin": oslo,
                    "destination": rome,
                }
                for name, number, cabin, bags in booked
            ],
        },
    }
    return {name: {"state": values} for name, values in state.items()}


@pytest.fixture(scope="session")
def tiny() -> dict[str, dict[str, Any]]:
    """Return an invented initial state of all services by language; nobody may change it."""
    return {lang: _tiny(lang) for lang in _TINY}


@pytest.fixture(scope="session")
def official_counts() -> Mapping[str, tuple[int, int]]:
    """Return how many references the official checker accepts, in English and in Chinese."""
    return {
        "normal_single_turn_single_function": (100, 100),
        "normal_single_turn_parallel_function": (99, 98),
        "normal_multi_turn_user_adjust": (110, 115),
        "normal_multi_turn_user_switch": (86, 100),
        "normal_similar_api": (50, 48),
        "normal_preference": (49, 50),
        "normal_atom_bool": (50, 50),
        "normal_atom_enum": (50, 50),
        "normal_atom_number": (50, 50),
        "normal_atom_list": (50, 49),
        "normal_atom_object_short": (50, 49),
        "normal_atom_object_deep": (50, 50),
        "special_incomplete": (50, 50),
        "special_error_param": (50, 50),
        "special_irrelevant": (50, 50),
        "agent_multi_step": (7, 11),
        "agent_multi_turn": (21, 29),
    }
