"""Every time of day and every length that is written in a form reads back as exactly that."""

from __future__ import annotations

import pytest

from toolscale.language.mentions import mentions
from toolscale.language.render import render

TODAY = "2026-03-16"
TIMES = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in range(60)]


def readings(text: str, kind: str) -> list[frozenset[object]]:
    return [mention.readings for mention in mentions(text, TODAY) if mention.kind == kind]


@pytest.mark.parametrize("form", ["clock", "clock24", "oclock"])
@pytest.mark.parametrize("text", ["the {} train", "It leaves at {}.", "{}, please"])
def test_every_time_of_day_reads_back(form: str, text: str) -> None:
    said = {time: text.format(render(time, form, TODAY)) for time in TIMES}
    assert {time: readings(words, "time") for time, words in said.items()} == {time: [{time}] for time in TIMES}


@pytest.mark.parametrize("form", ["duration", "minutes", "hm"])
@pytest.mark.parametrize("text", ["a {} ride", "It takes {}.", "it takes {} by train"])
def test_every_length_reads_back_and_nothing_else(form: str, text: str) -> None:
    said = {length: text.format(render(length, form, TODAY)) for length in range(1, 3001)}
    found = {length: [(m.kind, m.readings) for m in mentions(words, TODAY)] for length, words in said.items()}
    assert found == {length: [("duration", {length})] for length in range(1, 3001)}


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        ("14:05", "clock", "2:05 pm"),
        ("00:00", "clock", "12:00 am"),
        ("14:05", "clock24", "14:05"),
        ("09:05", "clock24", "09:05"),
        ("11:05", "clock24", "11:05 am"),  # 11:05 alone may be at night
        ("14:30", "oclock", "half past two in the afternoon"),
        ("21:00", "oclock", "nine o'clock in the evening"),
        ("12:00", "oclock", "noon"),
        ("14:05", "oclock", "2:05 pm"),
        (80, "duration", "1 hour and 20 minutes"),
        (120, "duration", "2 hours"),
        (1, "duration", "1 minute"),
        (80, "minutes", "80 minutes"),
        (65, "hm", "1 h 05"),
        (45, "hm", "45 min"),
    ],
)
def test_it_is_written_as_people_write_it(value: str | int, form: str, text: str) -> None:
    assert render(value, form, TODAY) == text


def test_the_full_stop_of_pm_ends_the_sentence_that_it_stands_at_the_end_of() -> None:
    text = "It leaves at 2:05 p.m. The next one goes at 4:10 p.m. on Friday."
    assert [text[m.start : m.end] for m in mentions(text, TODAY) if m.kind == "time"] == ["2:05 p.m", "4:10 p.m."]
