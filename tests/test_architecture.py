"""The house rules that a machine can check: imports point down, files stay small, nobody says `utils`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolscale.dataset.describing.reading import TaskRows

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "toolscale"
RANKS = {
    "errors": 0, "limits": 1, "proportions": 1,
    "patterns": 0, "forbidden_names": 0, "canonical": 1, "text_files": 1, "strict_json": 1,
    "prompt_templates": 1, "validation": 1, "temporary_folders": 1, "whole_files": 1, "json_lines": 2,
    "package_code": 2, "yaml_files": 2,
    "records": 2, "config": 3, "kept": 3, "sql": 3, "language": 3, "schemas": 3, "models": 3, "sandbox": 4,
    "basic_tools": 4, "environment": 5, "tasks": 6, "questions": 6, "preferences": 6, "verify": 7, "reward": 8,
    "rollout": 8, "words": 8, "dataset": 8, "publish": 9, "session": 9, "draft": 9, "tau2": 9, "audit": 10,
    "pipeline": 10, "serving": 10, "exports": 10, "cli": 11, "__main__": 12,
}  # fmt: skip
MODULES = sorted(PACKAGE.rglob("*.py"))
PRODUCT = ("dags", "plugins", "training", "eval")
AROUND = sorted(path for folder in (*PRODUCT, "research") for path in (ROOT / folder).rglob("*.py"))
"""What imports the package, and is never imported by it."""
BANNED_NAMES = {"utils", "helpers", "misc", "common"}


def toolscale_imports() -> Iterator[tuple[str, str, str]]:
    """Every import of one part of the package by another, function-local ones included. Relative imports are not
    followed: ruff bans them."""
    for path in MODULES:
        if path == PACKAGE / "__init__.py":  # the front door may import everything
            continue
        importer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE.name:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in names:
                if name.startswith(f"{PACKAGE.name}."):
                    yield str(path.relative_to(ROOT)), importer, name.split(".")[1]


@pytest.mark.parametrize(("path", "importer", "imported"), sorted(set(toolscale_imports())))
def test_imports_point_down(path: str, importer: str, imported: str) -> None:
    assert importer == imported or RANKS[imported] < RANKS[importer], (
        f"{path} imports {imported}, which stands above it"
    )


ROOMS = {"": 0, "describing": 1, "making": 2, "checking": 3, "comparing": 4}
"""Inside `dataset`: what reads and writes its files lies in the folder itself, under all others."""


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if path.parts[len(PACKAGE.parts)] == "dataset"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_rooms_of_the_dataset_import_down(path: Path) -> None:
    room = path.parent.name if path.parent != PACKAGE / "dataset" else ""
    named = [
        name.removeprefix("toolscale.dataset.").partition(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _modules(node)
    ]
    assert not [name for name in named if ROOMS.get(name, 0) > ROOMS[room]]


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_the_package_knows_nothing_of_what_stands_around_it() -> None:
    heavy = {"torch", "transformers", "deepspeed"}
    around = {path.stem for path in AROUND if path.parent.name in {"dags", "plugins"}}
    foreign = {"airflow", "fastapi", "training", "eval", "research", "bench", "toolscale_ui"} | heavy | around
    imported = {
        (str(path.relative_to(ROOT)), name.partition(".")[0])
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _modules(node)
    }
    assert not [found for found in imported if found[1] in foreign]


def test_nothing_of_the_product_imports_research() -> None:
    product = [path for folder in (*PRODUCT, "bench") for path in (ROOT / folder).rglob("*.py")]
    nodes = ((path, node) for path in product for node in ast.walk(ast.parse(path.read_text())))
    assert not [path for path, node in nodes if "research" in {name.partition(".")[0] for name in _modules(node)}]


@pytest.mark.parametrize("path", [str(path.relative_to(ROOT)) for path in [*MODULES, *AROUND]])
def test_module_fits_its_budget(path: str) -> None:
    text = (ROOT / path).read_text()
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    too_long = {node.name: lines for node in functions if (lines := (node.end_lineno or 0) - node.lineno + 1) > 50}
    assert len(text.splitlines()) <= 450
    assert not too_long


def test_every_module_has_a_name_of_its_own_and_says_what_it_is() -> None:
    assert not [path for path in [*MODULES, *AROUND] if path.stem in BANNED_NAMES or path.parent.name in BANNED_NAMES]
    assert not [path for path in [*MODULES, *AROUND] if ast.get_docstring(ast.parse(path.read_text())) is None]


def loaded(code: str, *arguments: object) -> set[str]:
    """The packages that a fresh process has loaded after this code."""
    told = f"import sys; {code}; print('\\n'.join({{name.partition('.')[0] for name in sys.modules}}), file=sys.stderr)"
    command = [sys.executable, "-c", told, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stderr.splitlines())


HEAVY = {
    "asyncio", "duckdb", "faker", "jsonschema", "matplotlib", "pyarrow", "pydantic", "rich", "sqlalchemy", "sqlglot",
}  # fmt: skip


def test_importing_the_package_or_the_command_line_loads_nothing_heavy() -> None:
    assert loaded("import toolscale") & (HEAVY | {"click", "huggingface_hub", "torch"}) == set()
    assert loaded("import toolscale.cli") & HEAVY == set()


def test_a_call_of_a_task_loads_what_it_needs_and_nothing_else(mock_dataset: Path, tmp_path: Path) -> None:
    """The domain was compiled when its dataset was made."""
    code = "from toolscale.cli import main; main(sys.argv[1:])"
    call = '{"name": "calculate", "arguments": {"expression": "1 + 1"}}'
    task = TaskRows(mock_dataset).ids[0]
    playing = ("play", mock_dataset, task, "--session", tmp_path / "s", "--call", call)
    loaded(code, *playing)
    assert loaded(code, *playing) & HEAVY == {"pyarrow", "pydantic"}


SLOW = re.compile(r'pytest\.mark\.slow\("([^"]+)"\)')


@pytest.mark.parametrize(
    "path", [path for path in sorted(ROOT.glob("tests/**/test_*.py")) if SLOW.search(path.read_text())]
)
def test_a_slow_test_names_a_file_with_quicker_ones(path: Path) -> None:
    for named in SLOW.findall(path.read_text()):
        text = (ROOT / named).read_text()
        assert "pytestmark = [pytest.mark.slow" not in text and "    pytest.mark.slow(" not in text
        assert len(re.findall(r"^def test_", text, re.MULTILINE)) > len(
            re.findall(r"^@pytest.mark.slow", text, re.MULTILINE)
        )


def test_the_process_of_duckdb_loads_nothing_of_the_package() -> None:
    """It is started for every world that DuckDB audits; the package takes seven times as long to load as DuckDB."""
    text = (ROOT / "toolscale" / "sandbox" / "duckdb_worker.py").read_text()
    loaded = {
        name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) == {"duckdb"}
