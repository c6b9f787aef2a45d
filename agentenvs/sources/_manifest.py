"""The manifest: what official data there is, and exactly which bytes it must consist of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentenvs.errors import UnknownName, did_you_mean
from agentenvs.sources._acebench import ACEBENCH
from agentenvs.sources._files import Files
from agentenvs.sources._pypi import PyPIWheel
from agentenvs.sources._source import NeededFile, Source

__all__ = ["FAMILIES", "SOURCES", "members", "names", "source"]


def _files(pattern: str, table: str) -> tuple[NeededFile, ...]:
    rows = (line.split() for line in table.strip().splitlines())
    return tuple(NeededFile(pattern.format(name), int(size), sha) for size, sha, name in rows)


_BFCL = Source(
    name="bfcl",
    version="2026.3.23",
    title="Berkeley Function-Calling Leaderboard v4, multi-turn",
    licence="Apache-2.0",
    credit="Berkeley Function-Calling Leaderboard, Gorilla LLM team, UC Berkeley",
    url="https://github.com/ShishirPatil/gorilla",
    filename="bfcl_eval-2026.3.23-py3-none-any.whl",
    size=1_925_664,
    sha256="3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
    way=PyPIWheel(project="bfcl-eval", module="bfcl_eval"),
    files=(
        *_files(
            "bfcl_eval/constants/{}.py",
            "9118 4cc033be99ae2b10bbde30e7751ddcac5468cb45841b6dc7b3a97b92adf38205 default_prompts",
        ),
        *_files(
            "bfcl_eval/{}.py",
            "36012 3703b9bb63f83581c60b8e0b82aac74c360c9ca781e99e7d4eb28b0cce2285dd utils",
        ),
        *_files(
            "bfcl_eval/data/BFCL_v4_multi_turn_{}.json",
            """
390425 1a21a995d06fd6f20ba55de7bced30ef953ec35e998f502ec2ecf4d66ef1c43a base
401159 87d28ce10e37d864b72de85d5732eef2a867b241d6c1c99b4ae682c9e3ea921c miss_func
402974 f0c66dda3795f5f53e3e1c0cc8ba0246b6761c8f58bdba8317203bf451ab8838 miss_param
392016 78c3268c5cc8e97c0f4ec6c811b3b9a2bba14323b1830b7a874b06d822749324 long_context
""",
        ),
        *_files(
            "bfcl_eval/data/possible_answer/BFCL_v4_multi_turn_{}.json",
            """
78931 1fee67823b317571649177dd89d63969feaae4e810cc7448ee55ba797fb7c8fc base
80589 69e679b806d1c871b05393a4b95583bb973248e5b8d96c2d7f4ca05e29fc32e6 miss_func
80816 59c442901779e2c31c33abcd566d032e03736e5ad8069de2fe05489873046ecf miss_param
114439 e82aa0e839c39d23c64a05834f7ae024d7c9738ec21738ecee78dc876e3d0d18 long_context
""",
        ),
        *_files(
            "bfcl_eval/data/multi_turn_func_doc/{}.json",
            """
13953 c4c1b741c71e2a17c97a5dc9c4a91d89978c4eaece56494d14272d5df6c650e9 gorilla_file_system
9158 83fa31708c89442bdcf12ac4dfbe3be8663ec9183a1b1524a9fda98164bc7e0b math_api
6027 4d58ea933a5d2b280d7a52366617fb47fecd333d7b0e08e724db6fa12fb5f847 message_api
10573 87f9fc404a06e4107d7c366f1399c596440e84c16cb119faf374b2f532d86e8b posting_api
6648 31324e0380782664fe82ba05bd23517808ad55692b45a5fe7c3d4d395fe4f0f8 ticket_api
12608 1a7933fd8f0cb8fbec38aeae05cb8c24132747cad4904fe1c13ac3d01fc22c2d trading_bot
16979 f17b950c13adddf41d0848077df58788252e4c2e7cad5cfa71c8c4bf04f57b26 travel_booking
17545 0c8a66292844874ef7b168f343bc394d8615d2d9e1f4387999a9ee23011eac78 vehicle_control
""",
        ),
        *_files(
            "bfcl_eval/eval_checker/multi_turn_eval/func_source_code/{}.py",
            """
32759 84173750930b09aaa31b90547c9bd79ce75714682608b35e78a9c1ea259faf2b gorilla_file_system
190330 5c9a5710115609c779e5b2ccb43f6ad58271ed96f2ea7a797edb0d65c385aa38 long_context
12252 abde32cc25e71b2ff3acf4d028a3c005b98409c174aba4abddbfe1c018afb9a8 math_api
12534 cf72af1635654147af17df1891a7fb354549e78a61930139f741a31f4be21121 message_api
12537 32b887aaa37c7167ad9c84ddfa7bbb855c75d3c1edab19ba868aba29acc4cfa1 posting_api
9677 6a9375aa6425410c07a151aef27f3e44e9ed1023bb5cc5c25f14f4a9b3c99116 ticket_api
23795 cc2e3949035b561e9d07418b081561aa07b211672200e2e511aec074bf79fcb2 trading_bot
36647 e698e22adccf0d6d41b297f2d5e44faebd828cef4752df6a4ffb1570c0c35296 travel_booking
29559 f5f7a2f28968728927a98ae12ec68a32d70781cfb74c2d7b14801772362b12d1 vehicle_control
""",
        ),
    ),
)

_WEBSHOP = {
    "licence": "research use, see princeton-nlp/WebShop",
    "credit": "WebShop, Yao et al. 2022, Princeton NLP (code MIT; product texts scraped by them)",
    "url": "https://github.com/princeton-nlp/WebShop",
}
_HUMAN = NeededFile(
    "items_human_ins.json",
    5_137_548,
    "cf78667548a71786e1d9049c24b802e48e1084ad4bb021cae56ce1f6d96954a3",
)
_SMALL_ATTRIBUTES = NeededFile(
    "items_ins_v2_1000.json",
    147_099,
    "f88a36314a397b53b3d9c3fa5878e5f7b26d35019a51ec83fbedeca61a948f6f",
)
_IDS = (
    ("items_shuffle_1000.json", "1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib"),
    ("items_ins_v2_1000.json", "1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu"),
    ("items_shuffle.json", "1A2whVgOO0euk5O13n2iYDM0bQRkkRduB"),
    ("items_ins_v2.json", "1s2j6NgHljiZzQNL3veZaAiyW_qDEgBNi"),
    ("items_human_ins.json", "14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O"),
)


def _webshop(name: str, version: str, title: str, *files: NeededFile, **rest: Any) -> Source:
    facts = {"size": sum(file.size for file in files), "way": None, **_WEBSHOP, **rest}
    return Source(name=name, version=version, title=title, files=files, **facts)


_WEBSHOP_1K = _webshop(
    "webshop-1k",
    "v2",
    "WebShop, the official 1,000 products",
    NeededFile(
        "items_shuffle_1000.json",
        4_467_013,
        "30a4765c3a327af72d9a9a95a6b2486d516f0fa1d3ecd83681901ce82a21b269",
    ),
    _SMALL_ATTRIBUTES,
    _HUMAN,
    way=Files(_IDS),
    variants=(
        _webshop(
            "webshop-1k",
            "v2-rebuilt",
            "WebShop, the 1,000 products rebuilt from a public index (same shop and goals)",
            NeededFile(
                "items_shuffle_1000.json",
                2_747_755,
                "a8ef8174a2fe39671b8367d730f4d2142d52e13ee04fc6c042f3ffdd62528547",
            ),
            _SMALL_ATTRIBUTES,
            NeededFile(
                "items_human_ins_1000.json",
                4_575,
                "753e51f0f143930170f11f1bd32eeaef4149bb8b8fb7d6c22e3d289de036220a",
            ),
        ),
    ),
)

_WEBSHOP_FULL = _webshop(
    "webshop-full",
    "v2",
    "WebShop, all 1.18 million products",
    NeededFile(
        "items_shuffle.json",
        5_479_720_229,
        "2ef591d65df3af89e972ab72468eb82cbf124d876552d9f3678667edd620a6c8",
    ),
    NeededFile(
        "items_ins_v2.json",
        186_295_270,
        "1d36af476bdb8f82a5da62bd8acdabe54cd8de2fa84010d37da5c4890feb447e",
    ),
    _HUMAN,
    way=Files(_IDS),
)

SOURCES: dict[str, Source] = {
    entry.name: entry for entry in (_BFCL, _WEBSHOP_1K, _WEBSHOP_FULL, ACEBENCH)
}

#: names that stand for several sources; the first is the one to fetch
FAMILIES: Mapping[str, tuple[str, ...]] = {"webshop": ("webshop-1k", "webshop-full")}


def names() -> list[str]:
    """Return the names of all sources."""
    return list(SOURCES)


def members(name: str) -> tuple[Source, ...]:
    """Return the sources of a family, or the one source of that name.

    Raises:
        UnknownName: there is no such source.
    """
    if isinstance(name, str) and name in FAMILIES:
        return tuple(SOURCES[member] for member in FAMILIES[name])
    try:
        return (SOURCES[name],)
    except (KeyError, TypeError):
        hint = did_you_mean(name, (*SOURCES, *FAMILIES))
        raise UnknownName(f"There is no source {name!r}.{hint}") from None


def source(name: str) -> Source:
    """Return the manifest's entry for `name`, of a family that of its first member.

    Raises:
        UnknownName: there is no such source.
    """
    return members(name)[0]
