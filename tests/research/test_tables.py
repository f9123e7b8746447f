"""Tables, and the section of a page that is written anew."""

from __future__ import annotations

import pytest

from research.tables import replace_section, share_of, table


def test_a_table_in_a_section_takes_the_place_of_the_one_before() -> None:
    made = table(("half", ">share", "95 % interval"), [("seen", *share_of(1, 4)), ("held out", *share_of(0, 0))])
    assert made == (
        "| half | share | 95 % interval |\n|---|--:|---|\n| seen | 25.0% | 4.6% to 69.9% |\n| held out | – | – |"
    )
    begin, end = "<!-- questions: begin; written by a program -->", "<!-- questions: end -->"
    page = replace_section(f"above\n{begin}\nold\n{end}\nbelow\n", "questions", made)
    assert page == f"above\n{begin}\n{made}\n{end}\nbelow\n"
    assert replace_section(page, "questions", made) == page
    for broken in ("a page without them", f"{end}\n{begin}\n", page * 2):
        with pytest.raises(ValueError, match="once each"):
            replace_section(broken, "questions", made)
