"""The house rules of DAG files. `broken_rules` names each that a folder of them breaks."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from homes import ROOT, AirflowHome

LONGEST = 100
MOST_RUNS = 12
IMPORTABLE = ("airflow.sdk.", "airflow.providers.standard.")


def broken_rules(folder: Path, home: AirflowHome) -> dict[str, list[str]]:
    """The rules that each DAG file of `folder` breaks, one line each; no entry for a file that breaks none."""
    facts = facts_of(folder, home)
    pools = {"default_pool", *json.loads((ROOT / "pools.json").read_text())}
    broken: dict[str, list[str]] = {}
    parts = parts_of(folder)
    for path in sorted(folder.glob("*.py")):
        dags = [dag for dag in facts["dags"] if dag["file"] == path.name]
        lines = [
            *text_rules(path, parts),
            *found_rules(path.name, facts, dags),
            *(line for dag in dags for line in dag_rules(dag, pools)),
        ]
        if lines:
            broken[path.name] = lines
    return broken


def facts_of(folder: Path, home: AirflowHome) -> dict[str, Any]:
    """What Airflow finds in `folder`, and what importing its files does: see dag_facts.py."""
    listable = [str(ROOT / "environments"), str(ROOT / "training" / "configs")]
    command = [sys.executable, str(Path(__file__).with_name("dag_facts.py")), str(folder), *listable]
    done = subprocess.run(command, env=home.environ, cwd=home.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def parts_of(folder: Path) -> set[str]:
    """Names of modules that DAG files share: those that .airflowignore keeps from being read as DAG files."""
    ignore = folder / ".airflowignore"
    lines = ignore.read_text().splitlines() if ignore.exists() else []
    return {line.removesuffix(".py") for line in lines if line and not line.startswith("#")}


def text_rules(path: Path, parts: Set[str]) -> Iterator[str]:
    """Rules that the text alone can break."""
    text = path.read_text()
    if not path.name.endswith("_dag.py") and path.stem not in parts:
        yield "is neither named *_dag.py nor listed in .airflowignore"
    if (lines := len(text.splitlines())) > LONGEST:
        yield f"has {lines} lines, more than {LONGEST}"
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return  # Airflow's import error tells it
    for name in top_level_imports(tree):
        if name.partition(".")[0] not in sys.stdlib_module_names | parts and not f"{name}.".startswith(IMPORTABLE):
            yield f"imports {name} at top level"


def top_level_imports(node: ast.AST) -> Iterator[str]:
    """Modules imported when the file is read: everywhere but in functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield "." * child.level + (child.module or "")
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from top_level_imports(child)


def found_rules(name: str, facts: dict[str, Any], dags: list[dict[str, Any]]) -> Iterator[str]:
    """Rules about what importing a file gives and does."""
    if name in facts["errors"]:
        yield f"cannot be imported: {facts['errors'][name].strip().splitlines()[-1]}"
    elif bool(dags) != name.endswith("_dag.py"):
        yield "holds a DAG and is not named *_dag.py" if dags else "holds no DAG"
    if name in facts["unstable"]:
        yield "differs at each import: " + " ".join(
            line for line in facts["unstable"][name].splitlines() if line.startswith("Code:")
        )
    yield from (f"at import: {act}" for act in facts["acts"][name] if not act.startswith("import error"))


def dag_rules(dag: dict[str, Any], pools: Set[str]) -> Iterator[str]:
    """Rules about one DAG and its tasks."""
    if not dag["tags"]:
        yield f"{dag['dag_id']} has no tags"
    if not (dag["doc_md"] or "").strip():
        yield f"{dag['dag_id']} has no doc_md"
    if dag["catchup"]:
        yield f"{dag['dag_id']} catches up"
    if dag["max_active_runs"] > MOST_RUNS:
        yield f"{dag['dag_id']} has max_active_runs={dag['max_active_runs']}, more than {MOST_RUNS}"
    for task in dag["tasks"]:
        name = f"{dag['dag_id']}.{task['task_id']}"
        if task["owner"] in ("", "airflow"):
            yield f"{name} has no owner of ours"
        if task["pool"] not in pools:
            yield f"{name} wants the pool {task['pool']}, which is not in pools.json"
        if task["retries"] < 1 or task["retry_policy"] is None:
            yield f"{name} has no retry policy"
