"""Descriptions of a service as the source of a domain: an OpenAPI document, or a list of tools as MCP servers, OpenAI
or Anthropic write it.

They are hostile until read: bounded in size, references inside the document alone, and what goes into a prompt is cut
short and printable. What was not chosen is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from toolscale.draft.sources.document_text import read_foreign
from toolscale.draft.sources.naming import snake, usable
from toolscale.draft.sources.schema_levels import Levels, listed, mapping
from toolscale.draft.sources.schema_shapes import Shapes, Style
from toolscale.draft.sources.source import MOST_OPERATIONS, Operation, Source
from toolscale.errors import UsageError
from toolscale.forbidden_names import LONG, is_long
from toolscale.patterns import regex
from toolscale.text_files import printable

_VERBS = {
    "get": False, "head": False, "options": False, "trace": False, "query": False,
    "post": True, "put": True, "patch": True, "delete": True,
}  # fmt: skip
_READS = regex(r"(get|list|find|search|query|read|fetch|show|lookup|describe|count|check)(_|$)")
_LONGEST = 900
"""Letters that one operation is told in."""

_STYLES = (
    Style(), Style(about=0), Style(about=-1), Style(1, 20, 0), Style(1, 20, -1), Style(1, 10, -1), Style(1, 4, -1),
)  # fmt: skip
_TOLD = ((0, 0), (0, 1), (0, 2), (0, 4), (1, 4), (2, 4), (2, 5), (3, 5), (4, 5), (4, 6), (5, 6), (6, 6))
"""In what styles parameters and results are told: the first that is short enough, so that what lies deep goes first."""

_SCHEMAS = ("inputSchema", "input_schema", "parameters")
"""What MCP, Anthropic and OpenAI call the schema of a tool's arguments."""
_SEVERAL = ("functionDeclarations", "function_declarations")
"""Where Google keeps several tools in one."""


@dataclass(frozen=True)
class _Found:
    """An operation that was found, and not read."""

    name: str
    """As the document calls it."""
    place: str
    value: Any
    shared: Sequence[Any] = ()
    """Parameters of all operations of its path."""
    verb: str = ""


def read_document(path: Path, only: tuple[str, ...] = ()) -> Source:
    """Return the operations that a document describes as the source of a domain. `only`: those of these names, as the
    document has them or as they are called here.

    UsageError names what is wrong: no such document, a reference out of it, no operations, or more than
    `MOST_OPERATIONS`.
    """
    value, notes = read_foreign(path)
    document = mapping(value)
    if isinstance(document.get("paths"), Mapping) and str(document.get("openapi")).split(".")[0] == "3":
        levels = Levels(str(path), document, (path.name,))
        read: Callable[[_Reading], Operation] = partial(_operation, levels=levels)
        found = list(_operations(document, levels))
    elif (tools := _listed_tools(value)) is not None:
        found, read = list(_tools(tools)), _tool
    else:
        raise UsageError(
            f"{path}: neither a database, nor an OpenAPI document (openapi: 3.x, paths), nor an MCP server's list of "
            'tools ({"tools": [{"name", "inputSchema"}]}); name one of these'
        )
    readings = [_Reading(str(path), each, name) for each, name in _chosen(str(path), found, only)]
    operations = tuple(read(reading) for reading in readings)
    return Source(str(path), operations=operations, notes=(*notes, *_notes(readings)))


def _chosen(path: str, found: Sequence[_Found], only: tuple[str, ...]) -> list[tuple[_Found, str]]:
    """Return the operations that are taken, with what they are called here."""
    if not found:
        raise UsageError(f"{path}: there is no operation; name a document that has some")
    if not only and len(found) > MOST_OPERATIONS:
        raise UsageError(
            f"{path}: {len(found):,} operations; choose {MOST_OPERATIONS} or fewer with --only: {_some(found)}"
        )
    names = _names(found)
    if not only:
        return list(zip(found, names, strict=True))
    places: dict[str, list[int]] = {}
    for number, each in enumerate(found):
        places.setdefault(each.name, []).append(number)
    for number, name in enumerate(names):
        places[name] = [number]
    if unknown := [name for name in only if name not in places]:
        raise UsageError(f"--only: there is no operation {printable(unknown[0], 80)!r}; there are {_some(found)}")
    chosen = sorted({number for name in only for number in places[name]})
    if len(chosen) > MOST_OPERATIONS:
        raise UsageError(f"--only: {len(chosen)} operations; choose {MOST_OPERATIONS} or fewer")
    return [(found[number], names[number]) for number in chosen]


def _some(found: Sequence[_Found]) -> str:
    """Return names by which operations can be chosen: as the document has them, where it has some."""
    names = [each.name if each.name.isprintable() and " " not in each.name else snake(each.name) for each in found[:40]]
    more = f" and {len(found) - 40:,} more" if len(found) > 40 else ""
    return ", ".join(printable(name, 60) for name in names if name) + more


def _names(found: Sequence[_Found]) -> list[str]:
    """Return what each operation is called here. A name that can stay as it is stays, whatever else is called so."""
    taken: set[str] = set()
    names = {}
    for number, each in enumerate(found):
        if each.name not in taken and snake(each.name) == each.name == usable(each.name, taken, "call"):
            names[number] = each.name
            taken.add(each.name)
    next_: dict[str, int] = {}
    for number, each in enumerate(found):
        if number not in names:
            names[number] = usable(snake(each.name) or "call", taken, "call", next_)
            taken.add(names[number])
    return [names[number] for number in range(len(found))]


@dataclass
class _Reading:
    """An operation as it is read."""

    path: str
    found: _Found
    name: str
    """What it is called here."""
    shapes: list[Shapes] = field(default_factory=list)
    """Of what it takes, and of what it returns."""

    def wrong(self, problem: str) -> UsageError:
        """Return an error about the operation."""
        return UsageError(f"{self.path}: {printable(self.found.place, 120)}: {problem}")

    def operation(
        self, writes: bool, about: Any, takes: Callable[[Style], Sequence[str]], gives: Callable[[Style], str]
    ) -> Operation:
        """Return the operation, told in the fullest style that is short enough."""
        parts = [printable(" ".join(about[:2_000].split()), 200)] if isinstance(about, str) and about else []
        for style, other in _TOLD:
            for shapes in self.shapes:
                shapes.begin()
            told = [*parts, f"takes {'; '.join(filter(None, takes(_STYLES[style]))) or 'nothing'}"]
            self.shapes[-1].levels.read = 0
            told += [f"returns {result}"] if (result := gives(_STYLES[other])) else []
            line = ". ".join(told)
            if len(line) <= _LONGEST:
                break
        self.shapes[0].is_cut |= len(line) > _LONGEST
        return Operation(self.name, writes, line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…")


def _notes(readings: Sequence[_Reading]) -> Iterator[str]:
    """Yield what is told otherwise than the document has it, a line each; equal names of parameters share one."""
    renamed: dict[tuple[str, str], list[str]] = {}
    for reading in readings:
        called = printable(reading.found.name, 80)
        if reading.name != reading.found.name:
            yield f"{called}: called {reading.name}"
        if is_long(reading.name):
            yield f"{called}: {len(reading.name)} letters; hosts that put a prefix before it may refuse {LONG} or more"
        if any(shapes.is_cut for shapes in reading.shapes):
            yield f"{called}: told in part; what is left out is counted as `and … more`, or stands as …"
        if untold := set[str]().union(*(shapes.untold for shapes in reading.shapes)):
            yield f"{called}: not told: {', '.join(printable(word, 40) for word in sorted(untold))}"
        for name, new in (reading.shapes[0].renamed or {}).items():
            renamed.setdefault((name, new), []).append(called)
    for (name, new), operations in renamed.items():
        more = len(operations) - 1
        others = f" (so in {more} other{'s' * (more > 1)})" if more else ""
        yield f"{operations[0]}.{printable(name, 80)}: called {new}{others}"


def _operations(document: Mapping[str, Any], levels: Levels) -> Iterator[_Found]:
    for address, value in document["paths"].items():
        place = f"paths.{address}"
        try:
            item = levels.followed(value, place)
        except UsageError as error:
            item = error
        if not isinstance(item, Mapping):
            yield _Found(address, place, item)
            continue
        for verb, operation in item.items():
            if verb in _VERBS:
                name = str(mapping(operation).get("operationId") or f"{verb} {address}")
                yield _Found(name, f"{place}.{verb}", operation, listed(item.get("parameters")), verb)


def _operation(reading: _Reading, levels: Levels) -> Operation:
    found, place = reading.found, reading.found.place
    if isinstance(found.value, UsageError):
        raise found.value
    if not isinstance(found.value, Mapping):
        raise reading.wrong("not a mapping; write its operations under get, post, …")
    takes, gives = Shapes(levels, {}), Shapes(levels)
    reading.shapes = [takes, gives]
    parameters: dict[tuple[Any, Any], Mapping[str, Any]] = {}
    for each in (*found.shared, *listed(found.value.get("parameters"))):
        parameter = levels.followed(each, place)
        if not isinstance(parameter, Mapping) or not isinstance(parameter.get("name"), str):
            raise reading.wrong("one of its parameters has no name; give it one")
        parameters[parameter["name"], parameter.get("in")] = parameter
    answers = mapping(found.value.get("responses"))
    successes = [levels.followed(answers[code], f"{place}.responses") for code in answers if code.startswith("2")]
    success = next((each for each in successes if mapping(each).get("content")), None)

    def told(style: Style) -> list[str]:
        taken: set[str] = set()
        lines = [_parameter(takes, each, place, style, taken) for each in parameters.values()]
        return [*lines, _content(takes, found.value.get("requestBody"), f"{place}.requestBody", style)]

    return reading.operation(
        _VERBS[found.verb],
        found.value.get("summary") or found.value.get("description"),
        told,
        lambda style: _content(gives, success, f"{place}.responses", style),
    )


def _parameter(shapes: Shapes, value: Mapping[str, Any], place: str, style: Style, taken: set[str]) -> str:
    """Return a parameter as `name: its shape`."""
    schema = value.get("schema", next(iter(mapping(value.get("content")).values()), None))
    schema = mapping(schema).get("schema", schema) if "schema" not in value else schema
    about = {"description": value["description"]} if isinstance(value.get("description"), str) else {}
    name = shapes.named(value["name"], schema, taken)
    shape = shapes.shape({"allOf": [schema or {}], **about}, place, style, 1 if style.about >= 0 else 0)
    return f"{name}{'' if value.get('required') else '?'}: {shape}"


def _content(shapes: Shapes, value: Any, place: str, style: Style) -> str:
    """Return the shape of a body, that of JSON if there are several; nothing if there is none."""
    content = mapping(mapping(shapes.levels.followed(value, place)).get("content"))
    kinds = sorted(content, key=lambda kind: 0 if "json" in kind else 1 if "form" in kind else 2)
    media = shapes.levels.followed(content[kinds[0]], place) if kinds else None
    schema = mapping(media).get("schema")
    return shapes.shape(schema, place, style) if schema else printable(kinds[0], 60) if kinds else ""


def _listed_tools(value: Any) -> list[Any] | None:
    """Return the list of tools of what an MCP server answers or a request to a model holds; None if it is none."""
    if isinstance(value, list) and any(mapping(each).keys() & {"name", "function", *_SEVERAL} for each in value):
        return value
    for part in (mapping(value).get("result"), value):
        for name in ("tools", "functions"):
            if isinstance(found := mapping(part).get(name), list):
                return found
    return None


def _tools(tools: Sequence[Any]) -> Iterator[_Found]:
    for number, each in enumerate(tools):
        inner = next((listed(mapping(each).get(name)) for name in _SEVERAL if name in mapping(each)), [each])
        for value in inner:
            tool = mapping(value).get("function", value)
            name = mapping(tool).get("name")
            if not isinstance(name, str) or not name:
                yield _Found("", f"tools[{number}]", None)
            else:
                yield _Found(name, f"tools: {name}", tool)


def _tool(reading: _Reading) -> Operation:
    tool = reading.found.value
    if tool is None:
        raise reading.wrong("no tool; each has a name and an inputSchema")
    schemas = [(name, tool[name]) for name in _SCHEMAS if tool.get(name) is not None]
    results = [(name, tool[name]) for name in ("outputSchema", "output_schema") if tool.get(name) is not None]
    for name, schema in (*schemas, *results):
        if not isinstance(schema, Mapping | bool):
            raise reading.wrong(f"its {name} is no JSON Schema; write an object")
    arguments, result = (each[0][1] if each else {} for each in (schemas, results))
    names = (Path(reading.path).name,)
    takes, gives = (Shapes(Levels(reading.path, each, names)) for each in (arguments, result))
    takes.renamed = {}
    reading.shapes = [takes, gives]
    place = printable(reading.found.place, 120)

    def told(style: Style) -> list[str]:
        shape = takes.shape(arguments, f"{place}.{schemas[0][0]}", style) if schemas else ""
        return [] if shape in ("any", "object", "{}", "nothing") else [shape]

    hints = mapping(tool.get("annotations")).get("readOnlyHint")
    return reading.operation(
        not hints if isinstance(hints, bool) else not _READS.match(reading.name),
        tool.get("description"),
        told,
        lambda style: gives.shape(result, f"{place}.{results[0][0]}", style) if results else "",
    )
