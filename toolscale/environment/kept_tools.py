"""Keep what admission found by calling a tool, so that a tool on which nothing changed is not called again.

A tool is known by everything on which its calls and their results depend: its declaration, the tables and their rows,
the clock, the columns that have an index, the invariants where it writes, the limits, the code of this package and the
libraries. The smallest difference makes it another tool. Only a tool without findings is kept.
"""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from toolscale.canonical import CANONICAL_VERSION, content_hash
from toolscale.environment.environment import Environment
from toolscale.environment.search import Made
from toolscale.package_code import code_hash
from toolscale.records.base import Record
from toolscale.sandbox.base import Limits, Rows
from toolscale.sql.compiled import CompiledTool
from toolscale.whole_files import write_whole

_LIBRARIES = ("duckdb", "faker", "jsonschema", "pydantic", "sqlglot")


class KeptTool(Record):
    """What the calls of one tool found; no finding is among it."""

    key: str
    """The hash of everything on which it depends, but for the calls of other tools."""
    after: str
    """The hash of the calls after which it was tried; empty where it needed none."""
    successes: tuple[dict[str, Any], ...]
    """Arguments with which it succeeds on the populated rows; other tools are tried after such calls."""
    reached: tuple[int, ...]
    """Guards that its calls reached, and its success (`search.SUCCESS`)."""
    calls: int
    """Calls on both engines."""
    boundary_calls: int


class KeptTools(Record):
    """The tools of one domain."""

    tools: dict[str, KeptTool] = Field(default_factory=dict)


class ToolKeys:
    """Tells tools of an environment apart by all that their calls depend on.

    Texts are hashed as they stand: the order of parameters, columns and rows decides which calls are drawn.
    """

    def __init__(self, environment: Environment, rows: Rows):
        self.environment = environment
        self._shared = content_hash(
            [
                code_hash(), versions_of_trials(), asdict(Limits()), environment.schema.model_dump_json(),
                environment.spec.world.now, sorted(environment.equalities), _ordered(rows),
            ]
        )  # fmt: skip
        self._invariants = [(name, spec.model_dump_json()) for name, spec in environment.spec.policy.invariants.items()]

    def of(self, tool: CompiledTool) -> str:
        """Return the key of a tool."""
        return content_hash(
            [self._shared, tool.spec.model_dump_json(), self._invariants if tool.mutates_state else None]
        )

    def after(self, setups: Iterable[Made]) -> str:
        """Return the hash of calls, with what their tools are."""
        tools = self.environment.tools
        return content_hash([[name, repr(arguments), tools[name].spec.model_dump_json()] for name, arguments in setups])


def versions() -> dict[str, str]:
    """Return the versions that an admission depends on."""
    return {"canonical": str(CANONICAL_VERSION), **{name: version(name) for name in ("duckdb", "faker", "sqlglot")}}


def versions_of_trials() -> dict[str, str]:
    """Return the versions on which the calls of an admission may depend: an admission names fewer, since these here
    cost nothing but time where they differ."""
    own = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "machine": platform.machine()}
    return versions() | own | {name: version(name) for name in _LIBRARIES}


def read_tools(cache: Path, domain: str) -> Mapping[str, KeptTool]:
    """Return the tools of a domain that the cache keeps; none where there is no file that can be read as ours."""
    try:
        return KeptTools.model_validate_json(_path(cache, domain).read_text(encoding="utf-8")).tools
    except (OSError, UnicodeDecodeError, ValidationError):
        return {}


def write_tools(cache: Path, domain: str, tools: Mapping[str, KeptTool]) -> None:
    """Keep the tools of a domain instead of those that were kept: one file for each domain, which never grows.

    Where it cannot be written (a read-only folder), the next admission only takes longer.
    """
    with suppress(OSError):
        write_whole(_path(cache, domain), f"{KeptTools(tools=dict(tools)).model_dump_json(indent=1)}\n".encode())


def _path(cache: Path, domain: str) -> Path:
    return cache / "tools" / f"{domain}.json"


def _ordered(rows: Rows) -> str:
    """Return the hash of all rows in their order."""
    found = sha256()
    for table, listed in rows.items():
        found.update(repr((table, listed)).encode())
    return found.hexdigest()
