"""Drawn pictures: what a product is called decides the shape and the colours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from zlib import crc32

from agentenvs.core import Shared
from agentenvs.webshop.records import Product

__all__ = ["Pictures"]

_SYMBOL = re.compile(
    r'<symbol id="(\w+)" data-words="([^"]*)"(?: data-for="([^"]*)")?>(.*?)</symbol>', re.DOTALL
)
_WORD = re.compile(r"[a-z][a-z-]*")
_WHITE, _INK, _NIGHT = (255, 255, 255), (24, 22, 20), (33, 32, 30)
#: for products whose texts name no colour
_PLAIN = ("3f74c9", "4d9a5c", "d04a44", "8457b3", "2f8f8b", "ef8a35", "d1a02f", "c9658f")
_Colour = tuple[int, int, int]


class Pictures(Shared):
    """Draws the same picture for the same product and choice, as inline SVG.

    No official catalog comes with pictures, and none is fetched.
    """

    __slots__ = ("_fallbacks", "_glyphs", "_palette", "_words")

    def __init__(self) -> None:
        folder = resources.files("agentenvs.assets").joinpath("webshop")
        self._glyphs: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._fallbacks: dict[str, str] = {}
        drawn = folder.joinpath("glyphs.svg").read_text("utf-8")
        for name, words, category, shapes in _SYMBOL.findall(drawn):
            self._glyphs[name] = shapes
            self._words.update(dict.fromkeys(words.split(), name))
            if category:
                self._fallbacks[category] = name
        lines = folder.joinpath("palette.txt").read_text("utf-8").split("\n")
        self._palette = dict(line.split(" ") for line in lines if line)

    def draw(self, product: Product, options: Mapping[str, str] | None = None) -> str:
        """Return an `<svg>` of the product, in the colour that was chosen if one was."""
        main = _rgb(self._colour(product, options or {}))
        bright = _brightness(main)
        dark = _mix(main, _INK, 0.32) if bright > 0.22 else _mix(main, _WHITE, 0.2)
        light = _mix(main, _WHITE, 0.55) if bright < 0.8 else _mix(main, _INK, 0.16)
        # The ground keeps its distance from shapes that are as light or as dark as the page.
        ground = _mix(main, _WHITE, 0.84) if bright < 0.8 else _mix(main, _INK, 0.2)
        night = _mix(main, _NIGHT, 0.74) if bright > 0.3 else _mix(main, _WHITE, 0.24)
        colours = zip("mdlgn", (main, dark, light, ground, night), strict=True)
        style = ";".join(f"--{name}:#{bytes(colour).hex()}" for name, colour in colours)
        turn = crc32(product.asin.encode()) % 7 - 3
        return (
            f'<svg class="pic" viewBox="0 0 120 120" style="{style}" aria-hidden="true">'
            f'<g transform="translate(60 60) rotate({turn}) scale(.8) translate(-60 -60)">'
            f"{self._glyphs[self._glyph(product)]}</g></svg>"
        )

    def _glyph(self, product: Product) -> str:
        # The last word of a leaf name says what a thing is: "table lamps" are lamps.
        for text in (product.query, product.title):
            named = [self._words[w] for w in _WORD.findall(text.lower()) if w in self._words]
            if named:
                return named[-1 if text is product.query else 0]
        return self._fallbacks.get(product.category, self._fallbacks["*"])

    def _colour(self, product: Product, options: Mapping[str, str]) -> str:
        chosen = sorted(options.items(), key=lambda item: "color" not in item[0])
        for _, value in chosen:
            named = self._named(value)
            if named:
                return named[-1]
        named = self._named(product.title)
        if named:
            return named[0]
        for name, values in product.options.items():
            named = self._named(values[0]) if "color" in name and values else []
            if named:
                return named[-1]
        return _PLAIN[crc32(product.asin.encode()) // 7 % len(_PLAIN)]

    def _named(self, text: str) -> list[str]:
        return [self._palette[w] for w in _WORD.findall(text.lower()) if w in self._palette]


def _rgb(text: str) -> _Colour:
    red, green, blue = bytes.fromhex(text)
    return red, green, blue


def _mix(colour: _Colour, other: _Colour, share: float) -> _Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _brightness(colour: _Colour) -> float:
    red, green, blue = colour
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
