"""Descriptions of services as sources: what of a schema reaches the model, and what is printed of what does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolscale.cli import main
from toolscale.draft.sources import Source, read_source
from toolscale.errors import UsageError
from toolscale.forbidden_names import refusals

Read = Callable[..., Source]
TEXT = {"type": "string"}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a document and read it: `read(value, "only")`, as JSON unless it is text."""

    def reading(value: Any, *only: str, file: str = "api.json") -> Source:
        text = value if isinstance(value, str) else json.dumps(value)
        (tmp_path / file).write_text(text, encoding="utf-8")
        source = read_source(str(tmp_path / file), only)
        assert source is not None
        return source

    return reading


def tools(schema: Any, **more: Any) -> dict[str, Any]:
    """A list with one tool that takes what fits a schema."""
    return {"tools": [{"name": "send", "inputSchema": schema, **more}]}


def api(**schemas: Any) -> dict[str, Any]:
    """An OpenAPI document with an operation for each schema, which takes it."""

    def body(name: str) -> dict[str, Any]:
        return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}

    paths = {f"/{name}": {"post": {"operationId": f"put_{name}", "requestBody": body(name)}} for name in schemas}
    return {"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas}}


def fields(*names: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), **more}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"allOf": [fields("a"), fields("b", required=["b"])]}, "{a?: string, b: string}"),
        (fields("c", allOf=[fields("a"), {"allOf": [fields("b")]}]), "{a?: string, b?: string, c?: string}"),
        (
            {"allOf": [{"properties": {"a": TEXT}}, {"properties": {"a": {"maxLength": 5}}}]},
            "{a?: string (up to 5 letters)}",
        ),
        (
            fields("id", "email", anyOf=[{"required": ["id"]}, {"required": ["email"]}]),
            "{id?: string, email?: string} with id or email",
        ),
        (fields("a", oneOf=[fields("b"), fields("c")]), "{a?: string} & ({b?: string} | {c?: string})"),
        ({"type": "object", "oneOf": [fields("b"), fields("c")]}, "{b?: string} | {c?: string}"),
        (fields("a", **{"if": {}, "then": fields("b"), "else": fields("c")}), "{a?: string} & ({b?: string} | {c?: st"),
        (fields("a", required=["a", "b"]), "{a: string, b: any}"),
        ({"properties": {"a": {"const": "json"}}}, '{a?: "json"}'),
        ({"properties": {"a": {"type": ["string", "null"]}}}, "{a?: string | null}"),
        ({"properties": {"a": {"type": "string", "nullable": True}}}, "{a?: string | null}"),
        ({"properties": {"a": {"anyOf": [TEXT, {"type": "null"}], "default": None}}}, "{a?: string | null = null}"),
        ({"properties": {"a": {"type": ["string", "null"], "enum": ["b", None]}}}, '{a?: "b" | null}'),
        ({"properties": {"a": {"type": "integer", "default": 5}}}, "{a?: integer = 5}"),
        ({"properties": {"a": {**TEXT, "description": "Which\none."}}}, "{a?: string (Which one)}"),
        ({"properties": {"a": True, "b": False, "c": {}}}, "{a?: any, b?: nothing, c?: any}"),
        ({"properties": {"a": {"type": "object", "additionalProperties": TEXT}}}, "{a?: {any name: string}}"),
        (fields("a", additionalProperties={"type": "integer"}), "{a?: string, any other: integer}"),
        (fields("a", patternProperties={"^x": TEXT}), "{a?: string, any name like ^x: string}"),
        ({"properties": {"a": {"prefixItems": [TEXT, {"type": "integer"}]}}}, "{a?: [string, integer]}"),
        ({"properties": {"a": {"prefixItems": [TEXT], "items": TEXT}}}, "{a?: [string, then string]}"),
        ({"properties": {"a": {"items": [TEXT, TEXT]}}}, "{a?: [string, string]}"),
        ({"properties": {"a": {"type": "array", "items": TEXT, "maxItems": 3}}}, "{a?: [string] (up to 3 items)}"),
        (
            {"properties": {"a": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9}}},
            "{a?: integer (int32; 1 to 9)}",
        ),
        ({"properties": {"a": {"$ref": "#/$defs/A", "default": 1}}, "$defs": {"A": {"enum": [1]}}}, "{a?: 1 = 1}"),
        ({"properties": {"a": {"$ref": "#A"}}, "$defs": {"B": {"$anchor": "A", **TEXT}}}, "{a?: string}"),
        (
            {"$id": "http://b/c", "properties": {"a": {"$ref": "http://b/c#/$defs/A"}}, "$defs": {"A": TEXT}},
            "{a?: string}",
        ),
        (
            {"properties": {"kind": {"enum": list(range(22))}}},
            "{kind?: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | and 10 more}",
        ),
        ({"properties": {"a": {"anyOf": [{"const": each} for each in range(9)]}}}, "{a?: 0 | 1 | 2 | 3 | and 5 more}"),
        (fields("a", "b", required="a", properties={"p": TEXT}), "{p?: string}"),
    ],
)  # fmt: skip
def test_all_keywords_of_a_schema_are_told(schema: Any, told: str, read: Read) -> None:
    assert read(tools(schema)).operations[0].line.startswith(f"takes {told}")


@pytest.mark.parametrize(
    "tool",
    [
        {},
        {"inputSchema": {}},
        {"inputSchema": None},
        {"inputSchema": True},
        {"inputSchema": {"type": "object"}},
        {"inputSchema": {"type": "object", "properties": {}}},
        {"inputSchema": {"type": "object", "properties": []}},
        {"inputSchema": {"type": "object", "additionalProperties": False}},
    ],
)
def test_a_tool_without_fields_takes_nothing(tool: dict[str, Any], read: Read) -> None:
    assert [each.line for each in read({"tools": [{"name": "ping", **tool}]}).operations] == ["takes nothing"]


@pytest.mark.parametrize(
    "value",
    [
        {"tools": [{"name": "send", "inputSchema": fields("a")}]},
        {"tools": [{"name": "send", "input_schema": fields("a")}]},
        {"tools": [{"type": "function", "name": "send", "parameters": fields("a")}]},
        [{"type": "function", "function": {"name": "send", "parameters": fields("a")}}],
        {"functions": [{"name": "send", "parameters": fields("a")}]},
        {"tools": [{"functionDeclarations": [{"name": "send", "parameters": fields("a")}]}]},
        {"result": {"tools": [{"name": "send", "inputSchema": fields("a")}]}},
    ],
)
def test_tools_are_read_in_the_spelling_of_each_provider(value: Any, read: Read) -> None:
    assert [(each.name, each.line) for each in read(value).operations] == [("send", "takes {a?: string}")]


def test_an_inherited_schema_is_one_object_and_costs_no_level(read: Read) -> None:
    kinds = [{"$ref": "#/components/schemas/Top"}]
    source = read(
        api(
            Base={"properties": {"id": TEXT, "at": fields("street")}, "required": ["id"], "oneOf": kinds},
            Middle={"allOf": [{"$ref": "#/components/schemas/Base"}, fields("middle")]},
            Top={"allOf": [{"$ref": "#/components/schemas/Middle"}, fields("top")]},
        ),
        "put_Top",
    )  # fmt: skip
    assert source.operations[0].line == "takes {id: string, at?: {street?: string}, middle?: string, top?: string}"


def test_forms_are_read_where_there_is_no_json(read: Read) -> None:
    form = {"application/x-www-form-urlencoded": {"schema": fields("a")}}
    source = read({"openapi": "3.0.0", "paths": {"/a": {"post": {"requestBody": {"content": form}}}}})
    assert [each.line for each in source.operations] == ["takes {a?: string}"]


def test_a_parameter_of_an_operation_takes_the_place_of_that_of_its_path(read: Read) -> None:
    shared, own = ({"name": "id", "in": "path", "schema": {"type": kind}} for kind in ("string", "integer"))
    source = read({"openapi": "3.0.0", "paths": {"/a": {"parameters": [shared], "get": {"parameters": [own]}}}})
    assert [each.line for each in source.operations] == ["takes id?: integer"]


def test_what_is_too_long_loses_what_lies_deep_first_and_says_so(read: Read) -> None:
    deep = {"type": "object", "properties": {f"a_name_of_letters_{number}": fields(*"abcd") for number in range(30)}}
    many = {**{f"field{number}": TEXT for number in range(29)}, "last": TEXT, "deep": deep}
    source = read(tools({"properties": many, "required": ["last", "deep"]}))
    line = source.operations[0].line
    assert line.startswith("takes {last: string, deep: {…}, field0?: string,") and line.endswith(", and 11 more}")
    assert len(line) <= 900
    assert source.notes == ("send: told in part; what is left out is counted as `and … more`, or stands as …",)


def test_a_keyword_that_is_not_told_is_printed(read: Read) -> None:
    source = read(tools(fields("a", propertyNames={"maxLength": 3}, **{"not": {"required": ["a"]}, "x-mine": 1})))
    assert source.notes == ("send: not told: not, propertyNames",)


def test_names_become_distinct_ones_that_nobody_refuses_each_with_a_line(read: Read) -> None:
    given = [
        "pets.list",
        "pets_list",
        "getUser",
        "get-user",
        "2fa",
        "final_answer",
        "reset",
        "_private",
        "a__b",
        "ends_",
    ]
    given += ["x" * 80, "same", "same", "fine_name"]
    source = read({"tools": [{"name": name} for name in given]})
    names = [each.name for each in source.operations]
    assert names == [
        "pets_list2", "pets_list", "get_user", "get_user2", "n2fa", "final_answer_call", "reset_call", "private", "a_b",
        "ends", "x" * 61, "same", "same2", "fine_name",
    ]  # fmt: skip
    assert not [name for name in names if refusals(name, "tool")]
    changed = [f"{old}: called {new}" for old, new in zip(given, names, strict=True) if old != new]
    assert [note.replace("…", "") for note in source.notes if ": called " in note] == changed
    for old, new in zip(given, names, strict=True):
        if old != "same":
            assert read({"tools": [{"name": name} for name in given]}, old).operations[0].name == new
        assert [each.name for each in read({"tools": [{"name": name} for name in given]}, new).operations] == [new]


def test_parameters_are_called_as_tools_may_call_them(read: Read) -> None:
    schema = fields("class", "a-b", "a_b", "self", "dueOn", "limit", "a" * 70)
    schema["properties"]["order"] = {"type": "array", "items": fields("from")}
    other = {"name": "other", "inputSchema": fields("dueOn")}
    source = read({"tools": [{"name": "send", "inputSchema": schema}, other]})
    long = "a" * 61
    assert [each.line for each in source.operations] == [
        "takes {class_input?: string, a_b?: string, a_b2?: string, self_input?: string, due_on?: string, "
        f"limit?: string, {long}?: string, order_rows?: [{{from_input?: string}}]}}",
        "takes {due_on?: string}",
    ]
    assert source.notes == (
        "send.class: called class_input",
        "send.a-b: called a_b",
        "send.a_b: called a_b2",
        "send.self: called self_input",
        "send.dueOn: called due_on (so in 1 other)",
        f"send.{'a' * 70}: called {long}",
        "send.order: called order_rows",
        "send.from: called from_input",
    )


def test_only_what_is_chosen_is_read(read: Read) -> None:
    document = api(A=fields("a"), B={"$ref": "other.json#/B"})
    document["paths"]["/C"] = 1
    document["paths"]["/D"] = {"$ref": "#/nothing"}
    assert [each.line for each in read(document, "put_A").operations] == ["takes {a?: string}"]
    for name, line in (
        ("put_B", "paths./B.post.requestBody: $ref 'other.json#/B' leads out of the document"),
        ("/C", "paths./C: not a mapping; write its operations under get, post, …"),
        ("/D", "paths./D: $ref '#/nothing' leads to nothing; correct it"),
    ):
        with pytest.raises(UsageError, match=re.escape(line)):
            read(document, name)


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ({"inputSchema": {"$ref": "a.json"}}, "tools: send.inputSchema: $ref 'a.json' leads out of the document"),
        (
            {"parameters": {"allOf": [{"$ref": "#/allOf/0"}]}},
            "tools: send.parameters: $ref '#/allOf/0' leads in a circle",
        ),
        (
            {"input_schema": {"properties": {"a": {"$ref": "#/b"}}}},
            "tools: send.input_schema: $ref '#/b' leads to nothi",
        ),
        ({"inputSchema": {"properties": {"a": {"$ref": "#b"}}}}, "tools: send.inputSchema: $ref '#b' leads to nothing"),
        ({"inputSchema": "text"}, "tools: send: its inputSchema is no JSON Schema; write an object"),
        ({"outputSchema": {"$ref": "#/a"}}, "tools: send.outputSchema: $ref '#/a' leads to nothing"),
    ],
)
def test_a_message_names_the_tool(tool: dict[str, Any], line: str, read: Read) -> None:
    with pytest.raises(UsageError, match=re.escape(line)):
        read({"tools": [{"name": "ping"}, {"name": "send", **tool}]})


def test_a_document_refers_to_itself_by_its_name(read: Read) -> None:
    schema = {"properties": {"a": {"$ref": "./api.json#/$defs/A"}}, "$defs": {"A": TEXT}}
    assert read(tools(schema)).operations[0].line == "takes {a?: string}"


YAML = """
openapi: 3.1
info: {version: 1.0}
base: &base {type: string, maxLength: 5}
paths:
  /a:
    get:
      operationId: look
      parameters:
        - {name: a, in: query, schema: {enum: [NO, on, y, 010, 12:30, 1_000, 2026-01-01, 0x1F, .5, ~, true, "5", x]}}
        - {name: b, in: query, schema: {<<: *base, maxLength: 9}}
      responses: {200: {content: {application/json: {schema: {properties: {yes: *base, null: true}}}}}}
"""


def test_yaml_is_read_by_the_rules_of_its_version_1_2(read: Read) -> None:
    assert [each.line for each in read(YAML, file="api.yaml").operations] == [
        'takes a?: "NO" | "on" | "y" | "010" | "12:30" | "1_000" | "2026-01-01" | 31 | 0.5 | null | true | "5" | '
        "and 1 more; b?: string (up to 9 letters). returns {yes?: string (up to 5 letters), null?: any}"
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_is_read_as_json_whatever_it_begins_with(encoding: str, tmp_path: Path) -> None:
    value = tools(fields("a"), description="Sends a message \U0001f600\t\u200e")
    for file, text in (("a.json", json.dumps(value)), ("b.txt", json.dumps(value, ensure_ascii=False))):
        (tmp_path / file).write_bytes(text.encode(encoding))
        source = read_source(str(tmp_path / file))
        assert source is not None
        assert [each.line for each in source.operations] == ["Sends a message \U0001f600 �. takes {a?: string}"]


def test_a_key_that_stands_twice_is_told(read: Read) -> None:
    twice = '{"tools": [{"name": "a", "name": "b"}]}'
    assert [each.name for each in read(twice).operations] == ["b"]
    assert read(twice).notes == ("the key name stands twice in one object: the last is taken",)
    assert read(twice.replace('{"', '{ "'), file="api.yaml").notes == read(twice).notes


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("a.json", '{"tools": [}', "a.json: not JSON: Expecting value: line 1 column 12 (char 11); correct it"),
        ("a.json", '{"tools": NaN}', "a.json: not JSON: NaN is no number of JSON; correct it"),
        ("a.json", "[" * 100_000, "a.json: lists and objects are nested too deep; write them less deep"),
        ("a.yaml", "- " * 1_000, "a.yaml: line 1: nested more than 200 deep; correct it"),
        ("a.yaml", "a: *b", "a.yaml: line 1: there is no anchor 'b'; correct it"),
        ("a.yaml", "a: b: c", "a.yaml: line 1, column 5: not YAML: mapping values are not allowed in this context"),
        ("a.yaml", "{[a]: b}", "a.yaml: line 1: a key is no text; correct it"),
        ("a.yaml", "a: 1\n---\nb: 2\n", "a.yaml: it holds several documents; keep one; correct it"),
        ("a.json", '{"tools": []}', "a.json: there is no operation; name a document that has some"),
        ("a.json", '{"result": []}', "a.json: neither a database, nor an OpenAPI document"),
        ("a.json", "x" * (64 << 20) + "x", "a.json: the file has more than 67,108,864 bytes; give a part of it"),
        ("a.json", json.dumps([{"name": "a b"}] * 90_000), "a.json: 90,000 operations; choose 40 or fewer with"),
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_document_that_cannot_be_read_is_one_line_and_nobody_is_asked(
    file: str, text: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLSCALE_MODEL", "m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    Path(file).write_text(text)
    assert main(["draft", "shop", "--from", file, "--in", "made"]) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith(f"toolscale: {line}")
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_a_small_document_that_stands_for_a_huge_one_is_read_at_once(read: Read) -> None:
    lines = ["a0: &a0 {type: string}"]
    for number in range(1, 60):
        each = ", ".join(f"f{place}: *a{number - 1}" for place in range(9))
        lines.append(f"a{number}: &a{number} {{properties: {{{each}}}, default: *a{number - 1}}}")
    document = "\n".join([*lines, "tools: [{name: send, inputSchema: *a59}]"])
    assert len(read(document, file="api.yaml").operations[0].line) <= 900


def test_schemas_that_all_choose_among_all_come_to_an_end(read: Read) -> None:
    names = [f"S{number}" for number in range(30)]
    every = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    schemas = {
        name: fields("a", anyOf=every[::-1], properties={f"f{n}": {"oneOf": every} for n in range(30)})
        for name in names
    }
    line = read(api(**schemas), "put_S0").operations[0].line
    assert len(line) <= 901
