"""Labels of facts: where several of a kind are told, each says what it is about, so that one cannot be taken for another."""

from __future__ import annotations

from collections import Counter

from toolscale.environment import Environment
from toolscale.records import Intent, Tell
from toolscale.tasks.evolution.inapplicable import Inapplicable


def label_of(environment: Environment, part: Intent) -> str | None:
    """An expression that names what a part is about.

    A text with which its object, or its last role that has one, is described and which is not told itself; else the noun of a row.
    """
    language, tables = environment.spec.language, environment.schema.tables
    told = {tell.is_ for tell in part.tell}
    named: str | None = None
    for name in [*([part.object] if part.object else []), *reversed(part.roles)]:
        role = part.roles[name]
        if role.of is None or role.only_said:
            continue
        named = named or f"'{language.nouns.get(role.is_, role.is_.replace('_', ' ').removesuffix('s'))}'"
        described = [language.describe[role.is_][role.by]] if role.by else []
        for description in (*described, *language.describe.get(role.is_, {}).values()) if role.take == "one" else ():
            texts = [f"{name}.{column}" for column in description.cols if tables[role.is_].columns[column].type == "text"]
            if texts and texts[0] not in told:
                return texts[0]
    return named


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
    return intent.model_copy(update={"tell": tuple(tells)})
