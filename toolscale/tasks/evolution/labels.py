"""Labels of facts: where several of a kind are told, each says what it is about, so that one cannot be taken for
another."""

from __future__ import annotations

from collections import Counter

from toolscale.environment.environment import Environment
from toolscale.patterns import regex
from toolscale.records import Intent, Role, Tell
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.names import matter_of

_MATTERS = regex(r"[a-z](_\d+)\b")


def label_of(environment: Environment, intent: Intent, suffix: str = "") -> str | None:
    """An expression that names what a part of a request is about; the names of the part end in `suffix`.

    It is a text with which the request describes a row, and that is not told itself: of the object, else of the last
    role of a table that other matters do not share, or of the only role if its table is shared. Else it is the noun of
    a row; None if there is no role.
    """
    language = environment.spec.language
    roles = {
        name: role
        for name, role in intent.roles.items()
        if role.of is not None and not role.only_said and matter_of(name) == suffix
    }
    own = [name for name, role in roles.items() if role.is_ not in language.shared]
    shared = [name for name in roles if name not in own]
    told = {tell.is_ for tell in intent.tell}
    for name in [
        *([intent.object] if intent.object in roles else []),
        *reversed(own),
        *(shared if len(shared) == 1 and not own else []),
    ]:
        text = _text_of(environment, name, roles[name]) if roles[name].take == "one" else None
        if text is not None and text not in told:
            return text
    nouns = [
        language.nouns.get(roles[name].is_, roles[name].is_.replace("_", " ").removesuffix("s"))
        for name in (*reversed(own), *shared)
    ]
    return f"'{nouns[0]}'" if nouns else None


def _matter_in(text: str) -> str:
    """The matter to which the names of an expression belong."""
    found = _MATTERS.findall(text)
    return found[-1] if found else ""


def _text_of(environment: Environment, name: str, role: Role) -> str | None:
    """The last text column that the request says of a role: of a kind and a number, the number."""
    columns = environment.schema.tables[role.is_].columns
    said = environment.spec.language.describe[role.is_][role.by].cols if role.by else ()
    return next((f"{name}.{column}" for column in reversed(said) if columns[column].type == "text"), None)


def labelled(environment: Environment, intent: Intent) -> Intent:
    """Give facts a label of their part where another fact of their kind is told. Raises Inapplicable where a part has
    nothing to name it by.

    Of answers of yes or no there can be one: nobody could tell two apart.
    """
    rules = environment.spec.policy.rules
    kinds = Counter(tell.kind for tell in intent.tell if not tell.withheld)
    kinds.update(tell.kind for part in intent.refused for tell in rules[part.rule].tell)
    if kinds["bool"] > 1:
        raise Inapplicable("two answers of yes or no, which nobody could tell apart")
    composed = any(matter_of(name) for name in intent.roles)
    tells: list[Tell] = []
    for tell in intent.tell:
        alike = kinds[tell.kind] > 1 or (composed and tell.kind == "bool")
        if tell.about is None and tell.each is None and not tell.withheld and alike:
            about = label_of(environment, intent, _matter_in(f"{tell.is_} {tell.when or ''}"))
            if about is None:
                raise Inapplicable(f"two facts of kind {tell.kind}, and nothing to name one of them by")
            tell = tell.model_copy(update={"about": about})
        tells.append(tell)
    labels = [
        (tell.kind, tell.about) for tell in tells if tell.about is not None and tell.each is None and not tell.withheld
    ]
    if len(set(labels)) < len(labels):
        raise Inapplicable("two facts of one kind about the same")
    return intent.model_copy(update={"tell": tuple(tells)})
