r"""From text to search terms, as Lucene's English chain makes them.

StandardTokenizer (word breaks of Unicode's annex 29; emoji, ideographs and hiragana are
tokens of their own), the possessive filter, 33 stop words, Porter's stemmer.

Long tokens: Lucene's scanner sees 255 UTF-16 units at a time, so that a longer run of letters
falls into pieces. That is reproduced here from the rules of its grammar (`%buffer 255`; a
full buffer reads as the end of the text); the recorded streams hold no such token.

Behind a Hebrew letter's quotation mark the annex holds, from which Lucene's grammar departs in
corners. Letters and digits are those of the installed `regex`, which knows newer characters
than the original's Lucene; the sets that Unicode has changed since are written out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, groupby

import regex

from agentenvs.webshop.kept import Kept
from agentenvs.webshop.porter import stem

__all__ = ["Memo", "tokenize"]

#: UTF-16 units that Lucene's scanner sees at a time
WINDOW = 255
#: a word of so many code points always fits into the window
_SURE = WINDOW // 2
#: longer words are stemmed anew each time, so that a memo's size is bounded in bytes, too
_MEMORABLE = 40

_STOPPED = (
    "a an and are as at be but by for if in into is it no not of on or such that the their "
    "then there these they this to was will with"
)
STOP_WORDS = frozenset(_STOPPED.split())


def _words(letter: str, digit: str, join: str, between: str, within: str, extend: str) -> str:
    """Return the pattern of a word, linear in time, or of joiners alone (which `_term` drops).

    Args:
        letter: class of the letters.
        digit: class of the digits.
        join: class of the characters that join everything, the underscore above all.
        between: class of what joins two letters.
        within: class of what joins two digits.
        extend: what may follow any character as a part of it.
    """
    letters = f"(?:{letter}{extend})++"
    digits = f"(?:{digit}{extend})++"
    joins = f"(?:{join}{extend})++"
    run = f"(?:{letters}(?:{between}{extend}{letters})*+|{digits}(?:{within}{extend}{digits})*+)++"
    if extend:
        # A Hebrew letter keeps a single quote, and a double one before another such letter.
        hebrew = rf"\p{{WB=Hebrew_Letter}}{_EXTEND}*"
        quotes = rf"'(?<={hebrew}'){extend}|\"(?<={hebrew}\"){extend}(?=\p{{WB=Hebrew_Letter}})"
        run = rf"(?:{run}(?:(?:{quotes})(?:{run})?)*+|(?:\p{{WB=Katakana}}{extend})++)"
    return f"(?:{joins})?+{run}(?:{joins}{run})*+(?:{joins})?+|{joins}"


_EXTEND = r"[[\p{WB=Format}\p{WB=Extend}\p{WB=ZWJ}]--[\U0001f3fb-\U0001f3ff]]"
#: Extended_Pictographic of Unicode 12.1, the last before it was trimmed
_PICTURE = (
    r"[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf"
    r"\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605"
    r"\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714\u2716\u271d\u2721\u2728\u2733"
    r"\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27a1\u27b0"
    r"\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    r"\U0001f000-\U0001f0ff\U0001f10d-\U0001f10f\U0001f12f\U0001f16c-\U0001f171\U0001f17e"
    r"\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1ad-\U0001f1e5\U0001f201-\U0001f20f"
    r"\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f\U0001f249-\U0001f3fa"
    r"\U0001f400-\U0001f53d\U0001f546-\U0001f64f\U0001f680-\U0001f6ff\U0001f774-\U0001f77f"
    r"\U0001f7d5-\U0001f7ff\U0001f80c-\U0001f80f\U0001f848-\U0001f84f\U0001f85a-\U0001f85f"
    r"\U0001f888-\U0001f88f\U0001f8ae-\U0001f8ff\U0001f90c-\U0001f93a\U0001f93c-\U0001f945"
    r"\U0001f947-\U0001fffd]"
)


def _full() -> str:
    extend = f"{_EXTEND}*+"
    # Longer runs would not fit the window.
    plain = rf"[{_EXTEND}--[\ufe0e\ufe0f]]{{0,{WINDOW - 1}}}"
    skin = r"[\U0001f3fb-\U0001f3ff]"
    joined = rf"\u200d{{0,{WINDOW - 1}}}+"
    picture = (
        rf"{joined}(?:{_PICTURE}{plain}(?:{skin}{plain})?\ufe0f?"
        rf"|\p{{Emoji_Modifier_Base}}{plain}{skin}{plain})|{skin}{plain}"
    )
    dots = r".\u2018\u2019\u2024\ufe52\uff07\uff0e'"
    words = _words(
        letter=r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]",
        digit=r"[\p{WB=Numeric}\uff10-\uff19]",
        join=r"\p{WB=ExtendNumLet}",
        between=rf"[{dots}:\xb7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a]",
        within=(
            rf"[{dots},;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54"
            r"\uff0c\uff1b]"
        ),
        extend=extend,
    )
    return "|".join(
        (
            # A sequence of pictures first: some pictures are letters, too.
            rf"(?:{picture})(?:(?:\u200d(?:{picture}))++|[\U000e0020-\U000e007e]++\U000e007f)",
            words,
            rf"[#*]{plain}\ufe0f?\u20e3{plain}",
            rf"\p{{WB=Regional_Indicator}}{extend}\p{{WB=Regional_Indicator}}{extend}",
            picture,
            rf"(?:\p{{LB=Complex_Context}}{extend})++",
            rf"[\p{{Script=Han}}\p{{Script=Hiragana}}]{extend}",
        )
    )


_ASCII = re.compile(_words("[a-z]", "[0-9]", "_", "[:.']", "[,;.']", ""))
_FULL = regex.compile(_full(), regex.V1)
#: what begins no token, where none begins
_IDLE = regex.compile(rf"[{_EXTEND}--\u200d]++|\u200d++(?!{_PICTURE})", regex.V1)
_JOINS = regex.compile(rf"(?:\p{{WB=ExtendNumLet}}{_EXTEND}*+)++", regex.V1)


class Memo(Kept[str, str]):
    """The term of each word seen, "" for those that are not indexed.

    Each index has its own, as has each build of one: words repeat, and stemming is what
    costs.

    Args:
        limit: how many words to keep at most.
    """

    def __init__(self, limit: int = 1 << 15) -> None:
        super().__init__(limit)

    def __missing__(self, word: str) -> str:
        """Return the term of a new word."""
        term = _term(word)
        return self.keep(word, term) if len(word) <= _MEMORABLE else term


def tokenize(text: str, memo: Memo | None = None) -> list[str]:
    """Return the search terms of a text in order, repeats kept.

    Time is linear in the text's length whatever it holds; unpaired surrogates and control
    characters separate words.

    Args:
        text: any text; it is lower-cased first.
        memo: terms already known, for whoever calls this often.
    """
    text = text.lower()
    if text.isascii():
        words = _ASCII.findall(text)
    else:
        words = []
        # No token holds a space, and ASCII is read several times faster alone.
        for plain, parts in groupby(text.split(" "), str.isascii):
            words += (_ASCII if plain else _FULL).findall(" ".join(parts))
    if len(text) > _SURE and words and max(map(len, words)) > _SURE:
        words = [piece for word in words for piece in _pieces(word)]
    known = Memo() if memo is None else memo
    return [term for term in map(known.__getitem__, words) if term]


def _term(word: str) -> str:
    if _JOINS.fullmatch(word):
        return ""
    if word[-2:] in ("'s", "\u2019s", "\uff07s"):
        word = word[:-2]
    return "" if word in STOP_WORDS else stem(word)


def _pieces(word: str) -> Iterator[str]:
    """Yield what the scanner's window makes of a word."""
    if len(word) <= _SURE or sum(map(_width, word)) <= WINDOW:
        yield word
        return
    at = 0
    units = list(accumulate(map(_width, word)))
    while at < len(word):
        if joins := _JOINS.match(word, at):
            if joins.end() == len(word):
                return
            # From an earlier joiner the window would show nothing but joiners.
            at = max(at, joins.end() - WINDOW + 1)
        found = _FULL.match(word, at, bisect_right(units, units[at] - _width(word[at]) + WINDOW))
        if found and not _JOINS.fullmatch(found[0]):
            yield found[0]
            at = found.end()
        else:
            idle = _IDLE.match(word, at)
            at = idle.end() if idle else at + 1


def _width(letter: str) -> int:
    return 2 if letter > "\uffff" else 1
