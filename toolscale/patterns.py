"""Regular expressions that are compiled when they are first used: there are hundreds, and no command needs them all."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class _Later:
    """What stands for a compiled pattern. Once it is used, its methods are those of the compiled one."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"regex({self.pattern!r}, {self.flags!r})"


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` does, for as good as no time. A fault of the text is raised when it is first used."""
    return cast("re.Pattern[str]", _Later(text, flags))
