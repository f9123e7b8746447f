"""A domain, compiled: loaded from its folder, or from what was kept when it was compiled before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from toolscale.canonical import content_hash
from toolscale.environment.registry import FILES, POLICY_TEXT, find_folder
from toolscale.errors import SpecError, SpecIssue
from toolscale.kept import Kept
from toolscale.records import EnvironmentSpec, SchemaSpec
from toolscale.sandbox.base import Equality
from toolscale.sql.compiled import CompiledTool, Statement
from toolscale.text_files import read_text

MOST_KEPT = 4
_KEPT: dict[str, Environment] = {}
"""Hash of a folder's name and texts -> what they compile to."""
_KEEPING = Lock()


@dataclass(frozen=True)
class Environment:
    """A domain, compiled. Rows are made by `populate`, and a `World` runs its tools."""

    domain: str
    folder: Path
    spec: EnvironmentSpec
    schema: SchemaSpec
    """The tables of the domain, and `handovers` if the domain names reasons for them."""
    tools: Mapping[str, CompiledTool]
    """All tools by name, the built-in ones last."""
    invariants: Mapping[str, Statement]
    """Invariant -> a SELECT of the key of each row and `holds`."""
    equalities: frozenset[Equality]
    """(table, columns) that some tool or invariant looks up by equality."""
    hash: str
    """The hash of the parsed content of all files."""
    files: Mapping[str, str]
    """File name -> hash of its parsed content."""
    source: str | None = field(default=None, init=False, compare=False)
    """The hash of the texts that it was loaded from, to the letter; None of one in which something was replaced."""

    def __repr__(self) -> str:
        return f"Environment({self.domain!r}, {len(self.tools)} tools, {self.hash[:12]})"


def load_environment(domain: str | Path) -> Environment:
    """Return the environment of a folder, or of a known domain by name.

    UsageError if there is no such domain; SpecError with every issue of every file if it is not well-formed.
    """
    environment, issues = inspect_environment(domain)
    if issues or environment is None:
        raise SpecError(issues)
    return environment


def inspect_environment(domain: str | Path) -> tuple[Environment | None, list[SpecIssue]]:
    """Return the environment of a folder and every issue of every file, so that more can be found out in spite of them.

    `sound_part` leaves out what an issue is about. It is None if a file cannot be read at all, or if there is anything
    wrong with tables or tools. What was compiled before is not compiled again: a verification, a judgement and a world
    of one domain follow each other, in one process or in several.
    """
    path = find_folder(domain)
    texts = _texts(path)
    source = content_hash(texts)
    kept = _KEPT.get(source)
    if kept is not None:
        return _loaded(kept, path, source), []
    kept_on_disk = Kept("environment", source, Environment)
    environment, issues = kept_on_disk.read(), list[SpecIssue]()
    if environment is None:
        from toolscale.environment.compiling import compile_folder  # loading the compiler takes as long as compiling

        environment, issues = compile_folder(path)
        if environment is None or issues or texts != _texts(path):
            return environment, issues
        kept_on_disk.write(environment)
    with _KEEPING:
        _KEPT[source] = environment
        while len(_KEPT) > MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return _loaded(environment, path, source), []


def _loaded(environment: Environment, folder: Path, source: str) -> Environment:
    loaded = replace(environment, folder=folder)
    object.__setattr__(loaded, "source", source)
    return loaded


def _texts(path: Path) -> tuple[str | None, ...]:
    """The name of a folder and all that is written in it, to the letter: of a mapping the order counts too."""
    return path.resolve().name, *(read_text(path / name, name)[0] for name in (*FILES, POLICY_TEXT))


def sound_part(environment: Environment, issues: Iterable[SpecIssue]) -> Environment:
    """Return the environment without the rules, intents and words of evolutions that an issue is about, and what uses
    such a rule or description."""
    places = {f"{issue.file}: {issue.place}" for issue in issues}

    def faulty(place: str) -> bool:
        return any(other == place or other.startswith((f"{place}.", f"{place}[")) for other in places)

    spec = environment.spec
    rules = {name: rule for name, rule in spec.policy.rules.items() if not faulty(f"rules.yaml: rules.{name}")}
    intents = tuple(
        intent
        for intent in spec.intents.intents
        if not faulty(f"intents.yaml: intents[{intent.id}]")
        and all(rule is None or rule in rules for rule in (intent.rule, *(part.rule for part in intent.refused)))
        and not any(
            role.by is not None and faulty(f"language.yaml: describe.{role.is_}.{role.by}")
            for role in intent.roles.values()
        )
    )
    words = {
        "personas": {
            name: persona.model_copy(
                update={
                    "forms": {
                        kind: forms
                        for kind, forms in persona.forms.items()
                        if not faulty(f"language.yaml: personas.{name}.forms.{kind}")
                    }
                }
            )
            for name, persona in spec.language.personas.items()
        },
        "quantities": {
            name: words
            for name, words in spec.language.quantities.items()
            if not faulty(f"language.yaml: quantities.{name}")
        },
        "private": {
            name: words for name, words in spec.language.private.items() if not faulty(f"language.yaml: private.{name}")
        },
    }
    sound = {
        "policy": spec.policy.model_copy(update={"rules": rules}),
        "intents": spec.intents.model_copy(update={"intents": intents}),
        "language": spec.language.model_copy(update=words),
    }
    return replace(environment, spec=spec.model_copy(update=sound))
