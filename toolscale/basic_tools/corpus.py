"""A folder of passages, and the words in which they are searched.

`*.jsonl`: one object a line with the texts `id`, `title`, `text`. `*.md` and `*.txt`: one passage a file; its id is the
path within the folder, its title the first heading of a Markdown file, else the name of the file.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from toolscale.errors import SpecError, SpecIssue
from toolscale.strict_json import read_json

SUFFIXES = (".jsonl", ".md", ".txt")
WANTED = "*.jsonl, *.md or *.txt"
KEYS = {"id", "title", "text"}
REMEDY = 'a line is an object {"id", "title", "text"} of texts, the id not empty'
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, order=True)
class Passage:
    """What is found."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: its stem, and where it begins."""

    stem: str
    begin: int


def read_corpus(folder: Path) -> list[Passage]:
    """Return the passages in the order of their ids. Raises SpecError with everything that is wrong with the folder."""
    if not folder.is_dir():
        raise SpecError([SpecIssue(str(folder), "", "there is no such folder", f"name a folder with {WANTED}")])
    passages: dict[str, Passage] = {}
    issues: list[SpecIssue] = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file()):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            issues.append(SpecIssue(str(path), "", f"it cannot be read: {error}", "write it as UTF-8 text"))
            continue
        found = _lines(path, text, issues) if path.suffix == ".jsonl" else [("", _whole(path, folder, text))]
        for place, passage in found:
            if passage.id in passages:
                issues.append(
                    SpecIssue(
                        str(path), place, f"the id {passage.id!r} is there twice", "give every passage an id of its own"
                    )
                )
            passages[passage.id] = passage
    if not passages and not issues:
        issues.append(SpecIssue(str(folder), "", "it has no passage", f"put {WANTED} there"))
    if issues:
        raise SpecError(issues)
    return sorted(passages.values())


def words(text: str) -> list[Word]:
    """Return the words of a text, in order."""
    return [Word(stem(found[0]), found.start()) for found in _WORD.finditer(text)]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word without case, compatibility forms, accents and the plural, by the S stemmer (Harman 1991, "How
    effective is suffixing?").

    -ies becomes -y except after e and a; -es becomes -e except after a, e and o; -s goes except after u and s. Words
    under four letters stay.
    """
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", word).casefold() if not unicodedata.combining(letter)
    )
    if len(plain) < 4 or not plain.endswith("s"):
        return plain
    if plain.endswith("ies") and plain[-4] not in "ea":
        return plain[:-3] + "y"
    if plain.endswith("es") and plain[-3] not in "aeo":
        return plain[:-1]
    return plain if plain[-2] in "us" else plain[:-1]


def _lines(path: Path, text: str, issues: list[SpecIssue]) -> list[tuple[str, Passage]]:
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = read_json(line)
        except ValueError as error:
            issues.append(SpecIssue(str(path), f"line {number}", f"it is not JSON: {error}", REMEDY))
            continue
        if (
            not isinstance(value, dict)
            or not value.keys() >= KEYS
            or not all(isinstance(value[key], str) for key in KEYS)
            or not value["id"]
        ):
            issues.append(SpecIssue(str(path), f"line {number}", f"{line[:60]!r} is not a passage", REMEDY))
        elif any("\ud800" <= letter <= "\udfff" for key in KEYS for letter in value[key]):
            issues.append(
                SpecIssue(
                    str(path),
                    f"line {number}",
                    "it has half of a character (a lone surrogate)",
                    "write whole characters",
                )
            )
        else:
            found.append((f"line {number}", Passage(value["id"], value["title"], value["text"])))
    return found


def _whole(path: Path, folder: Path, text: str) -> Passage:
    title = path.stem
    if path.suffix == ".md" and (heading := re.search(r"^#{1,6}[ \t]+(\S.*)$", text, re.MULTILINE)):
        title = heading[1].strip(" \t\r#")
    return Passage(path.relative_to(folder).as_posix(), title, text)
