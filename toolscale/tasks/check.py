"""What is wrong with the intents of an environment: plans, case queries and phrasings, all issues at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from toolscale.config import STREAM_DRAWS
from toolscale.environment.environment import Environment, sound_part
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SpecIssue
from toolscale.language.heard import contains_words
from toolscale.language.mentions import mentions
from toolscale.language.phrasing import expand_choices, holds_always
from toolscale.language.render import render
from toolscale.records import Intent
from toolscale.sandbox.base import Rows
from toolscale.tasks.asking import unasked_personas
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.broken_words import check_broken
from toolscale.tasks.compiler import PlanCompiler, compile_plans
from toolscale.tasks.dialogue import speaker_of
from toolscale.tasks.evolution import Inapplicable, evolve
from toolscale.tasks.frames import JOINT, missing
from toolscale.tasks.message import MORE, PLACE
from toolscale.tasks.plan import RulePlan
from toolscale.tasks.queries import compile_case
from toolscale.tasks.rule_check import check_breakable, check_rule_cases
from toolscale.tasks.word_check import check_words, issues_of

FRAMES = "frames.yaml"
LONGEST_CHOICE = 64
"""Alternatives of one bracket that are looked at."""


def check_intents(environment: Environment, known: Sequence[SpecIssue] = ()) -> list[SpecIssue]:
    """Return every issue of rules, words and intents that only their compilation shows. What a known issue is about is
    not compiled."""
    cases = [*check_rule_cases(environment, known)]
    compiler = PlanCompiler(sound_part(environment, [*known, *cases]))
    rules = compiler.compile_rules()
    issues = [*cases, *check_words(environment), *check_broken(environment)]
    issues += [issue for intent in environment.spec.intents.intents for issue in check_phrasings(intent, environment)]
    for intent in sound_part(environment, [*known, *cases, *compiler.issues]).spec.intents.intents:
        plan = compiler.compile_intent(intent, rules)
        if plan is not None:
            issues += issues_of(partial(compile_case, environment, plan))
    return [*compiler.issues, *issues, *check_constants(environment), *check_frames(environment, compiler, rules)]


def check_frames(
    environment: Environment, compiler: PlanCompiler, rules: Mapping[str, RulePlan]
) -> Iterator[SpecIssue]:
    """Yield the shapes of `frames.yaml` that the intents do not have, messages that stand there twice, those of shapes
    that are retired, and those whose places are not those of their shape."""
    spec, seen = environment.spec.frames, set[tuple[str, str]]()
    for number, unasked in enumerate(spec.nobody):
        place = f"nobody[{number}]"
        yield from _unknown_writers(f"{place}.by", spec.writers, *unasked.by)
        if isinstance(found := _shape(environment, unasked.shape), str):
            yield SpecIssue(FRAMES, f"{place}.shape", found, "leave it out")
    for number, each in enumerate(spec.frames):
        place = f"frames[{number}]"
        yield from _unknown_writers(f"{place}.by", spec.writers, each.by)
        if isinstance(found := _shape(environment, each.shape), str):
            yield SpecIssue(FRAMES, f"{place}.shape", found, "`toolscale phrase` lists the shapes")
            continue
        if each.shape in spec.retired:
            problem = f"{each.shape!r} is retired: it stands under nobody"
            yield SpecIssue(FRAMES, f"{place}.shape", problem, "leave out its messages, or the entry under nobody")
        plan = compiler.compile_intent(found, rules)
        speaker = speaker_of(plan, environment.spec.language) if plan is not None else None
        for position, frame in enumerate(each.say if plan is not None else ()):
            where, lacking = f"{place}.say[{position}]", missing(frame.say, plan, speaker) if plan is not None else []
            if lacking:
                remedy = "write all places of the shape, and no others"
                yield SpecIssue(FRAMES, where, f"{frame.say!r} lacks or cannot have {', '.join(lacking)}", remedy)
            if (each.shape, frame.say) in seen:
                yield SpecIssue(FRAMES, where, f"{frame.say!r} stands there twice", "leave one out")
            seen.add((each.shape, frame.say))


def _unknown_writers(place: str, writers: Collection[str], *by: str) -> Iterator[SpecIssue]:
    for writer in by:
        if writer not in writers:
            yield SpecIssue(FRAMES, place, f"unknown writer {writer!r}", "name one of writers")


def _shape(environment: Environment, shape: str) -> Intent | str:
    """Return what an intent is made by the evolutions of a shape, or why there is no such shape."""
    intent_id, *lines = shape.split(JOINT)
    try:
        return evolve(environment, {intent.id: intent for intent in environment.spec.intents.intents}, intent_id, lines)
    except (Inapplicable, KeyError) as error:
        return f"there is no shape {shape!r}: {error}"


def check_rows(environment: Environment, rows: Rows | None = None) -> list[SpecIssue]:
    """Return the rules that nothing can break and the intents that no rows fit, on the rows of seed 0 (made here unless
    they are given). Every rule and intent must compile."""
    rows = populate(environment) if rows is None else rows
    _, rules = compile_plans(environment)
    with World(environment, rows) as world:
        issues = check_breakable(environment, rules, rows, world)
        sound = sound_part(environment, issues)
        source = CandidateSource(sound, world)
        for intent in sound.spec.intents.intents:
            if all(source.draw(0, source.number(intent.id, turn)) is None for turn in range(STREAM_DRAWS)):
                problem = f"no rows fit it in {STREAM_DRAWS} draws" + (
                    f", when {' AND '.join(intent.when)!r}" if intent.when else ""
                )
                remedy = "plant such rows in population.yaml, or ask less of its roles and of when"
                issues.append(SpecIssue("intents.yaml", f"intents[{intent.id}]", problem, remedy))
    return issues


def check_constants(environment: Environment) -> Iterator[SpecIssue]:
    """Yield the amounts of `rules.yaml` that `policy.md` does not name: an agent can only obey what it reads."""
    named = mentions(environment.spec.policy_text, environment.spec.world.today)
    found = {reading for mention in named if mention.kind == "money" for reading in mention.readings}
    for name, value in environment.spec.policy.constants.items():
        if name.endswith("_cents") and value not in found:
            amount = render(value, "money", environment.spec.world.today)
            yield SpecIssue(
                "rules.yaml",
                f"constants.{name}",
                f"policy.md does not say {amount}",
                "write the amount into the policy, or correct it",
            )


def check_phrasings(intent: Intent, environment: Environment) -> Iterator[SpecIssue]:
    """Yield the slots and cues that some choice of alternatives of a request leaves out."""
    place = f"intents[{intent.id}]"
    yield from _ask_issues(intent, place)
    lost: dict[tuple[str, str], list[int]] = {}
    partly: dict[tuple[str, int], list[str]] = {}
    known = {*intent.roles, *intent.slots, MORE}
    whole = [
        number
        for number, request in enumerate(intent.requests)
        if {match.group(1) for match in PLACE.finditer(request.say)} <= known
    ]
    for number in whole:  # a place that is neither a role nor a slot is told where references are
        request = intent.requests[number]
        for name in intent.slots:
            if not holds_always(request.say, _says(name)):
                yield SpecIssue(
                    "intents.yaml",
                    f"{place}.requests[{number}]",
                    f"the slot {name} is not said",
                    f"write {{{name}}} into it, in every alternative",
                )
        for name, cue in _lost_cues(intent, environment, request.say):
            lost.setdefault((name, cue), []).append(number)
    for (name, cue), numbers in lost.items():
        if numbers == whole:
            problem, remedy = f"no request says the cue {cue!r}", f"say it, or {{{name}}} where its words hold it"
            yield SpecIssue("intents.yaml", f"{place}.roles.{name}.cues", problem, remedy)
        else:
            for number in numbers:
                partly.setdefault((name, number), []).append(repr(cue))
    for (name, number), cues in partly.items():
        problem = (
            f"the cue {cues[0]} of {name} is not in it"
            if len(cues) == 1
            else f"the cues {' and '.join(cues)} of {name} are not in it"
        )
        yield SpecIssue(
            "intents.yaml",
            f"{place}.requests[{number}]",
            problem,
            f"say {{{name}}}, or the cue itself, in every alternative",
        )


def _ask_issues(intent: Intent, place: str) -> Iterator[SpecIssue]:
    """Yield what makes questions apart from the deed useless: nothing to tell, or nobody who could ask them."""
    if intent.asks and (intent.outcome != "fulfil" or not intent.do or not intent.tell):
        problem = "only what is fulfilled, does something and tells something can ask apart from what it asks for"
        yield SpecIssue("intents.yaml", f"{place}.asks", problem, "write the question into requests")
    for persona in unasked_personas(intent):
        yield SpecIssue(
            "intents.yaml",
            f"{place}.asks",
            f"nobody like {persona!r} asks, who has a request",
            f"add one for {persona}, or for anybody",
        )


def _says(name: str) -> Callable[[str], bool]:
    return lambda text: any(match.group(1) == name for match in PLACE.finditer(text))


def _lost_cues(intent: Intent, environment: Environment, say: str) -> Iterator[tuple[str, str]]:
    """Yield (role, cue) of each cue that some choice of alternatives leaves out."""
    describe = environment.spec.language.describe

    def spoken(text: str) -> str:
        said = [
            intent.roles[name]
            for name in dict.fromkeys(match.group(1) for match in PLACE.finditer(text))
            if name in intent.roles
        ]
        described = [describe.get(role.is_, {}).get(role.by or "") for role in said]
        return " ".join(
            [text, *(role.text or (words.text if words else "") for role, words in zip(said, described, strict=True))]
        )

    def always_says(cue: str, text: str) -> bool:
        return holds_always(spoken(text), lambda part: contains_words(part, cue))

    for name, role in intent.roles.items():
        for cue in role.cues:
            apart = holds_always(say, partial(always_says, cue))
            if not apart and not all(contains_words(spoken(text), cue) for text in _expansions(say)):
                yield name, cue


def _expansions(say: str) -> Iterator[str]:
    """Yield the request with each alternative of each bracket picked once: a cue may begin in one and end outside."""
    for turn in range(LONGEST_CHOICE):
        yield expand_choices(say, lambda count, turn=turn: turn % count)  # type: ignore[misc]
