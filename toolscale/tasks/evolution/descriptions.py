"""`obscure`: the request calls a row otherwise, and the same is done. What else calls rows, for other evolutions."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.environment.environment import Environment
from toolscale.records import Intent, Role
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.evolution.renaming import rename_role


def obscure_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """Every role with a description, and every later description of its table that is none by rank: people call a thing
    by what it is."""
    for name, role in intent.roles.items():
        if (
            role.by is not None
            and role.first is None
            and role.take == "one"
            and not role.only_said
            and role.of is not None
        ):
            known = environment.spec.language.describe[role.is_]
            for other in list(known)[list(known).index(role.by) + 1 :]:
                if known[other].first is None:
                    yield f"obscure {name}:{other}"


def obscure(environment: Environment, intent: Intent, target: str) -> Intent:
    """Name a role by another description of its table."""
    name, _, by = target.partition(":")
    role = intent.roles.get(name)
    description = environment.spec.language.describe[role.is_].get(by) if role else None
    if role is None or description is None or role.by is None:
        raise Inapplicable(f"{target}: no such role with a description")
    if description.first is not None:
        raise Inapplicable(f"{by} calls it by rank")
    if any("{" + f"{name}." in request.say for request in intent.requests):
        raise Inapplicable(f"{name} is named by its columns")
    labels = {
        column
        for tell in intent.tell
        if tell.about and tell.about.startswith(f"{name}.")
        for column in (tell.about.partition(".")[2],)
    }
    if not labels <= set(description.cols):
        raise Inapplicable(f"a fact is labelled by how {name} is called")
    if _leaned_on(environment, intent, name) & (_columns(environment, role) - set(description.cols)):
        raise Inapplicable(f"another role is known by what is said of {name}")
    return intent.model_copy(update={"roles": {**intent.roles, name: role.model_copy(update={"by": by})}})


def _columns(environment: Environment, role: Role) -> set[str]:
    return set(environment.spec.language.describe[role.is_][role.by].cols) if role.by else set()


def _leaned_on(environment: Environment, intent: Intent, name: str) -> set[str]:
    """Return the columns by which other roles are found that have words of their own without them (*that train*): the
    words of this role say them."""
    others = [role for other, role in intent.roles.items() if other != name and role.text is not None]
    return {column for role in others for column in _columns(environment, role) if column not in (role.text or "")}


def lookalike(environment: Environment, intent: Intent, name: str, other: str) -> tuple[Role, tuple[str, ...]]:
    """Return a role that is another row of the same table, described by columns, and the conditions that nobody takes
    it for a row of the request."""
    role = intent.roles[name]
    descriptions = environment.spec.language.describe.get(role.is_, {})
    by = (
        role.by
        if role.by and descriptions[role.by].cols
        else next((key for key, item in descriptions.items() if item.cols), None)
    )
    if role.take != "one" or role.of is None or by is None or intent.roles[role.of].take == "all":
        raise Inapplicable(f"{name} has no second row that could be named")
    made = rename_role(role, {name: other}).model_copy(
        update={"by": by, "text": None, "first": None, "cues": (), "only_said": True}
    )
    differing = (*environment.schema.tables[role.is_].key, *descriptions[by].cols)
    alike = [key for key, item in intent.roles.items() if item.is_ == role.is_ and item.take == "one"]
    return made, tuple(f"{other}.{column} <> {key}.{column}" for key in alike for column in differing)
