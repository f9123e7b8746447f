"""Gates `grounded`, `not_leaked` and `case_agrees`: the request says what the plan needs, no more, and means the rows
it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from toolscale.environment.column_kinds import kind_of_column, values_of_column
from toolscale.language.heard import Heard
from toolscale.language.mentions import Mention
from toolscale.language.render import render
from toolscale.patterns import regex
from toolscale.records import Candidate, FactKind, Intent, Tell, Tense
from toolscale.tasks.asking import is_owed, is_pried
from toolscale.tasks.names import columns_of
from toolscale.tasks.phrase import FORM_OF_KIND
from toolscale.tasks.plan import Plan
from toolscale.verify.disclosure import undisclosed
from toolscale.verify.subject import Subject

VALUES = ("money", "date", "digits", "id")
"""Kinds of mentions that are values of the case, never words of the language."""

CLOCKED = ("time", "duration")
"""Kinds that are values too where the domain has columns of them; elsewhere *at nine* and *half an hour* are small
talk."""


def ungrounded(subject: Subject) -> str | None:
    """Return what the request fails to say, or None: every slot and described column in a typed round trip, every
    cue."""
    if (problem := undisclosed(subject)) is not None:
        return problem
    heard = subject.heard
    for name, slot in subject.plan.intent.slots.items():
        value = subject.candidate.say[name]
        if not heard.states(slot.kind, value, slot.tense):
            return _unread(heard, name, slot.kind, value, slot.tense)
        if (
            slot.kind in (*VALUES, *CLOCKED)
            and name in _argument_slots(subject.plan)
            and not _is_said_flatly(subject, slot.kind, value, slot.tense)
        ):
            return f"the request gives {name} = {value!r} as a bound, and a call takes it as it is"
    for name, role in subject.plan.roles.items():
        if name not in subject.recording.chosen:
            continue
        columns = subject.environment.schema.tables[role.table].columns
        for column, value in subject.inputs.said.get(name, {}).items():
            kind, tense = (
                kind_of_column(column, columns[column].type),
                role.description.tense if role.description else None,
            )
            if not heard.states(kind, value, tense):
                return _unread(heard, f"{name}.{column}", kind, value, tense)
        cues = (*role.role.cues, *(role.description.cues if role.description else ()))
        for cue in cues:
            if not heard.says(cue):
                return f"the request lacks the cue {cue!r} of {name}"
    return _enum_without_cue(subject) or _unaccounted(subject) or _unasked(subject)


def _unread(heard: Heard, name: str, kind: FactKind, value: Any, tense: Tense | None) -> str:
    """Say that a value is not said, how the values of its kind that stand in the request were read instead, and what
    would be read as it."""
    found = [_shown(heard.text, mention) for mention in heard.mentions(tense) if mention.kind == kind]
    words = "these words do not stand in it" if kind in ("text", "name") else f"no {kind} stands in it"
    works = render(value, FORM_OF_KIND[kind], heard.today, tense)
    return (
        f"the request does not say {name} = {value!r} in a way that reads back as exactly that: "
        f"{', '.join(found) or words}; said as {works!r} it does"
    )


def _shown(request: str, mention: Mention) -> str:
    before = _BEFORE.search(request, max(0, mention.start - _NEAR), mention.start)
    start = before.start() if before else mention.start
    readings = " or ".join(sorted(map(str, mention.readings)))
    how = {"hedge": " (hedged)", "bound": " (a bound)", "denied": " (denied)"}.get(mention.qualifier or "", "")
    return f"{request[start : mention.end]!r} reads as {readings}{how}"


_BEFORE = regex(r"(?:\S+\s+){0,2}$")
"""Words before a value that may hedge, bound or deny it."""

_NEAR = 40
"""Characters before a value in which they stand."""

_ASKING = regex(
    r"\?|\b(?:(?:what|how|who|when|where)s?|which|whose|why|whether|tell|inform|know|state|stating|confirm|report|hear|list|specify|say|"
    r"(?:please|kindly|and) name|read|remind|require"
    r"|provide|determine|learn|let me have|count|"
    r"add up|total|number|sum|amount|digits|find out|look up|show)\b",
    re.IGNORECASE,
)
"""Words of which a request that wants to be told something has one. The list is wide: it is there to find requests that
ask nothing at all."""

_MATTER = regex(r"[a-z](_\d+)\b")
_ROLE = regex(r"\b([a-z]\w*)\.")
_WANTING = regex(r"\b(?:need (?:the|its|his|her|their|your)|give)\b(?P<wanted>[^.?!\n]*)", re.IGNORECASE)
"""Words that ask to be told something if what they want is a fact: the professor, but not the deposit back. *I'd like
the voucher* wants the voucher."""


def _unasked(subject: Subject) -> str | None:
    """Return the first fact of a matter that asks nothing at all. Whether a message asks for *this* fact is for a
    person to read. What the person of a dialogue answers asks nothing."""
    intent = subject.plan.intent
    if intent.outcome != "fulfil" or not subject.facts:
        return None
    for suffix, said in _messages(subject.candidate):
        own = [tell for tell in intent.tell if _matter(intent, tell) == suffix and not is_pried(tell)]
        due = intent.tell if suffix is None else own
        if not all(is_owed(intent, tell) for tell in due) and not _asks(intent, said.replace("to say", "")):
            fact = subject.facts[0]
            return f"the request asks nothing, and the {fact.kind} {fact.value} must be told"
    return None


def _messages(candidate: Candidate) -> Iterator[tuple[str | None, str]]:
    """Yield what is said of each matter, with what its names end in; all at once where it is one message. Of what is
    somebody else's nothing is told, whoever asks for it."""
    if not candidate.agenda:
        yield None, candidate.request
        return
    lines = [line for line in candidate.evolutions if line.startswith(("compose ", "pry "))]
    yield "", candidate.request
    composed = 1
    for line, said in zip(lines, candidate.agenda, strict=False):
        if line.startswith("compose "):
            composed += 1
            yield f"_{composed}", said


def _matter(intent: Intent, tell: Tell) -> str | None:
    """What the names in a fact end in; None for a fact about the person, whom all matters share."""
    found = _MATTER.search(f"{tell.is_} {tell.about or ''}")
    if found:
        return found[1]
    shared = {name for name, role in intent.roles.items() if role.of is None and role.by == "identity"}
    return None if {*_ROLE.findall(tell.is_)} <= shared else ""


def _asks(intent: Intent, text: str) -> bool:
    if _ASKING.search(text):
        return True
    told = {word for tell in intent.tell for word in re.findall(r"[a-z]{3,}", tell.what or "")}
    return any(
        told & {*(words := re.findall(r"[a-z]{3,}", found["wanted"].lower())), *(word.rstrip("s") for word in words)}
        for found in _WANTING.finditer(text)
    )


def _argument_slots(plan: Plan) -> set[str]:
    """Slots that are an argument of a call, and so more than a threshold."""
    sources = [expression.source for call in plan.calls() for expression in call.arguments.values()]
    return {column for source in sources for column in columns_of(source, "say", "intents.yaml", plan.intent.id)}


def _is_said_flatly(subject: Subject, kind: str, value: Any, tense: Tense | None) -> bool:
    found = subject.heard.mentions(tense)
    return any(m.kind == kind and m.qualifier is None and m.readings == {value} for m in found)


def _unaccounted(subject: Subject) -> str | None:
    """Return an amount, date, card ending or id of the request that no slot and no described row has, or None."""
    known: set[Any] = {str(value) for value in subject.candidate.say.values()} | {subject.today}
    known |= {str(value) for columns in subject.inputs.said.values() for value in columns.values()}
    heard = subject.heard
    found = (*heard.mentions(), *heard.either_way())
    explained = {m.start for m in found if known & {str(reading) for reading in m.readings}}
    for mention in heard.mentions():
        if mention.start not in explained and (
            mention.kind in VALUES or (mention.kind in CLOCKED and _has_columns_of(subject, mention.kind))
        ):
            said = heard.text[mention.start : mention.end]
            return f"the request says {said!r}, which the plan knows nothing of; say it as a slot, or leave it out"
    return None


def _has_columns_of(subject: Subject, kind: str) -> bool:
    columns = [item for table in subject.environment.schema.tables.values() for item in table.columns.items()]
    return any(kind == told for name, spec in columns for told, _ in values_of_column(name, spec.type, ""))


def _enum_without_cue(subject: Subject) -> str | None:
    cues = subject.environment.spec.language.enum_cues
    taken = [r.plan for r in subject.recording.calls if r.plan is not None] + [
        step for step, _ in subject.recording.forbidden
    ]
    for step in taken:
        for name, expression in step.arguments.items():
            if expression.is_literal and isinstance(expression.literal, str):
                words = cues.get(expression.literal, ())
                if not any(map(subject.heard.says, words)):
                    return (
                        f"{step.tool.spec.name}({name}={expression.literal!r}) has no cue in the request; "
                        f"one of {', '.join(words) or 'none given'}"
                    )
    return None


def leaked(subject: Subject) -> str | None:
    """Return the fact or tool name that the request gives away, or None."""
    heard = subject.heard
    for tool in subject.environment.tools if "_" in heard.text else ():
        if "_" in tool and heard.says(tool):
            return f"the request names the tool {tool}"
    # A threshold (`if the fee is under $1`) does not tell the figure that it is held against.
    said = {(m.kind, r) for m in heard.either_way() if m.qualifier != "bound" for r in m.readings}
    for fact in subject.facts:
        if fact.kind == "bool":
            continue
        given = (
            heard.says(str(fact.value)) if fact.kind in ("text", "id", "digits") else (fact.kind, fact.value) in said
        )
        if given:
            return f"the request already says what must be told: {fact.kind} {fact.value}"
    return None


def disagreement(subject: Subject) -> str | None:
    """Return the role for which the agent chose other rows than the case query picked, or None."""
    for name, rows in subject.recording.chosen.items():
        role = subject.plan.roles[name]
        picked = {tuple(key) for key in subject.candidate.bindings[name]}
        chosen = {tuple(row[column] for column in role.key) for row in rows}
        agrees = chosen <= picked if role.role.take == "any" else chosen == picked
        if not agrees:
            return f"{name}: the case is about {_listed(picked)}, the agent chose {_listed(chosen)}"
    return None


def _listed(keys: Iterable[tuple[object, ...]]) -> str:
    return ", ".join(sorted(" ".join(map(str, key)) for key in keys)) or "no row"
