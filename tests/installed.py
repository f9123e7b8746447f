"""What tests use that pip does not bring: programs of this machine, and a browser.

With BARE=1 none is there that `make system` installs, wherever this machine has it.
"""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IS_BARE = os.environ.get("BARE") == "1"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGED = ROOT / ".venv" / "browser"
"""Where scripts/install-browser unpacks one."""


@dataclass(frozen=True)
class Browser:
    """A Chromium, and the variables that it is started with."""

    path: str
    environment: dict[str, str] = field(default_factory=dict)


def program(name: str) -> str | None:
    """Return the path of a program that `make system` installs, or None."""
    return None if IS_BARE else shutil.which(name)


def postgres_folder() -> Path | None:
    """Return the folder of PostgreSQL's programs: on PATH, or where Debian keeps them out of it."""
    if IS_BARE:
        return None
    if on_path := shutil.which("initdb"):
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return found[-1] if found else None


def find_browser() -> Browser | None:
    """Return the browser of TOOLSCALE_BROWSER, of this machine, or of the package, in this order; None if there is
    none."""
    for name in filter(None, (os.environ.get("TOOLSCALE_BROWSER"), *BROWSERS)):
        if path := program(name):
            return Browser(path)
    if not (PACKAGED / "installed.json").is_file():
        return None
    libraries = [str(PACKAGED / "al2023" / "lib"), os.environ.get("LD_LIBRARY_PATH")]
    fonts = str(PACKAGED / "fonts" / "fonts.conf")
    return Browser(
        str(PACKAGED / "chromium"),
        {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)), "FONTCONFIG_FILE": fonts},
    )


def needs(what: str, found: object, to_get_it: str = "make system") -> pytest.MarkDecorator:
    """Skip a test where `what` was not found; the end of the run counts what was skipped for it (tests/conftest.py)."""
    return pytest.mark.skipif(not found, reason=f"needs {what}: {to_get_it}")


BROWSER = find_browser()
needs_browser = needs(
    "a browser",
    BROWSER,
    "scripts/install-browser" if platform.machine() == "x86_64" else "make system",
)
