"""The statements that domains may write, with the parameters, relations and lets that they use, and values of these."""

from __future__ import annotations

from pathlib import Path

from toolscale.records import ColumnType

HERE = Path(__file__).parent
SELECTS = (HERE / "selects.txt").read_text().splitlines()
WRITES = (HERE / "writes.txt").read_text().splitlines()
PARAMS: dict[str, ColumnType] = {
    "id": "text",
    "name": "text",
    "amount": "cents",
    "day": "date",
    "flag": "bool",
    "nothing": "text",
    "zero": "int",
}
RELATIONS: dict[str, dict[str, ColumnType]] = {
    "ids": {"value": "text"},
    "items": {"account_id": "text", "amount_cents": "cents"},
}
LETS: dict[str, dict[str, ColumnType]] = {"src": {"balance_cents": "cents"}}
VALUES = {
    "id": "a1",
    "name": "ann Émile",
    "amount": 70_000,
    "day": "2026-01-31",
    "flag": 1,
    "nothing": None,
    "zero": 0,
    "src__balance_cents": 10_050,
    "ids": '[{"value":"a2"},{"value":"a1"},{"value":null},{"value":"a2"}]',
    "items": (
        '[{"account_id":"a1","amount_cents":250},'
        '{"account_id":"a3","amount_cents":null},'
        '{"account_id":"a1","amount_cents":-1}]'
    ),
}
