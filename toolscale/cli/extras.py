"""What to install for a verb that needs more than the core of the package: read from the package's own metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence

NAMES = {"re2": "google-re2", "upath": "universal-pathlib", "yaml": "pyyaml"}
"""Modules that are not called as the package that brings them. The metadata of a package that is not installed cannot
be asked."""

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)[^;]*(?:;.*extra == [\"'](?P<extra>[a-z]+)[\"'])?")


def what_to_install(module: str, requirements: Sequence[str] | None = None) -> str | None:
    """Return what pip is told to install where a module is missing: `"toolscale[hub]"`. None if nothing of ToolScale
    asks for that module. `requirements`: those of the metadata, unless given."""
    wanted = _normal(NAMES.get(module.partition(".")[0], module.partition(".")[0]))
    lines = _required() if requirements is None else requirements
    found = [match for line in lines if (match := _REQUIREMENT.match(line)) and _normal(match["name"]) == wanted]
    if not found:
        return None
    extras = [match["extra"] for match in found]
    return '"toolscale"' if None in extras else " or ".join(f'"toolscale[{extra}]"' for extra in extras)


def _required() -> Sequence[str]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        return requires("toolscale") or ()
    except PackageNotFoundError:  # the folder of a checkout, on the path and not installed
        return ()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
