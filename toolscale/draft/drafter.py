"""Draft a domain: a brief, then file after file, each admitted before the next, with the findings given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from toolscale.draft.blocks import entries_of, parse_yaml
from toolscale.draft.brief import WISHES, Brief, Wish, brief_findings, brief_schema, entities_of, least_of, least_rules
from toolscale.draft.candidates import best_of, intents_cover, told, tools_cover
from toolscale.draft.entries import dump, put_reply
from toolscale.draft.outline import INTENTS, STEPS, Step
from toolscale.draft.prompting import INTENT
from toolscale.draft.sources import Source
from toolscale.draft.step_requests import MOST_SHOWN, Correction, StepRequests
from toolscale.environment.registry import FILES, POLICY_TEXT
from toolscale.errors import DraftError, SpecIssue
from toolscale.models.chat import ChatClient, ChatRequest
from toolscale.prompt_templates import prompt_template
from toolscale.records import DraftCandidate
from toolscale.text_files import visible

ROUNDS = 6
"""Replies that a step may take."""

PART = 9
"""Wishes that are written in one reply."""

FINDINGS = 25
"""Findings that a model is shown at once; the others follow when these are mended."""

TOLD = 160
"""Characters of a finding that are printed while a draft is made."""

LEAST_KEPT = 0.6
"""Share of the wishes that must come out as intents. What cannot be mended is dropped, down to this."""

CHOSEN = frozenset({"tools", "intents"})
"""Steps of whose first reply there may be several candidates: what these write decides what tasks there can be, and
models write it in ways that differ."""

NOW = "2026-03-16T09:30:00"
"""The frozen clock of a drafted domain."""

Check = Callable[[Path], Sequence[SpecIssue]]
"""What is wrong with a folder; nothing, if it is admitted."""

Measure = Callable[[Path], Sequence[SpecIssue]]
"""What its intents yield, where that is nothing or little: each of these is a finding."""

Report = Callable[[str], None]


@dataclass
class StepReport:
    """What one step took."""

    name: str
    rounds: int = 0
    findings: list[int] = field(default_factory=list)
    """Of each round."""
    dropped: list[str] = field(default_factory=list)
    """Intents and tools that could not be mended."""
    candidates: list[DraftCandidate] = field(default_factory=list)
    """Where several first replies were asked for: the score of each, and which was kept."""

    def facts(self) -> dict[str, Any]:
        """Return all of it as JSON takes it."""
        return {**vars(self), "candidates": [each.model_dump(mode="json") for each in self.candidates]}


@dataclass
class Drafter:
    """Drafts one domain in a work folder, in which every round leaves the files as they are then."""

    client: ChatClient
    name: str
    folder: Path
    authoring: str
    """The page for authors."""
    check: Check
    measure: Measure
    advise: Measure
    """What could be better about intents that are all sound; asked for once."""
    source: Source | None = None
    """Tables, operations and a policy that there are."""
    wishes: int = WISHES
    rounds: int = ROUNDS
    candidates: int = 1
    """First replies that are asked for where a step is one of `CHOSEN`; the best one is kept."""
    report: Report = lambda line: None
    steps: list[StepReport] = field(default_factory=list)

    async def draft(self) -> Brief:
        """Write all files of the domain; return what it is about. DraftError if a step has findings after its last
        round; what a ChatClient raises."""
        brief = await self._brief()
        self._requests = StepRequests(self.name, brief, self.folder, self.authoring, NOW[:10], self.source)
        self.folder.mkdir(parents=True, exist_ok=True)
        for file, text in _empty_files(brief).items():
            self._write(file, text)
        done: set[str] = set()
        if schema := self._given_schema():
            self._write("schema.yaml", schema)
            done.add("schema.yaml")
        for step in STEPS:
            if schema and step.name == "schema":
                continue
            await self._step(brief, step, done | set(step.files), [()])
            done |= set(step.files)
        parts = [brief.wishes[begin : begin + PART] for begin in range(0, len(brief.wishes), PART)]
        await self._step(brief, INTENTS, set(FILES) | {POLICY_TEXT}, parts)
        return brief

    async def _brief(self) -> Brief:
        self.report("brief")
        prompt = prompt_template("toolscale.draft", "brief.md.jinja").render(
            name=self.name,
            wishes=self.wishes,
            least=least_of(self.wishes),
            rules=least_rules(self.wishes),
            source=self.source,
        )
        request = ChatRequest(
            "brief", ({"role": "user", "content": prompt},), schema=brief_schema(), max_tokens=INTENTS.max_tokens
        )
        given = tuple(self.source.schema.tables) if self.source and self.source.schema else ()
        return Brief.model_validate(
            await self.client.ask_json(request, lambda value: brief_findings(value, self.wishes, given))
        )

    async def _step(self, brief: Brief, step: Step, checked: Collection[str], parts: Sequence[Sequence[Wish]]) -> None:
        """Have the files of a step written, and corrected until the folder has no findings in any file so far."""
        asked_before: list[Any] = []
        report, sound = StepReport(step.name), dict[str, str]()  # as it was before it was to become better
        self.steps.append(report)
        asked = await asyncio.gather(*(self._first_replies(step, part) for part in parts))
        findings, unread = list[str](), list[str]()
        for number, (part, replies) in enumerate(zip(parts, asked, strict=True), 1):
            reply = self._best(brief, step, checked, part, replies, report, number)
            findings += self._put(reply, step.files, unread)
        while True:
            report.rounds += 1
            issues = [issue for issue in self.check(self.folder) if _concerns(issue, checked, step)]
            if step is INTENTS and not issues:
                findings += self._missing(brief)
            if step.name == "tools" and not issues:
                findings += self._uncovered()
            if step is INTENTS and not issues and not findings:
                self._write("cases.yaml", self._cases())
                issues = [*self.check(self.folder)]
                if all(issue.file == "cases.yaml" for issue in issues):  # which fails where a stream yields nothing
                    issues = [*self.measure(self.folder)] or issues
                if not issues and not sound and report.rounds < self.rounds:
                    sound, issues = self._texts(), [*self.advise(self.folder)]
            findings += [visible(str(issue)) for issue in issues]
            report.findings.append(len(findings))
            tell_round(self.report, step.name, report.rounds, findings)
            if not findings:
                return None
            if report.rounds == self.rounds and sound:
                return self._restore(sound)
            if report.rounds == self.rounds:
                return self._drop(report, step, issues, findings, len(brief.wishes))
            allowed = _allowed(step, issues)
            correction = Correction(findings[:FINDINGS], allowed, tuple(unread))
            unread.clear()
            reply = await self._ask(anew(self._requests.again(step, correction), asked_before))
            findings = self._put(reply, allowed, unread)

    async def _first_replies(self, step: Step, part: Sequence[Wish]) -> list[str]:
        samples = range(self.candidates if step.name in CHOSEN else 1)
        return await asyncio.gather(*(self._ask(self._requests.first(step, part, sample)) for sample in samples))

    async def _ask(self, request: ChatRequest) -> str:
        return (await self.client.ask(request)).content

    def _put(self, reply: str, allowed: Collection[str], unread: list[str]) -> list[str]:
        """Put a reply into the folder; return what is wrong with the reply itself. One that is not taken whole is
        added to `unread`."""
        if wrong := [visible(line) for line in put_reply(self.folder, reply, allowed)]:
            unread.append(reply[:MOST_SHOWN])
        return wrong

    def _best(
        self, brief: Brief, step: Step, checked: Collection[str], part: Sequence[Wish], replies: Sequence[str],
        report: StepReport, number: int,
    ) -> str:  # fmt: skip
        """Return the best of the first replies to a part of a step, and note the score of each."""
        if len(replies) == 1:
            return replies[0]
        reply, scores = best_of(
            replies,
            self.folder,
            lambda folder, reply: put_reply(folder, reply, step.files),
            lambda folder: sum(_concerns(issue, checked, step) for issue in self.check(folder)),
            lambda folder: intents_cover(folder, part) if step is INTENTS else tools_cover(folder, brief),
            number,
        )
        report.candidates += scores
        for score in scores:
            self.report(f"{step.name}{f' part {number}' if step is INTENTS else ''}: {told(score)}")
        return reply

    def _missing(self, brief: Brief) -> list[str]:
        """Return one finding if too many wishes have no intent."""
        ids = {each.get("id") for each in entries_of(self.folder, "intents.yaml", "intents")}
        missing = [wish.id for wish in brief.wishes if wish.id not in ids]
        if len(brief.wishes) - len(missing) >= LEAST_KEPT * len(brief.wishes):
            return []
        return [
            f"intents.yaml: intents: none for the wishes {', '.join(missing)}; write an intent for each, under its id"
        ]

    def _given_schema(self) -> str:
        """Return the schema file of the source; nothing if it has no tables."""
        schema = self.source.schema if self.source else None
        return dump(schema.model_dump(mode="json", exclude_defaults=True)) if schema else ""

    def _uncovered(self) -> list[str]:
        """Return one finding if too many operations of the source that change something are no tools."""
        writing = [each.name for each in self.source.operations if each.writes] if self.source else []
        tools = {tool.get("name") for tool in entries_of(self.folder, "toolset.yaml", "tools")}
        missing = [name for name in writing if name not in tools]
        if len(writing) - len(missing) >= LEAST_KEPT * len(writing):
            return []
        return [f"toolset.yaml: tools: none for the operations {', '.join(missing)}; write a tool under each name"]

    def _cases(self) -> str:
        """Return verifier cases of every kind, about intents that there are."""
        return dump({"verifier": _verifier_cases([*entries_of(self.folder, "intents.yaml", "intents")])})

    def _drop(
        self, report: StepReport, step: Step, issues: Sequence[SpecIssue], findings: Sequence[str], wishes: int
    ) -> None:
        """Drop the intents that could not be mended, if enough is left; DraftError if not."""
        names = {found[1] for issue in issues if (found := INTENT.match(issue.place))}
        value, _ = parse_yaml("intents.yaml", self._read("intents.yaml"))
        left = [each for each in (value or {}).get("intents") or () if each.get("id") not in names]
        elsewhere = [issue for issue in issues if not INTENT.match(issue.place)]
        if step is not INTENTS or elsewhere or not issues or len(left) < LEAST_KEPT * wishes:
            raise DraftError(
                f"{self.name}: after {report.rounds} rounds of the step {step.name!r} this is left, "
                f"{len(findings)} in all: {findings[0]}"
            )
        self._write("intents.yaml", dump({**value, "intents": left}))
        self._write("cases.yaml", self._cases())
        if remaining := [*self.check(self.folder)]:
            raise DraftError(f"{self.name}: without {', '.join(sorted(names))}: {remaining[0]}")
        report.dropped = sorted(names)

    def _texts(self) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(self.folder.iterdir()) if path.is_file()}

    def _restore(self, sound: Mapping[str, str]) -> None:
        """Put the files back that were admitted before advice was asked for, which could not be followed."""
        self.report("what was sound before is kept")
        for file, text in sound.items():
            self._write(file, text)
        self.measure(self.folder)

    def _read(self, file: str) -> str:
        path = self.folder / file
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def _write(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text, encoding="utf-8")


_SAID_OF: Mapping[str, tuple[str, ...]] = {
    "population.yaml": ("plant",),
    "rules.yaml": ("rule", "policy.", "draws", "lifts", "lawful", "case_agrees"),
}
"""File of an earlier step -> words of findings that may mean it."""


def _allowed(step: Step, issues: Sequence[SpecIssue]) -> list[str]:
    """Return the files that may change where these issues are: those of the step, those that they name, and those of
    earlier steps that they may mean: the population, say, where rows are to be planted."""
    found = [str(issue) for issue in issues]
    meant = {file for file in step.mended if any(word in line for word in _SAID_OF[file] for line in found)}
    named = {issue.file for issue in issues} - {"environment.yaml", "cases.yaml"}
    return sorted({*step.files, *meant, *named})


def anew(request: ChatRequest, asked: list[Any]) -> ChatRequest:
    """Return a request for another reply where the same was asked before: the one that is kept changed nothing."""
    asked.append(request.messages)
    return replace(request, sample=asked.count(request.messages) - 1)


def tell_round(report: Report, step: str, number: int, findings: Sequence[str]) -> None:
    """Say what was found in a round, a line each."""
    report(f"{step}: round {number}, {len(findings)} findings")
    for line in findings[:FINDINGS]:
        report(f"  {shorten(line, TOLD, placeholder=' …')}")
    if len(findings) > FINDINGS:
        report(f"  and {len(findings) - FINDINGS} more")


def _concerns(issue: SpecIssue, checked: Collection[str], step: Step) -> bool:
    """Return whether an issue is about what is written by now: the speaker and what a rule lifts are of intents, which
    come last, and cases are made when all else is sound."""
    if issue.file == "cases.yaml":
        return False
    if step is not INTENTS and (issue.place == "speaker" or ".lifts" in issue.place):
        return False
    return issue.file in checked


def _empty_files(brief: Brief) -> dict[str, str]:
    """Return files that say nothing yet, so that those that are written can be checked."""
    world: dict[str, Any] = {
        "title": brief.title,
        "description": brief.description,
        "version": "1",
        "license": "apache-2.0",
        "now": NOW,
        "transfer_reasons": dict(brief.transfer_reasons),
    }
    speaker = entities_of(brief)[0].role
    return {
        "environment.yaml": dump(world),
        "schema.yaml": "tables: {}\n",
        "population.yaml": "seed: 1\ntables: []\n",
        "toolset.yaml": "lookups: auto\ntools: []\n",
        "rules.yaml": "rules: {}\n",
        POLICY_TEXT: "# Policy\n",
        "language.yaml": f"base: english\nspeaker: {speaker}\ndescribe: {{}}\n",
        "intents.yaml": "intents: []\n",
        "cases.yaml": "verifier: []\n",
    }


def _verifier_cases(intents: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return cases of every kind: each says what a rollout of an intent must be graded."""
    deeds = [each["id"] for each in intents if each.get("do") and each.get("outcome", "fulfil") == "fulfil"]
    told = [each["id"] for each in intents if each.get("do") and each.get("tell") and each["id"] in deeds] or deeds
    first, last = deeds[0], told[-1]
    return [
        {"kind": kind, "title": title, "intent": intent, **more}
        for kind, title, intent, more in (
            ("full_reward", "the golden calls and the golden answer", first, {}),
            ("zero_reward", "saying that it is done and doing nothing", first, {"calls": "none"}),
            ("zero_reward", "doing it and telling nothing", last, {"answer": '{"done": "all"}'}),
            ("malformed", "a call written as text", first, {"calls": "none", "answer": '{"name": "x"'}),
            ("determinism", "the same twice", last, {}),
            ("another_path", "only the writes", last, {"calls": "writes"}),
        )
    ]
