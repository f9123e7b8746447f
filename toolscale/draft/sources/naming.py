"""Names of somebody's tables and operations, in the form that names have here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping

from toolscale.forbidden_names import LONGEST, refusals

KINDS: Mapping[str, tuple[str, ...]] = {
    "call": ("tool",),
    "input": ("parameter", "field"),
    "rows": ("parameter", "field", "relation"),
}
"""What is put behind a name that is forbidden -> of what it is the name."""

_LETTERS = str.maketrans({
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i", "ŋ": "n", "Ŋ": "N", "ħ": "h", "Ħ": "H",
})  # fmt: skip
"""Letters that are no letter of `a-z` with a mark."""

_SCRIPTS = ("CYRILLIC", "GREEK")
_SOUND = (
    "BE=b VE=v GHE=g DE=d ZHE=zh ZE=z KA=k EL=l EM=m EN=n PE=p ER=r ES=s TE=t EF=f HA=h TSE=ts CHE=ch SHA=sh "
    "SHCHA=shch IE=e YERU=y SIGN= "
    "ALPHA=a BETA=v GAMMA=g DELTA=d EPSILON=e ZETA=z ETA=i THETA=th IOTA=i KAPPA=k LAMDA=l MU=m NU=n XI=x OMICRON=o "
    "PI=p RHO=r SIGMA=s TAU=t UPSILON=y PHI=f CHI=ch PSI=ps OMEGA=o"
)
_SOUNDS = dict(pair.split("=") for pair in _SOUND.split())
"""How a letter is written here that Unicode calls by its sound: CYRILLIC SMALL LETTER GHE. Others are written as they
are called: YU, YA."""


def folded(name: str) -> str:
    """Return a name in letters of ASCII as far as there are any for it: `größe` is `grosse`, `Заказ` is `Zakaz`."""
    return "".join(map(_plain, unicodedata.normalize("NFKD", name.translate(_LETTERS))))


def _plain(letter: str) -> str:
    """Return a letter in ASCII; nothing for a mark on the letter before, and what has no such letters as it is."""
    if letter.isascii() or not (unicodedata.category(letter).startswith(("L", "M"))):
        return letter
    if unicodedata.combining(letter):
        return ""
    script, _, told = unicodedata.name(letter, "").partition(" ")
    sound = _SOUNDS.get(told.rpartition(" ")[2], told.rpartition(" ")[2]).lower() if script in _SCRIPTS else letter
    return sound.capitalize() if "CAPITAL" in told else sound


def snake(name: str) -> str:
    """Return a name in small letters, digits and single underscores, beginning with a letter: `OrderItems` is
    `order_items`, `2fa-Codes` is `n2fa_codes`; nothing if it has neither a letter nor a digit of ASCII."""
    name = unicodedata.normalize("NFC", name)
    parted = [
        f"_{letter}" if letter.isupper() and (before.islower() or before.isdigit() or after.islower()) else letter
        for before, letter, after in zip(f" {name}", name, f"{name[1:]} ", strict=False)
    ]
    plain = re.sub(r"[^a-z0-9]+", "_", folded("".join(parted)).lower()).strip("_")
    return f"n{plain}" if plain[:1].isdigit() else plain


def singular(name: str) -> str:
    """Return what one row of a table is called: `order_items` is `order_item`, `addresses` is `address`."""
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if name.endswith(ending) and len(name) > len(ending) + 1:
            return name.removesuffix(ending) + instead
    if name.endswith("s") and not name.endswith(("ss", "us", "is", "_s")) and len(name) > 2:
        return name.removesuffix("s")
    return name


def usable(name: str, taken: Collection[str], ending: str, next_: dict[str, int] | None = None) -> str:
    """Return a name of an operation or of what it takes that nobody refuses and that is not taken: `self` is
    `self_input`. What is too long is cut. `next_`: the number that the next one of a name gets, where there may be very
    many."""
    kinds = KINDS[ending]
    if len(name) > LONGEST:
        name = name[: LONGEST - 3].strip("_")
    if any(refusals(name, kind) for kind in kinds):
        name = f"{name}_{ending}"
        if any(refusals(name, kind) for kind in kinds):
            name = f"{ending}_{name}"
    number, found = (next_ or {}).get(name, 2), name
    while found in taken:
        found, number = f"{name}{number}", number + 1
    if next_ is not None:
        next_[name] = number
    return found
