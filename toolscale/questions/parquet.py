"""Questions from Parquet files such as GeneralThought's: the rows whose answers can be checked, and counts of the
others."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.errors import DatasetError
from toolscale.patterns import regex
from toolscale.questions.templates import Kind, whole
from toolscale.records import CATEGORIES, Question

REQUIRED = ("question", "reference_answer")
OPTIONAL = ("category", "task", "source", "question_source")
LONGEST_QUESTION = 8_000
"""Characters."""
LONGEST_ANSWER = 60
"""Characters of an answer that can be checked."""
MOST_WORDS = 4
"""Words of an answer in words that can be checked."""
BATCH = 1_000

_INTEGER = regex(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,30})$")
_DECIMAL = regex(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,30})\.\d{1,15}$")
_CHOICE = regex(r"\(?([A-J])\)?\.?$")
_LETTERED = regex(r"\(?([A-J])[).:]\s+\S")
"""An answer that repeats an option with its letter: `B. dog`."""
_OPTION = regex(r"(?:^|\s)\(?([A-J])[).:]\s", re.MULTILINE)
_NAME = regex(r"[^\W\d_][\w'.-]*(?: [\w'.-]+)*$")
_VAGUE = regex(r"(?:yes|no|true|false|none|unknown|n/?a|it depends)\b", re.IGNORECASE)
_WRAPPED = regex(r"(?:\$|\\\(|\\\[)?\s*(?:\\boxed\{)?(.*?)\}?\s*(?:\$|\\\)|\\\])?\.?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LoadCounts:
    """What became of the rows. rows = repeated + too_long + uncheckable + lonely + kept."""

    rows: int = 0
    repeated: int = 0
    """The same question once more."""
    too_long: int = 0
    """The question is empty or longer than is read."""
    uncheckable: int = 0
    """The answer is missing, or no whole number, decimal, choice, or name of a few words."""
    lonely: int = 0
    """No wrong answer of the same kind could be found."""
    kept: int = 0


@dataclass(frozen=True, slots=True)
class _Row:
    place: str
    text: str
    answer: str
    kind: Kind
    category: str
    source: str


def load_questions(paths: Sequence[Path], seed: int = 0) -> tuple[list[Question], LoadCounts]:
    """Return the checkable questions of Parquet files with the columns question and reference_answer, in order, and
    counts of the other rows.

    Optional columns: category or task (one of CATEGORIES, or it is told by the answer), source or question_source.
    Wrong answers are made: neighbours of a number, the other options of a choice, answers of other rows of the same
    category. DatasetError names file, row and column.
    """
    rows: list[_Row] = []
    counts = LoadCounts()
    seen: set[str] = set()
    for place, cells in _cells(paths):
        text, answer = cells["question"].strip(), _plain(cells["reference_answer"] or "")
        if (lettered := _LETTERED.match(answer)) is not None and lettered[1] in _OPTION.findall(text):
            answer = lettered[1]
        kind = _kind(text, answer)
        if text in seen:
            counts = replace(counts, repeated=counts.repeated + 1)
        elif not text or len(text) > LONGEST_QUESTION:
            counts = replace(counts, too_long=counts.too_long + 1)
        elif kind is None:
            counts = replace(counts, uncheckable=counts.uncheckable + 1)
        else:
            seen.add(text)
            source = cells.get("source") or cells.get("question_source") or place.partition(":")[0]
            rows.append(
                _Row(
                    place,
                    text,
                    _CHOICE.sub(r"\1", answer) if kind == "choice" else answer,
                    kind,
                    _category(cells, text, kind),
                    source,
                )
            )
        counts = replace(counts, rows=counts.rows + 1)
    siblings: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.kind == "word":
            siblings[row.category].append(row.answer)
    pools = {category: list(dict.fromkeys(answers)) for category, answers in siblings.items()}
    found = [one for row in rows if (one := _question(row, pools.get(row.category, []), seed)) is not None]
    return found, replace(counts, kept=len(found), lonely=len(rows) - len(found))


def _cells(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield `file:row` and the cells of each row; `1/file:row` where several files have the same name."""
    names = Counter(path.name for path in paths)
    for place, path in enumerate(paths):
        number, called = 0, path.name if names[path.name] == 1 else f"{place}/{path.name}"
        try:
            with pq.ParquetFile(path) as file:
                columns = _columns(path, file.schema_arrow)
                for batch in file.iter_batches(batch_size=BATCH, columns=columns):
                    for cells in batch.to_pylist():
                        if cells["question"] is None:
                            raise DatasetError(f"{path}: row {number}: the column question is null; remove the row")
                        yield f"{called}:{number}", cells
                        number += 1
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DatasetError(
                f"{path}: row {number}: not a readable Parquet file: {reason}; get the file again"
            ) from error


def _columns(path: Path, schema: pa.Schema) -> list[str]:
    for name in REQUIRED:
        if name not in schema.names:
            raise DatasetError(
                f"{path}: there is no column {name}; it has {', '.join(schema.names) or 'none'}. "
                "Rename the column that holds it"
            )
    columns = [name for name in (*REQUIRED, *OPTIONAL) if name in schema.names]
    for name in columns:
        kind = schema.field(name).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain)):
            raise DatasetError(f"{path}: the column {name} is {kind}, not text; write it as text")
    return columns


def _plain(answer: str) -> str:
    """Return an answer without the signs of TeX or a full stop around it."""
    match = _WRAPPED.fullmatch(answer.strip())
    return match[1].strip() if match else answer.strip()


def _kind(text: str, answer: str) -> Kind | None:
    if not answer or len(answer) > LONGEST_ANSWER:
        return None
    if _INTEGER.match(answer):
        return "integer"
    if _DECIMAL.match(answer):
        return "decimal"
    if match := _CHOICE.match(answer):
        options = set(_OPTION.findall(text))
        return "choice" if match[1] in options and len(options) > 1 else None
    return "word" if _NAME.match(answer) and len(answer.split()) <= MOST_WORDS and not _VAGUE.match(answer) else None


def _category(cells: dict[str, Any], text: str, kind: Kind) -> str:
    for name in ("category", "task"):
        told = (cells.get(name) or "").strip().lower()
        if told in CATEGORIES and told != "tools":
            return told
    if "```" in text:
        return "code"
    return "mathematics" if kind in ("integer", "decimal") else "reasoning" if kind == "choice" else "knowledge"


def _question(row: _Row, siblings: Sequence[str], seed: int) -> Question | None:
    rng = random.Random(f"{seed}:{row.place}")
    plain = row.answer.replace(",", "").removeprefix("+")
    wrong: tuple[str, ...]
    if row.kind == "integer":
        wrong = whole(rng, int(plain))
    elif row.kind == "decimal":
        digits = len(plain.partition(".")[2])
        scaled = whole(rng, int(plain.replace(".", "")))
        wrong = tuple(_pointed(int(number), digits) for number in scaled)
    elif row.kind == "choice":
        wrong = tuple(letter for letter in dict.fromkeys(_OPTION.findall(row.text)) if letter != row.answer)
    else:
        others = [other for other in rng.sample(siblings, min(len(siblings), 12)) if not _alike(other, row.answer)]
        wrong = tuple(others[:4])
    if not wrong:
        return None
    return Question(
        id=row.place,
        category=row.category,
        text=row.text,
        answer=plain if row.kind in ("integer", "decimal") else row.answer,
        answer_kind=row.kind,
        accepted=(row.answer,) if row.answer != plain and row.kind in ("integer", "decimal") else (),
        wrong=wrong,
        source=row.source,
    )


def _pointed(number: int, digits: int) -> str:
    text = str(abs(number)).zfill(digits + 1)
    return f"{'-' if number < 0 else ''}{text[:-digits]}.{text[-digits:]}"


def _alike(one: str, other: str) -> bool:
    """Whether one answer holds the other: it would be graded as both."""
    first, second = one.casefold(), other.casefold()
    return first in second or second in first
