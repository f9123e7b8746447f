"""Tables on a screen that is too narrow for them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from toolscale.cli.bars import bars
from toolscale.cli.terminal import WideTable

CHARGES = (
    ("amount_cents", "card_id", "category", "charge_id", "charged_on", "merchant", "status"),
    [
        ("$42.29", "cd_5228", "clothing store", "ch_67744", "2026-01-03", "Marlene Outfitters", "posted"),
        ("$42.29", "cd_5228", "clothing store", "ch_75305", "2026-01-03", "Marlene Outfitters", "posted"),
    ],
)


def lines(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(WideTable(*CHARGES))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_names_are_not_broken_and_rows_can_be_told_apart_in_each_table() -> None:
    assert lines(72) == [
        "amount_cents  card_id  category        charge_id  charged_on",
        "$42.29        cd_5228  clothing store  ch_67744   2026-01-03",
        "$42.29        cd_5228  clothing store  ch_75305   2026-01-03",
        "",
        "charge_id  merchant            status",
        "ch_67744   Marlene Outfitters  posted",
        "ch_75305   Marlene Outfitters  posted",
    ]


@pytest.mark.parametrize("width", [30, 40, 60, 90, 200])
def test_every_name_and_cell_is_there_at_any_width(width: int) -> None:
    words = " ".join(lines(width)).split()
    assert {*CHARGES[0], "cd_5228", "ch_67744", "ch_75305", "2026-01-03"} <= set(words)


def test_a_bar_begins_anew_with_each_act() -> None:
    with bars() as drawn:
        bar = drawn.add_task("starting", total=None)
        drawn.show(bar, "calling tools", 3, 4)
        drawn.show(bar, "judging candidates", 32, 640)
        (task,) = drawn.tasks
        assert (task.description, task.completed, task.total) == ("judging candidates", 32, 640)
