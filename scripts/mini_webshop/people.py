"""Instructions in people's own words, each for a product that the shop has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from shapes import Item

__all__ = ["human_records"]


class _Wish(NamedTuple):
    asin: str
    text: str
    attributes: str
    options: str = ""


_WISHES = (
    # beauty
    _Wish(
        "M0AF89OKPX",
        "i want a ponytail extension that looks the same from both sides, honey blonde, about 16 inches",
        "double sided",
        "color: honey blonde; size: 16 inch",
    ),
    _Wish(
        "M0AF89OKPX",
        "My natural hair is dark brown, so find me a really good quality hairpiece to clip on for my "
        "sister's wedding. I'd like the longest one, 20 inch if they have it.",
        "high quality",
        "color: dark brown; size: 20 inch",
    ),
    _Wish(
        "M0FDP4KXAZ",
        "looking for a beard kit for my husband, he has dry skin under there. cruelty free please & he "
        "likes the sea salt smell",
        "dry skin, cruelty free",
        "scent: sea salt",
    ),
    _Wish(
        "M08JGPW6NK",
        "Need a body lotion for sensitive skin that smells like cedarwood.",
        "sensitive skin",
        "scent: cedarwood",
    ),
    _Wish(
        "M0AYX8ZAQD",
        "a body butter made with shea, the 8 oz one. nothing that irritates me, i react to everything",
        "shea butter, sensitive skin",
        "size: 8 fl oz",
    ),
    _Wish(
        "M03JMJKNYT",
        "lash clusters in the doll eye style, they should weigh next to nothing",
        "light weight",
        "style: doll eye",
    ),
    _Wish(
        "M0CT87AYLO",
        "Could you order me a bar of hair soap with tea tree? Orange blossom scent, and I'd take a pack "
        "of four.",
        "tea tree",
        "scent: orange blossom; size: pack of 4",
    ),
    _Wish(
        "M0PUA0I7NE",
        "eco freindly tooth brushes, mint color",
        "eco friendly",
        "color: mint",
    ),
    _Wish(
        "M09QCLJLLW",
        "I'm after a matte nail polish which dries fast. Not too dark - cranberry would be nice",
        "matte finish, quick drying",
        "color: 10 cranberry",
    ),
    _Wish("M0PW52LPL3", "hot air styler that won't kill my already damaged hair", "damaged hair"),
    _Wish(
        "M0NSR3KJ8Q",
        "Brush set with natural bristles, must come with some kind of bag to store them. For eye "
        "makeup mostly.",
        "natural bristles, storage bag, eye makeup",
    ),
    _Wish(
        "M03QJDNK58", "claw clips that hold curly hair without slipping out", "curly hair, non slip"
    ),
    # electronics
    _Wish(
        "M001CB1G1C",
        "get me a leather look (but vegan!) phone case with sunflowers on it for my 6.1 phone",
        "vegan leather",
        "color: sunflower; size: 6.1 inch phone",
    ),
    _Wish(
        "M001CB1G1C",
        "My daughter keeps dropping her phone. I want a heavy duty case that does not scratch, she says "
        "it has to be the rainbow one. The phone is 5.8 inches.",
        "heavy duty, scratch resistant",
        "color: rainbow; size: 5.8 inch phone",
    ),
    _Wish(
        "M01YM8MQR4",
        "phone holder for the desk in my home office, carbon fiber, lilac",
        "home office, carbon fiber",
        "color: lilac",
    ),
    _Wish(
        "M0AICZS455",
        "I would like a velvety sleeve for a 14 inch laptop, easy to carry around campus",
        "soft velvet, easy carry",
        "size: 14 inch",
    ),
    _Wish(
        "M03MSLRCP1",
        "keyboard + mouse set that i can take on business trips, in silver",
        "business travel",
        "color: silver",
    ),
    _Wish(
        "M08MJ21JVR",
        "a light watch strap for the gym in heather gray, 42-45mm",
        "gym workout, light weight",
        "color: heather gray; size: 42-45 mm",
    ),
    _Wish(
        "M0LUM3S2HK",
        "I need a type c cable with a braided nylon jacket, red so that my flatmate stops taking it",
        "braided nylon",
        "color: red",
    ),
    _Wish(
        "M0Z41ZGI65",
        "speaker for the boat!! must be battery powered, survive some water and come in orange",
        "battery powered, water resistant",
        "color: orange",
    ),
    _Wish(
        "M0N78W2K1N",
        "find a webcam for my home office which just works when i plug it in",
        "home office, plug play",
    ),
    _Wish(
        "M08SH3VOV0",
        "Looking for a movie screen that comes with a bag or case to carry it in, 100 inches",
        "carrying case",
        "size: 100 inch",
    ),
    _Wish("M02PVUPGYA", "scratchproof glass for my phone screen, a pack of 3", "scratch resistant"),
    _Wish(
        "M0GUZWH9DM",
        "indoor camera on batteries, tells me when sth moves (we have a burglar cat)",
        "battery powered, motion detection",
    ),
    # garden
    _Wish(
        "M0IPHPZYJJ",
        "jute rug for under the dining table, navy, 6x9 feet would fit",
        "natural jute, dining room",
        "color: navy; size: 6' x 9'",
    ),
    _Wish(
        "M0IPHPZYJJ",
        "Two kids and a dog here, so I want a rug for the playroom that cleans up easily. Mustard "
        "yellow, three by five.",
        "kids room, easy clean",
        "color: mustard yellow; size: 3' x 5'",
    ),
    _Wish(
        "M0RS631S7G",
        "a faux linen duvet cover for the guest room, terracotta, queen size",
        "faux linen, guest bedroom",
        "color: terracotta; size: queen",
    ),
    _Wish(
        "M0KA00MJQR",
        "garden hose for a tiny balcony that i can stow in a bag when im done, 50 ft",
        "small balcony, storage bag",
        "size: 50 feet",
    ),
    _Wish(
        "M0475IIVJS",
        "super soft bath mats in sage green, have to be machine washable",
        "super soft, machine wash",
        "color: sage green",
    ),
    _Wish(
        "M0201H4KM1",
        'velvet curtains that keep their color in the sun. Charcoal, 52" wide and 84" long.',
        "soft velvet, fade resistant",
        'color: charcoal; size: 52" w x 84" l',
    ),
    _Wish(
        "M0CUJVQA1T",
        "i have too many blankets and no place for them, need a basket with lots of storage space for "
        "the living room, medium",
        "storage space, living room",
        "size: medium",
    ),
    _Wish(
        "M0OVWF3SNV",
        "embroidery floss in raspberry, needs to be colorfast",
        "fade resistant",
        "color: 112 raspberry",
    ),
    _Wish(
        "M0VQML6BCY",
        "We finally have room for a big corner sofa: velvet, dusty blue, and the chaise on the left "
        "please.",
        "soft velvet",
        "color: dusty blue; style: chaise left",
    ),
    _Wish(
        "M064CAP2SL",
        "magnetic strip that says shopping list for the whiteboard, should wipe clean",
        "easy clean",
        "style: shopping list",
    ),
    _Wish(
        "M0KKCT7P51",
        "night stand with a steel frame and somewhere to plug in my phone, rustic brown",
        "steel frame, usb port",
        "color: rustic brown",
    ),
    _Wish(
        "M0J3KT1T75",
        "tall lamp for the corner of my office at home, with a remote, I want to change the height too",
        "home office, remote control, adjustable height",
    ),
    # fashion
    _Wish(
        "M0V1G9YLL8",
        "that fleece lined hat with fox ears for adults. in white!",
        "fleece lined",
        "color: arctic white",
    ),
    _Wish(
        "M008TTQAYE",
        "short sleeved dress shirt in pure cotton for my dad, royal blue, neck 16",
        "pure cotton, short sleeve",
        "color: royal blue; size: 16 neck",
    ),
    _Wish(
        "M0318ZS1UQ",
        "leggings with side pockets that don't show sweat, dark green in size large thx",
        "side pockets, moisture wicking",
        "color: dark green; size: large",
    ),
    _Wish(
        "M0TLCHKT9R",
        "I am going to the beach in june and need suede sandals with some arch support. Rose gold, size "
        "8 and a half",
        "arch support, suede upper, beach vacation",
        "color: rose gold; size: 8.5",
    ),
    _Wish(
        "M0OWS6OVFV",
        "tractor tshirt, cotton, loose. It's for my wife so womens fit, burgundy, medium",
        "pure cotton, loose fit",
        "color: burgundy; fit type: women; size: medium",
    ),
    _Wish(
        "M0WXBOJYJH",
        "linen dress with lemons on it for my vacation, xl, i'd rather have an elastic waist",
        "linen blend, elastic waist",
        "color: yellow lemon; size: x-large",
    ),
    _Wish(
        "M02U42DDZP",
        "Warm cotton pajamas for a 5 year old who loves leopards (the black leopard print). Must go in "
        "the washing machine",
        "pure cotton, machine wash",
        "color: black leopard; size: 5-6 years",
    ),
    _Wish(
        "M0MLK6JA99",
        "rain boots w rubber sole for kids, stripes navy, toddler 10",
        "rubber sole",
        "color: navy stripe; size: 10 toddler",
    ),
    _Wish(
        "M0I52PJK3F",
        "men's beach shorts that dry quick and have a drawstring. red and white, XX-large",
        "quick drying, drawstring closure",
        "color: red | white; size: xx-large",
    ),
    _Wish(
        "M00RURGG7X",
        "Business shirt with long sleeves for hot summers, wicking, olive color, 3XL",
        "moisture wicking, long sleeve",
        "color: olive; size: 3x-large",
    ),
    # grocery
    _Wish(
        "M0DCUTYQA0",
        "popcorn for movie night, gluten free. truffle flavor, 4 pack",
        "movie night, gluten free",
        "flavor name: truffle; size: pack of 4",
    ),
    _Wish(
        "M0466E6MLX",
        "fair trade ground coffee that i can use for cold brew, hazelnut, the two pound bag",
        "fair trade, cold brew",
        "flavor name: hazelnut; size: 2 pound",
    ),
    _Wish(
        "M0466E6MLX",
        "Ground decaf, organic, 12 ounces. My doctor made me switch :(",
        "certified organic",
        "flavor name: decaf; size: 12 ounce",
    ),
    _Wish(
        "M08ITWF8A4",
        "organic herbal tea, apple cinnamon",
        "certified organic",
        "flavor name: apple cinnamon",
    ),
    _Wish(
        "M034VOES6O",
        "protein bars sweetened with raw honey instead of sugar, lemon poppy, just one pack to try",
        "raw honey",
        "flavor name: lemon poppy; size: pack of 1",
    ),
    _Wish(
        "M0C0PWNQO6",
        "hazelnut spread w/o any dairy, the coffee flavored one (café noir?)",
        "dairy free",
        "flavor name: café noir",
    ),
    _Wish("M033FH592S", "organic dried fruit mix for the kids lunch boxes", "school lunch"),
    _Wish(
        "M00CY1D72P",
        "A present: dairy free dark chocolate in a nice gift box",
        "dairy free, gift box",
    ),
)


def human_records(items: Sequence[Item]) -> dict[str, list[dict[str, Any]]]:
    """Return the instructions by asin, in the catalog's order.

    Raises:
        ValueError: one asks for a product, an attribute or a value that the shop lacks.
    """
    records: dict[str, list[dict[str, Any]]] = {}
    shop = {item.asin: item for item in items}
    for wish in _WISHES:
        if wish.asin not in shop:
            raise ValueError(f"no product {wish.asin}: {wish.text}")
        records.setdefault(wish.asin, []).append(_record(wish, shop[wish.asin]))
    return {item.asin: records[item.asin] for item in items if item.asin in records}


def _record(wish: _Wish, item: Item) -> dict[str, Any]:
    attributes = [part.strip() for part in wish.attributes.split(",")]
    options = [part.strip() for part in wish.options.split(";") if part.strip()]
    offered = {
        f"{name.lower()}: {value.strip().replace('/', ' | ').lower()}"
        for name, values in item.options.items()
        for value in values or ()
    }
    if not set(attributes) <= set(item.attributes):
        raise ValueError(f"{item.asin} has {item.attributes}, not all of {attributes}")
    if not set(options) <= offered:
        raise ValueError(f"{item.asin} offers {sorted(offered)}, not all of {options}")
    return {
        "asin": item.asin,
        "instruction": wish.text,
        "attributes": list(item.attributes),
        "options": options,
        "instruction_attributes": attributes,
        "instruction_options": [option.split(": ", 1)[1] for option in options],
    }
