"""Search in a folder of passages: what is found, in which order, and what is wrong with a folder."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.basic_tools import BasicResult, LocalSearch, LocalSearchSettings
from toolscale.basic_tools.corpus import Passage, read_corpus, stem, words
from toolscale.basic_tools.local_search import excerpt
from toolscale.errors import BasicToolError, SpecError, SpecIssue

PASSAGES = [
    Passage("castle", "Korbach Castle", "The castle of Korbach was built in 1312. Its towers burned in 1633."),
    Passage(
        "ferry",
        "The ferry of Lund",
        "A ferry crosses the river at Lund every 20 minutes. The last ferry leaves at 22:40.",
    ),
    Passage("mill", "Mills", "Three mills stand on the river. One of them grinds rye."),
    Passage("twin-a", "Twin", "An echo, an echo."),
    Passage("twin-b", "Twin", "An echo, an echo."),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": each.id, "title": each.title, "text": each.text}) for each in PASSAGES]
    (tmp_path / "passages.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("When was the castle built?", ["castle", "ferry", "mill"]),
        ("river mill", ["mill", "ferry"]),
        ("FERRIES", ["ferry"]),
        ("echo", ["twin-a", "twin-b"]),
        ("zebra", []),
        ("'; DROP TABLE passage; -- %_\\ \0 \ud800 ferry", ["ferry"]),
        ("?!", []),
    ],
)
def test_the_order_of_what_is_found(folder: Path, query: str, ids: list[str]) -> None:
    with LocalSearch(LocalSearchSettings(corpus=str(folder))) as search:
        assert [passage.id for passage in search.find(query)] == ids
        assert [passage.id for passage in search.find("echo")] == ["twin-a", "twin-b"]


def test_what_the_model_reads(folder: Path) -> None:
    with LocalSearch(LocalSearchSettings(corpus=str(folder), results=1)) as search:
        first = asyncio.run(search.call({"query": "last ferry"}))
        assert first == BasicResult(f"[1] The ferry of Lund (id: ferry)\n{PASSAGES[1].text}", None, 0.000004, 0.1)
        assert asyncio.run(search.call({"query": "ferry, LAST"})) == first
        assert asyncio.run(search.call({"query": "zebra"})).content == "(Nothing was found. Try other words.)"
        assert asyncio.run(search.call({"query": ""})) == BasicResult(
            "Error: `query` is empty", "`query` is empty", 0.0, 0.0
        )


def test_many_tasks_search_at_once(folder: Path) -> None:
    async def everyone(search: LocalSearch) -> list[str]:
        results = await asyncio.gather(*[search.call({"query": f"castle {number}"}) for number in range(64)])
        return [result.content.partition("\n")[0] for result in results]

    with LocalSearch(LocalSearchSettings(corpus=str(folder))) as search:
        assert set(asyncio.run(everyone(search))) == {"[1] Korbach Castle (id: castle)"}


def test_an_index_in_the_cache_is_used_again(folder: Path, tmp_path: Path) -> None:
    settings = LocalSearchSettings(corpus=str(folder), cache=str(tmp_path / "cache"))
    with LocalSearch(settings) as first:
        (index,) = (tmp_path / "cache").iterdir()
        written = index.stat().st_mtime_ns
        with LocalSearch(settings) as second:
            assert second.find("river") == first.find("river")
            assert (index.name, index.stat().st_mtime_ns) == (f"{first.corpus_hash}.duckdb", written)
    index.write_bytes(b"garbage")
    with pytest.raises(
        BasicToolError, match=r"\.duckdb: the index cannot be opened: .*; delete it, or name another folder as `cache`$"
    ):
        LocalSearch(settings)


def test_files_of_three_kinds(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.jsonl").write_text('{"id": "a", "title": "A", "text": "one", "more": 1}\n\n')
    (tmp_path / "deep" / "b.md").write_text("intro\n\n## The *b* page ##\ntwo")
    (tmp_path / "c.txt").write_text("three")
    (tmp_path / "d.bin").write_bytes(b"\xff")
    assert read_corpus(tmp_path) == [
        Passage("a", "A", "one"),
        Passage("c.txt", "c", "three"),
        Passage("deep/b.md", "The *b* page", "intro\n\n## The *b* page ##\ntwo"),
    ]


def test_everything_wrong_with_a_folder_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": "a", "title": "A", "text": "one"}\nno\n'
        '{"id": "", "title": "", "text": ""}\n{"id": "a", "title": "", "text": ""}\n[1]\n'
        '{"id": "b", "id": "c", "title": "", "text": ""}\n'
    )
    (tmp_path / "b.txt").write_bytes(b"\xff")
    remedy = 'a line is an object {"id", "title", "text"} of texts, the id not empty'
    with pytest.raises(SpecError) as caught:
        read_corpus(tmp_path)
    assert caught.value.issues == (
        SpecIssue(str(path), "line 2", "it is not JSON: Expecting value: line 1 column 1 (char 0)", remedy),
        SpecIssue(str(path), "line 3", """'{"id": "", "title": "", "text": ""}' is not a passage""", remedy),
        SpecIssue(str(path), "line 5", "'[1]' is not a passage", remedy),
        SpecIssue(str(path), "line 6", "it is not JSON: a key stands twice", remedy),
        SpecIssue(str(path), "line 4", "the id 'a' is there twice", "give every passage an id of its own"),
        SpecIssue(
            str(tmp_path / "b.txt"),
            "",
            "it cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
            "write it as UTF-8 text",
        ),
    )


@pytest.mark.parametrize(("name", "problem"), [("none", "there is no such folder"), (".", "it has no passage")])
def test_a_folder_that_is_none(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        read_corpus(tmp_path / name)


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("Ferries", "ferry"),
        ("mills", "mill"),
        ("houses", "house"),
        ("gas", "gas"),
        ("bus", "bus"),
        ("glass", "glass"),
        ("heroes", "heroe"),
        ("Mädchen", "madchen"),
        ("STRAßE", "strasse"),
        ("ﬁles", "file"),
    ],
)
def test_stems(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_an_excerpt_is_where_the_words_are() -> None:
    text = "Nothing is here at all. " * 20 + "The key lies under the third stone. " + "Nothing is here at all. " * 20
    assert (
        excerpt(text, ["key", "stone"], 80)
        == "… The key lies under the third stone. Nothing is here at all. Nothing is here at …"
    )
    assert excerpt("short", ["key"], 80) == "short"


TEXTS = st.lists(st.sampled_from(["ash", "birch", "cedar", "elm", "fir", "larch", "oak", "pine"]), max_size=12).map(
    " ".join
)


@given(st.lists(TEXTS, min_size=1, max_size=8), TEXTS)
def test_the_ranking_is_bm25(tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    lines = [json.dumps({"id": f"{number:02}", "title": "", "text": text}) for number, text in enumerate(texts)]
    (folder / "passages.jsonl").write_text("\n".join(lines))
    with LocalSearch(LocalSearchSettings(corpus=str(folder), results=50)) as search:
        found = [passage.id for passage in search.find(query)]
    counts = [Counter(text.split()) for text in texts]
    average = sum(map(len, map(str.split, texts))) / len(texts) or 1
    scores = {}
    for number, count in enumerate(counts):
        score = 0
        for term in set(query.split()) & set(count):
            having = sum(term in each for each in counts)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            score += round(
                1e6 * idf * count[term] * 2.2 / (count[term] + 1.2 * (0.25 + 0.75 * count.total() / average))
            )
        if score:
            scores[f"{number:02}"] = score
    assert found == sorted(scores, key=lambda each: (-scores[each], each))


@given(st.text(max_size=300), st.lists(st.text(max_size=8), max_size=4), st.integers(40, 100))
def test_an_excerpt_is_bounded(text: str, stems: list[str], chars: int) -> None:
    assert len(excerpt(text, stems, chars)) <= chars + 4
    assert all(text[word.begin :] for word in words(text))
