"""A checkout of tau2-bench with a Python that has it: where they are, and what a process of it is given."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolscale.errors import UsageError
from toolscale.text_files import printable

TAU2 = "1.0.1"
"""The version of tau2 whose files and rules are known here."""

HOME = "https://github.com/sierra-research/tau2-bench"
GET = f"git clone --branch v{TAU2} {HOME}"
INSTALL = "python3.12 -m venv .venv && .venv/bin/pip install -e ."
REMEDY = f"give the folder of a domain in data/tau2/domains of a checkout of tau2-bench {TAU2}"
OLDEST = (3, 12)
PROBE_S = 120.0
"""For tau2 to be imported: its libraries are large."""

_KEPT = frozenset({"HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER"})
_PROBE = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
told = {"python": sys.version_info[:2], "tau2": "", "code": "", "problem": ""}
try:
    told["tau2"] = version("tau2")
    import tau2.registry
    told["code"] = tau2.__file__
except PackageNotFoundError:
    pass
except Exception as error:
    told["problem"] = f"{type(error).__name__}: {error}"
print()
print(json.dumps(told))
"""


@dataclass(frozen=True)
class Checkout:
    """A checkout that can run. `code`: where the tau2 lies that its Python imports."""

    folder: Path
    python: Path
    version: str
    code: Path

    @property
    def program(self) -> Path:
        """Its command `tau2`."""
        return self.python.parent / "tau2"

    def check_known(self) -> None:
        """UsageError unless it is the version that is known here, with its command."""
        again = f"in {self.folder}: git checkout v{TAU2} && {self.python} -m pip install -e ."
        if not self.program.is_file():
            raise UsageError(f"{self.python}: has no tau2 beside it ({self.program} is missing); {again}")
        if self.version != TAU2:
            raise UsageError(f"{self.python}: has tau2 {self.version}, and what is read here is tau2 {TAU2}; {again}")


def open_checkout(folder: Path, python: Path | None, environ: Mapping[str, str], option: str) -> Checkout:
    """Return the checkout in a folder. `python`: the one that has tau2, that of its .venv without it; `option` names
    it. UsageError, in one line, if it cannot run."""
    folder = folder.absolute()
    domains_of(folder)
    python = (python or folder / ".venv" / "bin" / "python").absolute()
    remedy = f"name the Python that has tau2 with {option}, or in {folder}: {INSTALL}"
    if not python.is_file():
        raise UsageError(f"{python}: there is no such Python; {remedy}")
    told = _probed(python, bare(environ), remedy)
    if not told["tau2"] and tuple(told["python"]) < OLDEST:
        raise UsageError(f"{python}: is Python {'.'.join(map(str, told['python']))}, and tau2 needs 3.12; {remedy}")
    if not told["tau2"]:
        raise UsageError(f"{python}: has no tau2; in {folder}: {python} -m pip install -e .")
    if told["problem"]:
        raise UsageError(f"{python}: tau2 cannot be imported there ({printable(told['problem'], 200)}); {remedy}")
    return Checkout(folder, python, told["tau2"], Path(told["code"]))


def domains_of(folder: Path) -> list[str]:
    """Return the domains of a checkout. UsageError if the folder is none."""
    domains = folder / "src" / "tau2" / "domains"
    if not domains.is_dir():
        raise UsageError(f"{folder}: it is no checkout of tau2-bench (src/tau2/domains is missing); git clone {HOME}")
    return sorted(path.parent.name for path in domains.glob("*/environment.py"))


def check_domain(folder: Path, domain: str) -> None:
    """UsageError if a checkout has no such domain."""
    if domain not in (known := domains_of(folder)):
        raise UsageError(f"{folder}: it has no domain {domain!r}; take one of {', '.join(known) or 'none'}")


def data_folder(checkout: Checkout, domain: Path) -> Path:
    """Return the folder `data` that a domain's folder lies in: tau2 reads all of its data there, so that a repaired set
    is run as it is graded. UsageError if it lies in none, or if the checkout does not know the domain."""
    check_domain(checkout.folder, domain.name)
    place = domain.absolute()
    if (place.parent.name, place.parent.parent.name) != ("domains", "tau2"):
        raise UsageError(f"{domain}: does not lie in a folder tau2/domains, as tau2 wants its data; {REMEDY}")
    return place.parents[2]


def bare(environ: Mapping[str, str], data: Path | None = None) -> dict[str, str]:
    """Return what a process of tau2 is given of an environment: nothing that is secret, or meant for another Python.
    `data`: where it reads its domains, those of its checkout without it."""
    kept = {name: value for name, value in environ.items() if name in _KEPT or name.startswith("LC_")}
    # One line is one line, without colours; prices as installed, not as the web has them today.
    kept |= {"COLUMNS": "250", "NO_COLOR": "1", "PYTHONUTF8": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return kept | ({"TAU2_DATA_DIR": str(data)} if data is not None else {})


def _probed(python: Path, environ: Mapping[str, str], remedy: str) -> dict[str, Any]:
    """Return the version of a Python, and what it says of its tau2."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_S,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer in {PROBE_S:g} seconds"
        raise UsageError(f"{python}: cannot be run ({reason}); {remedy}") from error
    try:
        told = json.loads(done.stdout.rstrip().rpartition("\n")[2])
        return {**told, "python": [int(each) for each in told["python"]]}
    except (ValueError, TypeError, KeyError):
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise UsageError(f"{python}: is no Python ({printable(said, 200)}); {remedy}") from None
