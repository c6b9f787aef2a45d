"""Products written by hand, for what a drawn shop would seldom hold."""

from __future__ import annotations

from draw import ROOTS, SEED, asin_of
from shapes import Item

__all__ = ["awkward_items"]


def _item(
    key: str,
    category: str,
    query: str,
    crumb: str,
    name: str,
    bullets: list[str],
    description: str,
    pricing: str,
    options: dict[str, list[str] | None],
    attributes: str,
    wanted: str = "",
) -> Item:
    listed = tuple(part.strip() for part in attributes.split(",") if part.strip())
    return Item(
        asin=asin_of(f"{SEED}/awkward/{key}"),
        category=category,
        query=query,
        crumb=(ROOTS[category], *crumb.split(" > ")),
        name=name,
        bullets=[f"{bullet} " for bullet in bullets],
        description=description,
        pricing=pricing,
        options=options,
        truths=listed,
        attributes=listed,
        wanted=tuple(part.strip() for part in wanted.split(",") if part.strip()),
    )


def awkward_items() -> list[Item]:
    """Return the products written by hand; the folder's README says what each is for."""
    return [
        _item(
            "candle of two lavenders",
            "garden",
            "scented candles",
            "Home > Fragrance > Scented Candles",
            "Pottlebeck Pillar Candle, Hand Made with Soy Wax, Choose Wax Color and Scent (Lavender)",
            [
                "Pick both: the color of the wax and the scent are chosen apart, so a lavender candle "
                "may well smell of vanilla.",
                "Hand made: poured and cut in small batches.",
                "Soy wax: burns slowly and without soot.",
                "A perfect gift: comes in a box that is nice enough to leave unwrapped.",
            ],
            "A thick candle that stands by itself. Burns for fifty hours.",
            "$16.50",
            {
                "Color": ["Lavender", "Ivory", "Sage", "Rose"],
                "Scent": ["Vanilla", "Lavender", "Sea Salt", "Rose"],
            },
            "hand made, soy wax, perfect gift",
            "hand made, soy wax",
        ),
        _item(
            "travel adapter",
            "electronics",
            "wall chargers",
            "Phones > Power > Wall Chargers",
            "Wattlow Travel Wall Charger with USB Port, Fast Charging, for Business Travel",
            [
                "Choose your set: charger alone, or with plugs for three continents.",
                "USB port: tops up a second device on the side.",
                "Fast charging: half full in the time of a shower and a coffee.",
                "For business travel: one less thing to think about at the gate.",
            ],
            "",
            "$27.95",
            {
                "Color": ["Black", "White"],
                "Style": [
                    "Charger [No Cable]",
                    "Charger [with 3.3 ft Cable]",
                    "Travel Set [EU, UK, AU Plugs]",
                ],
            },
            "usb port, fast charging, business travel",
            "fast charging, usb port, business travel",
        ),
        _item(
            "board headings",
            "garden",
            "magnetic board headings",
            "Home > Office > Boards > Magnetic Headings",
            "Rooftree 9 Magnetic Heading Strips for Whiteboards, Easy to Use, Home Office and Kitchen",
            [
                "Say what it is: printed strips that turn a whiteboard into columns.",
                "Easy to use: nothing to learn, and the leaflet is one page long.",
                "For the home office: makes the place you work in a place you like.",
                "Wipe clean: ink and fingerprints come off with a dry cloth.",
            ],
            "Eleven inches long, white on color. Holds on any steel surface.",
            "$8.99",
            {"Style": ["To Do", "This Week", "Reviews", "Shopping List", "Ideas", "Done"]},
            "easy use, home office, easy clean",
            "easy use, home office",
        ),
        _item(
            "board headings, set",
            "garden",
            "magnetic board headings",
            "Home > Office > Boards > Magnetic Headings",
            "Thistledrum Blank Magnetic Labels, Set of 12, Fade Resistant, Heavy Duty Magnets",
            [
                "Write your own: takes chalk pens and wipes off.",
                "Heavy duty: built for daily use and rough handling.",
                "Fade resistant: the colors stay true in a sunny window.",
            ],
            "",
            "$11.49",
            {"Color": ["Red", "Mustard", "Teal"]},
            "heavy duty, fade resistant",
            "heavy duty, fade resistant",
        ),
        _item(
            "board headings, letters",
            "garden",
            "magnetic board headings",
            "Home > Office > Boards > Magnetic Headings",
            "Lindwurm & Daughters Wooden Letter Magnets for Boards and Fridges, Solid Wood, Kids Room",
            [
                "Solid wood: no veneer and no particle board, only grain all the way through.",
                "For the kids room: approved by a panel of four-year-olds.",
                "Space saving: a small footprint that suits flats, dorms and narrow halls.",
            ],
            "Twenty-six letters and a heart.",
            "$14.00",
            {},
            "solid wood, kids room",
        ),
        _item(
            "sofa",
            "garden",
            "corner sofas",
            "Home > Furniture > Living > Corner Sofas",
            "Hearthwick Corner Sofa with Chaise, Soft Velvet, Storage Space Under the Seat, Living Room",
            [
                "Soft velvet: a short, dense pile that catches the light.",
                "Storage space: room for everything that usually lies about.",
                "For the living room: calm enough for any sofa table, handsome enough to be noticed.",
                "Comes in four boxes: two people carry each of them.",
            ],
            "Seats five, or one very tall person lying down.\n104 inches wide, chaise left or right.",
            "$1,299.00",
            {
                "Color": ["Forest", "Dusty Blue", "Charcoal"],
                "Style": ["Chaise Left", "Chaise Right"],
            },
            "soft velvet, storage space, living room",
            "soft velvet, storage space, living room",
        ),
        _item(
            "sofa, small",
            "garden",
            "corner sofas",
            "Home > Furniture > Living > Corner Sofas",
            "Nordmoss Small Corner Sofa, Faux Linen, Easy Assembly, Space Saving Sofa for Small Flats",
            [
                "Faux linen: the slubby look of linen without the ironing.",
                "Easy to assemble: numbered parts, clear drawings, about twenty minutes.",
                "Space saving: a small footprint that suits flats, dorms and narrow halls.",
            ],
            "Turn it round when you move: the chaise fits both sides.",
            "$489.00 - $649.00",
            {"Color": ["Oatmeal", "Light Gray", "Terracotta"]},
            "faux linen, easy assemble, space saving",
            "easy assemble, space saving, faux linen",
        ),
        _item(
            "sofa, outdoor",
            "garden",
            "corner sofas",
            "Home > Furniture > Living > Corner Sofas",
            "Umbelline Balcony Corner Bench, Solid Acacia Wood, Water Resistant Cushions, for Balcony",
            [
                "Solid wood: no veneer and no particle board, only grain all the way through.",
                "Water resistant: shrugs off splashes and light rain.",
                "For the small balcony: sized for railings, ledges and narrow corners.",
            ],
            "",
            "$1,050.00 - $1,480.00",
            {},
            "solid wood, water resistant, small balcony",
            "water resistant, solid wood, small balcony",
        ),
        _item(
            "embroidery threads",
            "garden",
            "sewing threads",
            "Home > Crafts > Sewing > Threads",
            "Quarrystead Cotton Embroidery Floss, Fade Resistant Skein of 8.7 Yards, One Color",
            [
                "Six strands: part them for fine work.",
                "Fade resistant: the colors stay true in a sunny window.",
                "High quality: every batch is checked by hand before it is packed.",
                "Long lasting: still as good after months of everyday use.",
            ],
            "Long staple cotton with a silky shine. Colors are numbered so that you can buy more of them "
            "next year.",
            "$2.49",
            {
                "Color": [
                    f"{number} {name}"
                    for number, name in enumerate(
                        "Snow,Cream,Butter,Lemon,Corn,Honey,Amber,Apricot,Coral,Salmon,Rose,Raspberry,"
                        "Cherry,Brick,Wine,Plum,Lilac,Lavender,Violet,Indigo,Navy,Royal,Sky,Ice,"
                        "Turquoise,Teal,Mint,Sage,Grass,Moss,Olive,Khaki,Sand,Tan,Cocoa,Ash,Slate,"
                        "Coal".split(","),
                        101,
                    )
                ]
            },
            "fade resistant, high quality, long lasting",
            "fade resistant, high quality",
        ),
        _item(
            "sewing kit",
            "garden",
            "sewing threads",
            "Home > Crafts > Sewing > Threads",
            "Maplequin Sewing Thread Set, 24 Spools, Easy to Carry with Storage Bag",
            [
                "Twenty-four spools: the colors that clothes really have.",
                "Easy to carry: slips into a day bag and weighs next to nothing.",
                "Storage bag: a drawstring bag keeps everything together between uses.",
            ],
            "Needles, scissors and a thimble are in the bag as well.",
            "$13.99",
            {},
            "easy carry, storage bag",
            "easy carry, storage bag",
        ),
        _item(
            "heavy thread",
            "garden",
            "sewing threads",
            "Home > Crafts > Sewing > Threads",
            "Velmoor Heavy Duty Upholstery Thread, Water Resistant, 150 Yards",
            [
                "Heavy duty: built for daily use and rough handling.",
                "Water resistant: shrugs off splashes and light rain.",
            ],
            "",
            "$6.79",
            {"Color": ["Black", "Natural", "Dark Brown"], "Size": ["Pack of 1", "Pack of 3"]},
            "heavy duty, water resistant",
            "heavy duty, water resistant",
        ),
        _item(
            "fox hat",
            "fashion",
            "knitted beanies",
            "Accessories > Hats > Knitted Beanies",
            "🦊 Pinnafore Fox Beanie for Grown-Ups 🦊 Fleece Lined Winter Hat with Ears ❄ Great Gift",
            [
                "Two ears: wired, so they listen to you.",
                "Fleece lined: warm from the first minute.",
                "For cold weather: layers well and keeps the wind out.",
                "A perfect gift: comes in a box that is nice enough to leave unwrapped. 🎁",
            ],
            "You are never too old for ears. 🦊",
            "$18.99",
            {"Color": ["Fox Red", "Arctic White"]},
            "fleece lined, cold weather, perfect gift",
            "fleece lined, perfect gift, cold weather",
        ),
        _item(
            "long title",
            "electronics",
            "portable speakers",
            "Audio > Speakers > Portable Speakers",
            "Sunmurk Outdoor Speaker, Wireless Portable Speaker with Stereo Sound, Water Resistant, "
            "Battery Powered, Hands Free Calls, Carrying Case, Loud Bass for Beach, Pool, Shower, Garden, "
            "Camping and Hiking, Light Show, 24 Hours of Music, USB Port, Upgraded (Midnight Blue)",
            [
                "Stereo sound: full bass, clear voices and a wide stage.",
                "Water resistant: shrugs off splashes and light rain.",
                "Battery powered: runs for weeks before it asks for anything.",
                "Hands free: cook, drive or draw while you talk and watch.",
                "For outdoor activities: goes along to the lake, the trail and the camp site.",
                "USB port: tops up a second device on the side.",
                "Heavy duty: built for daily use and rough handling.",
                "Easy to use: nothing to learn, and the leaflet is one page long.",
            ],
            "Everything the title says, and it is red inside. Also: easy to carry, easy to clean, light in "
            "weight and of high quality. A great gift for people who are outside all day.",
            "$59.99",
            {"Color": ["Midnight Blue", "Black", "Orange", "Camo"]},
            "stereo sound, water resistant, battery powered, hands free, carrying case, outdoor "
            "activities, usb port, heavy duty, easy use, easy carry, easy clean, light weight, high "
            "quality, perfect gift",
            "water resistant, battery powered, hands free, stereo sound, carrying case, outdoor activities",
        ),
        _item(
            "jam",
            "grocery",
            "nut spreads",
            "Pantry > Spreads > Nut Spreads",
            "Tansy Fields Pâte de Noisettes, Hazelnut Spread with Dark Cocoa, Small Batch, Dairy Free",
            [
                "Dark cocoa: deep, bitter and round.",
                "Small batch: made on Tuesdays, shipped on Thursdays.",
                "Dairy free: creamy all the same.",
            ],
            "Hazelnuts, cocoa, sugar. Voilà.",
            "$9.75",
            {"Flavor Name": ["Crème de Cacao", "Café Noir", "Piment d'été", "Classic"]},
            "dark cocoa, small batch, dairy free",
            "small batch, dairy free, dark cocoa",
        ),
        _item(
            "one option",
            "beauty",
            "vanity mirrors",
            "Tools & Accessories > Mirrors > Vanity Mirrors",
            "Isoveen Folding Pocket Mirror, Stainless Steel, Double Sided, 3 Inch",
            [
                "Double sided: two in one, turn it over when you need the other.",
                "Stainless steel: no rust, no tarnish.",
                "Easy to carry: slips into a day bag and weighs next to nothing.",
            ],
            "",
            "$7.99",
            {"Color": ["Brushed Steel"]},
            "double sided, stainless steel, easy carry",
            "double sided, easy carry, stainless steel",
        ),
    ]
