"""Part of the gate `grounded`, for dialogues: what is held back is not in the request, and whoever asks for it gets
it."""

from __future__ import annotations

from toolscale.environment.column_kinds import kind_of_column
from toolscale.language.heard import Heard
from toolscale.language.inquiries import read_inquiry
from toolscale.records import Candidate, FactKind, Reply, Tense
from toolscale.tasks.channel import context_of
from toolscale.tasks.dialogue import askable, question_for
from toolscale.verify.subject import Subject


def undisclosed(subject: Subject) -> str | None:
    """Return what is wrong with the replies of a dialogue, or None; None for what is no dialogue."""
    candidate = subject.candidate
    signed_in = context_of(subject.plan, subject.environment, subject.inputs.said)
    if candidate.context not in ("", signed_in):
        return f"the desk says {candidate.context!r} of the person, and knows {signed_in!r}"
    if candidate.turns != "dialogue":
        return "a request with replies is no dialogue" if candidate.replies else None
    if not candidate.held and not candidate.agenda:
        return "nothing is held back: the request says all"
    known = [(each.about, each.sort, each.kind, each.words) for each in askable(subject.plan, subject.environment)]
    if [(each.about, each.sort, each.kind, each.words) for each in candidate.replies] != known:
        return f"the plan can be asked for {', '.join(about for about, *_ in known)}; the replies answer otherwise"
    values = _values_of(subject)
    held = {reply.about for reply in candidate.held}
    besides = {value for about, said in values.items() if about.partition(".")[0] not in held for _, value, _ in said}
    opening = Heard(candidate.request, subject.today)
    for reply in candidate.held:
        said = values.get(reply.about)
        if said is None:
            return f"the plan knows nothing of {reply.about}, which is held back"
        # *My booking* is still left open where it is to be moved to another show of the same film.
        own = [each for each in said if reply.sort != "row" or each[1] not in besides]
        if own and all(opening.states(*each) for each in own):
            return f"the request says {reply.about}, which is to be told only when asked"
        told = Heard(reply.says, subject.today)
        for kind, value, tense in said:
            if not told.states(kind, value, tense):
                return f"asked for {reply.about}, the person says {reply.says!r}, which does not read as {value!r}"
        if (problem := _deaf(candidate, (reply,))) is not None:
            return problem
    return _deaf(candidate, candidate.held)


def _deaf(candidate: Candidate, asked: tuple[Reply, ...]) -> str | None:
    """Return what the person would answer wrongly if all of these were asked for."""
    question, wanted = question_for(asked), tuple(reply.about for reply in asked)
    about = read_inquiry(question, candidate.replies).about
    return None if about == wanted else f"{question!r} is heard as asking for {', '.join(about) or 'nothing'}"


def _values_of(subject: Subject) -> dict[str, list[tuple[FactKind, str | int, Tense | None]]]:
    """Return what each reply has to say: (kind, value, tense)."""
    found: dict[str, list[tuple[FactKind, str | int, Tense | None]]] = {}
    for name, slot in subject.plan.intent.slots.items():
        found[name] = [(slot.kind, subject.candidate.say[name], slot.tense)]
    for name, columns in subject.inputs.said.items():
        role = subject.plan.roles[name]
        types = subject.environment.schema.tables[role.table].columns
        tense = role.description.tense if role.description else None
        for column, value in columns.items():
            told = (kind_of_column(column, types[column].type), value, tense)
            found.setdefault(name, []).append(told)
            found[f"{name}.{column}"] = [told]
    return found
