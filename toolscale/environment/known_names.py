"""What the files of a domain can refer to, and what is wrong with a reference."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from toolscale.environment.builtins import calculate_tool, transfer_tool, with_handovers
from toolscale.environment.complaints import correction, unknown
from toolscale.environment.policy_text import sentences
from toolscale.environment.spec_files import Folder
from toolscale.errors import SpecIssue
from toolscale.forbidden_names import LONG, LONGEST, is_long
from toolscale.patterns import regex
from toolscale.records import (
    CasesSpec,
    IntentsSpec,
    LanguageSpec,
    PolicySpec,
    SchemaSpec,
    ToolsetSpec,
    ToolSpec,
    WorldSpec,
)

SLOT = regex(r"\{([A-Za-z_][A-Za-z0-9_]*)")
"""The name at a place of a phrasing."""
IN_BRACES = "{{{}"
"""The shape of a name there: what follows it in the braces stays."""


class Names:
    """What can be referred to; a part whose file could not be read is None, and nothing is said about references to
    it."""

    def __init__(self, folder: Folder):
        self.world = folder.part(WorldSpec)
        self.schema = folder.part(SchemaSpec)
        self.own_tables = frozenset(self.schema.tables) if self.schema is not None else frozenset[str]()
        """Those of the file; `schema` has those that are built in too."""
        if self.schema is not None and self.world is not None:
            self.schema = with_handovers(self.schema, self.world)
        self.toolset = folder.part(ToolsetSpec)
        self.policy = folder.part(PolicySpec)
        self.language = folder.part(LanguageSpec)
        self.intents = folder.part(IntentsSpec)
        self.cases = folder.part(CasesSpec)
        self.sentences = sentences(folder.policy or "")
        self.is_sound = True
        """Whether the schema itself refers to nothing unknown."""
        self.tools: dict[str, ToolSpec] | None = None
        if self.toolset is not None:
            built_in = (transfer_tool(self.world) if self.world else None, calculate_tool())
            self.tools = {tool.name: tool for tool in (*self.toolset.tools, *built_in) if tool is not None}

    def table(self, name: str, file: str, place: str, *, is_key: bool = False) -> Iterator[SpecIssue]:
        """Yield an issue if there is no such table; `is_key`: the place is the key that names it."""
        if self.schema is not None and name not in self.schema.tables:
            yield unknown("table", name, self.schema.tables, file, place, is_key=is_key)

    def columns(self, table: str, names: Collection[str], file: str, place: str) -> Iterator[SpecIssue]:
        """Yield an issue for each name that is not a column of the table (if that exists)."""
        if self.schema is not None and table in self.schema.tables:
            known = self.schema.tables[table].columns
            yield from (unknown(f"column of {table}", name, known, file, place) for name in names if name not in known)

    def call(self, tool: str, given: Mapping[str, Any], file: str, place: str) -> Iterator[SpecIssue]:
        """Yield what is wrong with a call of the tool with these parameters."""
        if self.tools is None:
            return
        if tool not in self.tools:
            yield unknown("tool", tool, self.tools, file, place, is_key=True, below=f".{tool}")
            return
        spec = self.tools[tool]
        for name in given:
            if name not in spec.parameters:
                issue = unknown(f"parameter of {tool}", name, spec.parameters, file, f"{place}.{tool}.{name}")
                yield replace(issue, edit=correction(name, spec.parameters.keys() - given.keys(), is_key=True))
        misspelt = {
            near
            for name in given
            if name not in spec.parameters
            for near in difflib.get_close_matches(name, spec.parameters, n=1)
        }
        missing = [
            name
            for name, schema in spec.parameters.items()
            if "default" not in schema and name not in {*given, *misspelt}
        ]
        if missing:
            yield SpecIssue(
                file,
                f"{place}.{tool}",
                f"the call lacks {', '.join(missing)}",
                "give every parameter that has no default",
            )


def long_names(toolset: ToolsetSpec) -> list[SpecIssue]:
    """Return the tools whose names models are offered, but not with the prefix that many hosts put before them."""
    return [
        SpecIssue(
            "toolset.yaml",
            f"tools[{tool.name}]",
            f"the name has {len(tool.name)} letters, and hosts put a prefix before it; providers take {LONGEST}",
            f"choose one of fewer than {LONG}",
        )
        for tool in toolset.tools
        if is_long(tool.name)
    ]
