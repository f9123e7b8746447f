"""Small things that stand for large ones: Parquet, SQL, patterns, populations."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.dataset.test_recheck import TRAIN, repair
from tests.hostile.bounded import Bounded
from toolscale.dataset.arrow import TASK_SCHEMA
from toolscale.dataset.parquet import MOST_BYTES, read_shard

pytestmark = pytest.mark.xdist_group("hostile_bombs")


def repeated(folder: Path, times: int, size: int, **options: object) -> Path:
    """Write the first task so many times with one long request: a few kilobytes on disk."""
    row = read_shard(folder / TRAIN, TASK_SCHEMA)[0] | {"request": "x" * size}
    table = pa.Table.from_pylist([row], schema=TASK_SCHEMA)
    many = table.take(pa.array([0] * 100))
    with pq.ParquetWriter(folder / TRAIN, TASK_SCHEMA, compression="zstd", **options) as writer:
        for _ in range(times // 100):
            writer.write_table(many)
    return folder / TRAIN


@pytest.mark.parametrize(
    ("times", "size", "dictionary", "verb"),
    [
        pytest.param(8_000, 1_000_000, True, "show", marks=pytest.mark.slow("tests/hostile/test_bombs.py")),
        (2_000, 1_000_000, False, "stats"),
        (2_000, 1_000_000, True, "verify"),
    ],
)
def test_a_small_file_of_huge_rows_is_refused(
    bounded: Bounded, dataset: Path, times: int, size: int, dictionary: bool, verb: str
) -> None:
    path = repeated(
        dataset, times, size, use_dictionary=dictionary, data_page_size=1 << 26, dictionary_pagesize_limit=1 << 26
    )
    assert path.stat().st_size < MOST_BYTES / 100
    if verb == "verify":
        repair(dataset)
    found = bounded.run(verb, dataset, megabytes=3_500)
    assert found.status == (1 if verb == "verify" else 2), found.err
    assert f"{MOST_BYTES:,}" in found.out + found.err


CTES = "WITH a0 AS (SELECT title AS v FROM loans), " + ", ".join(
    f"a{number} AS (SELECT l.v AS v FROM a{number - 1} AS l CROSS JOIN a{number - 1} AS r)" for number in range(1, 26)
)
STATEMENTS = {
    "doubling WITH parts": f"{CTES} SELECT v FROM a25",
    "doubling columns": "WITH a0 AS (SELECT title AS v FROM loans), "
    + ", ".join(f"a{number} AS (SELECT v || v AS v FROM a{number - 1})" for number in range(1, 26))
    + " SELECT v FROM a25",
    "a long sum": "SELECT " + "+".join(["1"] * 6_000) + " AS n FROM loans",
    "a long concatenation": "SELECT " + "||".join(["title"] * 2_800) + " AS n FROM loans",
    "macros in macros": "SELECT " + "least_of(" * 12 + "1" + ", 2)" * 12 + " AS n FROM loans",
    "dates in dates": "SELECT " + "add_days(" * 12 + "'2026-01-01'" + ", 1)" * 12 + " AS n FROM loans",
    "parentheses": "SELECT " + "(" * 5_000 + "1" + ")" * 5_000 + " AS n FROM loans",
    "many unions": " UNION ALL ".join(["SELECT title FROM loans"] * 700),
    "nested queries": "SELECT title FROM loans WHERE 1 = "
    + "(SELECT COUNT(*) FROM loans WHERE 1 = " * 30
    + "1"
    + ")" * 30,
    "a long text": f"SELECT '{'x' * 100_000}' AS n FROM loans",
    "many conditions": "SELECT title FROM loans WHERE "
    + " OR ".join([f"title = '{number}'" for number in range(1_000)]),
    "negations": "SELECT title FROM loans WHERE " + "NOT " * 4_000 + "1 = 1",
    "signs": "SELECT " + "- " * 4_000 + "1 AS n FROM loans",
}


def with_tool(domain: Path, **tool: object) -> None:
    """Add a tool to the domain."""
    toolset = yaml.safe_load((domain / "toolset.yaml").read_text())
    toolset["tools"].append({"name": "evil_tool", "description": "Look something up.", "parameters": {}, **tool})
    (domain / "toolset.yaml").write_text(yaml.safe_dump(toolset, sort_keys=False))


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_that_explodes_is_refused_before_it_does(bounded: Bounded, domain: Path, name: str) -> None:
    with_tool(domain, returns={"found": {"rows": STATEMENTS[name]}})
    found = bounded.run("admit", domain)
    assert (found.status, found.out) == (2, ""), found.err
    assert found.lines and all(
        line.startswith("toolscale: toolset.yaml: ") and "evil_tool" in line for line in found.lines
    ), found.err[:2_000]


PATTERNS = [
    r"^(([a-z_0-9])+)+$",
    r"^(a|a)*$",
    r"^(a+)+$",
    r"(x+x+)+y",
    r"^((ab)*)*$",
    r"^(a|ab)*c$",
    r"^(.*a){20}$",
    r"([a-zA-Z]+)*$",
    r"^(\d+)*[^\d]$",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_that_explodes_elsewhere_runs_in_linear_time(pattern: str) -> None:
    from toolscale.validation import Validator, pattern_fault

    assert pattern_fault(pattern) is None
    for text in ("a" * 50_000 + "!", "ab" * 25_000 + "!", "x" * 50_000, "1" * 50_000):
        Validator({"type": "string", "pattern": pattern}).is_valid(text)


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", r"(?=a)b", r"(?<!a)b", "(", "[", "a{1000000}", "(a{1000}){1000}", r"\p{Nowhere}", "(?P<n>a)(?P=n)"],
)
def test_a_pattern_that_cannot_be_run_is_refused(bounded: Bounded, domain: Path, pattern: str) -> None:
    parameters = {"title": {"type": "string", "description": "A title.", "pattern": pattern}}
    with_tool(
        domain, parameters=parameters, returns={"found": {"rows": "SELECT loan_id FROM loans WHERE title = :title"}}
    )
    found = bounded.run("admit", domain)
    assert (found.status, found.out) == (2, "")
    assert any("evil_tool" in line and ("pattern" in line or "regex" in line) for line in found.lines), found.err


COUNTS = {
    "two billion rows": {"count": 2_000_000_000},
    "from none to two billion": {"count": [0, 2_000_000_000]},
    "fewer than none": {"count": -5},
    "a range that goes backwards": {"count": [10, 1]},
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_population_of_too_many_rows_is_refused_before_they_are_made(
    bounded: Bounded, domain: Path, name: str
) -> None:
    population = yaml.safe_load((domain / "population.yaml").read_text())
    population["tables"][0] |= COUNTS[name]
    (domain / "population.yaml").write_text(yaml.safe_dump(population, sort_keys=False))
    found = bounded.run("admit", domain)
    assert (found.status, found.out) == (2, "")
    assert found.lines and all(line.startswith("toolscale: population.yaml: tables") for line in found.lines), found.err


def test_a_text_that_doubles_from_column_to_column_is_refused(bounded: Bounded, domain: Path) -> None:
    population = yaml.safe_load((domain / "population.yaml").read_text())
    doubled = {f"_a{number}": {"text": f"{{_a{number - 1}}}{{_a{number - 1}}}"} for number in range(1, 30)}
    table = population["tables"][0]
    table["columns"] = {"_a0": {"value": "x" * 10}, **doubled, **table["columns"]}
    (domain / "population.yaml").write_text(yaml.safe_dump(population, sort_keys=False))
    found = bounded.run("admit", domain)
    assert (found.status, found.out) == (2, "") and "characters" in found.err


def test_a_derivation_without_end_is_stopped(bounded: Bounded, domain: Path) -> None:
    population = yaml.safe_load((domain / "population.yaml").read_text())
    joined = " CROSS JOIN ".join(f"members AS t{number}" for number in range(12))
    endless = f"UPDATE members SET full_name = full_name WHERE (SELECT COUNT(*) FROM {joined}) < 0"
    population["derive"] = [*population.get("derive", []), endless]
    (domain / "population.yaml").write_text(yaml.safe_dump(population, sort_keys=False))
    found = bounded.run("admit", domain)
    told = "the statements up to this one take more than 200,000,000 instructions; let each read fewer rows"
    assert (found.status, found.out) == (
        2,
        "",
    ) and f"population.yaml: derive[{len(population['derive']) - 1}]: {told}" in found.err


def test_a_folder_that_is_a_bomb_leaves_no_copy_behind(dataset: Path, bounded: Bounded, tmp_path: Path) -> None:
    """Whatever was refused above left nothing half-written: one look stands for all."""
    (dataset / TRAIN).write_bytes(b"PAR1")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert bounded.run("show", dataset).status == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    shutil.rmtree(dataset)
