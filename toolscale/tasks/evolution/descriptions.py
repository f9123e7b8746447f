"""Evolutions that change what the request says of rows, not what is done: `obscure`, `distract`, `correct`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolscale.environment.environment import Environment
from toolscale.language.phrasing import alternatives
from toolscale.patterns import regex
from toolscale.records import Description, Intent, Request, Role
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.evolution.renaming import rename_places, rename_role
from toolscale.tasks.evolution.words import appended, free_name
from toolscale.tasks.message import MORE
from toolscale.tasks.names import matter_of

NOISE = "noise"


def obscure_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """Every role with a description, and every later description of its table."""
    for name, role in intent.roles.items():
        if (
            role.by is not None
            and role.first is None
            and role.take == "one"
            and not role.only_said
            and role.of is not None
        ):
            known = list(environment.spec.language.describe[role.is_])
            for other in known[known.index(role.by) + 1 :]:
                yield f"obscure {name}:{other}"


def obscure(environment: Environment, intent: Intent, target: str) -> Intent:
    """Name a role by another description of its table, vaguer or by a superlative."""
    name, _, by = target.partition(":")
    role = intent.roles.get(name)
    description = environment.spec.language.describe[role.is_].get(by) if role else None
    if role is None or description is None or role.by is None:
        raise Inapplicable(f"{target}: no such role with a description")
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
    when = (*intent.when, *_first_of_all(environment, intent, name, description))
    return intent.model_copy(update={"roles": {**intent.roles, name: role.model_copy(update={"by": by})}, "when": when})


def _columns(environment: Environment, role: Role) -> set[str]:
    return set(environment.spec.language.describe[role.is_][role.by].cols) if role.by else set()


def _leaned_on(environment: Environment, intent: Intent, name: str) -> set[str]:
    """Return the columns by which other roles are found that have words of their own without them (*that train*): the
    words of this role say them."""
    others = [role for other, role in intent.roles.items() if other != name and role.text is not None]
    return {column for role in others for column in _columns(environment, role) if column not in (role.text or "")}


def _first_of_all(environment: Environment, intent: Intent, name: str, description: Description) -> Iterator[str]:
    """Yield the condition that the row is first among all rows of its parent, not only among those that fit `where`,
    since the words of a superlative do not say `where`: *my oldest account* must be an active one."""
    role, schema = intent.roles[name], environment.schema
    if not description.first or role.where is None or "{adj}" in description.text or role.of is None:
        return
    key = schema.foreign_key(role.is_, intent.roles[role.of].is_)
    if key is None or intent.roles[role.of].take == "all":
        raise Inapplicable(f"{name} is first among rows of several parents")
    order, own = description.first.replace("{r}", "z"), description.first.replace("{r}", name)
    apart = " OR ".join(f"z.{column} <> {name}.{column}" for column in schema.tables[role.is_].key)
    yield (
        f"NOT EXISTS (SELECT 1 FROM {role.is_} z WHERE z.{key[0]} = {role.of}.{key[1]} "
        f"AND ({order}) <= ({own}) AND ({apart}))"
    )


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


def distract_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """Every role whose table has another row that can be named."""
    for name, role in intent.roles.items():
        if role.take == "one" and role.of is not None and not role.only_said and not role.first:
            yield f"distract {name}"


def distract(environment: Environment, intent: Intent, name: str) -> Intent:
    """Mention a second row of a table that the plan uses, with which nothing is to be done."""
    asides = environment.spec.language.asides.get(intent.roles[name].is_ if name in intent.roles else "")
    if not asides:
        raise Inapplicable("no role of that name, or no asides about its table")
    noise = free_name(intent, NOISE)
    role, apart = lookalike(environment, intent, name, noise)
    return intent.model_copy(
        update={
            "roles": {**intent.roles, noise: role},
            "when": (*intent.when, *apart),
            "requests": appended(intent.requests, rename_places(alternatives(asides), {NOISE: noise}), name, last=True),
        }
    )


def correct_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """Every slot that is drawn, and every role at the end of a line, that a request names once."""
    parents = {role.of for role in intent.roles.values()}
    for name, slot in intent.slots.items():
        if (
            slot.kind in ("money", "date", "time", "duration")
            and not slot.taken_back
            and (len(slot.from_) > 1 or slot.sql)
        ):
            yield f"correct {name}"
    for name, role in intent.roles.items():
        exact = role.by and not role.first and environment.spec.language.describe[role.is_][role.by].cols
        if exact and role.take == "one" and role.of and name not in parents and not role.only_said:
            yield f"correct {name}"


def _is_alone(intent: Intent, name: str) -> bool:
    """Whether nothing else that is said could be meant by another value of this kind: no slot of the kind, no row of
    the table."""
    if name in intent.slots:
        return sum(slot.kind == intent.slots[name].kind for slot in intent.slots.values()) == 1
    return sum(role.is_ == intent.roles[name].is_ for role in intent.roles.values()) == 1


def _by_who_corrects(environment: Environment, requests: Sequence[Request]) -> Sequence[Request]:
    """Return the requests as those write them who take back what they wrote."""
    personas = environment.spec.language.personas
    who = [name for name, persona in personas.items() if persona.corrects]
    if len(who) == len(personas):
        return requests
    return [
        Request.model_construct(say=request.say, persona=name)
        for request in requests
        for name in ([request.persona] if request.persona else who)
        if name in who
    ]


def correct(environment: Environment, intent: Intent, name: str) -> Intent:
    """Say another value or row first and take it back: the last word counts."""
    corrections = environment.spec.language.corrections
    once = regex(r"\{" + name + r"[\^|}]")
    more = f"{{{MORE}{matter_of(name)}}}"
    usable = [
        request
        for request in _by_who_corrects(environment, intent.requests)
        if len(once.findall(request.say)) == 1
        and once.search(request.say.partition(more)[0])
        and f"{{{name}." not in request.say
    ]
    if not corrections or not usable:
        raise Inapplicable(f"{name} is not named exactly once, before more is said")
    was = free_name(intent, f"was_{name}")
    clear = corrections if _is_alone(intent, name) else [text for text in corrections if "{old}" in text]
    words = rename_places(alternatives(clear), {"new": name, "old": was})
    said = tuple(
        Request.model_construct(say=once.sub(lambda m: m[0].replace(name, was), r.say), persona=r.persona)
        for r in usable
    )
    update: dict[str, object] = {"requests": appended(said, words, name)}
    if name in intent.slots:
        update["slots"] = {**intent.slots, was: intent.slots[name].model_copy(update={"taken_back": True})}
        apart: tuple[str, ...] = (f"say.{was} <> say.{name}",)
    else:
        role, apart = lookalike(environment, intent, name, was)
        update["roles"] = {**intent.roles, was: role.model_copy(update={"taken_back": True})}
    return intent.model_copy(update={**update, "when": (*intent.when, *apart)})
