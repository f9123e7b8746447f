"""Have a model propose intents for a domain that exists, and put a copy of its folder with them where people read it;
with what it cost."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from toolscale.config import ADMITTED
from toolscale.dataset.storage import remove_folder, storage_errors, write_file
from toolscale.draft import ROUNDS
from toolscale.draft.appending import appended
from toolscale.draft.brief import Wish
from toolscale.draft.drafter import StepReport
from toolscale.draft.proposer import PROPOSED, Proposer
from toolscale.environment.admission_file import write_admission
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.registry import OPTIONAL, find_folder
from toolscale.errors import SpecError, SpecIssue, UsageError
from toolscale.limits import UNLIMITED, RunLimits
from toolscale.models.chat import Budget, ChatClient, ChatModel, Ledger, ReplyStore
from toolscale.models.chat.recording import write_recording
from toolscale.pipeline.drafting import (
    admission_issues,
    authoring_page,
    drafted_files,
    model_name,
    origin_of,
    put_folder,
    transcript_of,
)
from toolscale.pipeline.stages import admit_domain
from toolscale.records import DraftOrigin, ProposalOrigin
from toolscale.verify.yields import Yield, barren, measure_yields, monotonous, poor, weak

PROPOSALS = Path("var/proposals")


@dataclass(frozen=True)
class ProposeSettings:
    """What a proposal may take, and where it goes."""

    out: Path | None = None
    """The folder that is made; None: that of the domain in PROPOSALS. Its name is that of the domain."""
    work: Path = PROPOSALS / ".work"
    """Where it is prepared, and the transcript lies."""
    replies: Path = Path("var/replies.sqlite")
    limits: RunLimits = UNLIMITED
    wishes: int = PROPOSED
    """New kinds of requests that are asked for at least."""
    rounds: int = ROUNDS
    candidates: int = 1
    """First replies that are asked for for each part of the intents."""
    record: Path | None = None
    """A file for the replies of this run, to be served again."""


@dataclass
class Proposed:
    """A widened copy of a domain, which is admitted."""

    folder: Path
    wishes: tuple[Wish, ...]
    intents: list[str]
    """The new ones."""
    dropped: dict[str, str]
    """Wish -> why it has no intent."""
    step: StepReport
    yields: list[Yield]
    """Of the streams of the new intents."""
    origin: ProposalOrigin


def proposal_base(domain: str | Path, cache: Path = ADMITTED) -> Environment:
    """Return the environment that intents are proposed for. UsageError, in one line, if it is unknown or is not
    admitted."""
    folder = find_folder(domain)
    try:
        environment = load_environment(folder)
        admit_domain(folder, cache)
    except SpecError as error:
        more = f" and {len(error.issues) - 1} more" if len(error.issues) > 1 else ""
        raise UsageError(
            f"{folder.name} is not admitted: {error.issues[0]}{more}; admit it first: toolscale admit {domain}"
        ) from error
    return environment


def proposal_folder(base: Environment, out: Path | None) -> Path:
    """Return where the copy of a domain goes. UsageError if the domain would have another name there."""
    target = out or PROPOSALS / base.domain
    if target.resolve().name != base.domain:
        raise UsageError(f"--out {target} would be another domain; end it with its name: {target / base.domain}")
    return target


def is_proposed_for(target: Path, base: Environment) -> bool:
    """Return whether a folder was widened for this environment as it is now. UsageError if the folder cannot be
    read."""
    try:
        proposed = load_environment(target).spec.world.proposed
    except SpecError as error:
        raise UsageError(f"{target} cannot be used: {error.issues[0]}; mend it, or remove the folder") from error
    return bool(proposed) and proposed[-1].base == base.hash


def put_aside(target: Path) -> Path:
    """Rename a widened folder whose base has changed: somebody may have edited it. Return where it is kept."""
    aside = target.with_name(f"{target.name}-{load_environment(target).hash[:8]}")
    with storage_errors("rename", target):
        if aside.exists():
            remove_folder(target)
        else:
            target.rename(aside)
    return aside


def propose_intents(
    base: Environment,
    model: ChatModel,
    settings: ProposeSettings,
    report: Callable[[str], None],
    ledger: Ledger | None = None,
) -> Proposed:
    """Have a model propose intents for an environment that is admitted; write the widened copy whole, or not at all.

    `ledger` is filled as requests are made, so that it can be shown whatever happens. UsageError if the folder is there
    already; DraftError if no intent is sound after the last round; what a ChatClient raises. The transcript stays in
    the work folder.
    """
    target, work = proposal_folder(base, settings.out), settings.work / base.domain
    if target.exists():
        raise UsageError(f"{target} is there already; remove it, or name another folder with --out")
    copy = work / base.domain
    _copy_files(base.folder, copy)
    measured: list[Yield] = []

    def measure(folder: Path, intents: Collection[str]) -> list[SpecIssue]:
        measured[:] = measure_yields(load_environment(folder), intents=intents)
        return [*barren(measured), *poor(measured)]

    async def run() -> tuple[Proposer, DraftOrigin]:
        with ReplyStore(settings.replies) as store:
            async with ChatClient(model, store, Budget(settings.limits), ledger or Ledger()) as client:
                proposer = Proposer(
                    client, base, copy, authoring_page(), partial(admission_issues, cache=ADMITTED), measure,
                    lambda folder: [*weak(measured), *monotonous(measured)], model_name(model),
                    wanted=settings.wishes, rounds=settings.rounds, candidates=settings.candidates, report=report,
                )  # fmt: skip
                try:
                    await proposer.propose()
                finally:
                    write_file(work / "transcript.md", transcript_of(store, list(client.used)).encode())
                    if settings.record is not None:
                        write_recording(settings.record, store, client.used, client.name)
                return proposer, origin_of(model, store.lines(list(client.used)), [proposer.step])

    made, took = asyncio.run(run())
    origin = ProposalOrigin(**vars(took), base=base.hash)
    _sign(copy, origin)
    write_admission(copy, admit_domain(copy, ADMITTED))
    put_folder(copy, target)
    return Proposed(target, made.wishes, [*made.proposed], made.dropped, made.step, measured, origin)


def _copy_files(folder: Path, copy: Path) -> None:
    """Copy the files of a domain. What people decided about its tasks stays behind: it fits no other environment."""
    with storage_errors("write", copy):
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(parents=True)
        for file in dict.fromkeys((*drafted_files(folder), *OPTIONAL)):
            if (folder / file).is_file():
                shutil.copyfile(folder / file, copy / file)


def _sign(folder: Path, origin: ProposalOrigin) -> None:
    """Say in `environment.yaml` by which model intents were proposed."""
    path = folder / "environment.yaml"
    text = path.read_bytes().decode("utf-8")
    told = origin.model_dump(mode="json", exclude_defaults=True)
    path.write_bytes(appended(path.name, text, "proposed", [told]).encode())
