"""Error templates: `{param}`, `{let.column}` or `{column}` of a forbidden row, each with an optional `|money`, and
nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from toolscale.errors import SandboxError

FIELD = re.compile(r"\{([a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?)(\|money)?\}")


class Message:
    """A parsed template. There is no attribute access and no format language to escape through."""

    __slots__ = ("_parts", "place")

    def __init__(self, template: str, place: str, known: Collection[str]):
        """Parse `template`; a field that is not `known` (names in the flat form `let__column`) raises SandboxError."""
        self.place = place
        self._parts: list[tuple[str, str, bool]] = []
        """(text before, name or "", is money)."""
        start = 0
        for field in FIELD.finditer(template):
            name = field[1].replace(".", "__")
            if name not in known:
                raise SandboxError(
                    f"{place}: the error names {{{field[1]}}}, no parameter, let or column; use one of {sorted(known)}"
                )
            self._parts.append((template[start : field.start()], name, field[2] is not None))
            start = field.end()
        self._parts.append((template[start:], "", False))

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the fields filled in."""
        return "".join(before + (_shown(values[name], money) if name else "") for before, name, money in self._parts)


def _shown(value: Any, money: bool) -> str:
    if value is None:
        return "none"
    if not money:
        return str(value)
    sign = "-" if value < 0 else ""
    return f"{sign}${abs(value) // 100:,}.{abs(value) % 100:02d}"
