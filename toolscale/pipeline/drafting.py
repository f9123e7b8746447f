"""Draft a domain with a model, admit it, and put its folder where domains lie; with what it cost."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from toolscale.dataset.storage import storage_errors, sync_folder, write_file
from toolscale.draft import PROMPTS_VERSION, ROUNDS, WISHES, Drafter, StepReport
from toolscale.draft.entries import dump
from toolscale.draft.outline import INTENTS, STEPS
from toolscale.draft.sources import Source
from toolscale.environment.admission_file import write_admission
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.references import domain_problem
from toolscale.environment.registry import FILES, OPTIONAL, OWN, POLICY_TEXT
from toolscale.errors import ModelUnavailableError, SpecError, SpecIssue, UnusableReplyError, UsageError
from toolscale.limits import UNLIMITED, RunLimits
from toolscale.models.chat import Budget, ChatClient, ChatModel, ChatReply, Ledger, ReplyStore
from toolscale.models.chat.recording import write_recording
from toolscale.package_code import beside
from toolscale.pipeline.stages import admit_domain
from toolscale.records import DraftOrigin, DraftStage
from toolscale.records.dollars import dollars_of
from toolscale.text_files import visible
from toolscale.verify.advice import advice
from toolscale.verify.yields import Yield, barren, measure_yields, poor
from toolscale.words.asking import READ_STAGE, STAGE, AskSettings, ask_for_frames
from toolscale.words.frames import FILE as FRAMES
from toolscale.words.shapes import Workshop
from toolscale.yaml_files import read_yaml

AUTHORING = beside("docs/domains")
PAGES = ("authoring.md", "requests.md", "intents.md", "failing.md")
"""The pages for authors, of which each step of a draft is shown parts."""

FIRST = ("brief", "wishes")
"""What a model is asked for before it writes files."""

_ALWAYS = (*(name for name in FILES if name not in OPTIONAL), POLICY_TEXT, "admission.json")


def drafted_files(folder: Path) -> tuple[str, ...]:
    """Return what a folder of a drafted domain holds: whole messages only where a model wrote some."""
    return (*_ALWAYS, FRAMES) if (folder / FRAMES).exists() else _ALWAYS


@dataclass
class Drafted:
    """A domain that was drafted and is admitted."""

    folder: Path
    steps: list[StepReport]
    yields: list[Yield]
    frames: int = 0
    """Whole messages that were written for it."""
    unphrased: str = ""
    """Why some that it lacks were not written."""


@dataclass(frozen=True)
class DraftSettings:
    """Where a draft is made, and what it may take."""

    root: Path = OWN
    """The folder in which that of the domain is put."""
    work: Path = Path("var/drafts")
    """Where it is prepared, the transcript lies, and tools that were tried are kept."""
    replies: Path = Path("var/replies.sqlite")
    limits: RunLimits = UNLIMITED
    wishes: int = WISHES
    """Kinds of requests that the domain has at least."""
    rounds: int = ROUNDS
    candidates: int = 1
    """First replies that are asked for where tools and intents are written."""
    source: Source | None = None
    """What it is drafted from, beside its name."""
    record: Path | None = None
    """A file for the replies of this run, to be served again."""
    phrase: bool = True
    """Whether whole first messages are written in the end, each tried by every gate."""


def domain_of(name: str) -> str:
    """Return the domain that a name like `pet insurance` stands for: `pet_insurance`. UsageError if it cannot be
    one."""
    domain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not domain or domain_problem(domain):
        raise UsageError(
            f"{name!r} names no domain; say it in one to five words, beginning with a letter: 'pet insurance'"
        )
    return domain


def draft_domain(
    name: str, model: ChatModel, settings: DraftSettings, report: Callable[[str], None], ledger: Ledger | None = None
) -> Drafted:
    """Draft the domain that a name stands for; write its folder whole, or not at all.

    `ledger` is filled as requests are made, so that it can be shown whatever happens. UsageError if the folder is there
    already; DraftError if a step has findings after its last round; what a ChatClient raises. The files so far and the
    transcript stay in the work folder.
    """
    domain = domain_of(name)
    target, work, cache = settings.root / domain, settings.work / domain, settings.work / ".admitted"
    if target.exists():
        raise UsageError(f"{target} is there already; remove it to have it drafted again")
    drafting, check = work / domain, partial(admission_issues, cache=cache)
    with storage_errors("remove", drafting):
        shutil.rmtree(drafting, ignore_errors=False) if drafting.exists() else None
    measured, used, books = _Measured(), dict[str, None](), ledger or Ledger()

    async def run() -> list[StepReport]:
        with ReplyStore(settings.replies) as store:
            async with ChatClient(model, store, Budget(settings.limits), books, used) as client:
                drafter = Drafter(
                    client, name, drafting, authoring_page(), check, measured.measure, measured.advise,
                    source=settings.source, wishes=settings.wishes, rounds=settings.rounds,
                    candidates=settings.candidates, report=report,
                )  # fmt: skip
                await drafter.draft()
                return drafter.steps

    with _kept(settings, work / "transcript.md", model, used):
        steps = asyncio.run(run())
        made = Drafted(target, steps, measured.yields)
        if settings.phrase:
            _phrase(drafting, model, settings, books, used, made, report)
    with ReplyStore(settings.replies) as store:
        _sign(drafting, origin_of(model, store.lines(list(used)), steps))
    write_admission(drafting, admit_domain(drafting, cache))
    if any(step.dropped for step in steps):
        measured.measure(drafting)
    put_folder(drafting, target)
    return made


@contextmanager
def _kept(settings: DraftSettings, transcript: Path, model: ChatModel, used: Mapping[str, None]) -> Iterator[None]:
    """Write down in the end, however it ends, what was asked and answered."""
    try:
        yield
    finally:
        with ReplyStore(settings.replies) as store:
            write_file(transcript, transcript_of(store, list(used)).encode())
            if settings.record is not None:
                write_recording(settings.record, store, used, model.endpoint.model)


@dataclass
class _Measured:
    """What the streams of a folder yielded when they were last measured."""

    yields: list[Yield] = field(default_factory=list)

    def measure(self, folder: Path) -> list[SpecIssue]:
        """Measure them; return those that yield nothing or little."""
        self.yields[:] = measure_yields(load_environment(folder))
        return [*barren(self.yields), *poor(self.yields)]

    def advise(self, folder: Path) -> list[SpecIssue]:
        """Return what could be better."""
        return advice(load_environment(folder), self.yields)


def _phrase(
    folder: Path,
    model: ChatModel,
    settings: DraftSettings,
    ledger: Ledger,
    used: dict[str, None],
    made: Drafted,
    report: Callable[[str], None],
) -> None:
    """Have whole first messages written for a domain. It is a domain without them too, so what ends this is told, and
    takes nothing away."""
    environment = load_environment(folder)
    workshop = Workshop(environment, populate(environment))
    asking = AskSettings((), settings.limits, settings.replies)
    report("messages: written as people would, for the shapes of requests")
    try:
        asked = ask_for_frames(workshop, model, asking, ledger, used)
        made.frames, made.unphrased = asked.added.kept, asked.stopped
    except (ModelUnavailableError, UnusableReplyError) as error:
        made.unphrased = str(error)
    finally:
        workshop.close()
    report(f"messages: {made.frames} written{f'; {made.unphrased}' if made.unphrased else ''}")


def origin_of(
    model: ChatModel, lines: Iterable[tuple[Mapping[str, Any], ChatReply]], steps: Sequence[StepReport]
) -> DraftOrigin:
    """Return what a draft took, by step: each reply once, as it was worth when it was asked for; and how candidates
    scored."""
    stages: dict[str, DraftStage] = {}
    for asked, reply in lines:
        old = stages.get(asked["stage"], DraftStage(replies=0, input_tokens=0, output_tokens=0, usd=0.0))
        dollars = dollars_of((old.usd, reply.dollars))
        stages[asked["stage"]] = DraftStage(
            replies=old.replies + 1,
            input_tokens=old.input_tokens + reply.input_tokens,
            output_tokens=old.output_tokens + reply.output_tokens,
            usd=None if dollars is None else round(dollars, 6),
        )
    steps_of = (*FIRST, *(each.name for each in (*STEPS, INTENTS)), STAGE, READ_STAGE)
    order = {step: stages[step] for step in steps_of if step in stages}
    candidates = {step.name: tuple(step.candidates) for step in steps if step.candidates}
    return DraftOrigin(model=model_name(model), prompts=PROMPTS_VERSION, stages=order, candidates=candidates)


def model_name(model: ChatModel) -> str:
    """Return the name of a model as files say it."""
    return re.sub(r"[^!-~]+", "-", model.endpoint.model)[:200]


def _sign(folder: Path, origin: DraftOrigin) -> None:
    """Say in `environment.yaml` by which model the domain was drafted."""
    path = folder / "environment.yaml"
    value, _ = read_yaml(path)
    path.write_text(dump({**value, "drafted": origin.model_dump(mode="json", exclude_defaults=True)}), encoding="utf-8")


def authoring_page() -> str:
    """Return the pages for authors as one. UsageError if one is not there."""
    try:
        return "\n".join((AUTHORING / page).read_text(encoding="utf-8") for page in PAGES)
    except OSError as error:
        raise UsageError(f"{AUTHORING} cannot be read, and a model needs it; install toolscale again") from error


def admission_issues(folder: Path, cache: Path) -> Sequence[SpecIssue]:
    """Return what keeps a folder from being admitted."""
    try:
        admit_domain(folder, cache)
    except SpecError as error:
        return error.issues
    return ()


def put_folder(made: Path, target: Path) -> None:
    """Copy the folder of a drafted domain to where domains lie, whole or not at all."""
    beside = target.parent / f".{target.name}.draft"
    with storage_errors("write", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        for file in drafted_files(made):
            shutil.copyfile(made / file, beside / file)
        sync_folder(beside)
        beside.rename(target)


def transcript_of(store: ReplyStore, keys: Sequence[str]) -> str:
    """Return what was asked and answered, to be read; what every request begins with is left out."""
    parts = []
    for asked, reply in store.lines(keys):
        told = asked["messages"][-1]["content"]
        cost = "no price" if reply.dollars is None else f"${reply.dollars:.4f}"
        took = f"{reply.input_tokens:,} tokens read, {reply.output_tokens:,} written, {cost}"
        parts.append(f"# {asked['stage']}\n\n{took}\n\n## Asked\n\n{told}\n\n## Answered\n\n{reply.content}\n")
    return visible("\n".join(parts))
