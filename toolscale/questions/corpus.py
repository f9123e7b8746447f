"""A small library about invented people, towns, firms and devices: local search finds its facts, and nobody can know
them by heart."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from toolscale.errors import StorageError, UsageError
from toolscale.whole_files import write_whole

CORPUS_SEED = 0
PASSAGES = 400
FILE_NAME = "library.jsonl"

_HEADS = (
    "Bal", "Cor", "Dren", "Fel", "Gar", "Hal", "Jor", "Kel", "Lum", "Mar", "Nor", "Ost", "Pel", "Quin", "Ras", "Sel",
    "Tor", "Ul", "Var", "Wen", "Yar", "Zel",
)  # fmt: skip
_MIDDLES = ("a", "e", "i", "o", "u", "an", "en", "in", "or", "ad", "el", "im")
_TAILS = {
    "given": ("ra", "na", "lo", "mir", "va", "lin", "do", "sa"),
    "family": ("bert", "sen", "wick", "stone", "vik", "mond", "shaw", "thal"),
    "town": ("ford", "burg", "mouth", "haven", "stead", "field", "dale", "minster"),
    "river": ("wash", "beck", "brook", "flow"),
    "firm": ("tron", "tech", "works", "line", "craft", "dyne", "soft", "ware"),
    "device": ("mat", "pad", "scope", "phone", "graph", "meter", "cam", "lite"),
}
_TRADES = ("painter", "surgeon", "composer", "sailor", "botanist", "architect", "poet", "engineer")
_GOODS = ("lamps", "bicycles", "pianos", "boilers", "clocks", "cameras", "kites", "stoves")
_SORTS = ("radio", "camera", "compass", "lamp", "drill", "watch", "speaker", "scale")


@dataclass(frozen=True, slots=True)
class Entry:
    """One passage: what it is about, its text, and the facts in it that no other passage has."""

    id: str
    sort: str
    """person, town, firm or device."""
    title: str
    text: str
    facts: tuple[tuple[str, str], ...]
    """(attribute, value); a value stands in this passage and in no other."""

    def value(self, attribute: str) -> str:
        """Return the value of an attribute."""
        return dict(self.facts)[attribute]


class _Pool:
    """Names and numbers that are handed out once."""

    def __init__(self, seed: int):
        self.rng = random.Random(f"corpus:{seed}")
        self.taken: set[str] = set()

    def name(self, kind: str) -> str:
        """Return an invented name; none is a part of another."""
        while True:
            found = self.rng.choice(_HEADS) + self.rng.choice(_MIDDLES) + self.rng.choice(_TAILS[kind])
            if found not in self.taken:
                self.taken.add(found)
                return found

    def number(self, least: int, most: int) -> str:
        """Return a number of a range."""
        while True:
            found = str(self.rng.randint(least, most))
            if found not in self.taken:
                self.taken.add(found)
                return found


@lru_cache(maxsize=4)
def corpus(seed: int = CORPUS_SEED) -> tuple[Entry, ...]:
    """Return the passages of a seed, about as many people as towns, firms and devices."""
    pool = _Pool(seed)
    makers = (_person, _town, _firm, _device)
    entries = [makers[number % len(makers)](pool, f"p{number:03d}") for number in range(PASSAGES)]
    pool.rng.shuffle(entries)
    return tuple(entries)


def write_corpus(folder: Path, seed: int = CORPUS_SEED) -> Path:
    """Write the passages as JSON lines {id, title, text} into a folder, made if need be; return the path. StorageError
    if that cannot be done."""
    path = folder / FILE_NAME
    lines = [json.dumps({"id": entry.id, "title": entry.title, "text": entry.text}) + "\n" for entry in corpus(seed)]
    try:
        return write_whole(path, "".join(lines).encode())
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written: {error.strerror or error}; give a folder that can be"
        ) from error


def entries(sort: str, seed: int = CORPUS_SEED) -> tuple[Entry, ...]:
    """Return the passages about one sort of thing. UsageError if there is no such sort."""
    found = _by_sort(seed).get(sort)
    if found is None:
        raise UsageError(f"the library knows nothing of the sort {sort!r}; it has person, town, firm, device")
    return found


@lru_cache(maxsize=4)
def _by_sort(seed: int) -> dict[str, tuple[Entry, ...]]:
    return {
        sort: tuple(entry for entry in corpus(seed) if entry.sort == sort)
        for sort in ("person", "town", "firm", "device")
    }


def _person(pool: _Pool, name: str) -> Entry:
    title = f"{pool.name('given')} {pool.name('family')}"
    trade = pool.rng.choice(_TRADES)
    facts = (
        ("born", pool.number(1400, 1999)),
        ("teacher", f"{pool.name('given')} {pool.name('family')}"),
        ("home", pool.name("town")),
    )
    (_, born), (_, teacher), (_, home) = facts
    texts = (
        (
            f"{title} was a {trade}, born in {born}. A pupil of {teacher}, "
            f"the {trade} spent most of a long life in {home}."
        ),
        f"The {trade} {title} came to the world in {born} and lived in {home}. The first teacher was {teacher}.",
    )
    return Entry(name, "person", title, pool.rng.choice(texts), facts)


def _town(pool: _Pool, name: str) -> Entry:
    title = pool.name("town")
    facts = (
        ("people", pool.number(2000, 99_999)),
        ("river", f"the {pool.name('river')}"),
        ("mayor", f"{pool.name('given')} {pool.name('family')}"),
    )
    (_, people), (_, river), (_, mayor) = facts
    goods = pool.rng.choice(_GOODS)
    texts = (
        (
            f"{title} is a town on {river}. It has {people} inhabitants and was once known for its {goods}. "
            f"Its mayor is {mayor}."
        ),
        (
            f"The town of {title} lies where {river} leaves the hills. "
            f"Mayor {mayor} speaks for {people} inhabitants, many of whom make {goods}."
        ),
    )
    return Entry(name, "town", title, pool.rng.choice(texts), facts)


def _firm(pool: _Pool, name: str) -> Entry:
    title = f"{pool.name('firm')} Company"
    facts = (
        ("founder", f"{pool.name('given')} {pool.name('family')}"),
        ("seat", pool.name("town")),
        ("staff", pool.number(2000, 99_999)),
    )
    (_, founder), (_, seat), (_, staff) = facts
    goods = pool.rng.choice(_GOODS)
    texts = (
        f"{title} makes {goods}. It was founded by {founder}, has its seat in {seat} and employs {staff} people.",
        (
            f"From its seat in {seat}, {title} sells {goods} all over the country. "
            f"{staff} people work there. The founder was {founder}."
        ),
    )
    return Entry(name, "firm", title, pool.rng.choice(texts), facts)


def _device(pool: _Pool, name: str) -> Entry:
    title = f"{pool.name('device')} {pool.number(100, 999)}"
    facts = (
        ("weight", pool.number(1000, 9999)),
        ("maker", pool.name("firm")),
        ("inventor", f"{pool.name('given')} {pool.name('family')}"),
    )
    (_, weight), (_, maker), (_, inventor) = facts
    sort = pool.rng.choice(_SORTS)
    texts = (
        f"The {title} is a {sort} made by {maker}. It weighs {weight} grams and goes back to a drawing of {inventor}.",
        f"{inventor} invented the {title}, a {sort} of {weight} grams. It is made by {maker} to this day.",
    )
    return Entry(name, "device", title, pool.rng.choice(texts), facts)
