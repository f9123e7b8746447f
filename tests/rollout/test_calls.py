"""Arguments that are no strict JSON object are answered with an error, whatever a lenient reader would make of them."""

from __future__ import annotations

import json

import pytest

from toolscale.rollout.calls import read_arguments


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"amount": 1e999}', "1e999 is too large a number"),
        ('{"to": [-1e999]}', "-1e999 is too large a number"),
        ('{"amount": NaN}', "NaN is not JSON"),
        ('{"id": "a", "id": "b"}', "a key stands twice"),
        ('{"in": {"id": 1, "id": 2}}', "a key stands twice"),
        ('{"in": ' + "[" * 60 + "1" + "]" * 60 + "}", "lists and objects are nested more than 60 levels deep"),
        ("[" * 3_000, "lists and objects are nested more than 64 levels deep"),
    ],
)
def test_arguments_that_cannot_be_kept_are_refused(text: str, told: str) -> None:
    assert read_arguments(text) == ({}, f"The arguments are not JSON: {told}. Write them again as one JSON object.")


def test_arguments_are_read_as_they_are_written() -> None:
    assert read_arguments('{"amount": 1e3, "id": "a", "to": [0.5, 7]}') == (
        {"amount": 1000.0, "id": "a", "to": [0.5, 7]},
        None,
    )
    assert read_arguments(" ") == ({}, None)
    deepest = '{"in": ' + "[" * 59 + "]" * 59 + "}"
    assert read_arguments(deepest) == (json.loads(deepest), None)
