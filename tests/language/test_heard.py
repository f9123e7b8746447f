"""What gates ask of a request: words where they stand, and the values that it names."""

from __future__ import annotations

from toolscale.language.heard import Heard

TODAY = "2026-03-16"
MESSAGE = "Pay my City  Gas bill, about $40, by Friday. The card ends in 0417."


def test_words_are_found_where_they_stand() -> None:
    heard = Heard(MESSAGE, TODAY)
    [(start, end)] = heard.spans("city gas")
    assert MESSAGE[start:end] == "City  Gas"
    assert (heard.says("Gas"), heard.says("Ga"), heard.says(" ")) == (True, False, False)


def test_values_are_read_under_each_tense() -> None:
    heard = Heard(MESSAGE, TODAY)
    assert [(each.kind, each.qualifier) for each in heard.mentions()] == [
        ("money", "hedge"), ("date", None), ("digits", None)
    ]  # fmt: skip
    read = {"; ".join(sorted(map(str, each.readings))) for each in heard.either_way() if each.kind == "date"}
    assert read == {"2026-03-13", "2026-03-20"}
    assert heard.mentions("past") is heard.mentions("past")


def test_what_is_hedged_is_not_stated_and_digits_may_stand_alone() -> None:
    heard = Heard(MESSAGE, TODAY)
    stated = [("money", 4000, None), ("date", "2026-03-20", "future"), ("digits", "0417", None)]
    assert [heard.states(kind, value, tense) for kind, value, tense in stated] == [False, True, True]
