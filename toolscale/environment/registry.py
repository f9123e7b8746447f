"""A folder is its own registration: find the domains."""

from __future__ import annotations

from pathlib import Path

from toolscale.errors import UsageError
from toolscale.package_code import IS_CHECKOUT, beside
from toolscale.records import (
    CasesSpec,
    FramesSpec,
    IntentsSpec,
    LanguageSpec,
    PolicySpec,
    PopulationSpec,
    Record,
    SchemaSpec,
    ToolsetSpec,
    WorldSpec,
)

ROOT = beside("environments")
"""Where the domains of the project are."""

OWN = Path("environments")
"""Where new domains go if nothing else is said: into the folder that somebody works in."""

APPROVED = ROOT if IS_CHECKOUT else OWN
"""Where those go that a person approves in Airflow, which works in no folder of anybody."""

FILES: dict[str, type[Record]] = {
    "environment.yaml": WorldSpec,
    "schema.yaml": SchemaSpec,
    "population.yaml": PopulationSpec,
    "toolset.yaml": ToolsetSpec,
    "rules.yaml": PolicySpec,
    "language.yaml": LanguageSpec,
    "intents.yaml": IntentsSpec,
    "cases.yaml": CasesSpec,
    "frames.yaml": FramesSpec,
}
"""The YAML files of a domain and what each of them is."""

OPTIONAL = frozenset({"frames.yaml"})
"""Those that a domain may lack: there is nothing in them then."""

POLICY_TEXT = "policy.md"


def discover(root: Path | None = None) -> dict[str, Path]:
    """Return domain -> folder for every folder with an `environment.yaml` under `root`, sorted by name.

    Without `root`: those of the project, and those of the working folder; of two with one name that of the working
    folder.
    """
    roots = [root] if root else [ROOT] if OWN.resolve() == ROOT else [ROOT, OWN]
    found = {
        path.parent.name: path.parent
        for each in roots
        for path in each.glob("*/environment.yaml")
        if not path.parent.name.startswith(".")  # what a killed process was writing
    }
    return dict(sorted(found.items()))


def find_folder(domain: str | Path) -> Path:
    """Return the folder of a domain, given its name or its path: text that has a separator or begins with a dot.
    UsageError names the known domains."""
    folder = Path(domain)
    if isinstance(domain, Path) or "/" in domain or domain.startswith("."):
        if folder.is_dir():
            return folder if folder.name not in ("", "..") else folder.resolve()  # `.` does not say the domain's name
        raise UsageError(f"{folder} is not a folder; give a domain by name or the folder of one")
    known = discover()
    if str(domain) not in known:
        raise UsageError(f"unknown domain {str(domain)!r}; known domains: {', '.join(known) or 'none'}")
    return known[str(domain)]


def is_shipped(folder: Path) -> bool:
    """Whether the folder of a domain belongs to an installed package, to which nothing is written."""
    return not IS_CHECKOUT and folder.resolve().is_relative_to(ROOT)
