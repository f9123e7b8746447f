"""Labels of facts: where several of a kind are told, each says what it is about, so that one cannot be taken for another."""

from __future__ import annotations

from collections import Counter

from toolscale.environment import Environment
from toolscale.records import Intent, Role, Tell
from toolscale.tasks.evolution.inapplicable import Inapplicable


def label_of(environment: Environment, part: Intent) -> str | None:
    """An expression that names what a part of a request is about.

    A text with which the request describes its object, or the last role of a table that other matters do not share, and which is not told itself;
    the one role of a shared table; else the noun of a row.
    """
    language = environment.spec.language
    roles = {name: role for name, role in part.roles.items() if role.of is not None and not role.only_said}
    own = [name for name, role in roles.items() if role.is_ not in language.shared]
    shared = [name for name in roles if name not in own]
    told = {tell.is_ for tell in part.tell}
    for name in [*([part.object] if part.object else []), *reversed(own), *(shared if len(shared) == 1 else [])]:
        text = _text_of(environment, name, roles[name]) if roles[name].take == "one" else None
        if text is not None and text not in told:
            return text
    nouns = [language.nouns.get(roles[name].is_, roles[name].is_.replace("_", " ").removesuffix("s")) for name in (*reversed(own), *shared)]
    return f"'{nouns[0]}'" if nouns else None


def _text_of(environment: Environment, name: str, role: Role) -> str | None:
    """The first text column with which a row of the role is described."""
    known, columns = environment.spec.language.describe.get(role.is_, {}), environment.schema.tables[role.is_].columns
    for description in (*([known[role.by]] if role.by else []), *known.values()):
        for column in description.cols:
            if columns[column].type == "text":
                return f"{name}.{column}"
    return None


def labelled(environment: Environment, intent: Intent, *parts: Intent) -> Intent:
    """Give facts a label of their part where another fact of their kind is told. Raises Inapplicable where a part has nothing to name it by.

    Of answers of yes or no there can be one: nobody could tell two apart.
    """
    rules = environment.spec.policy.rules
    kinds = Counter(tell.kind for tell in intent.tell if not tell.withheld)
    kinds.update(tell.kind for part in intent.refused for tell in rules[part.rule].tell)
    if kinds["bool"] > 1:
        raise Inapplicable("two answers of yes or no, which nobody could tell apart")
    composed = len(parts) > 1
    owners = {id(tell): part for part in parts for tell in part.tell}
    tells: list[Tell] = []
    for tell in intent.tell:
        owner = owners.get(id(tell))
        if owner and tell.about is None and tell.each is None and not tell.withheld and (kinds[tell.kind] > 1 or (composed and tell.kind == "bool")):
            about = label_of(environment, owner)
            if about is None:
                raise Inapplicable(f"two facts of kind {tell.kind}, and nothing to name one of them by")
            tell = tell.model_copy(update={"about": about})
        tells.append(tell)
    labels = [(tell.kind, tell.about) for tell in tells if tell.about is not None and tell.each is None and not tell.withheld]
    if len(set(labels)) < len(labels):
        raise Inapplicable("two facts of one kind about the same")
    return intent.model_copy(update={"tell": tuple(tells)})
