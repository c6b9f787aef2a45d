from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentenvs.webshop import Catalog, compile_catalog, score, search
from agentenvs.webshop.audit import unreachable
from agentenvs.webshop.env import WebShopEnv
from agentenvs.webshop.official import OfficialFiles, read_products
from agentenvs.webshop.plans import gold_actions
from agentenvs.webshop.records import NO_CAP, Product
from agentenvs.webshop.tasks import task_ids

FILES = ("items_shuffle_mini.json", "items_ins_v2_mini.json", "items_human_ins_mini.json")
CATEGORIES = {"beauty", "electronics", "garden", "fashion", "grocery"}
LABELS = {"search", "description", "features", "reviews", "attributes", "buy now"}


@pytest.fixture(scope="module")
def folder(root: Path) -> Path:
    return root / "assets" / "mini" / "webshop"


@pytest.fixture(scope="module")
def records(folder: Path) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads((folder / FILES[0]).read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="module")
def attributes(folder: Path) -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = json.loads((folder / FILES[1]).read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="module")
def human(folder: Path) -> list[dict[str, Any]]:
    read = json.loads((folder / FILES[2]).read_text(encoding="utf-8"))
    assert all(record["asin"] == asin for asin, listed in read.items() for record in listed)
    return [record for listed in read.values() for record in listed]


@pytest.fixture(scope="module")
def catalog(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    made = compile_catalog(folder, tmp_path_factory.mktemp("mini") / "mini", name="mini")
    return Catalog.open(made)


def groups(record: dict[str, Any]) -> dict[str, list[str] | None]:
    options = record["customization_options"] or {}
    return {
        name: None if values is None else [value["value"] for value in values]
        for name, values in options.items()
    }


def values(record: dict[str, Any]) -> list[str]:
    return [value for listed in groups(record).values() for value in listed or ()]


def clean(value: str) -> str:
    return value.strip().replace("/", " | ").lower()


def test_generator_writes_the_same_bytes(folder: Path, root: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(root / "scripts" / "mini_webshop"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names - {"nouns.json"} == set(FILES)
    for name in names:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_generator_says_how_it_is_called(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(root / "scripts" / "mini_webshop")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "usage: python scripts/mini_webshop OUT" in done.stderr
    assert not list(tmp_path.iterdir())


def test_files_are_small_with_a_record_a_line(
    folder: Path, records: list[dict[str, Any]], attributes: dict[str, Any]
) -> None:
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_600_000
    for name, count in ((FILES[0], len(records)), (FILES[1], len(attributes))):
        assert len((folder / name).read_text(encoding="utf-8").splitlines()) == count + 2


def test_every_record_is_a_product(folder: Path, records: list[dict[str, Any]]) -> None:
    read = list(read_products(OfficialFiles.find(folder)))
    assert all(isinstance(product, Product) for product in read)
    assert len(read) == len(records)
    assert 320 <= len(read) <= 400
    assert all(re.fullmatch(r"M0[A-Z0-9]{8}", record["asin"]) for record in records)
    assert all(record["images"] and record["name"].strip() for record in records)


def test_leaves_hold_products_to_choose_from(records: list[dict[str, Any]]) -> None:
    leaves = Counter(record["query"] for record in records)
    assert len(leaves) >= 60
    assert min(leaves.values()) >= 3
    assert max(leaves.values()) <= 8
    assert {record["category"] for record in records} == CATEGORIES
    for query in leaves:
        alike = [record for record in records if record["query"] == query]
        assert len({record["category"] for record in alike}) == 1
        assert len({record["name"] for record in alike}) == len(alike)


@pytest.mark.parametrize(
    ("what", "low", "high"),
    [
        (lambda p: p["pricing"].count("$") == 1, 0.79, 0.85),
        (lambda p: p["pricing"].count("$") == 2, 0.08, 0.105),
        (lambda p: p["pricing"] == "", 0.075, 0.10),
        (lambda p: p["full_description"] == "", 0.27, 0.33),
        (lambda p: isinstance(p["small_description"], str), 0.012, 0.02),
        (lambda p: p["average_rating"] == "", 0.31, 0.41),
        (lambda p: p["customization_options"] == "", 0.46, 0.56),
        (lambda p: groups(p) and not values(p), 0.04, 0.07),
        (lambda p: {"Color", "Size"} <= {n for n, v in groups(p).items() if v}, 0.12, 0.24),
        (lambda p: 3 <= p["product_category"].count(" \u203a ") <= 4, 0.70, 0.99),
        (lambda p: "\u203a" not in p["product_category"], 0.01, 0.03),
        (lambda p: "model" in p, 0.15, 0.25),
        (lambda p: p["category"] == "beauty", 0.20, 0.27),
        (lambda p: p["category"] == "electronics", 0.20, 0.27),
        (lambda p: p["category"] == "garden", 0.20, 0.27),
        (lambda p: p["category"] == "fashion", 0.17, 0.23),
        (lambda p: p["category"] == "grocery", 0.09, 0.14),
    ],
)
def test_shares_are_those_of_official_catalogs(
    records: list[dict[str, Any]], what: Callable[[dict[str, Any]], object], low: float, high: float
) -> None:
    share = sum(bool(what(record)) for record in records) / len(records)
    assert low <= share <= high


def test_options_have_the_official_shapes(records: list[dict[str, Any]]) -> None:
    size = {"is_selected", "is_available", "value", "asin"}
    other = {"is_selected", "url", "value", "price_string", "price", "image"}
    for record in records:
        for name, listed in (record["customization_options"] or {}).items():
            if listed is None:
                continue
            assert all(set(value) == (size if name == "Size" else other) for value in listed)
            assert [value["is_selected"] for value in listed] == [True] + [False] * (
                len(listed) - 1
            )
            assert len({value["value"] for value in listed}) == len(listed)


def test_values_in_brackets_of_a_title_are_on_offer(records: list[dict[str, Any]]) -> None:
    named = 0
    for record in records:
        tail = re.search(r" \(([^()]*)\)$", record["name"])
        if tail:
            named += 1
            whole = tail.group(1)
            parts = [whole] if whole in values(record) else whole.split(", ")
            assert set(parts) <= set(values(record)), record["name"]
    assert named > 10


def test_attributes_and_instructions_have_the_official_form(
    records: list[dict[str, Any]], attributes: dict[str, dict[str, Any]]
) -> None:
    assert list(attributes) == [record["asin"] for record in records]
    told = 0
    for record in records:
        entry = attributes[record["asin"]]
        assert all(len(text.split()) == 2 and text == text.lower() for text in entry["attributes"])
        assert len(set(entry["attributes"])) == len(entry["attributes"])
        if "instruction" not in entry:
            assert set(entry) == {"attributes"}
            continue
        told += 1
        wanted = entry["instruction_attributes"]
        assert len(entry["attributes"]) >= 2
        assert wanted
        assert set(wanted) <= set(entry["attributes"])
        query = re.escape(record["query"])
        form = rf"Find me (.+ )?{query}( with .+)?( for .+)?"
        assert re.fullmatch(form, entry["instruction"])
        assert all(text in entry["instruction"] for text in wanted)
    assert 0.38 <= told / len(records) <= 0.46
    counts = Counter(min(len(entry["attributes"]), 5) for entry in attributes.values())
    shares = [counts[n] / len(records) for n in range(6)]
    for share, official in zip(shares, (0.185, 0.19, 0.19, 0.13, 0.12, 0.18), strict=True):
        assert abs(share - official) < 0.05


AWKWARD: dict[str, Callable[[dict[str, Any]], object]] = {
    "a price range": lambda p: p["pricing"].count("$") == 2,
    "no price": lambda p: p["pricing"] == "",
    "a price with a thousands comma, so high that goals get no cap": (
        lambda p: re.fullmatch(r"\$\d,\d{3}\.\d\d", p["pricing"])
    ),
    "a range that ends above where caps do": (
        lambda p: float(p["pricing"].split("$")[2].replace(",", "")) > 980
    ),
    "a value with a slash": lambda p: any("/" in value for value in values(p)),
    "a value with a double quote": lambda p: any('"' in value for value in values(p)),
    "a value with an apostrophe": lambda p: any("'" in value for value in values(p)),
    "a value beyond ASCII": lambda p: not all(value.isascii() for value in values(p)),
    "a value under two option names": lambda p: max(Counter(values(p)).values()) > 1,
    "a value with brackets": lambda p: any("[" in v and "]" in v for v in values(p)),
    "a value equal to a button label": lambda p: LABELS & {v.lower() for v in values(p)},
    "values with a code behind them": (
        lambda p: any(re.search(r"[a-z]\d{4}$", value) for value in values(p))
    ),
    "a title with emoji": lambda p: any(ord(letter) > 0x1F000 for letter in p["name"]),
    "a title of more than 250 characters": lambda p: len(p["name"]) > 250,
    "one option with one value": lambda p: len(values(p)) == 1,
    "an option with more than 30 values": (
        lambda p: max(len(listed or ()) for listed in groups(p).values()) > 30
    ),
    "option names, all without values": lambda p: groups(p) and not values(p),
    "an option name without values beside others": (
        lambda p: values(p) and None in groups(p).values()
    ),
    "bullets in one string": lambda p: isinstance(p["small_description"], str),
    "a breadcrumb of one part": lambda p: "\u203a" not in p["product_category"],
    "a description of several lines": lambda p: "\n" in p["full_description"],
    "a query with an apostrophe": lambda p: "'" in p["query"],
    "a query with an ampersand": lambda p: "&" in p["query"],
}


def test_awkward_cases_are_where_the_readme_says(
    folder: Path, records: list[dict[str, Any]]
) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (.+) \| `(M0\w{8})` \|$", text, re.MULTILINE)
    assert [what for what, _ in listed] == list(AWKWARD)
    shop = {record["asin"]: record for record in records}
    for what, asin in listed:
        assert AWKWARD[what](shop[asin]), what


def test_readme_counts_right(
    folder: Path, catalog: Catalog, records: list[dict[str, Any]], human: list[dict[str, Any]]
) -> None:
    text = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    leaves = len({record["query"] for record in records})
    goals = catalog.goals("synthetic")
    products = len({goals.row(n) for n in range(len(goals))})
    assert f"{len(records)} products in {leaves} leaves" in text
    assert f"{len(goals):,} synthetic goals from {products} products" in text
    assert f"and {len(human)} instructions" in text
    assert f"for {len({record['asin'] for record in human})} products" in text


def test_synthetic_goals_are_neither_few_nor_of_one_product(catalog: Catalog) -> None:
    goals = catalog.goals("synthetic")
    assert 1500 <= len(goals) <= 6000
    by_product = Counter(goals.row(n) for n in range(len(goals)))
    assert max(by_product.values()) <= 300
    assert len(by_product) > 140
    assert any(goals.goal(n).price_upper == NO_CAP for n in range(len(goals)))


def test_every_synthetic_goal_reaches_one_under_the_fixed_rules(catalog: Catalog) -> None:
    assert list(unreachable(catalog, "fixed")) == []


def test_holds_as_much_as_its_readme_and_the_docs_say(catalog: Catalog) -> None:
    counts = catalog.meta["counts"]
    assert (counts["products"], counts["synthetic_products"]) == (380, 165)
    assert (counts["synthetic_goals"], counts["human_goals"]) == (1_830, 54)
    assert task_ids("mini", catalog=catalog).count("mini/human/53") == 1
    assert task_ids("mini", catalog=catalog)[54:] == [f"mini/synthetic/{n}" for n in range(46)]
    assert sum(1 for _ in unreachable(catalog, "official")) == 11


def test_people_ask_for_many_things_in_many_ways(
    human: list[dict[str, Any]], records: list[dict[str, Any]]
) -> None:
    shop = {record["asin"]: record for record in records}
    assert len(human) >= 36
    assert len({record["asin"] for record in human}) >= 30
    assert {shop[record["asin"]]["category"] for record in human} == CATEGORIES
    assert len({record["instruction"] for record in human}) == len(human)
    openings = Counter(" ".join(record["instruction"].split()[:3]).lower() for record in human)
    assert max(openings.values()) <= 3
    assert {len(record["instruction_options"]) for record in human} == {0, 1, 2, 3}


def test_people_ask_for_what_the_product_has(
    human: list[dict[str, Any]],
    records: list[dict[str, Any]],
    attributes: dict[str, dict[str, Any]],
) -> None:
    shop = {record["asin"]: record for record in records}
    keys = {"asin", "instruction", "attributes", "options"}
    keys |= {"instruction_attributes", "instruction_options"}
    for record in human:
        assert set(record) == keys
        product = shop[record["asin"]]
        assert record["attributes"] == attributes[record["asin"]]["attributes"]
        assert record["instruction_attributes"]
        assert set(record["instruction_attributes"]) <= set(record["attributes"])
        on_offer = {
            f"{name.lower()}: {clean(value)}"
            for name, listed in groups(product).items()
            for value in listed or ()
        }
        assert set(record["options"]) <= on_offer
        plain = [option.split(": ", 1)[1] for option in record["options"]]
        assert record["instruction_options"] == plain
        assert not any("[" in value or value in LABELS for value in plain)


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_every_human_goal_reaches_one_by_the_wanted_purchase(
    catalog: Catalog, human: list[dict[str, Any]], rules: Any
) -> None:
    goals = catalog.goals("human")
    assert len(goals) == len(human)
    wishes = {record["instruction"].strip("."): record for record in human}
    for n in range(len(goals)):
        goal = goals.goal(n)
        wish = wishes[re.sub(r", and price lower than .*$", "", goal.instruction_text)]
        row = goals.row(n)
        product = catalog.product(row)
        chosen = dict(option.split(": ", 1) for option in wish["options"])
        bought = score(product, goal, chosen, catalog.price(row), product.nouns, rules)
        assert bought.total == 1.0, goal.instruction_text


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_every_human_goal_can_be_played_to_the_end(catalog: Catalog, rules: Any) -> None:
    env = WebShopEnv(tasks="human", catalog=catalog, rules=rules)
    for n in range(len(catalog.goals("human"))):
        task = f"mini/human/{n}"
        env.reset(options={"task": task})
        for action in gold_actions(task, catalog=catalog):
            _, reward, terminated, _, info = env.step(action)
        assert terminated, task
        assert reward == 1.0, (task, info)


def test_products_are_found_and_not_too_easily(catalog: Catalog) -> None:
    ranks: dict[str, list[int]] = {}
    for kind in ("human", "synthetic"):
        goals = catalog.goals(kind)  # type: ignore[arg-type]
        ranks[kind] = []
        for n in range(0, len(goals), 1 if kind == "human" else 7):
            goal = goals.goal(n)
            found = search(catalog, goal.instruction_text, 50)
            ranks[kind].append(found.index(goal.asin) + 1 if goal.asin in found else 51)
    assert max(ranks["human"]) <= 50
    first, ten = (
        sum(r <= k for r in ranks["synthetic"]) / len(ranks["synthetic"]) for k in (1, 10)
    )
    assert 0.35 < first < 0.7
    assert 0.8 < ten < 1.0


def test_nothing_is_taken_from_the_official_files(
    webshop_data: Path, root: Path, records: list[dict[str, Any]], attributes: dict[str, Any]
) -> None:
    official = json.loads((webshop_data / "items_shuffle_1000.json").read_text(encoding="utf-8"))
    for read in (
        lambda p: [p["asin"]],
        lambda p: [p["name"].strip().lower()],
        lambda p: [p["query"]],
        lambda p: [p["product_category"]],
        lambda p: [p["full_description"].strip().lower() or p["asin"]],
        lambda p: [b.strip().lower() for b in p["small_description"] if len(b) > 1],
    ):
        ours, theirs = ({text for p in shop for text in read(p)} for shop in (records, official))
        assert not ours & theirs
    told = json.loads((webshop_data / "items_ins_v2_1000.json").read_text(encoding="utf-8"))
    theirs = {entry.get("instruction") for entry in told.values()} - {None}
    assert not theirs & {entry.get("instruction") for entry in attributes.values()}
    texts = " ".join(p["name"] + p["full_description"] for p in official).lower()
    pools = root / "scripts" / "mini_webshop" / "words" / "pools.toml"
    brands = tomllib.loads(pools.read_text(encoding="utf-8"))["brands"]
    for brand in (name for names in brands.values() for name in names):
        assert not re.search(rf"\b{re.escape(brand.lower())}\b", texts), brand
