"""Tasks that repeat an earlier one, counted from rows."""

from __future__ import annotations

import json
from collections.abc import Iterable

from toolscale.canonical import canonical_json
from toolscale.dataset.columns import Row
from toolscale.environment.builtins import HANDOVERS


def count_duplicates(tasks: Iterable[Row]) -> int:
    """Count the tasks whose request, or whose calls, row changes and facts together, are those of an earlier one. What
    the person knows counts as the request: two people may begin alike."""
    requests, contents, repeated = set[str](), set[str](), 0
    for row in tasks:
        calls = [[call["name"], call["arguments"]] for call in row["golden_calls"]]
        request, content = (
            " ".join(f"{row['request']} {row['scenario']['known']}".split()),
            canonical_json([calls, row["row_changes"], row["communicate"]]),
        )
        repeated += request in requests or content in contents
        requests.add(request)
        contents.add(content)
    return repeated


def count_same_changes(tasks: Iterable[Row]) -> int:
    """Count the tasks that change rows just as an earlier one of their domain and have the same facts to tell, whatever
    calls lead there.

    Tasks that change no row, or hand over and change nothing else, do not count: refusals of different things are all
    told with a no, and the row of a hand-over says nothing of whom it is about.
    """
    seen, repeated = set[str](), 0
    for row in tasks:
        if any(change["table"] != HANDOVERS for change in json.loads(row["row_changes"])):
            deed = canonical_json([row["domain"], row["row_changes"], row["communicate"]])
            repeated += deed in seen
            seen.add(deed)
    return repeated
