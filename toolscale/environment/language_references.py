"""References of `language.yaml`: tables, columns, roles, tools and parameters that its words name, and the places that
its sentences must have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from toolscale.environment.complaints import correction, not_above, suggest, unknown
from toolscale.environment.known_names import IN_BRACES, SLOT, Names
from toolscale.errors import SpecIssue
from toolscale.language.heard import contains_words
from toolscale.language.phrasing import holds_always
from toolscale.records import Description, LanguageSpec, Private, Quantity

FILE = "language.yaml"

SENTENCES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "conditions": (("condition",), ("why", "noun")),
    "fallbacks": (("condition", "backup"), ("why", "noun")),
    "counts": ((), ("total",)),
}
"""Kind of sentence -> the places that it must have whatever alternatives are picked, and those that it may have."""

FRAMES = ("openings", "signatures")
"""Parts of a request that may name roles of its intent."""


def check_language(names: Names) -> Iterator[SpecIssue]:
    """Yield everything that `language.yaml` refers to and is not there."""
    language = names.language
    if language is None:
        return
    for table, descriptions in language.describe.items():
        yield from names.table(table, FILE, f"describe.{table}", is_key=True)
        for name, description in descriptions.items():
            yield from _description(names, table, description, f"describe.{table}.{name}")
    for name, quantity in language.quantities.items():
        yield from _quantity(names, quantity, f"quantities.{name}")
    for name, private in language.private.items():
        yield from _private(names, language, private, f"private.{name}")
    yield from _tables(names, language)
    yield from _acts(names, language)
    yield from _enum_cues(names, language)
    yield from _sentences(language)
    speaker = list(_speaker(names, language))
    yield from speaker or _frames(names, language)


def _speaker(names: Names, language: LanguageSpec) -> Iterator[SpecIssue]:
    """Yield that nobody, or somebody unknown, speaks the words of the base: told once, not for each of them."""
    roles = {role for intent in names.intents.intents for role in intent.roles} if names.intents else set()
    if language.base is None or (names.intents is None and language.speaker) or language.speaker in roles:
        return
    if language.speaker is None:
        yield SpecIssue(FILE, "speaker", "there is a base, and nobody speaks", "name the role that does")
    else:
        yield unknown("role", language.speaker, roles, FILE, "speaker")


def _description(names: Names, table: str, description: Description, place: str) -> Iterator[SpecIssue]:
    yield from names.columns(table, description.cols, FILE, f"{place}.cols")
    yield from _places(
        description.text, (*description.cols, "adj"), f"{place}.text", "is not one of cols", description.cols
    )
    if bool(description.cols) == (description.first is not None):
        yield SpecIssue(FILE, place, "a description has either cols or first", "give one of them")
    for cue in description.cues:
        if not holds_always(description.text, lambda text, cue=cue: contains_words(text, cue)):  # type: ignore[misc]
            yield SpecIssue(
                FILE,
                f"{place}.cues",
                f"the cue {cue!r} does not stand in its text",
                "write it into the text, in every alternative",
            )


def _places(
    text: str, known: Collection[str], place: str, problem: str, suggested: Collection[str] | None = None
) -> Iterator[SpecIssue]:
    for used in dict.fromkeys(SLOT.findall(text)):
        if used not in known:
            yield SpecIssue(
                FILE,
                place,
                f"{{{used}}} {problem}",
                suggest(used, known if suggested is None else suggested),
                correction(used, known if suggested is None else suggested, IN_BRACES),
            )


def _quantity(names: Names, quantity: Quantity, place: str) -> Iterator[SpecIssue]:
    wrong = list(_quantity_roles(names, quantity, f"{place}.roles"))
    yield from wrong
    if quantity.backup is not None and quantity.backup not in quantity.roles:
        yield unknown("role", quantity.backup, quantity.roles, FILE, f"{place}.backup")
    for read, call in quantity.reads.items():
        for tool, arguments in call.items():
            yield from names.call(tool, arguments, FILE, f"{place}.reads.{read}")
    for tool in quantity.tools if names.tools is not None else ():
        if tool not in (names.tools or {}):
            yield unknown("tool", tool, names.tools or {}, FILE, f"{place}.tools")
    if not quantity.steps:
        yield SpecIssue(
            FILE, f"{place}.steps", "there is no limit to draw", "give limits that the value may lie on either side of"
        )
    if names.tools is not None and not wrong:
        given = {*quantity.roles, *(name for tool in names.tools.values() for name in tool.parameters)}
        texts = {"value": quantity.value, "test": quantity.test, "about": quantity.about or ""}
        made = [
            (f"reads.{read}.{tool}", arguments)
            for read, call in quantity.reads.items()
            for tool, arguments in call.items()
        ]
        texts |= {f"{where}.{name}": text for where, arguments in made for name, text in arguments.items()}
        for where, text in texts.items():
            yield from _places(text, given, f"{place}.{where}", "is neither one of roles nor a parameter of a tool")
    unplaced = list(
        _places(quantity.text, {*quantity.roles, "limit"}, f"{place}.text", "is neither one of roles nor limit")
    )
    yield from unplaced
    yield from _places(quantity.noun, {*quantity.roles, "limit"}, f"{place}.noun", "is neither one of roles nor limit")
    if not unplaced and not holds_always(quantity.text, _names_place("limit")):
        yield SpecIssue(FILE, f"{place}.text", "it does not say {limit}", "write {limit} into it, in every alternative")


def _quantity_roles(names: Names, quantity: Quantity, place: str) -> Iterator[SpecIssue]:
    """Yield the tables that are not there, and the roles that no intent has: no request could ever put a condition on
    it."""
    pairs = (
        {(role, item.is_) for intent in names.intents.intents for role, item in intent.roles.items()}
        if names.intents is not None
        else set()
    )
    known = {role for role, _ in pairs}
    for role, table in quantity.roles.items():
        wrong = list(names.table(table, FILE, f"{place}.{role}"))
        yield from wrong
        if names.intents is None or role == quantity.backup:
            continue
        if role not in known:
            yield unknown("role", role, known, FILE, f"{place}.{role}", is_key=True)
        elif not wrong and (role, table) not in pairs:
            yield SpecIssue(
                FILE, f"{place}.{role}", f"no intent has a role {role} of {table}", "name its table, or another role"
            )


def _private(names: Names, language: LanguageSpec, private: Private, place: str) -> Iterator[SpecIssue]:
    above: list[str] = []
    for name, role in private.roles.items():
        here = f"{place}.roles.{name}"
        yield from names.table(role.is_, FILE, f"{here}.is")
        described = language.describe.get(role.is_, {})
        if (
            role.by is not None
            and role.by not in described
            and (names.schema is None or role.is_ in names.schema.tables)
        ):
            yield unknown(f"description of {role.is_}", role.by, described, FILE, f"{here}.by")
        if role.of is not None and role.of not in above:
            yield not_above(role.of, above, FILE, f"{here}.of")
        above.append(name)
    for number, ask in enumerate(private.asks):
        yield from _places(ask, private.roles, f"{place}.asks[{number}]", "is not one of roles")
    for number, tell in enumerate(private.withhold):
        if tell.each is not None and tell.each not in private.roles:
            yield unknown("role", tell.each, private.roles, FILE, f"{place}.withhold[{number}].each")


def _tables(names: Names, language: LanguageSpec) -> Iterator[SpecIssue]:
    for kind in ("adjectives", "plurals", "nouns", "totals", "referents"):
        for table in getattr(language, kind):
            yield from names.table(table, FILE, f"{kind}.{table}", is_key=True)
    for number, table in enumerate(language.shared):
        yield from names.table(table, FILE, f"shared[{number}]")
    for table, total in language.totals.items():
        yield from names.columns(table, (total.column,), FILE, f"totals.{table}.column")
        yield from _places(total.ask, (), f"totals.{table}.ask", "is no place here", ())


def _acts(names: Names, language: LanguageSpec) -> Iterator[SpecIssue]:
    for tool, text in language.acts.items() if names.tools is not None else ():
        tools = names.tools or {}
        if tool not in tools:
            yield unknown("tool", tool, tools, FILE, f"acts.{tool}", is_key=True)
        else:
            yield from _places(text, tools[tool].parameters, f"acts.{tool}", f"is not a parameter of {tool}")


def _enum_cues(names: Names, language: LanguageSpec) -> Iterator[SpecIssue]:
    if names.tools is None or names.world is None:
        return
    values = {
        str(value)
        for tool in names.tools.values()
        for schema in tool.parameters.values()
        for value in schema.get("enum", ())
    }
    for value in language.enum_cues:
        if value not in values:
            yield unknown("enum value", value, values, FILE, f"enum_cues.{value}", is_key=True)


def _sentences(language: LanguageSpec) -> Iterator[SpecIssue]:
    for kind, (needed, allowed) in SENTENCES.items():
        for number, text in enumerate(getattr(language, kind)):
            place = f"{kind}[{number}]"
            unplaced = list(_places(text, (*needed, *allowed), place, f"is no place of {kind}"))
            yield from unplaced
            lost = [name for name in needed if not unplaced and not holds_always(text, _names_place(name))]
            if lost:
                shown = " and ".join(f"{{{name}}}" for name in lost)
                yield SpecIssue(
                    FILE, place, f"{_brief(text)} lacks {shown}", f"write {shown} into it, in every alternative"
                )


def _names_place(name: str) -> Callable[[str], bool]:
    return lambda text: name in SLOT.findall(text)


def _frames(names: Names, language: LanguageSpec) -> Iterator[SpecIssue]:
    if names.intents is None:
        return
    roles = {role for intent in names.intents.intents for role in intent.roles}
    parts = {kind: getattr(language, kind) for kind in FRAMES}
    parts |= {
        f"personas.{name}.{kind}": getattr(persona, kind)
        for name, persona in language.personas.items()
        for kind in FRAMES
    }
    for kind, texts in parts.items():
        for number, text in enumerate(texts):
            for used in dict.fromkeys(SLOT.findall(text)):
                if used not in roles:
                    yield unknown("role", used, roles, FILE, f"{kind}[{number}]", shape=IN_BRACES)


def _brief(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
