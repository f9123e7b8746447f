"""What all records share: frozen, no unknown keys, JSON in and out."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

_set = object.__setattr__


class Record(BaseModel):
    """A value that crosses a stage. It never changes, refuses keys it does not know, and holds no behaviour beyond
    looking things up in itself.

    Its validator is built when it is first used: no command needs those of all records.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    @classmethod
    def trusted(cls, **fields: Any) -> Self:
        """Return a record of fields that are known to be valid, all of them given: a third of the time of
        `model_construct`, which looks at each field for aliases and defaults."""
        made = cls.__new__(cls)
        _set(made, "__dict__", fields)
        _set(made, "__pydantic_fields_set__", set(fields))
        _set(made, "__pydantic_extra__", None)
        _set(made, "__pydantic_private__", None)
        return made

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe fields by the docstrings under them. Pydantic can, but reads the source of all records for it
        whenever they are imported."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for record in reversed(cls.__mro__):
            if record is not Record and issubclass(record, Record):
                for name, text in _docstrings(record).items():
                    properties.get(cls.model_fields[name].alias or name, {}).setdefault("description", text)
        return schema


@cache
def _docstrings(record: type[Record]) -> dict[str, str]:
    """Return own field -> the docstring under it."""
    (tree,) = ast.parse(dedent(inspect.getsource(record))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for field, below in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
