"""Propose intents for a domain that exists: new wishes, then intents for them, each admitted with all others, with the
findings given back."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from toolscale.draft.appending import appended
from toolscale.draft.authoring_parts import parts_of
from toolscale.draft.blocks import parse_yaml, read_blocks
from toolscale.draft.brief import Wish
from toolscale.draft.candidates import best_of, calls_of, intents_cover, told
from toolscale.draft.digests import digest_of
from toolscale.draft.drafter import (
    FINDINGS,
    LEAST_KEPT,
    PART,
    ROUNDS,
    Check,
    Measure,
    Report,
    StepReport,
    anew,
    tell_round,
)
from toolscale.draft.entries import REMOVE, dump
from toolscale.draft.fields import fields_of
from toolscale.draft.meaning import meaning_of
from toolscale.draft.outline import INTENTS
from toolscale.draft.prompting import INTENT, derived_of, lookups_of, named_intents
from toolscale.draft.step_requests import MOST_SHOWN
from toolscale.environment.environment import Environment
from toolscale.errors import DraftError, SpecIssue
from toolscale.models.chat import ChatClient, ChatRequest
from toolscale.prompt_templates import prompt_template
from toolscale.records import Intent, Record
from toolscale.text_files import visible

FILE = "intents.yaml"
SHOWN = ("policy.md", "language.yaml")
"""Files that a model is shown whole."""

IN_SHORT = ("schema.yaml", "toolset.yaml", "rules.yaml")
"""Files that it is shown in short."""

PROPOSED = 9
"""Wishes that are asked for, unless somebody asks for another number."""

MOST_CHARACTERS = 20_000
"""Of one proposed intent as YAML; the longest of finance has some 3,000."""

MeasureSome = Callable[[Path, Collection[str]], Sequence[SpecIssue]]
"""What some intents of a folder yield, where that is nothing or little: each of these is a finding."""


class Wishes(Record):
    """What people might also ask for."""

    wishes: tuple[Wish, ...] = Field(description="kinds of requests that are not there yet")


@dataclass
class Proposer:
    """Proposes intents for an environment, in a copy of its folder in which every round leaves the intents as they are
    then."""

    client: ChatClient
    base: Environment
    """It is admitted."""
    folder: Path
    """The copy."""
    authoring: str
    """The page for authors."""
    check: Check
    measure: MeasureSome
    advise: Measure
    """What could be better about intents that are all sound; asked for once."""
    model: str
    """What `proposed_by` says."""
    wanted: int = PROPOSED
    rounds: int = ROUNDS
    candidates: int = 1
    """First replies that are asked for for each part; the best one is kept."""
    report: Report = lambda line: None
    wishes: tuple[Wish, ...] = ()
    proposed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Wish -> its intent, as it is written now."""
    dropped: dict[str, str] = field(default_factory=dict)
    """Wish -> why it has no intent."""
    step: StepReport = field(default_factory=lambda: StepReport(INTENTS.name))

    def __post_init__(self) -> None:
        self._asked: list[Any] = []
        self._unread = list[str]()
        """Replies that could not be taken whole, since the last request."""
        self._text = (self.base.folder / FILE).read_bytes().decode("utf-8")

    async def propose(self) -> None:
        """Write the intents into the folder. DraftError if none is sound after the last round; what a ChatClient
        raises."""
        self.report("wishes")
        self.wishes = await self._wishes()
        parts = [self.wishes[begin : begin + PART] for begin in range(0, len(self.wishes), PART)]
        samples = range(self.candidates)
        asked = await asyncio.gather(
            *(asyncio.gather(*(self._ask(part, (), sample) for sample in samples)) for part in parts)
        )
        findings = list[str]()
        for number, (part, replies) in enumerate(zip(parts, asked, strict=True), 1):
            findings += self._taken(self._best(part, replies, number))
        if await self._mend(findings):
            self._keep_sound()
        for wish in self.wishes:
            if wish.id not in self.proposed:
                self.dropped.setdefault(wish.id, "the model left it out")
        self.step.dropped = sorted(self.dropped)
        if not self.proposed:
            first = next(iter(self.dropped.values()))
            raise DraftError(
                f"{self.base.domain}: after {self.step.rounds} rounds none of {len(self.wishes)} proposed intents is "
                f"sound; the first: {first}"
            )

    def take(self, reply: str) -> list[str]:
        """Take the new intents of a reply into the folder; return what is wrong with the reply itself. What touches
        anything that exists is not taken."""
        found, wrong = read_blocks(reply, (FILE,))
        value = found.get(FILE, {})
        wrong += [f"{FILE}: {key}: it is no section here; write only `intents`" for key in value.keys() - _SECTIONS]
        entries, gone = value.get("intents") or [], value.get(REMOVE) or []
        if not isinstance(entries, list) or not isinstance(gone, list):
            return [*wrong, f"{FILE}: `intents` and `{REMOVE}` are lists; write each entry with a dash"]
        for entry in entries:
            if problem := self._problem(entry):
                wrong.append(problem)
            else:
                own = {key: inner for key, inner in entry.items() if key not in ("id", "title", "proposed_by")}
                head = {key: entry[key] for key in ("id", "title") if key in entry}
                self.proposed[entry["id"]] = {**head, "proposed_by": self.model, **own}
        for name in map(str, gone):
            if self.proposed.pop(name, None) is None:
                wrong.append(f"{FILE}: {REMOVE}: {name!r} is no intent of yours, and stays as it is")
        self.proposed = {wish.id: self.proposed[wish.id] for wish in self.wishes if wish.id in self.proposed}
        self._write()
        return [visible(line) for line in wrong]

    def _problem(self, entry: Any) -> str:
        """Return why an entry is not taken; empty if it is."""
        name = entry.get("id") if isinstance(entry, Mapping) else None
        if not isinstance(name, str):
            return f"{FILE}: intents: an entry has no id; write it under that of its wish"
        place = f"{FILE}: intents[{name[:80]}]"
        if name in self._existing():
            return f"{place}: it exists and stays as it is; write new intents only"
        if name not in {wish.id for wish in self.wishes}:
            return f"{place}: no wish has this id; write an intent under the id of its wish"
        if (length := len(dump({"intents": [entry]}))) > MOST_CHARACTERS:
            return f"{place}: it has {length:,} characters; write at most {MOST_CHARACTERS:,}"
        return ""

    async def _wishes(self) -> tuple[Wish, ...]:
        """Ask for new wishes. UnusableReplyError if two replies have none that can be used."""
        writing = [name for name, tool in self.base.tools.items() if tool.mutates_state]
        entries = self._entries()
        calls = Counter(tool for entry in entries for tool in dict.fromkeys(calls_of(entry.get("do"))))
        broken = {str(entry.get("rule")) for entry in entries}
        prompt = prompt_template("toolscale.draft", "wishes.md.jinja").render(
            **self._told(),
            used=[f"{name} {calls[name]}" for name in sorted(writing, key=lambda name: calls[name])],
            unbroken=[name for name in self.base.spec.policy.rules if name not in broken],
            wishes=self.wanted,
        )
        request = ChatRequest(
            "wishes", ({"role": "user", "content": prompt},), schema=Wishes.model_json_schema(), max_tokens=8_000
        )
        value = await self.client.ask_json(request, self._wish_findings)
        return Wishes.model_validate(value).wishes

    def _wish_findings(self, value: Any) -> list[str]:
        """Return what is wrong with wishes that fit their schema, a line each."""
        try:
            wishes = Wishes.model_validate(value).wishes
        except ValidationError as error:
            return [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False)]
        there = {_plain(entry.get("title") or ""): str(entry["id"]) for entry in self._entries()}
        found, ids, said = list[str](), self._existing(), dict[str, str]()
        for wish in wishes:
            if wish.id in ids:
                found.append(f"wishes: {wish.id!r} is there already; write one that differs")
            elif same := (there.get(_plain(wish.wish)) or said.get(_plain(wish.wish))):
                found.append(f"wishes: {wish.id!r} is {same!r} again; write one that differs")
            ids, said = ids | {wish.id}, {**said, _plain(wish.wish): wish.id}
        if len(wishes) < self.wanted:
            found.append(f"wishes: {len(wishes)}; write {self.wanted} or more")
        return found[:FINDINGS]

    def _best(self, part: Sequence[Wish], replies: Sequence[str], number: int) -> str:
        """Return the best of the first replies to a part, and note the score of each."""
        if len(replies) == 1:
            return replies[0]
        reply, scores = best_of(
            replies,
            self.folder,
            lambda folder, reply: replace(self, folder=folder, proposed=dict(self.proposed)).take(reply),
            lambda folder: len(self.check(folder)),
            lambda folder: intents_cover(folder, part),
            number,
        )
        self.step.candidates += scores
        for score in scores:
            self.report(f"intents part {number}: {told(score)}")
        return reply

    async def _mend(self, findings: list[str]) -> bool:
        """Have the intents corrected until there are no findings; return whether some are left after the last
        round."""
        sound: dict[str, dict[str, Any]] | None = None  # as it was before it was to become better
        while True:
            self.step.rounds += 1
            issues = self._issues()
            if not issues:
                findings += self._missing()
            if not issues and not findings:
                issues = [*self.measure(self.folder, self.proposed)]
                if not issues and sound is None and self.step.rounds < self.rounds:
                    sound, issues = dict(self.proposed), [*self.advise(self.folder)]
            findings += [visible(str(issue)) for issue in issues]
            self.step.findings.append(len(findings))
            tell_round(self.report, INTENTS.name, self.step.rounds, findings)
            if findings and self.step.rounds == self.rounds and sound is not None:
                self.proposed, findings = sound, []
                self._write()
                self.measure(self.folder, self.proposed)
            if not findings or self.step.rounds == self.rounds:
                return bool(findings)
            findings = self._taken(await self._ask(self.wishes, findings[:FINDINGS]))

    def _taken(self, reply: str) -> list[str]:
        """Take a reply, and keep one that is not taken whole, to be shown again."""
        if wrong := self.take(reply):
            self._unread.append(reply[:MOST_SHOWN])
        return wrong

    def _issues(self) -> list[SpecIssue]:
        """Return what is wrong with the folder: what the checks find, and intents that ask for what others ask for."""
        return [*self.check(self.folder), *self._repeats()]

    def _repeats(self) -> list[SpecIssue]:
        known = {meaning_of(entry): str(entry["id"]) for entry in self._entries()}
        found = []
        for name, entry in self.proposed.items():
            other = known.setdefault(meaning_of(entry), name)
            if other != name:
                problem = f"it asks for what {other} asks for: the same rows, calls and facts"
                found.append(
                    SpecIssue(FILE, f"intents[{name}]", problem, f"let it want something else, or {REMOVE} it")
                )
        return found

    def _missing(self) -> list[str]:
        """Return one finding if too many wishes have no intent."""
        missing = [wish.id for wish in self.wishes if wish.id not in self.proposed]
        if len(self.proposed) >= LEAST_KEPT * len(self.wishes):
            return []
        return [f"{FILE}: intents: none for the wishes {', '.join(missing)}; write an intent for each, under its id"]

    def _keep_sound(self) -> None:
        """Drop the intents that could not be mended, until nothing is found about those that are left."""
        while self.proposed:
            issues = self._issues() or [*self.measure(self.folder, self.proposed)]
            faulty = [(found[1], issue) for issue in issues if (found := INTENT.match(issue.place))]
            names = {name for name, _ in faulty} & self.proposed.keys()
            if not issues:
                return
            if not names:
                raise DraftError(f"{self.base.domain}: after {self.step.rounds} rounds this is left: {issues[0]}")
            for name, issue in faulty:
                self.dropped.setdefault(name, visible(str(issue)))
            self.proposed = {name: entry for name, entry in self.proposed.items() if name not in names}
            self._write()

    async def _ask(self, wishes: Sequence[Wish], findings: Sequence[str], sample: int = 0) -> str:
        """Return the reply of the model to a part of the wishes, or to the findings."""
        named = named_intents(findings) | {wish.id for wish in wishes if any(wish.id in line for line in findings)}
        unread = tuple(self._unread)
        self._unread.clear()
        prompt = prompt_template("toolscale.draft", "proposal.md.jinja").render(
            **self._told(),
            examples=dump({"intents": self._examples()}),
            fields=fields_of(FILE),
            wishes=[wish for wish in wishes if wish.id in named or not findings],
            findings=findings,
            unread=unread,
            proposed=dump({"intents": [_own(entry) for name, entry in self.proposed.items() if name in named]}),
            others=[name for name in self.proposed if name not in named],
        )
        pages = parts_of(self.authoring, INTENTS.pages)
        system = prompt_template("toolscale.draft", "system.md.jinja").render(pages=pages)
        messages = ({"role": "system", "content": system}, {"role": "user", "content": prompt})
        request = ChatRequest(INTENTS.name, messages, max_tokens=INTENTS.max_tokens, sample=sample)
        request = anew(request, self._asked) if findings else request
        return (await self.client.ask(request)).content

    def _told(self) -> dict[str, Any]:
        """Return what every prompt says of the domain."""
        spec = self.base.spec
        return {
            "title": spec.world.title,
            "description": spec.world.description.strip(),
            "today": spec.world.today,
            "files": {file: (self.base.folder / file).read_text(encoding="utf-8") for file in SHOWN},
            "digests": {file: digest_of(self.base.folder, file) for file in IN_SHORT},
            "lookups": lookups_of(self.base.folder),
            "derived": derived_of(self.base.folder),
            "existing": [_line(intent) for intent in spec.intents.intents],
        }

    def _examples(self) -> list[Mapping[str, Any]]:
        """Return the first intent of each outcome."""
        found: dict[str, Mapping[str, Any]] = {}
        for entry in self._entries():
            found.setdefault(str(entry.get("outcome", "fulfil")), _own(entry))
        return list(found.values())

    def _entries(self) -> list[Mapping[str, Any]]:
        value, _ = parse_yaml(FILE, self._text)
        return list(value["intents"])

    def _existing(self) -> set[str]:
        return {intent.id for intent in self.base.spec.intents.intents}

    def _write(self) -> None:
        text = appended(FILE, self._text, "intents", list(self.proposed.values()))
        (self.folder / FILE).write_bytes(text.encode())


_SECTIONS = {"intents", REMOVE}


def _own(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an intent as its author wrote it."""
    return {key: value for key, value in entry.items() if key != "proposed_by"}


def _line(intent: Intent) -> str:
    return f'{intent.id} ({intent.outcome}): {intent.title}: "{intent.requests[0].say}"'


def _plain(text: str) -> str:
    """Return the words of a text in order, so that other marks and capitals make no other wish."""
    return " ".join(re.findall(r"[a-z0-9]+", str(text).lower()))
