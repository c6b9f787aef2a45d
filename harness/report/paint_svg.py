"""From Matplotlib's SVG to an element that several pictures of one page can be made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agentenvs.harness.plain_text import printable
from agentenvs.harness.report.paint_theme import TONES

__all__ = ["plain", "themed"]

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "http://www.w3.org/1999/xlink"
_HREF = f"{{{_XLINK}}}href"
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_VARIABLE = re.compile(r"var\(--[a-z]+, (#[0-9a-f]{6})\)")
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_INHERITED = "stroke-linejoin: round; stroke-linecap: butt"


def themed(svg: str, name: str, title: str) -> str:
    """Return a drawing as an `<svg>` element that stands in a page.

    Its size is the page's to give, its colours are CSS variables with the drawn ones as
    fallback, its ids start with its name, and no style rule of it reaches the page.

    Args:
        svg: what Matplotlib wrote, with text as paths.
        name: of the picture.
        title: what is read out in place of the drawing.

    Raises:
        ValueError: a colour that is not in `TONES`.
    """
    # Our own drawing, a moment old: nothing foreign is parsed here.
    root = ElementTree.fromstring(svg)  # noqa: S314
    used = set(_references(root))
    _clean(root, name, used)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "style": _INHERITED,
    }
    told = Element("title")
    told.text = printable(title)
    root.insert(0, told)
    ElementTree.indent(root, "")
    text = ElementTree.tostring(root, encoding="unicode").replace("\n", "")
    return text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def plain(svg: str, width: float, height: float) -> str:
    """Return a picture's SVG as a file: of its own size in inches, in its light colours."""
    head = f'<svg xmlns:xlink="{_XLINK}" width="{width:g}in" height="{height:g}in" '
    # Programs that know SVG 1.1 alone, as many for papers do, look for the older attribute.
    older = _VARIABLE.sub(r"\1", svg).replace(' href="#', ' xlink:href="#')
    return older.replace("<svg ", head, 1) + "\n"


def _references(root: Element) -> Iterator[str]:
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == _HREF:
                yield value.removeprefix("#")
            yield from _REFERENCE.findall(value)


def _clean(element: Element, name: str, used: set[str]) -> None:
    """Drop what is not drawn, and rename, recolour and shorten the rest."""
    element.tag = element.tag.removeprefix(_SVG)
    attributes, styles = {}, []
    for key, value in element.attrib.items():
        if key == "id":
            if value in used:
                attributes["id"] = f"{name}-{value}"
        elif key == _HREF:
            attributes["href"] = f"#{name}-{value.removeprefix('#')}"
        elif key == "style":
            styles.append(_COLOUR.sub(_variable, _renamed(value, name)))
        elif _COLOUR.fullmatch(value):
            # Variables work in styles alone.
            styles.append(f"{key}: {_COLOUR.sub(_variable, value)}")
        elif key in ("d", "x", "y", "width", "height", "points"):
            attributes[key] = _LONG.sub(_rounded, " ".join(value.split()))
        elif key == "transform":
            # Scales of glyphs are small numbers whose digits count.
            attributes[key] = re.sub(
                r"translate\([^)]*\)", lambda found: _LONG.sub(_rounded, found.group()), value
            )
        else:
            attributes[key] = _renamed(value, name)
    element.attrib = attributes | ({"style": "; ".join(styles)} if styles else {})
    element.text = element.tail = None
    kept = []
    for child in element:
        if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
            continue
        _clean(child, name, used)
        if child.tag in ("defs", "g") and not len(child):
            continue
        # A group that says nothing about its parts is no more than they are.
        kept += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = kept


def _renamed(value: str, name: str) -> str:
    return _REFERENCE.sub(rf"url(#{name}-\1)", value)


def _variable(found: re.Match[str]) -> str:
    colour = found.group()
    if colour not in TONES:
        raise ValueError(f"Expected a colour of the report's figures, got {colour}.")
    return f"var({TONES[colour].variable}, {colour})"


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found.group()):.2f}".rstrip("0").rstrip(".")
