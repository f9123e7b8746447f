"""Descriptions of a service as the source of a domain: an OpenAPI document, or the list of tools of an MCP server.

They are hostile until read: bounded in size and depth by the reader of YAML, references inside the document alone, and
what goes into a prompt is cut short and printable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from toolscale.draft.sources.naming import snake, usable
from toolscale.draft.sources.source import MOST_OPERATIONS, Operation, Source
from toolscale.errors import UsageError
from toolscale.patterns import regex
from toolscale.text_files import printable
from toolscale.yaml_files import read_yaml

_VERBS = {"get": False, "head": False, "post": True, "put": True, "patch": True, "delete": True}
_READS = regex(r"(get|list|find|search|query|read|fetch|show|lookup|describe|count|check)(_|$)")
_DEPTH = 2
"""Objects within objects that are told."""
_FIELDS = 20
"""Fields of an object that are told."""
_LONGEST = 900
"""Letters that one operation is told in."""


def read_document(path: Path, only: tuple[str, ...] = ()) -> Source:
    """Return the operations that a document describes as the source of a domain.

    UsageError names what is wrong: no such document, a reference out of it, no operations, or more than
    `MOST_OPERATIONS`.
    """
    value, issues = read_yaml(path, file=str(path))
    if value is None and issues:
        raise UsageError(str(issues[0]))  # keys that are numbers (200:) are others' custom
    document = value if isinstance(value, Mapping) else {}
    if isinstance(document.get("paths"), Mapping) and str(document.get("openapi", "")).startswith("3."):
        found = list(_operations(str(path), document))
    elif isinstance(listed := document.get("result", document).get("tools"), list):
        found = list(_tools(str(path), listed))
    else:
        raise UsageError(
            f"{path}: neither a database, nor an OpenAPI document (openapi: 3.x, paths), nor an MCP server's list of "
            'tools ({"tools": [{"name", "inputSchema"}]}); name one of these'
        )
    return Source(str(path), operations=_chosen(str(path), _distinct(found), only))


def _chosen(path: str, found: list[Operation], only: tuple[str, ...]) -> tuple[Operation, ...]:
    names = [operation.name for operation in found]
    if not found:
        raise UsageError(f"{path}: there is no operation; name a document that has some")
    if unknown := [name for name in only if name not in names]:
        raise UsageError(f"--only: there is no operation {unknown[0]!r}; there are {', '.join(names[:40])}")
    if len(only or names) > MOST_OPERATIONS:
        raise UsageError(
            f"{path}: {len(only or names)} operations; choose {MOST_OPERATIONS} or fewer with --only: "
            f"{', '.join(names[:40])}, …"
        )
    return tuple(operation for operation in found if not only or operation.name in only)


def _distinct(found: Sequence[Operation]) -> list[Operation]:
    taken: set[str] = set()
    result = []
    for operation in found:
        name = usable(operation.name, taken, "call")
        taken.add(name)
        result.append(Operation(name, operation.writes, operation.line))
    return result


def _operations(path: str, document: Mapping[str, Any]) -> Iterator[Operation]:
    teller = _Teller(path, document)
    for address, item in document["paths"].items():
        if not isinstance(item, Mapping):
            raise UsageError(f"{path}: paths.{address}: not a mapping; write its operations under get, post, …")
        shared = _listed(item.get("parameters"))
        for verb, operation in item.items():
            if verb not in _VERBS or not isinstance(operation, Mapping):
                continue
            place = f"paths.{address}.{verb}"
            name = snake(str(operation.get("operationId") or f"{verb} {address}"))
            takes = [teller.parameter(each, place) for each in (*shared, *_listed(operation.get("parameters")))]
            if body := teller.content(operation.get("requestBody"), f"{place}.requestBody"):
                takes.append(body)
            gives = teller.content(_success(operation), f"{place}.responses")
            yield Operation(
                name[:60], _VERBS[verb], _line(operation.get("summary") or operation.get("description"), takes, gives)
            )


def _success(operation: Mapping[str, Any]) -> Any:
    """Return the first response with a code 2xx; None if there is none."""
    answers = operation.get("responses")
    codes = [code for code in answers if str(code).startswith("2")] if isinstance(answers, Mapping) else []
    return operation["responses"][codes[0]] if codes else None


def _tools(path: str, listed: Sequence[Any]) -> Iterator[Operation]:
    for number, tool in enumerate(listed):
        if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
            raise UsageError(f"{path}: tools[{number}]: no tool; each has a name and an inputSchema")
        name = snake(tool["name"])[:60]
        schema = tool.get("inputSchema") or {}
        teller = _Teller(path, schema if isinstance(schema, Mapping) else {})
        takes = [teller.arguments(schema, f"tools[{number}].inputSchema")]
        hints = tool.get("annotations")
        reads = hints.get("readOnlyHint") if isinstance(hints, Mapping) else None
        gives = teller.shape(tool["outputSchema"], f"tools[{number}].outputSchema") if tool.get("outputSchema") else ""
        yield Operation(
            name,
            not reads if isinstance(reads, bool) else not _READS.match(name),
            _line(tool.get("description"), takes, gives),
        )


def _line(about: Any, takes: Sequence[str], gives: str) -> str:
    parts = [printable(" ".join(str(about).split()), 200)] if about else []
    parts.append(f"takes {'; '.join(filter(None, takes)) or 'nothing'}")
    told = ". ".join([*parts, f"returns {gives}"] if gives else parts)
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class _Teller:
    """Tells schemas of one document in a line."""

    def __init__(self, path: str, document: Mapping[str, Any]):
        self._path = path
        self._resolver = Registry().with_resource("", DRAFT202012.create_resource(document)).resolver("")

    def parameter(self, value: Any, place: str) -> str:
        """Return a parameter as `name: its shape`."""
        value = self._followed(value, place)
        schema = value.get("schema") or {}
        name, needed = printable(str(value.get("name", "")), 60), value.get("required")
        return f"{name}{'' if needed else '?'}: {self.shape(schema, place)}"

    def content(self, value: Any, place: str) -> str:
        """Return the shape of a JSON body; nothing if there is none."""
        body = self._followed(value or {}, place).get("content")
        media = next((body[kind] for kind in body if "json" in str(kind)), None) if isinstance(body, Mapping) else None
        schema = media.get("schema") if isinstance(media, Mapping) else None
        return self.shape(schema, place) if schema else ""

    def arguments(self, value: Any, place: str) -> str:
        """Return the shape of a tool's arguments; nothing if it takes none."""
        followed = self._followed(value, place)
        takes = any(followed.get(name) for name in ("properties", "allOf", "oneOf", "anyOf", "enum"))
        return self.shape(followed, place) if takes else ""

    def shape(self, value: Any, place: str, depth: int = 0) -> str:
        """Return the shape of what a schema describes: `{id: string, lines: [{sku: string, qty?: integer}]}`."""
        value = self._followed(value, place)
        for several in ("allOf", "oneOf", "anyOf"):
            if parts := _listed(value.get(several)):
                told = [self.shape(part, place, depth + 1) for part in parts[:4]] if depth < _DEPTH else ["…"]
                return (" & " if several == "allOf" else " | ").join(told)
        if isinstance(values := value.get("enum"), list):
            return " | ".join(json.dumps(each, ensure_ascii=True)[:40] for each in values[:12])
        if isinstance(fields := value.get("properties"), Mapping):
            if depth >= _DEPTH:
                return "{…}"
            needed = _listed(value.get("required"))
            told = [
                f"{printable(str(name), 60)}{'' if name in needed else '?'}: {self.shape(each, place, depth + 1)}"
                for name, each in list(fields.items())[:_FIELDS]
            ]
            return "{" + ", ".join(told) + "}"
        if value.get("type") == "array":
            return f"[{self.shape(value.get('items') or {}, place, depth + 1)}]" if depth < _DEPTH else "[…]"
        kind, form = value.get("type", "any"), value.get("format")
        return printable(f"{kind} ({form})" if form else f"{kind}", 60)

    def _followed(self, value: Any, place: str) -> Mapping[str, Any]:
        """Return what a reference inside the document leads to. UsageError for one that leads out of it, to nothing,
        or in a circle."""
        for _ in range(10):
            if not isinstance(value, Mapping) or not isinstance(target := value.get("$ref"), str):
                return value if isinstance(value, Mapping) else {}
            shown = printable(target, 100)
            if not target.startswith("#"):
                raise UsageError(
                    f"{self._path}: {place}: $ref {shown!r} leads out of the document; bring what it names into it"
                )
            try:
                value = self._resolver.lookup(target).contents
            except Unresolvable as error:
                raise UsageError(f"{self._path}: {place}: $ref {shown!r} leads to nothing; correct it") from error
        raise UsageError(f"{self._path}: {place}: $ref {shown!r} leads in a circle; write out what is meant")
