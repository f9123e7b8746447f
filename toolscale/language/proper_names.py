"""Whether words are a name of their own or a piece of a longer one: `City Gas` in `City Gas Works`, `mother` in
`mother-in-law`."""

from __future__ import annotations

from toolscale.patterns import regex

_JOINED = regex(r"[-‑]\w|\s&\s?\w|&\w|/\w")
_FOLLOWING = regex(r"[ \u00a0]+([A-Z][\w'’]*)")
_LEADING = regex(
    r"(?P<start>(?:^|[^\w\s,'’\"“(&][ \t]*|\n[ \t]*|[\"“(|:;,.!?][ \t]*))?(?P<word>[A-Z][\w'’]*)\.?[ \u00a0]+$"
)
_GENERIC = frozenset((
    "account", "accounts", "bill", "bills", "card", "cards", "plan", "loan", "balance", "fee", "limit", "payment",
    "transfer", "order", "charge", "booking",
    "invoice", "policy", "subscription", "fund", "total", "amount", "due", "status", "reference", "number", "id", "i",
    "i'm", "i've", "is", "was", "has",
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "monday",
    "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "usd", "us", "today",
    "transaction", "purchase", "statement", "deposit", "reservation", "appointment", "ticket", "merchant", "shop",
    "store",
))  # fmt: skip
_BEFORE_A_NAME = _GENERIC | frozenset((
    "the", "your", "my", "our", "a", "an", "at", "to", "from", "for", "of", "by", "in", "on", "with", "and", "or",
    "it's", "that's", "dr", "mr", "mrs", "ms", "miss", "prof", "name", "payee", "biller", "title", "book", "author",
    "client", "customer", "hi", "hello", "dear", "hey", "thanks", "sorry", "yes", "no", "this", "that", "as", "per",
))  # fmt: skip


def is_piece(text: str, start: int, end: int) -> bool:
    """Whether the words from `start` to `end` go on before or after as one name; `text` is as written, since names
    begin with capitals."""
    if _JOINED.match(text, end) or (start > 1 and text[start - 1] in "-‑" and text[start - 2].isalnum()):
        return True
    if not text[start].isupper() or text[start:end].isupper():
        return False
    following = _FOLLOWING.match(text, end)
    if (
        following
        and not following[1].isdigit()
        and following[1].lower().replace("’", "'").removesuffix("'s") not in _GENERIC
    ):
        return True
    leading = _LEADING.search(text, max(0, start - 24), start)
    if leading is None or leading["start"] is not None or leading.start("word") == 0:
        return False
    return leading["word"].lower().replace("’", "'") not in _BEFORE_A_NAME
