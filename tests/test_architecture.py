"""The house rules that a machine can check: imports point down, files stay small, nobody says `utils`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

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


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All that stands in a file."""
    return [*ast.walk(ast.parse(path.read_text()))]


@cache
def modules_of(path: Path) -> list[str]:
    """What a file imports, in its functions too: modules, and names of the package itself. Relative imports are not
    followed: ruff bans them."""
    found = list[str]()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE.name:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return found


def test_imports_point_down() -> None:
    imports = [
        (path, path.relative_to(PACKAGE).parts[0].removesuffix(".py"), name.split(".")[1])
        for path in MODULES
        if path != PACKAGE / "__init__.py"  # the front door may import everything
        for name in modules_of(path)
        if name.startswith(f"{PACKAGE.name}.")
    ]
    assert len(imports) > 1_000
    assert not [
        f"{path.relative_to(ROOT)} imports {imported}, which stands above it"
        for path, importer, imported in imports
        if importer != imported and RANKS[imported] >= RANKS[importer]
    ]


ROOMS = {"": 0, "describing": 1, "making": 2, "checking": 3, "comparing": 4}
"""Inside `dataset`: what reads and writes its files lies in the folder itself, under all others."""


def test_rooms_of_the_dataset_import_down() -> None:
    imports = [
        (path, path.parent.name if path.parent != PACKAGE / "dataset" else "", name.split(".")[2])
        for path in (PACKAGE / "dataset").rglob("*.py")
        for name in modules_of(path)
        if name.startswith("toolscale.dataset.")
    ]
    assert not [(path, name) for path, room, name in imports if ROOMS.get(name, 0) > ROOMS[room]]


def test_the_package_knows_nothing_of_what_stands_around_it() -> None:
    heavy = {"torch", "transformers", "deepspeed"}
    around = {path.stem for path in AROUND if path.parent.name in {"dags", "plugins"}}
    foreign = {"airflow", "fastapi", "training", "eval", "research", "bench", "toolscale_ui"} | heavy | around
    imported = {(str(path.relative_to(ROOT)), name.partition(".")[0]) for path in MODULES for name in modules_of(path)}
    assert not [found for found in imported if found[1] in foreign]


def test_nothing_of_the_product_imports_research() -> None:
    product = [path for folder in (*PRODUCT, "bench") for path in (ROOT / folder).rglob("*.py")]
    assert not [path for path in product if "research" in {name.partition(".")[0] for name in modules_of(path)}]


def test_modules_fit_their_budget() -> None:
    functions = [
        (path, node)
        for path in [*MODULES, *AROUND]
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not [path for path in [*MODULES, *AROUND] if len(path.read_text().splitlines()) > 450]
    assert not [(path, node.name) for path, node in functions if (node.end_lineno or 0) - node.lineno >= 50]


def test_every_module_has_a_name_of_its_own_and_says_what_it_is() -> None:
    assert not [path for path in [*MODULES, *AROUND] if path.stem in BANNED_NAMES or path.parent.name in BANNED_NAMES]
    trees = {path: nodes_of(path)[0] for path in [*MODULES, *AROUND]}
    assert not [path for path, tree in trees.items() if isinstance(tree, ast.Module) and not ast.get_docstring(tree)]


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


def test_a_slow_test_names_a_file_with_quicker_ones() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.glob("tests/**/test_*.py")}
    named = {name for text in texts.values() for name in SLOW.findall(text)}
    assert named
    for text in (texts[name] for name in named):
        assert "pytestmark = [pytest.mark.slow" not in text and "    pytest.mark.slow(" not in text
        assert len(re.findall(r"^def test_", text, re.MULTILINE)) > len(
            re.findall(r"^@pytest.mark.slow", text, re.MULTILINE)
        )


def test_the_process_of_duckdb_loads_nothing_of_the_package() -> None:
    """It is started for every world that DuckDB audits; the package takes seven times as long to load as DuckDB."""
    imported = modules_of(PACKAGE / "sandbox" / "duckdb_worker.py")
    assert {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) == {"duckdb"}
