"""What all records share: frozen, no unknown keys, JSON in and out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A value that crosses a stage. It never changes, refuses keys it does not know, and holds no behaviour beyond
    looking things up in itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, use_attribute_docstrings=True)
