"""Amounts that a message calls something that they are not: a fee called the amount sent, a total called the amount of
each.

Every amount that was shown is looked at, not the facts alone: whoever exchanges two figures that nobody asked for has
read them wrongly all the same.
"""

from __future__ import annotations

from toolscale.language.mentions import Mention
from toolscale.language.rivals import Rivals
from toolscale.language.shown import SIDES, quantities_in
from toolscale.patterns import regex

_IS = r"(?:\s(?:is|was|are|were|of|for|at|being|be|came\sto|comes\sto|will\sbe|just|only|about|exactly|it|this|that))*"
_FEE_BEFORE = regex(rf"\bfees?{_IS}\W*$")
_FEE_AFTER = regex(r"^\W*(?:transfer\s|wire\s)?fee\b")
_LEFT_BEFORE = regex(
    rf"\b(?:left|remaining|leaves?|leaving|remains?|available(?:\safterwards)?|balance(?:\safter\w*)?){_IS}"
    r"\W*(?:you\s(?:with\s)?|it\s(?:at|with)\s)?$"
)
_LEFT_AFTER = regex(
    r"^\s(?:is|are|will\sbe|stays?|still|now|\s)*"
    r"\b(?:left|remaining|remains?|available|stays?)\b(?!\s(?:for|at\sonce|your|the|today))"
)
_DUE_OR_PAID = regex(
    r"^[^.;:]*\b(?:still\s)?(?:to\s(?:pay|be\spaid)|due|owing|unpaid|outstanding)\b"
    r"|^\s(?:went|goes|came|comes|was|were|is|are)\s(?:\w+\s)?(?:on|from|off|charged|paid|taken|to)\b"
)
"""After what *remains*: it remains to be paid, or it was paid from elsewhere."""
_LEFT = regex(r"\b(?:left|remain\w*|available|balance)\b")
_SPENT_BEFORE = regex(
    r"\b(?:paid|sent|wired|cleared|settled|payment\sof|cost|transfer\sof|bill\s(?:of|was|for|is))\s"
    r"(?:\w+\s(?:the|her|his|your|you)\s\w+\s)?\W*$"
)
_MISSING_BEFORE = regex(rf"\b(?:missing|short(?:fall)?|lack(?:ed|ing|s)|difference){_IS}\W*(?:by\s|of\s)?$")
_MISSING_AFTER = regex(r"^\s(?:was|were|is)?\s?(?:\w+ly\s)?(?:missing|short|lacking)\b")
_NOUN_BEFORE = regex(r"\b(?P<noun>bill|charge|hold|dispute)\s(?:of|was|for|is|amounts\sto|came\sto)\s\W*$")
_EACH_AFTER = regex(
    r"^\W{0,3}(?:is\s)?(?:each|apiece|per\s(?:bill|charge|hold|card|item|piece|instal+ment))\b"
    r"(?!\s(?:payment|time|month|week|day|year))"
)
_EACH_BEFORE = regex(
    r"\beach(?:\sof\s(?:them|these|those|which|the\s\w+))?"
    r"(?:\s(?:is|was|of|for|at|with|over|costs?|came\sto|amounts\sto|worth))*\W*$"
)
_OF_ONE = regex(r"(?:^|_)(?:prices?|unit|rates?|fares?|per|each|monthly|part|adult|child)(?:_|$)")
"""In the name of a column that holds what one thing costs."""
_RANGE_END = regex(r"\bfrom\s[^,;]*\d[^,;]*\b(?:to|until|till)\s$")
_AS_NAME = regex(
    r"\s(?:\w+\s)?(?:trains?|tickets?|bus|ferry|flight|show(?:ing)?|class|match|game|service|departure|one)\b"
)
"""After a time that says which train or show is meant."""
_ON_EVERY = regex(r"\bon\s(?:each|every)\b")
_REACH = 48

_MOVED_COLUMNS = ("amount", "paid", "moved", "refunded", "monthly")


class Misgiven(Rivals):
    """What amounts are said to be, against what they were shown to be."""

    def misgiven(self) -> str | None:
        """Find an amount that is said to be what it is not."""
        if not self.shown.rows:
            return None
        for mention in self.values:
            if mention.kind == "time" and (said := self._wrong_side(mention)):
                return f"says {self.answer.text[mention.start : mention.end]} of the {said}"
            if mention.kind == "money" and len(mention.readings) == 1 and mention.qualifier is None:
                (value,) = mention.readings
                if value and (what := self._misgiven(mention, int(value))):
                    return f"says {self.answer.text[mention.start : mention.end]} {what}"
        return None

    def _wrong_side(self, mention: Mention) -> str | None:
        """Return the side of something, its start or end, of which its clause says a time that was shown as the
        other."""
        clause, lower = self.answer.clauses[self.answer.clause_at(mention.start)], self.answer.lower
        if _AS_NAME.match(lower, mention.end) or _RANGE_END.search(lower, clause.start, mention.start):
            return None
        said = quantities_in(lower[clause.start : clause.end]) & SIDES
        its = self._quantities(mention) & SIDES
        apart = len(its) == len(said) == len(mention.readings) == 1 and its != said and not mention.qualifier
        return next(iter(said)) if apart and not clause.asked else None

    def _misgiven(self, mention: Mention, value: int) -> str | None:
        clause = self.answer.clauses[self.answer.clause_at(mention.start)]
        if clause.asked:
            return None
        before = self.answer.lower[max(clause.start, mention.start - _REACH) : mention.start]
        after = self.answer.lower[mention.end : min(clause.end, mention.end + _REACH)]
        each = _EACH_AFTER.match(after) or _EACH_BEFORE.search(before) or _ON_EVERY.search(after)
        if each and self._times_shown(value) < 2 and not self._is_of_one(value):
            return "of each, which is not the amount of two things"
        if ("money", value) not in self.shown.values:
            return None
        its = self._kinds_of(value)
        if (_FEE_BEFORE.search(before) or _FEE_AFTER.match(after)) and "fee" not in its:
            return "is a fee"
        if (
            (_LEFT_BEFORE.search(before) or _LEFT_AFTER.match(after))
            and its
            and "left" not in its
            and not _DUE_OR_PAID.match(after)
        ):
            return "is left"
        if (
            _SPENT_BEFORE.search(before)
            and not _LEFT.search(self.answer.lower, clause.start, mention.start)
            and not its & {"moved", "fee"}
            and its
        ):
            return "was paid or sent"
        if (_MISSING_BEFORE.search(before) or _MISSING_AFTER.match(after)) and value not in self._moved_amounts():
            return "was missing"
        if (noun := _NOUN_BEFORE.search(before)) and not self._is_of_row(value, f"{noun['noun']}_id"):
            return f"is a {noun['noun']}"
        if self._is_of_another_time(("money", value), mention.start):
            return "of another time"
        return None

    def _kinds_of(self, value: int) -> frozenset[str]:
        """The quantities that an amount was shown as. A missed payment is both what is left to pay and what is paid."""
        its = self.shown.quantities_of(("money", value))
        if any("fee_id" in row.values for row in self.shown.rows if ("money", value) in row.values.values()):
            its |= {"fee"}
        return its | {"moved"} if any("missed" in column for column in self.shown.columns_of(("money", value))) else its

    def _is_of_one(self, value: int) -> bool:
        """Whether an amount was shown as what one of something costs: *3 soap dispensers at $20.50 each*."""
        return any(_OF_ONE.search(column) for column in self.shown.columns_of(("money", value)))

    def _times_shown(self, value: int) -> int:
        """How many things have the amount."""
        rows = {
            tuple(
                sorted((column, str(held)) for column, held in row.values.items() if held[0] not in ("money", "time"))
            )
            for row in self.shown.rows
            if any(
                held == ("money", value) and any(part in column for part in _MOVED_COLUMNS)
                for column, held in row.values.items()
            )
        }
        return len(rows)

    def _moved_amounts(self) -> frozenset[int]:
        columns = ("amount_cents", "moved_cents")
        return frozenset(
            row.values[column][1]
            for row in self.shown.rows
            if row.written
            for column in columns
            if column in row.values
        )

    def _is_of_row(self, value: int, key: str) -> bool:
        """Whether a row with a key has an amount, or no row with that key was shown."""
        rows = [row for row in self.shown.rows if key in row.values]
        return not rows or any(held == ("money", value) for row in rows for held in row.values.values())
