"""Error templates: which values a message names."""

from __future__ import annotations

import re
from collections.abc import Collection

from toolscale.sql.report import Report, choices

_FIELD = re.compile(r"\{([a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?)(?:\|money)?\}")


def template_names(text: str) -> tuple[str, ...]:
    """Return the names in `{name}`, `{let.column}` or `{name|money}`, in order."""
    return tuple(dict.fromkeys(match[1] for match in _FIELD.finditer(text)))


def check_template(
    text: str, known: Collection[str], relations: Collection[str], report: Report, place: str
) -> tuple[str, ...]:
    """Report what a template must not hold; return the names it uses. `known` are flat (`src__status`)."""
    if not text.strip():
        report.add("the error is empty", "say what is wrong, so that the agent can act on it", place=place)
    rest = _FIELD.sub("", text)
    if "{" in rest or "}" in rest:
        report.add(f"{text!r} has braces that name nothing", "write {name}, {let.column} or {name|money}", place=place)
    names = template_names(text)
    for name in names:
        if name in relations:
            report.add(f"the error names {{{name}}}, which is a relation", "name a single value", place=place)
        elif name.replace(".", "__") not in known:
            shown = [item.replace("__", ".", 1) for item in known]
            report.add(f"the error names {{{name}}}, which is unknown here", choices(name, shown), place=place)
    return names
