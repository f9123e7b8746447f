"""schemas/ is what the records generate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from toolscale.schemas import SCHEMAS, render_schemas

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted(render_schemas()))
def test_committed_schema_is_the_generated_one(name: str) -> None:
    assert (ROOT / "schemas" / name).read_text() == render_schemas()[name], "run `make schemas`"


def test_no_schema_is_left_over() -> None:
    assert sorted(path.name for path in (ROOT / "schemas").iterdir()) == sorted(render_schemas())


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(json.loads(render_schemas()[f"{name}.schema.json"]))
