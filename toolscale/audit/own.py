"""A dataset folder of ours, read as examined tasks: every golden call is made again in a world of the folder's own, and
every run is graded by our own verifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolscale.audit.checks import Found, check_tasks
from toolscale.audit.examined import Examined, Made, Run
from toolscale.audit.found import EXECUTED, Finding, Undecided
from toolscale.audit.stated import look_for
from toolscale.canonical import canonical_json
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.world import open_world
from toolscale.environment.environment import Environment
from toolscale.environment.prompt import system_message
from toolscale.environment.world import World
from toolscale.errors import DatasetError, SandboxLimitError, ToolScaleError
from toolscale.records import Task, ToolCall
from toolscale.sandbox.base import Rows
from toolscale.tasks.record import Rejection
from toolscale.tau2.driver import IDLE
from toolscale.text_files import printable
from toolscale.verify.judge import Judge
from toolscale.verify.verifier import Verifier

SHOWN = 12
"""Letters of an id, as other verbs print it."""
MOST_DANGLING = 20


@dataclass
class Executed:
    """The tasks of a folder after they were run, and what is found in them."""

    tasks: list[Examined] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)


def examine_folder(folder: Path, say: Callable[[int, int], None]) -> Executed:
    """Return the tasks of a dataset folder, all executed. DatasetError if it is none, or if a row cannot be read."""
    reading = read_dataset(folder)
    done, total = Executed(), len(reading.rows.tasks)
    for name, rows in reading.domains.items():
        environment, database = open_world(folder, name)
        tasks = [_read(folder, row) for row in rows.tasks]
        done.domains.append(name)
        lost = list(_dangling(environment, database))
        done.found += lost
        if lost:
            done.found += _not_run(tasks, "the sandbox loads no database with references to rows that are missing")
            continue
        with _Room(environment, database) as room:
            part: list[Examined] = []
            for task in tasks:
                try:
                    part.append(room.examine(task, done.found))
                except (Rejection, SandboxLimitError) as error:
                    done.found += _not_run([task], f"it cannot be recorded again: {printable(str(error))}")
                say(len(done.tasks) + len(part), total)
        done.tasks += part
        done.found += check_tasks(part)
    return done


class _Room:
    """One domain, opened: a world for golden calls, and a judge."""

    def __init__(self, environment: Environment, rows: Rows) -> None:
        self._policy = system_message(environment)
        self._world = World(environment, rows)
        self._judge = Judge(environment, rows, audit_share=0.0, replica=False)
        self._verifier = Verifier(self._judge)

    def __enter__(self) -> _Room:
        return self

    def __exit__(self, *_: object) -> None:
        self._world.close()
        self._judge.close()

    def examine(self, task: Task, found: list[Found]) -> Examined:
        """Run a task. Rejection if its plan cannot be recorded any more."""
        candidate = task.candidate
        golden, answer = self._verifier.golden(candidate)
        calls = tuple(ToolCall(name=call.name, arguments=call.arguments) for call in task.golden_calls)
        made = self._made(calls)
        shown = task.id[:SHOWN]
        found += self._unsaid(task, shown, calls, golden, made)
        changes = canonical_json([change.model_dump(mode="json") for change in task.row_changes])
        # A refusal is of something: where nothing changes, the look-ups tell of what.
        asked = () if task.row_changes else tuple(canonical_json(call.model_dump(mode="json")) for call in calls)
        facts = [canonical_json(fact.model_dump(mode="json")) for fact in task.communicate]
        self._judge.states.forget()
        return Examined(
            id=shown,
            told=(task.candidate.opening,),
            heard=(self._policy,),
            calls=made,
            needles=(),
            assertions=(task.outcome, *facts, *asked),
            basis=("row changes", "facts"),
            start="[]",
            goal=changes,
            idle=self._run(task, (), IDLE),
            words=self._run(task, (), answer),
            golden=self._run(task, calls, answer),
        )

    def _made(self, calls: Sequence[ToolCall]) -> tuple[Made, ...]:
        self._world.reset()
        made, before = [], self._world.net_changes()
        for call in calls:
            tool = self._world.toolbox.tools.get(call.name)
            try:
                result = self._world.call(call.name, call.arguments)
            except (KeyError, ToolScaleError) as error:  # a tool that is not there, or a limit of the sandbox
                made.append(Made(call.name, call.arguments, None, printable(str(error)) or type(error).__name__))
                continue
            told = None if result.error is not None else canonical_json(result.value)
            after = self._world.net_changes()
            writes = tool is not None and bool(tool.writes)
            made.append(Made(call.name, call.arguments, told, result.error, writes, after != before))
            before = after
        return tuple(made)

    def _run(self, task: Task, calls: Sequence[ToolCall], said: str) -> Run:
        grade = self._verifier.grade(task.candidate, calls, said)
        parts = {"row changes": float(grade.execution_correct), "facts": float(grade.faithful)}
        if grade.undecided:
            return Run(said, None, parts, f"our rules cannot tell: {grade.finding}")
        return Run(said, float(grade.score), parts)

    def _unsaid(
        self, task: Task, shown: str, calls: Sequence[ToolCall], golden: Sequence[ToolCall], made: Sequence[Made]
    ) -> Iterator[Found]:
        """What was recorded again from what is said is said; for other calls their texts are searched. Each value is
        told once: a later call may have it from the earlier one."""
        recorded = {canonical_json(call.model_dump(mode="json")) for call in golden}
        texts, known = [task.request, *task.candidate.heard, self._policy], set[str]()
        for place, (call, run) in enumerate(zip(calls, made, strict=True), 1):
            if canonical_json(call.model_dump(mode="json")) not in recorded:
                for path, value, why in look_for(call.arguments, texts):
                    at = f"call {place}, {path}"
                    if why:
                        yield Undecided("unsaid", (shown,), f"{at}: {value!r} {why}")
                    elif repr(value) not in known:
                        known.add(repr(value))
                        told = f"{call.name}: nothing that was said before holds {value!r}"
                        yield Finding("unsaid", (shown,), at, told)
            texts.append(run.result or run.error or "")


def _not_run(tasks: Sequence[Task], reason: str) -> Iterator[Undecided]:
    """What is undecided of tasks that cannot be run."""
    for kind in EXECUTED:
        yield from (Undecided(kind, (task.id[:SHOWN],), reason) for task in tasks)


def _read(folder: Path, row: dict[str, object]) -> Task:
    try:
        return task_of(row)
    except DatasetError as error:
        remedy = "`toolscale verify` names all that is wrong"
        raise DatasetError(f"{folder}: task {printable(str(row.get('id')), 40)}: {error}; {remedy}") from error


def _dangling(environment: Environment, database: Rows) -> Iterator[Finding]:
    """Yield each column with a foreign key that has values which are no key of its table."""
    tables = environment.schema.tables
    for name, table in tables.items():
        for place, (column, spec) in enumerate(table.columns.items()):
            if spec.fk is None:
                continue
            parent, _, key = spec.fk.partition(".")
            at = list(tables[parent].columns).index(key)
            keys = {row[at] for row in database[parent]}
            values = [row[place] for row in database[name] if row[place] is not None]
            lost = [value for value in values if value not in keys]
            if lost:
                shown = ", ".join(map(repr, lost[:MOST_DANGLING]))
                told = f"{len(lost)} of {len(values):,} values name no row of {parent}: {shown}"
                yield Finding("dangling", (), f"{environment.domain}: {name}.{column}", told)
