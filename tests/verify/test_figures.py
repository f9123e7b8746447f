"""A golden answer of which one figure has a digit too many, too few or another one is never right."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from courts import Court

FIGURE = re.compile(r"\d+")


def slips(answer: str) -> Iterator[str]:
    for figure in FIGURE.finditer(answer):
        said = figure[0]
        wrong = {f"4{said}", f"{said}4", f"{said[0]}7{said[1:]}", f"{said[:-1]}{(int(said[-1]) + 3) % 10}"}
        for other in sorted(wrong | ({said[:-1], said[1:]} if len(said) == 4 else set())):
            yield f"{answer[: figure.start()]}{other}{answer[figure.end() :]}"


@pytest.mark.parametrize("number", [3, 34, 174, 269])
def test_a_slip_in_a_figure_is_found(bank: Court, number: int) -> None:
    """Dates, a card that is refused, two cards."""
    candidate = bank[0].draw(0, number)
    assert candidate is not None
    brief = bank[1].subject(candidate).brief
    right = [brief.say(brief.facts, style) for style in range(brief.styles)]
    assert [brief.finding(answer) for answer in right] == [None] * brief.styles
    wrong = [slip for answer in right for slip in slips(answer)]
    assert len(wrong) > 30
    assert [answer for answer in wrong if brief.finding(answer) is None] == []
