"""tau2-bench: its tasks as they are, played by its own program, or recorded by it.

Its environments are Python 3.12 programs with a simulated user, so agents run in tau2, a process of its own. What it
wrote is graded here again, beside an agent that does nothing and the reference solution, with pass^k, intervals and
pairs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.benchmark import About, Graded, Program
from eval.recorded.tau2_idle import grade_idle
from eval.recorded.tau2_order import Order, voices_from
from eval.recorded.tau2_play import play
from eval.recorded.tau2_reward import golden, grade_simulation, idle
from eval.records import HASH, Failure, Header, Line, Settings, key_of, policy_hash_of
from eval.storage import Results
from toolscale.canonical import content_hash
from toolscale.config import VERSION
from toolscale.errors import UsageError
from toolscale.records import Charge, Rollout, ToolCall
from toolscale.tau2.checkout import GET, INSTALL, REMEDY, data_folder, open_checkout
from toolscale.tau2.files import Run, Simulation, Tau2Task, read_run, read_tasks

BASE, TRAIN, TEST, REPAIRED = "base", "train", "test", "repaired base"

ABOUT = About(
    title="Customers of an airline, a shop, a telephone company: conversations in tau2's own program, graded again",
    size="base: airline 50, retail 114, telecom 114, banking_knowledge 97, mock 10",
    licence="MIT (sierra-research/tau2-bench)",
    data=f"{GET}, in it {INSTALL}; then --checkout CHECKOUT --data CHECKOUT/data/tau2/domains/airline plays it, and "
    "--data RESULTS.json after the folder, without --checkout, grades what `tau2 run` wrote before",
    judged_by="tau2's rules; what only its environment can tell is taken from its results, or unscored",
    settings=(BASE, TRAIN, TEST, REPAIRED),
)


def grade_recorded(settings: Settings, out: Path, tasks: int | None) -> list[Path]:
    """Grade the runs in result files, and the rows of idle and golden; return the folders of their lines. Lines that
    are there are replaced: grading again is what this is. UsageError for a file that is missing or none."""
    found = _tasks(settings)[:tasks]
    return _graded(settings, out, found, [idle(task) for task in found])


async def play_elsewhere(settings: Settings, out: Path, tasks: int | None, program: Program) -> list[Path]:
    """Have tau2 play what it has not played yet, and grade it as `grade_recorded` does, other results files in `data`
    too; the row of idle is as tau2 finds it. UsageError for what is missing, ProgramError if tau2 fails."""
    whole = _tasks(settings)
    found, domain = whole[:tasks], Path(settings.data[0])
    voices = voices_from(program.environ, found)
    checkout = open_checkout(program.checkout, program.interpreter, program.environ, "--interpreter")
    checkout.check_known()
    order = Order(
        checkout=checkout,
        data=data_folder(checkout, domain),
        domain=domain.name,
        split=_split(settings),
        whole=tuple(whole),
        tasks=tuple(found),
        trials=program.samples,
        seed=settings.seed,
        at_once=min(program.at_once, voices.agent.at_once, voices.user.at_once),
        temperature=program.temperature,
        voices=voices,
    )
    results = await play(order, out / "tau2" / order.name, program.environ, program.say)
    still = await grade_idle(order, results.parent, program.environ)
    recorded = settings.model_copy(update={"data": (settings.data[0], str(results), *settings.data[1:])})
    dollars = (
        "TOOLSCALE_MODEL_PRICE" if voices.agent.price else "the price table of LiteLLM; not known for what it lacks"
    )
    notes = (f"Played by tau2 {checkout.version}, seed {settings.seed}", f"Dollars: {dollars}")
    return _graded(recorded, out, found, still, notes)


def _graded(
    settings: Settings, out: Path, tasks: Sequence[Tau2Task], still: Sequence[Simulation], notes: tuple[str, ...] = ()
) -> list[Path]:
    """Grade the runs in the results files of `data`; `still`: the trials of an agent that does nothing."""
    folder, setting = Path(settings.data[0]), settings.setting or BASE
    runs = [read_run(Path(name)) for name in settings.data[1:]]
    recorded = {each.task for run in runs for each in run.simulations}
    unknown = sorted(recorded - {task.id for task in tasks})
    if unknown and len(unknown) == len(recorded):
        raise UsageError(f"{settings.data[1]}: none of its tasks is in {folder} ({setting}); {REMEDY}")
    played: list[tuple[str, dict[str, Any], Sequence[Simulation]]] = [
        (run.agent, {"kind": "tau2", "agent": run.agent, "user simulator": run.user}, run.simulations) for run in runs
    ]
    played += [
        ("idle", {"kind": "scripted", "name": "idle"}, still),
        ("golden", {"kind": "scripted", "name": "golden"}, [golden(task) for task in tasks]),
    ]
    folders = []
    for name, identity, simulations in played:
        header = Header(
            version=VERSION,
            benchmark=f"tau2 {folder.name} ({setting})",
            kind="tau2",
            settings=settings,
            licence=ABOUT.licence,
            judged_by=ABOUT.judged_by,
            simulated=False,
            notes=(*_notes(runs, tasks, unknown), *notes),
            policy=name,
            identity=identity,
            policy_hash=policy_hash_of(identity),
        )
        folders.append(_write(out / name.replace("/", "_"), header, tasks, simulations))
    return folders


def _tasks(settings: Settings) -> list[Tau2Task]:
    if not settings.data:
        raise UsageError(f"tau2 needs the tasks of a domain: --data FOLDER; {ABOUT.data}")
    return read_tasks(Path(settings.data[0]), _split(settings))


def _split(settings: Settings) -> str:
    """Return the name that tau2 has for a set: the repaired one has the same tasks, in a folder of its own."""
    return BASE if settings.setting in (None, REPAIRED) else settings.setting


def _notes(runs: Sequence[Run], tasks: Sequence[Tau2Task], unknown: Sequence[str]) -> tuple[str, ...]:
    users = ", ".join(dict.fromkeys(run.user for run in runs))
    notes = [f"{len(tasks)} tasks", *([f"User simulator: {users}"] if users else [])]
    return (*notes, *([f"{len(unknown)} recorded tasks are not in this set and are left out"] if unknown else []))


def _write(folder: Path, header: Header, tasks: Sequence[Tau2Task], simulations: Sequence[Simulation]) -> Path:
    """Write the lines of a run anew, tasks in their order, trials after one another."""
    by_task: dict[str, list[Simulation]] = {}
    for simulation in sorted(simulations, key=lambda each: each.trial):
        by_task.setdefault(simulation.task, []).append(simulation)
    with Results.opened(folder, header) as results:
        results.clear()
        for task in tasks:
            for trial, simulation in enumerate(by_task.get(task.id, ())):
                results.append(*_line(header, task, simulation, trial))
    return folder


def _line(header: Header, task: Tau2Task, simulation: Simulation, trial: int) -> tuple[Line, Rollout]:
    graded = grade_simulation(task, simulation)
    task_hash = content_hash(task.raw)[:HASH]
    turns = sum(message.get("role") == "assistant" for message in simulation.messages)
    uses: dict[str, int] = {}
    for call in simulation.calls():
        uses[call.name] = uses.get(call.name, 0) + 1
    line = Line(
        key=key_of(task_hash, header.policy_hash, trial),
        task=task.id,
        task_hash=task_hash,
        cluster=task.id,
        policy=header.policy,
        policy_hash=header.policy_hash,
        sample=trial,
        status=graded.status,
        score=graded.score,
        finding=graded.finding,
        failure=_failure(graded, simulation) if graded.score == 0 else None,
        stop="answered" if simulation.ending in ("agent_stop", "user_stop") else "failed",
        judge=graded.judge,
        cost_usd=simulation.cost_usd,
        latency_s=simulation.seconds,
        own_cost_usd=simulation.cost_usd,
        own_latency_s=simulation.seconds,
        input_tokens=0,
        output_tokens=0,
        turns=turns,
        malformed=0,
        uses=uses,
        failed_calls=sum(call.failed for call in simulation.calls()),
    )
    return line, _rollout(header, line, simulation)


def _failure(graded: Graded, simulation: Simulation) -> Failure:
    if graded.finding.startswith("no end"):
        return "limit"
    if not simulation.calls():
        return "gave up"
    return "missed fact" if graded.finding == "not met: COMMUNICATE" else "wrong call"


def _rollout(header: Header, line: Line, simulation: Simulation) -> Rollout:
    said = simulation.said()
    charge = Charge(
        turn=0, kind="orchestrator", name=header.policy, cost_usd=simulation.cost_usd, latency_s=simulation.seconds
    )
    return Rollout(
        id=f"{line.task}:{header.policy}:{line.sample}",
        task_id=line.task,
        category="tools",
        policy=header.policy,
        sample=line.sample,
        messages=tuple(_message(message) for message in simulation.messages),
        calls=tuple(ToolCall(name=call.name, arguments=dict(call.arguments)) for call in simulation.calls()),
        ledger=(charge,),
        answer=said[-1] if said else None,
        stop=line.stop,
        right=line.score == 1,
        finding=line.finding,
    )


def _message(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message in OpenAI form."""
    calls = [
        {
            "id": call.get("id") or "",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments") or {})},
        }
        for call in raw.get("tool_calls") or ()
    ]
    return {"role": raw.get("role"), "content": raw.get("content"), **({"tool_calls": calls} if calls else {})}
