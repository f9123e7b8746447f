"""Descriptions of experts by a model, as in ToolOrchestra (arXiv 2511.21689, section 3.2): each expert works on sampled
tasks, and a model describes it from what it did. The tasks are generated questions, one category after the other, and
environment tasks where datasets are named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from toolscale.dataset.storage import write_file
from toolscale.errors import ToolScaleError, UsageError
from toolscale.models.catalogue import load_catalogue
from toolscale.models.chat import ChatModel
from toolscale.models.describe import SAMPLED, Trajectory, describe, sample
from toolscale.models.descriptions import with_descriptions
from toolscale.models.experts import make_expert
from toolscale.models.purse import Purse
from toolscale.pipeline.domains import open_domains
from toolscale.questions.generate import TEMPLATES, question
from toolscale.records import Catalogue, ExpertSpec, OfferedExpert, Preference, Question, Rollout, RolloutTask, Task
from toolscale.rollout.actions import Action
from toolscale.rollout.bench import Bench
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.prompt import CALL_EXPERT
from toolscale.rollout.scripted import ScriptedPolicy
from toolscale.temporary_folders import temporary_folder

AT_ONCE = 8
"""Tasks that one expert works on at the same time."""

Report = Callable[[str, int, int], None]


def describe_catalogue(
    path: Path,
    out: Path,
    writer: ChatModel,
    purse: Purse,
    *,
    count: int = SAMPLED,
    seed: int = 0,
    datasets: Sequence[str] = (),
    again: bool = False,
    progress: Report = lambda act, done, total: None,
) -> dict[str, str]:
    """Write the catalogue with descriptions by `writer` to `out`; return name -> description of those that were
    written.

    An expert that has a description keeps it, unless `again`. `count`: tasks that each works on. Writer and experts
    are paid from the purse. Nothing is written unless all are described: UsageError if an expert gives no answer, what
    a ChatClient raises, SpecError if the catalogue is wrong.
    """
    catalogue = load_catalogue(path)
    wanted = [spec for spec in catalogue.experts if again or spec.description is None]
    _edited(path, catalogue, {spec.name: "Good." for spec in wanted})  # before anything is paid for
    experts = {spec.name: make_expert(spec) for spec in wanted}
    tasks, domains = open_domains(datasets, named_by="--dataset")
    sampled = sampled_tasks(tasks, count, seed)
    descriptions: dict[str, str] = {}

    async def work() -> None:
        async with AsyncExitStack() as held:
            client = await held.enter_async_context(purse.client(writer, recorded=True))
            paid = {name: await held.enter_async_context(purse.paid(expert)) for name, expert in experts.items()}
            bench = await held.enter_async_context(Bench(paid, domains=domains))
            for done, spec in enumerate(wanted):
                progress(f"describing {spec.name}", done, len(wanted))
                told = await trajectories_of(spec, sampled, bench, seed)
                descriptions[spec.name] = await describe(spec, told, client)

    if wanted:
        asyncio.run(work())
    write_file(out, _edited(path, catalogue, descriptions).encode())
    return descriptions


def sampled_tasks(tasks: Sequence[Task], count: int, seed: int) -> list[Question | Task]:
    """Return what an expert works on: generated questions with the categories in turn, and as many environment tasks as
    questions of one category."""
    share = min(len(tasks), count // (len(TEMPLATES) + 1) + 1) if tasks else 0
    worlds = sample(tasks, seed, min(share, count))
    return [*(question(number, seed, "train") for number in range(count - len(worlds))), *worlds]


async def trajectories_of(
    spec: ExpertSpec, sampled: Sequence[Question | Task], bench: Bench, seed: int
) -> list[Trajectory]:
    """Let one expert work on the tasks, alone. UsageError if it gives no answer at all to one of them: it is then down,
    or refuses."""
    offered = (
        OfferedExpert(
            alias=spec.name,
            expert=spec.name,
            input_price=spec.price.input,
            output_price=spec.price.output,
            card=spec.name,
        ),
    )
    tasks = [_alone(each, number, offered, seed) for number, each in enumerate(sampled)]
    policy = ScriptedPolicy("describe", lambda task, number: Action("expert", spec.name))
    groups = await run_rollouts(tasks, policy, bench, samples=1, concurrency=AT_ONCE)
    return [_trajectory(each, rollout) for each, (rollout,) in zip(sampled, groups, strict=True)]


def _alone(each: Question | Task, number: int, offered: tuple[OfferedExpert, ...], seed: int) -> RolloutTask:
    wish = Preference(instruction="")
    if isinstance(each, Question):
        return RolloutTask(
            id=f"describe-{number}", category=each.category, question=each, preference=wish, experts=offered, seed=seed
        )
    return RolloutTask(
        id=f"describe-{number}", category="tools", task=each, preference=wish, experts=offered, seed=seed
    )


def _trajectory(each: Question | Task, rollout: Rollout) -> Trajectory:
    for charge in rollout.ledger:
        if (
            charge.kind == "expert"
            and charge.error is not None
            and charge.error.startswith(f"{charge.name} gave no answer")
        ):
            raise UsageError(
                f"experts[{charge.name}]: {charge.error}; "
                "mend its endpoint in the catalogue, or remove it to simulate the expert"
            )
    if isinstance(each, Question):
        return Trajectory(each.text, ({"role": "assistant", "content": rollout.answer},), rollout.right)
    handed = {
        call["id"]
        for message in rollout.messages
        for call in message.get("tool_calls") or ()
        if call["function"]["name"] == CALL_EXPERT
    }
    own = [message for message in rollout.messages[2:] if not handed & _ids(message)]
    return Trajectory(each.request, tuple(own), rollout.right)


def _ids(message: dict[str, object]) -> set[object]:
    """Return the ids of the calls that a message makes or answers."""
    calls = message.get("tool_calls")
    return {call["id"] for call in calls} if isinstance(calls, list | tuple) else {message.get("tool_call_id")}


def _edited(path: Path, catalogue: Catalogue, descriptions: dict[str, str]) -> str:
    """Return the text of the catalogue with these descriptions. UsageError if the new text would differ in anything but
    the descriptions."""
    text = with_descriptions(path.read_text(encoding="utf-8"), descriptions)
    meant = [
        spec.model_copy(update={"description": descriptions.get(spec.name, spec.description)})
        for spec in catalogue.experts
    ]
    with temporary_folder("catalogue") as folder:
        written = folder / path.name
        written.write_text(text, encoding="utf-8")
        try:
            found = load_catalogue(written)
        except ToolScaleError as error:
            raise _unusual(path) from error
    if found != catalogue.model_copy(update={"experts": tuple(meant)}):
        raise _unusual(path)
    return text


def _unusual(path: Path) -> UsageError:
    return UsageError(
        f"{path}: experts: no description can be put into YAML of this form; write each expert as lines of `key: value`"
    )
