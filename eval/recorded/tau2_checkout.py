"""A checkout of tau2-bench (sierra-research/tau2-bench, MIT) with a Python of its own: where its program is, and
whether it is the one whose results are read here."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.recorded.tau2_files import REMEDY
from toolscale.errors import UsageError

TAU2 = "1.0.1"
"""The version of tau2 whose files and rules are known here."""

GET = f"git clone --branch v{TAU2} https://github.com/sierra-research/tau2-bench"
INSTALL = "python3.12 -m venv .venv && .venv/bin/pip install -e ."
OLDEST = (3, 12)
SECONDS = 60.0
"""For a Python to say what it is."""

_PROBE = """
import sys
from importlib.metadata import PackageNotFoundError, version
try:
    found = version("tau2")
except PackageNotFoundError:
    found = "none"
print(*sys.version_info[:2], found)
"""


@dataclass(frozen=True)
class Checkout:
    """A checkout that can run. `program`: its command `tau2`."""

    folder: Path
    program: Path
    version: str


def open_checkout(folder: Path, interpreter: Path | None, environ: Mapping[str, str]) -> Checkout:
    """Return the checkout in a folder; `interpreter`: the Python that has tau2, that of its .venv without it.
    UsageError, in one line, if it cannot run."""
    folder = folder.absolute()
    if not (folder / "src" / "tau2").is_dir():
        raise UsageError(f"{folder}: is no checkout of tau2-bench (src/tau2 is missing); {GET}")
    python = (interpreter or folder / ".venv" / "bin" / "python").absolute()
    remedy = f"in {folder}: {INSTALL}"
    if not python.is_file():
        raise UsageError(f"{folder}: has no Python of its own ({python} is missing); {remedy}")
    *numbers, version = _probed(python, environ)
    if tuple(map(int, numbers)) < OLDEST:
        raise UsageError(f"{python}: is Python {'.'.join(numbers)}, and tau2 needs 3.12; {remedy}")
    program = python.parent / "tau2"
    if version == "none" or not program.is_file():
        raise UsageError(f"{python}: has no tau2; in {folder}: {python} -m pip install -e .")
    if version != TAU2:
        raise UsageError(
            f"{python}: has tau2 {version}, and what is read here is tau2 {TAU2}; "
            f"in {folder}: git checkout v{TAU2} && {python} -m pip install -e ."
        )
    return Checkout(folder, program, version)


def data_folder(checkout: Checkout, domain: Path) -> Path:
    """Return the folder `data` that a domain's folder lies in: tau2 reads all of its data there, so that a repaired set
    is run as it is graded. UsageError if it lies in none, or if the checkout does not know the domain."""
    domains = checkout.folder / "src" / "tau2" / "domains"
    known = sorted(path.parent.name for path in domains.glob("*/environment.py"))
    if domain.name not in known:
        raise UsageError(f"{checkout.folder}: has no domain {domain.name!r}; it has {', '.join(known) or 'none'}")
    place = domain.absolute()
    if (place.parent.name, place.parent.parent.name) != ("domains", "tau2"):
        raise UsageError(f"{domain}: does not lie in a folder tau2/domains, as tau2 wants its data; {REMEDY}")
    return place.parents[2]


def _probed(python: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the version of a Python in two parts, and that of its tau2."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer in {SECONDS:g} seconds"
        raise UsageError(f"{python}: cannot be run ({reason}); make the environment again: {INSTALL}") from error
    words = done.stdout.split()
    if done.returncode != 0 or len(words) != 3 or not (words[0].isdigit() and words[1].isdigit()):
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1][:200]
        raise UsageError(f"{python}: is no Python ({said}); make the environment again: {INSTALL}")
    return words
