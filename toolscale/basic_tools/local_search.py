"""The tool `local_search`: full-text search in a folder of passages, ranked by BM25, in DuckDB.

DuckDB's own `fts` extension is a download, which training machines may not have; so the index is a table of terms here.
Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009), the weight of a term t in a passage
d:

    idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length(d) / average length))
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))

with k1 = 1.2 and b = 0.75; the 1 within the logarithm keeps a term that is everywhere from counting against a passage
(as in Lucene). Weights depend on the corpus alone, so they are stored, as whole millionths: sums are exact, and equal
scores are equal on every machine. Ties go by id.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from toolscale.basic_tools.base import BasicResult, one_text, one_text_function, refused
from toolscale.basic_tools.corpus import Passage, read_corpus, words
from toolscale.basic_tools.settings import LocalSearchSettings
from toolscale.canonical import content_hash
from toolscale.errors import BasicToolError

INDEX_VERSION = 1
"""The number goes up when the same corpus is indexed differently than before."""
K1, B = 1.2, 0.75
MILLION = 1_000_000
REMEMBERED = 4_096
"""Queries whose results are kept."""

RANK = (
    "\n"
    "WITH best AS (\n"
    "    SELECT passage AS number, SUM(weight) AS score FROM posting WHERE term IN ({asked}) "
    "GROUP BY passage ORDER BY score DESC, number LIMIT ?\n"
    ")\n"
    "SELECT passage.id, passage.title, passage.text FROM best JOIN passage USING (number) "
    "ORDER BY best.score DESC, number\n"
)
"""`{asked}` becomes as many question marks as there are terms, never anything of the query."""


class LocalSearch:
    """Search in one corpus. Close it, or use it as a context manager."""

    name = "local_search"
    description = (
        "Searches a collection of documents and returns the passages that fit best: "
        "title, id, and the part of the text that fits. "
        "Ask with the words that the passage would have."
    )

    def __init__(self, settings: LocalSearchSettings):
        """Read the corpus and build its index, or open the one in the cache. Raises SpecError if the corpus is
        wrong."""
        self._settings = settings
        passages = read_corpus(Path(settings.corpus))
        self.corpus_hash = content_hash([INDEX_VERSION, [[each.id, each.title, each.text] for each in passages]])
        self._connection = _opened(passages, self.corpus_hash, settings.cache)
        self._terms: dict[str, int] = dict(self._connection.execute("SELECT stem, number FROM term").fetchall())
        self._remembered: OrderedDict[tuple[str, ...], str] = OrderedDict()

    def __enter__(self) -> LocalSearch:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index."""
        self._connection.close()

    def function(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function."""
        return one_text_function(self.name, self.description, "query", "Words to search for.")

    async def call(self, arguments: Mapping[str, Any]) -> BasicResult:
        """Search for `query`. A query takes a few milliseconds, so it is not handed to a thread."""
        query, problem = one_text(arguments, "query", self._settings.query_chars)
        if problem:
            return refused(problem)
        started = time.perf_counter()
        content = self._answer(tuple(sorted({word.stem for word in words(query)})))
        taken = time.perf_counter() - started
        latency = taken if self._settings.latency_per_call is None else self._settings.latency_per_call
        return BasicResult(content, None, self._settings.price_per_call, latency)

    def find(self, query: str) -> list[Passage]:
        """Return the best passages, whole, best first."""
        return self._ranked(sorted({word.stem for word in words(query)}))

    def _answer(self, stems: tuple[str, ...]) -> str:
        if stems in self._remembered:
            self._remembered.move_to_end(stems)
            return self._remembered[stems]
        found = self._ranked(stems)
        shown = [
            f"[{place}] {each.title} (id: {each.id})\n{excerpt(each.text, stems, self._settings.excerpt_chars)}"
            for place, each in enumerate(found, start=1)
        ]
        content = self._remembered[stems] = "\n\n".join(shown) or "(Nothing was found. Try other words.)"
        if len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)
        return content

    def _ranked(self, stems: Sequence[str]) -> list[Passage]:
        terms = [self._terms[stem] for stem in stems if stem in self._terms]
        if not terms:
            return []
        try:
            with self._connection.cursor() as cursor:
                rows = cursor.execute(
                    RANK.format(asked=", ".join("?" * len(terms))), [*terms, self._settings.results]
                ).fetchall()
        except duckdb.Error as error:
            raise BasicToolError(f"the index of {self._settings.corpus} cannot be read: {error}") from error
        return [Passage(*row) for row in rows]


def excerpt(text: str, stems: Sequence[str], chars: int) -> str:
    """Return the text, or the stretch of at most `chars` characters of it that has most of the stems; `…` stands where
    something is left out."""
    text = " ".join(text.split())
    if len(text) <= chars:
        return text
    found = [word for word in words(text) if word.stem in set(stems)]
    best, begin, last = 0, 0, 0
    inside: Counter[str] = Counter()
    for first, word in enumerate(found):
        while last < len(found) and found[last].begin < word.begin + chars * 3 // 4:
            inside[found[last].stem] += 1
            last += 1
        if len(+inside) > best:
            best, begin = len(+inside), word.begin
        inside[found[first].stem] -= 1
    sentence = text.rfind(". ", max(0, begin - chars // 4), begin)
    begin = 0 if begin < chars // 4 else sentence + 2 if sentence >= 0 else begin
    end = begin + chars
    if end < len(text):
        end = max(text.rfind(" ", begin, end), begin + chars // 2)
    return ("… " if begin else "") + text[begin:end].strip() + (" …" if end < len(text) else "")


def _opened(passages: list[Passage], corpus_hash: str, cache: str | None) -> duckdb.DuckDBPyConnection:
    """Return a connection to the index: in memory, or read-only on the file of this corpus in the cache."""
    if cache is None:
        connection = duckdb.connect(":memory:", config={"threads": 1})
        _build(connection, passages)
        return connection
    path = Path(cache, f"{corpus_hash}.duckdb")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=path.parent, prefix="building-") as folder:
                building = Path(folder, "index.duckdb")
                with duckdb.connect(building, config={"threads": 1}) as connection:
                    _build(connection, passages)
                building.replace(path)  # another process may have been faster; the content is the same
        return duckdb.connect(path, read_only=True, config={"threads": 1})
    except (OSError, duckdb.Error) as error:
        raise BasicToolError(
            f"{path}: the index cannot be opened: {error}; delete it, or name another folder as `cache`"
        ) from error


def _build(connection: duckdb.DuckDBPyConnection, passages: list[Passage]) -> None:
    """Write the passages, numbered in the order of their ids, and the weight of every term in each."""
    counts = [Counter(word.stem for word in words(f"{each.title}\n{each.text}")) for each in passages]
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / len(lengths) or 1.0
    frequency = Counter(stem for count in counts for stem in count)
    terms = {stem: number for number, stem in enumerate(sorted(frequency))}
    postings = sorted(
        (terms[stem], number, weight(times, frequency[stem], len(passages), lengths[number] / average))
        for number, count in enumerate(counts)
        for stem, times in count.items()
    )
    connection.execute("CREATE TABLE passage (number INTEGER, id VARCHAR, title VARCHAR, text VARCHAR)")
    connection.execute("CREATE TABLE term (number INTEGER, stem VARCHAR)")
    connection.execute("CREATE TABLE posting (term INTEGER, passage INTEGER, weight BIGINT)")
    _insert(
        connection,
        "passage",
        "number, id, title, text",
        [[number, each.id, each.title, each.text] for number, each in enumerate(passages)],
    )
    _insert(connection, "term", "number, stem", [[number, stem] for stem, number in terms.items()])
    _insert(connection, "posting", "term, passage, weight", [list(row) for row in postings])


def _insert(connection: duckdb.DuckDBPyConnection, table: str, columns: str, rows: list[list[Any]]) -> None:
    """Insert rows by way of Arrow, in their order: postings are sorted by term, so most of the table is skipped by a
    query."""
    import pyarrow

    names = columns.split(", ")
    batch = pyarrow.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    connection.register("batch", batch)
    connection.execute(f"INSERT INTO {table} SELECT {columns} FROM batch")
    connection.unregister("batch")


def weight(times: int, frequency: int, passages: int, relative_length: float) -> int:
    """Return the BM25 weight, in millionths, of a term that occurs `times` times in a passage. `relative_length`: the
    length of the passage, divided by the average length."""
    idf = math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5))
    return round(MILLION * idf * times * (K1 + 1) / (times + K1 * (1 - B + B * relative_length)))
