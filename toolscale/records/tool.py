"""`toolset.yaml`: the tools of a domain, declared in a portable SQL subset."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from toolscale.canonical import in_order
from toolscale.records.base import Record


class Let(Record):
    """Bind the one row of a SELECT as `:name.column`. No row: the error, or NULLs if there is none."""

    let: str
    sql: str
    error: str | None = None


class LetRows(Record):
    """Evaluate a SELECT once; later statements may read the rows as a relation of this name."""

    let_rows: str
    sql: str


class Check(Record):
    """A condition over parameters and lets; if it does not hold, the call fails with the error."""

    check: str
    error: str


class Forbid(Record):
    """A SELECT; a row is a failure, and its columns may stand in the error as `{column}`."""

    forbid: str
    error: str


class NewId(Record):
    """Bind a new id made from the tool, the listed parameters and the how-many-th identical call this is."""

    new_id: str
    prefix: str
    from_: tuple[str, ...] = Field(alias="from")


class Exec(Record):
    """One INSERT, UPDATE or DELETE."""

    exec: str


STEP_KINDS = ("let", "let_rows", "check", "forbid", "new_id", "exec")


def _step_kind(value: Any) -> str | None:
    keys = value if isinstance(value, dict) else type(value).model_fields if isinstance(value, Record) else ()
    return next((kind for kind in STEP_KINDS if kind in keys), None)


Step = Annotated[
    Annotated[Let, Tag("let")]
    | Annotated[LetRows, Tag("let_rows")]
    | Annotated[Check, Tag("check")]
    | Annotated[Forbid, Tag("forbid")]
    | Annotated[NewId, Tag("new_id")]
    | Annotated[Exec, Tag("exec")],
    Discriminator(
        _step_kind,
        custom_error_type="step_kind",
        custom_error_message=f"not a step; a step is one of {', '.join(STEP_KINDS)}",
    ),
]


class Return(Record):
    """One named part of a result: exactly one of `value` (one column of one row), `row` (one row) or `rows` (all, with
    an ORDER BY)."""

    value: str | None = None
    row: str | None = None
    rows: str | None = None

    @property
    def mode(self) -> str:
        """`value`, `row` or `rows`."""
        return next(mode for mode in ("value", "row", "rows") if getattr(self, mode) is not None)

    @property
    def sql(self) -> str:
        """The SELECT."""
        return str(getattr(self, self.mode))


class ToolSpec(Record):
    """One tool. All guards stand before the first `exec`; a failing guard leaves the state unchanged."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """JSON Schema properties; a parameter is required unless it has a `default`. An array is a relation named like it,
    with `ord` and `value` (array of scalars) or `ord` and the properties of its items (array of objects)."""
    steps: tuple[Step, ...] = ()
    returns: dict[str, Return]

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments object."""
        required = [name for name, schema in self.parameters.items() if "default" not in schema]
        return {"type": "object", "properties": self.parameters, "required": required, "additionalProperties": False}

    def openai_function(self) -> dict[str, Any]:
        """The tool as an element of `tools` of an OpenAI chat completion, in the order in which a dataset's files hold
        it: a model writes arguments in the order in which it learned to read them."""
        function = {"name": self.name, "description": self.description, "parameters": self.json_schema()}
        return in_order({"type": "function", "function": function})


Lookup = Literal["find", "list", "get"]
"""`find`: by what people say of themselves; `list`: by the row that they belong to; `get`: by the key."""


class ToolsetSpec(Record):
    """All tools of a domain. `transfer_to_human` and `calculate` are built in and not listed."""

    lookups: Literal["auto"] | dict[str, tuple[Lookup, ...]] = Field(default_factory=dict)
    """Look-ups that are derived and need not be written: `auto`, all that the schema gives, or table -> which of
    them. A tool of the same name in `tools` takes the place of a derived one."""
    tools: tuple[ToolSpec, ...]
