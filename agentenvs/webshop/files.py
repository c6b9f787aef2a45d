"""Which of the files in a folder make up a catalog in the official format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentenvs.errors import BadArgument, SourceMissing

__all__ = ["OfficialFiles"]

_PRODUCTS = "items_shuffle"
_ATTRIBUTES = "items_ins_v2"
_HUMAN = "items_human_ins"
_NOUNS = "nouns.json"


@dataclass(frozen=True, slots=True)
class OfficialFiles:
    """The files that a catalog is made from.

    Attributes:
        products: JSON array of products.
        attributes: JSON object: asin -> mined attributes and synthetic instruction.
        human: JSON object: asin -> human instructions; None where there is none, and then the
            catalog has no human goals.
        nouns: JSON object: asin -> nouns of the title; None where they are to be found.
    """

    products: Path
    attributes: Path
    human: Path | None = None
    nouns: Path | None = None

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> OfficialFiles:
        """Return the files that `path` points at.

        Beside `items_shuffle<X>.json` stand `items_ins_v2<X>.json` and, where there are human
        goals, `items_human_ins<X>.json`; each without `<X>` serves too. A `nouns.json` beside
        them gives the nouns.

        Args:
            path: the products file, or a folder with one products file.

        Raises:
            SourceMissing: there is no products file, or none with attributes to it.
            BadArgument: the folder has several products files.
        """
        place = Path(os.path.abspath(Path(path).expanduser()))
        products = _products_in(place) if place.is_dir() else place
        if not products.is_file():
            raise SourceMissing(
                f"Expected {os.fspath(path)!r} to be a folder with official WebShop files or a "
                "products file, found nothing there."
            )
        attributes = _beside(products, _ATTRIBUTES)
        if attributes is None:
            names = " or ".join(dict.fromkeys(_names(products, _ATTRIBUTES)))
            raise SourceMissing(f"Expected {names} beside {products}, found none.")
        nouns = products.with_name(_NOUNS)
        return cls(
            products, attributes, _beside(products, _HUMAN), nouns if nouns.is_file() else None
        )

    def __iter__(self) -> Iterator[tuple[str, Path]]:
        """Yield (role, path) of the files that there are."""
        for role in ("products", "attributes", "human", "nouns"):
            path = getattr(self, role)
            if path is not None:
                yield role, path


def _products_in(folder: Path) -> Path:
    found = sorted(path for path in folder.glob(f"{_PRODUCTS}*.json") if path.is_file())
    if not found:
        raise SourceMissing(
            f"Expected {folder} to hold a products file ({_PRODUCTS}*.json), found none."
        )
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise BadArgument(
            f"{folder} holds several products files ({names}): name one of them instead of the "
            "folder."
        )
    return found[0]


def _beside(products: Path, stem: str) -> Path | None:
    places = (products.with_name(name) for name in _names(products, stem))
    return next((place for place in places if place.is_file()), None)


def _names(products: Path, stem: str) -> tuple[str, ...]:
    suffix = products.stem.removeprefix(_PRODUCTS)
    return f"{stem}{suffix}.json", f"{stem}.json"
