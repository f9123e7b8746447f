"""A new domain that is admitted at once: a person, what belongs to them, and five intents about each of these, to be
rewritten file by file.

The tables are said in one line: `patron, title, copy of title, loan of copy by patron`. The first is the person who
asks; what belongs to the person directly (`loan`) is a matter: it is due on a day, costs something, and is open or
closed. Look-ups are derived, and words that no trade owns come from the package.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import jinja2
import yaml

from toolscale.environment.complaints import suggest
from toolscale.environment.references import LONGEST_NAME, RESERVED, domain_problem
from toolscale.environment.registry import FILES, OPTIONAL, OWN, POLICY_TEXT
from toolscale.errors import StorageError, UsageError
from toolscale.forbidden_names import NAMESPACES, refusals
from toolscale.patterns import regex

_TABLE = regex(r"\s*([a-z][a-z0-9]*(?:_[a-z0-9]+)*)((?:\s+(?:of|by|for|in|at|on|to|from|with)\s+[a-z][a-z0-9_]*)*)\s*")
_PARENT = regex(r"(?:of|by|for|in|at|on|to|from|with)\s+([a-z][a-z0-9_]*)")
_EXAMPLE = "write it as: --tables 'patron, title, copy of title, loan of copy by patron'"


@dataclass(frozen=True)
class Entity:
    """A table of the new domain."""

    name: str
    """One row of it: `loan`."""
    parents: tuple[Entity, ...]
    prefix: str
    """What its ids begin with."""

    @property
    def table(self) -> str:
        """Several rows of it: `loans`."""
        if re.search(r"[^aeiou]y$", self.name):
            return f"{self.name[:-1]}ies"
        return f"{self.name}{'es' if re.search(r'(?:s|x|z|ch|sh)$', self.name) else 's'}"

    @property
    def key(self) -> str:
        """The column of its key."""
        return f"{self.name}_id"

    @property
    def role(self) -> str:
        """What a row of it is called in intents, where some words mean something else."""
        return f"{self.name}_meant" if self.name in NAMESPACES else self.name

    @property
    def name_words(self) -> str:
        """One row of it, as it is said."""
        return self.name.replace("_", " ")

    @property
    def words(self) -> str:
        """Several rows of it, as they are said."""
        return self.table.replace("_", " ")


def read_tables(text: str) -> list[Entity]:
    """Return the tables that a line like `patron, title, copy of title, loan of copy by patron` names. UsageError says
    what is wrong with it."""
    found: dict[str, Entity] = {}
    for part in text.split(","):
        match = _TABLE.fullmatch(part)
        if match is None:
            raise UsageError(f"--tables: {part.strip()!r} is no table; {_EXAMPLE}")
        name, parents = match[1], _PARENT.findall(match[2])
        if name in found:
            raise UsageError(f"--tables: {name!r} stands there twice; name each table once")
        for parent in parents:
            if parent not in found:
                raise UsageError(
                    f"--tables: {name!r} belongs to {parent!r}, which does not stand before it; "
                    f"{suggest(parent, found) if found else _EXAMPLE}"
                )
        entity = Entity(name, tuple(found[parent] for parent in dict.fromkeys(parents)), _prefix(name, found.values()))
        for word in (name, entity.table):
            if refused := refusals(word, "table"):
                another = f", {name}_item say" if word in refused[0].words else ""
                raise UsageError(f"--tables: {word!r} {refused[0].why}; choose another name{another}")
        found[name] = entity
    tables = list(found.values())
    if tables[0].parents:
        raise UsageError(f"--tables: {tables[0].name!r} is the person who asks, and belongs to nobody; {_EXAMPLE}")
    if not _matters(tables):
        person = tables[0].name
        raise UsageError(f"--tables: nothing belongs to the {person}; write one as: order_item by {person}")
    return tables


def write_scaffold(domain: str, tables: list[Entity], root: Path | None = None) -> Path:
    """Write the folder of a new domain under `root` (`environments/` of the working folder) and return it.

    UsageError if the name cannot be one, or the folder is there already.
    """
    if domain_problem(domain):
        names = ", ".join(sorted(RESERVED))
        raise UsageError(
            f"{domain!r} cannot name a domain; use small letters first, then also digits, _ and -, "
            f"{LONGEST_NAME} at most, and not {names}"
        )
    folder = (root or OWN) / domain
    if folder.exists():
        raise UsageError(f"{folder} is there already; choose another name, or remove it")
    texts = scaffold_texts(domain, tables)
    try:
        made = folder.parent / f".{domain}.new"
        shutil.rmtree(made, ignore_errors=True)  # what was killed meanwhile left it
        made.mkdir(parents=True)
        for name, text in texts.items():
            (made / name).write_text(text, encoding="utf-8")
        made.rename(folder)
    except OSError as error:
        raise StorageError(f"cannot write {folder}: {error}") from error
    return folder


def scaffold_texts(domain: str, tables: list[Entity]) -> dict[str, str]:
    """Return the files of a new domain, by name."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("toolscale.environment", "scaffold_files"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    templates.filters["scalar"] = _scalar
    said = {
        "title": domain.replace("_", " ").replace("-", " ").capitalize(),
        "tables": tables,
        "person": tables[0],
        "matters": _matters(tables),
    }
    return {
        name: templates.get_template(f"{name}.jinja").render(said)
        for name in (*FILES, POLICY_TEXT)
        if name not in OPTIONAL
    }


def _scalar(text: str) -> str:
    """Return a text as YAML reads it back: `null` and `yes` in quotes."""
    return text if yaml.safe_load(text) == text else json.dumps(text)


def _matters(tables: list[Entity]) -> list[Entity]:
    """What belongs to the person directly."""
    return [table for table in tables if tables[0] in table.parents]


def _prefix(name: str, others: Iterable[Entity]) -> str:
    """Return two letters or more that no other table's ids begin with."""
    taken = {other.prefix for other in others}
    letters = name.replace("_", "")
    return next(
        (letters[:length] for length in range(2, len(letters) + 1) if letters[:length] not in taken), f"{letters}x"
    )
