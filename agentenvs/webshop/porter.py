"""Porter's stemmer with its author's revised rules, as Lucene computes it.

M.F. Porter, "An algorithm for suffix stripping", 1980, and the three changes that he made to
it later: words of one or two letters stay, `bli` becomes `ble`, `logi` becomes `log`.
"""

from __future__ import annotations

__all__ = ["stem"]

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_ENDINGS = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_STEP_4 = dict.fromkeys(_ENDINGS.split(), "")


def stem(word: str) -> str:
    """Return the stem of a lower-cased word.

    Letters other than a to z count as consonants. Lengths and double letters are those of
    UTF-16, as in Java: a character beyond U+FFFF is two units, and never a double letter.
    """
    if word.isascii() or max(word) < "\U00010000":
        return _stem(word)
    units = "".join(
        letter if letter < "\U00010000" else _surrogates(ord(letter)) for letter in word
    )
    return _stem(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _surrogates(point: int) -> str:
    return chr(0xD7C0 + (point >> 10)) + chr(0xDC00 + (point & 0x3FF))


def _stem(word: str) -> str:
    if len(word) <= 2:
        return word
    word = _past_and_participle(_plural(word))
    if word[-1:] == "y" and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2, 0)
    word = _replace(word, _STEP_3, 0)
    word = _replace(word, _STEP_4, 1)
    if word[-1:] == "e":
        shape = _shape(word[:-1])
        measure = shape.count("vc")
        if measure > 1 or (measure == 1 and not _is_short(word[:-1], shape)):
            word = word[:-1]
    if word[-2:] == "ll" and _shape(word).count("vc") > 1:
        word = word[:-1]
    return word


def _shape(word: str) -> str:
    """Return `word` with "v" for each vowel and "c" for each consonant.

    The measure of Porter's paper is how often "vc" occurs in it.
    """
    shape = []
    last = "v"
    for letter in word:
        if letter in "aeiou":
            last = "v"
        elif letter == "y":
            last = "c" if last == "v" else "v"
        else:
            last = "c"
        shape.append(last)
    return "".join(shape)


def _is_short(word: str, shape: str) -> bool:
    return shape[-3:] == "cvc" and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word[-1] != "s":
        return word
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word if word[-2] == "s" else word[:-1]


def _past_and_participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if "vc" in _shape(word[:-3]) else word
    if word.endswith("ed"):
        rest = word[:-2]
    elif word.endswith("ing"):
        rest = word[:-3]
    else:
        return word
    shape = _shape(rest)
    if "v" not in shape:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-2:-1] == rest[-1] and shape[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    if shape.count("vc") == 1 and _is_short(rest, shape):
        return rest + "e"
    return rest


def _replace(word: str, rules: dict[str, str], least: int) -> str:
    """Replace the longest suffix that `rules` know, if what precedes measures over `least`."""
    for length in range(min(7, len(word)), 1, -1):
        suffix = word[-length:]
        if suffix in rules:
            rest = word[:-length]
            if _shape(rest).count("vc") <= least or (suffix == "ion" and rest[-1] not in "st"):
                return word
            return rest + rules[suffix]
    return word
