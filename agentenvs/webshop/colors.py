"""The colour words of the reward, and how a text that holds one is shortened to it."""

from __future__ import annotations

__all__ = ["COLORS", "color_or_pair", "color_or_text"]

#: in the order in which they are tried
COLORS: tuple[str, ...] = (
    "alabaster",
    "apricot",
    "aqua",
    "ash",
    "asphalt",
    "azure",
    "banana",
    "beige",
    "black",
    "blue",
    "blush",
    "bordeaux",
    "bronze",
    "brown",
    "burgundy",
    "camel",
    "camo",
    "caramel",
    "champagne",
    "charcoal",
    "cheetah",
    "chestnut",
    "chocolate",
    "christmas",
    "coffee",
    "cognac",
    "copper",
    "coral",
    "cranberry",
    "cream",
    "crystal",
    "dark",
    "denim",
    "eggplant",
    "elephant",
    "espresso",
    "fuchsia",
    "gold",
    "granite",
    "grape",
    "graphite",
    "grass",
    "gray",
    "green",
    "grey",
    "heather",
    "indigo",
    "ivory",
    "ivy",
    "khaki",
    "lavender",
    "lemon",
    "leopard",
    "light",
    "lilac",
    "lime",
    "magenta",
    "maroon",
    "mauve",
    "merlot",
    "midnight",
    "mint",
    "mocha",
    "multicolor",
    "mushroom",
    "mustard",
    "natural",
    "navy",
    "nude",
    "olive",
    "orange",
    "peach",
    "pewter",
    "pink",
    "plum",
    "purple",
    "rainbow",
    "red",
    "rose",
    "royal",
    "rust",
    "sand",
    "sapphire",
    "seashell",
    "silver",
    "skull",
    "slate",
    "steel",
    "stone",
    "stonewash",
    "sunflower",
    "tan",
    "taupe",
    "teal",
    "tiger",
    "turquoise",
    "violet",
    "walnut",
    "wheat",
    "white",
    "wine",
    "yellow",
)
_RANK = {color: rank for rank, color in enumerate(COLORS)}


def color_or_text(text: str) -> str:
    """Return the first of `COLORS` that occurs in `text`, else `text`.

    Any part of a word counts: "dark green" becomes "dark", "colored" becomes "red", and
    "rectangular" becomes "tan".

    Example:
        >>> color_or_text("rose gold"), color_or_text("x-large")
        ('gold', 'x-large')
    """
    for color in COLORS:
        if color in text:
            return color
    return text


def color_or_pair(name: str, value: str) -> str:
    """Return the first of `COLORS` that is the whole name or value, else the text of the pair.

    The original makes this of an option of a synthetic goal (W2): it looks for colours in the
    pair of name and value, where only an exact one is found, and compares the pair's text.

    Example:
        >>> color_or_pair("color", "black"), color_or_pair("color", "black1901")
        ('black', "('color', 'black1901')")
    """
    ranks = [_RANK[text] for text in (name, value) if text in _RANK]
    return COLORS[min(ranks)] if ranks else str((name, value))
