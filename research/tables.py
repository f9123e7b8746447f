"""Tables in Markdown, and the section of a page that a program writes anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.statistics import wilson


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table. The columns of numbers have a head that begins with `>`."""
    names, *lines = (f"| {' | '.join(map(str, row))} |" for row in ([head.removeprefix(">") for head in heads], *rows))
    sides = "|".join("--:" if head.startswith(">") else "---" for head in heads)
    return "\n".join([names, f"|{sides}|", *lines])


def share_of(part: int, whole: int) -> tuple[str, str]:
    """Return a share and its 95 % interval (Wilson) as two cells; dashes where there is nothing."""
    if not whole:
        return "–", "–"
    low, high = wilson(part, whole)
    return f"{part / whole:.1%}", f"{low:.1%} to {high:.1%}"


def replace_section(page: str, name: str, made: str) -> str:
    """Return a page with what stands between `<!-- NAME: begin … -->` and `<!-- NAME: end -->` replaced. ValueError if
    it has not each of them once, in order."""
    before, begin, rest = page.partition(f"<!-- {name}: begin")
    note, _, rest = rest.partition("\n")
    _, end, after = rest.partition(f"<!-- {name}: end -->")
    if not begin or not end or begin in after or end in after:
        raise ValueError(f"the page needs <!-- {name}: begin --> and then <!-- {name}: end -->, once each")
    return f"{before}{begin}{note}\n{made}\n{end}{after}"
