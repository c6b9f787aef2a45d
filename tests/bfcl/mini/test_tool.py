from __future__ import annotations

import inspect
from typing import Any, Literal

import pytest

from agentenvs.bfcl import mini
from agentenvs.bfcl.mini.tool import RefusalError, ToolWorld, docs_of, fields, named, tool
from agentenvs.errors import BadArgument, UnknownName


class Shop(ToolWorld):
    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        self.bought: list[Any] = []

    @tool
    def buy(
        self,
        item: str,
        count: int,
        price: float = 1.5,
        gift: bool = False,
        size: Literal["s", "l"] = "s",
        labels: list[str] = [],  # noqa: B006
        extras: dict[str, str] = {},  # noqa: B006
    ) -> dict[str, Any]:
        """Buy an item,
        or several.

        Args:
            item: what to buy,
                in words.
            count: how many.
            price: at most this: much.
            gift: wrap it.
            size: how big.
            labels: to stick on.
            extras: by name.
        """
        if item == "moon":
            raise RefusalError("The moon is not for sale.")
        self.bought.append((item, count, price, gift, size, labels, extras))
        return {"bought": len(self.bought)}


def test_docs_come_from_signature_and_docstring() -> None:
    (doc,) = docs_of(Shop)
    assert doc == {
        "name": "buy",
        "description": "Buy an item, or several.",
        "parameters": {
            "type": "dict",
            "properties": {
                "item": {"type": "string", "description": "what to buy, in words."},
                "count": {"type": "integer", "description": "how many."},
                "price": {"type": "float", "description": "at most this: much.", "default": 1.5},
                "gift": {"type": "boolean", "description": "wrap it.", "default": False},
                "size": {
                    "type": "string",
                    "enum": ["s", "l"],
                    "description": "how big.",
                    "default": "s",
                },
                "labels": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "to stick on.",
                    "default": [],
                },
                "extras": {
                    "type": "dict",
                    "additionalProperties": {"type": "string"},
                    "description": "by name.",
                    "default": {},
                },
            },
            "required": ["item", "count"],
        },
    }


def test_arguments_take_their_annotated_type() -> None:
    shop = Shop()
    assert shop.buy("tea", 2.0, price=3) == {"bought": 1}  # type: ignore[arg-type]
    item, count, price, *_ = shop.bought[0]
    assert (item, count, price) == ("tea", 2, 3.0)
    assert type(count) is int
    assert type(price) is float


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"item": 5, "count": 1}, "`item` must be a string"),
        ({"item": "x" * 2001, "count": 1}, "longer than 2000"),
        ({"item": "tea", "count": "two"}, "`count` must be an integer, got 'two'"),
        ({"item": "tea", "count": True}, "`count` must be an integer, got True"),
        ({"item": "tea", "count": 1.5}, "`count` must be an integer, got 1.5"),
        ({"item": "tea", "count": float("nan")}, "`count` is not a number between"),
        ({"item": "tea", "count": 10**5000}, "`count` is not a number between"),
        ({"item": "tea", "count": 1, "price": None}, "`price` must be a number, got None"),
        ({"item": "tea", "count": 1, "gift": "yes"}, "`gift` must be true or false"),
        ({"item": "tea", "count": 1, "size": "m"}, "`size` must be one of 's', 'l', got 'm'"),
        ({"item": "tea", "count": 1, "size": ["s"]}, "`size` must be one of"),
        ({"item": "tea", "count": 1, "labels": "a"}, "`labels` must be a list, got 'a'"),
        ({"item": "tea", "count": 1, "labels": ["a", 2]}, "`labels[1]` must be a string"),
        ({"item": "tea", "count": 1, "labels": ["a"] * 21}, "`labels` has more than 20"),
        ({"item": "tea", "count": 1, "extras": ["a"]}, "`extras` must be a dict"),
        ({"item": "tea", "count": 1, "extras": {1: "a"}}, "`a key of extras` must be a string"),
        ({"item": "tea", "count": 1, "extras": {"a": {}}}, "`extras['a']` must be a string"),
        ({"item": "tea"}, "missing a required argument: 'count'"),
        ({"item": "tea", "count": 1, "colour": "red"}, "unexpected keyword argument 'colour'"),
        ({"item": "tea", "count": 1, "self": 3}, "'self'"),
        ({"item": "moon", "count": 1}, "The moon is not for sale."),
    ],
)
def test_a_bad_argument_is_a_result_and_changes_nothing(
    arguments: dict[str, Any], said: str
) -> None:
    shop = Shop()
    result = shop.buy(**arguments)
    assert set(result) == {"error"}
    assert said in result["error"]
    assert len(result["error"]) < 400
    assert shop.bought == []


def test_too_many_positional_arguments_are_a_result() -> None:
    assert "error" in Shop().buy(*range(9))  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["Kitchen Lamp", " kitchen_lamp ", "kitchen-lamp"])
def test_names_are_found_whatever_their_spelling(said: str) -> None:
    assert named("device", said, ["fan", "kitchen lamp"]) == "kitchen lamp"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(RefusalError, match=r"no device 'lamp'\. Known: 'fan'"):
        named("device", "lamp", ["fan"])


@pytest.mark.parametrize("value", [[], {"a": 1}, {"b": "text"}])
def test_fields_refuses_other_shapes(value: Any) -> None:
    with pytest.raises(BadArgument):
        fields("a thing", value, b=int)


@pytest.mark.parametrize("name", ["Files", "TicketDesk", "Home"])
def test_every_public_method_has_a_complete_doc(name: str) -> None:
    docs = mini.docs(name)
    world = mini.worlds()[name]
    public = [key for key, member in inspect.getmembers(world()) if key[0] != "_"]
    state = set(vars(world()))
    assert {doc["name"] for doc in docs} == set(public) - state
    assert 10 <= len(docs) <= 14
    for doc in docs:
        assert doc["description"].endswith(".")
        for parameter in doc["parameters"]["properties"].values():
            assert parameter["description"]


def test_no_name_occurs_in_two_worlds() -> None:
    names = [doc["name"] for world in mini.worlds() for doc in mini.docs(world)]
    assert len(names) == len(set(names))


def test_docs_are_fresh_copies() -> None:
    mini.docs("Home")[0]["name"] = "changed"
    assert mini.docs("Home")[0]["name"] == "list_rooms"


def test_docs_of_an_unknown_world() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'Files'"):
        mini.docs("File")
