"""A whole evaluation: a benchmark is opened, its policies run one after the other, and the report is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from eval.benchmark import (
    Opened,
    Program,
    about,
    check_setting,
    completed,
    open_benchmark,
    played_by,
    recorded_by,
    title_of,
)
from eval.harness import AT_ONCE, Harness, Progress
from eval.policies import BASELINES, FRAME, MODEL, Player, checkpoint, endpoint, scripted
from eval.records import Settings
from eval.report.writing import write_report
from eval.storage import read_results
from eval.summary import Summary, summarize
from eval.weakness import ENVIRONMENT_TASKS, WANTS, weakness_of, write_weakness
from toolscale.canonical import finite
from toolscale.dataset.storage import write_file
from toolscale.errors import UsageError
from toolscale.limits import RunLimits
from toolscale.models.chat import Ledger, model_from
from toolscale.models.hidden_tools import hidden_tools
from toolscale.models.judging import JudgeSettings, judge_model
from toolscale.models.purse import REPLIES, Purse
from toolscale.rollout.grading import check_gradable
from toolscale.rollout.message_judge import MessageJudge
from training.config import Config, SftConfig
from training.config_file import read_any, read_config

UNTRAINED = "untrained"
DONE = "done.json"
"""The figures of all policies, for machines."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """What is to be run."""

    kind: str
    settings: Settings
    out: Path
    policies: tuple[tuple[str, str], ...] = ()
    """(name, what it is): the folder of a checkpoint, `model`, `untrained`, or the name of a policy without a model."""
    environ: Mapping[str, str] | None = None
    """Names the model."""
    judge: JudgeSettings | None = None
    """Who reads what rules cannot grade."""
    tasks: int | None = None
    samples: int = 1
    temperature: float = 0.0
    at_once: int = AT_ONCE
    max_cost: float | None = None
    replies: Path = REPLIES
    baselines: bool = True
    checkout: Path | None = None
    """Of a benchmark that plays in its own program: where that is."""
    interpreter: Path | None = None
    """The Python that has it; None: that of the checkout's .venv."""
    weak: Path | None = None
    """A file for what the one policy that is named fails."""


@dataclass(frozen=True)
class Evaluated:
    """What came of it."""

    folder: Path
    summaries: tuple[Summary, ...]


async def run_benchmark(wanted: Wanted, say: Say = lambda line: None, ledger: Ledger | None = None) -> Evaluated:
    """Run all policies and write the report. What stops one of them stops the run; what was done is kept, and the
    same call goes on. `ledger` is filled as requests are made."""
    wanted = replace(wanted, settings=completed(wanted.kind, wanted.settings, wanted.environ or {}))
    if (graded := recorded_by(wanted.kind)) is not None:
        return await _elsewhere(wanted, say) if wanted.checkout is not None else _recorded(wanted, graded)
    if wanted.checkout is not None or wanted.interpreter is not None:
        raise UsageError(f"{wanted.kind} is played here: leave --checkout and --interpreter out")
    _check_weak(wanted)
    purse = Purse(RunLimits(max_cost=wanted.max_cost), wanted.replies, ledger if ledger is not None else Ledger())
    players = players_of(wanted, purse)
    await _tell_hidden_tools(wanted, say)
    folder = wanted.out / slug(title_of(wanted.kind, about(wanted.kind), wanted.settings))
    async with AsyncExitStack() as held:
        opened = await open_judged(wanted, purse, held)
        for note in opened.notes:
            say(note)
        harness = Harness(wanted.kind, wanted.settings, opened, folder)
        for player in players:
            with _bar() as bar:
                shown = partial(_show, bar, bar.add_task(player.name, total=None))
                progress = await harness.run(player, wanted.samples, wanted.at_once, shown)
            say(progress.told())
        if wanted.weak is not None:
            read = read_results(harness.folder_of(players[0]))
            write_weakness(wanted.weak, weakness_of(*read, opened.cases, opened.ground.bench.domains))
            say(f"{wanted.weak}: what {players[0].name} fails; toolscale synthesize DOMAIN --toward {wanted.weak}")
    return _ended(folder, [harness.folder_of(player) for player in players])


def _check_weak(wanted: Wanted) -> None:
    """Raise UsageError, before anything runs, if what a policy fails cannot be counted."""
    if wanted.weak is None:
        return
    if len(wanted.policies) != 1:
        raise UsageError(f"--weak is about one policy; {len(wanted.policies)} are named by --policy")
    if wanted.kind not in ENVIRONMENT_TASKS:
        raise UsageError(f"{wanted.kind}: {WANTS}")
    if wanted.weak.is_dir():
        raise UsageError(f"--weak {wanted.weak} is a folder; name a file")


def _recorded(wanted: Wanted, graded: Callable[[Settings, Path, int | None], list[Path]]) -> Evaluated:
    """Grade what another program ran."""
    if wanted.policies:
        raise UsageError(
            f"{wanted.kind} is played in its own program: give its --checkout, or leave --policy out and give what it "
            f"wrote as --data; {about(wanted.kind).data}"
        )
    if wanted.interpreter is not None:
        raise UsageError("--interpreter is the Python of a --checkout: give both, or neither")
    folder = _folder_elsewhere(wanted)
    return _ended(folder, graded(wanted.settings, folder, wanted.tasks))


async def _elsewhere(wanted: Wanted, say: Say) -> Evaluated:
    """Have another program run a model behind a server, and grade it."""
    play = played_by(wanted.kind)
    if play is None or wanted.checkout is None:
        raise UsageError(f"{wanted.kind} cannot be played from here: leave --checkout out")
    if other := next((name for name, what in wanted.policies if what != MODEL), None):
        raise UsageError(
            f"--policy {other}: {wanted.kind} plays models behind a server: serve it, name it by TOOLSCALE_MODEL and "
            f"OPENAI_BASE_URL, and give --policy {MODEL}"
        )
    if wanted.max_cost is not None:
        raise UsageError(f"{wanted.kind} knows no --max-cost: leave it out, and set the cap at the servers")
    folder = _folder_elsewhere(wanted)
    await _tell_hidden_tools(wanted, say)
    program = Program(
        checkout=wanted.checkout,
        interpreter=wanted.interpreter,
        environ=wanted.environ or {},
        samples=wanted.samples,
        temperature=wanted.temperature,
        at_once=wanted.at_once,
        say=say,
    )
    return _ended(folder, await play(wanted.settings, folder, wanted.tasks, program))


async def _tell_hidden_tools(wanted: Wanted, say: Say) -> None:
    asks = any(what == MODEL for _, what in wanted.policies)
    if wanted.environ and asks and (hidden := await hidden_tools(model_from(wanted.environ))):
        say(hidden)


def _folder_elsewhere(wanted: Wanted) -> Path:
    check_setting(wanted.kind, wanted.settings)
    data = (Path(each).name for each in wanted.settings.data[:1])
    return wanted.out / slug("-".join([wanted.kind, *data, wanted.settings.setting or ""]))


def _ended(folder: Path, folders: Sequence[Path]) -> Evaluated:
    """Write the report, and last the figures: whoever waits for a run waits for that file."""
    write_report(folder)
    summaries = tuple(summarize(*read_results(each)) for each in folders)
    figures = finite({each.policy: asdict(each) for each in summaries})
    write_file(folder / DONE, (json.dumps(figures, indent=1) + "\n").encode())
    return Evaluated(folder, summaries)


def players_of(wanted: Wanted, purse: Purse) -> list[Player]:
    """Return the policies in the order in which they run and stand in the table: the wanted ones, then those without a
    model. UsageError if one cannot be opened."""
    config: Config = read_config(Path(wanted.settings.config))
    players = [_player(name, what, config, wanted, purse) for name, what in wanted.policies]
    known = {player.name for player in players}
    others = (*(BASELINES if wanted.baselines else ()), *FRAME)
    return [*players, *(scripted(name, wanted.settings.seed) for name in others if name not in known)]


async def open_judged(wanted: Wanted, purse: Purse, held: AsyncExitStack) -> Opened:
    """Open the benchmark, to be closed with `held`: the judge, if one is named, and its experts behind endpoints are
    paid from the purse. UsageError if tasks end in a message and no judge is named."""
    opened = open_benchmark(wanted.kind, wanted.settings, wanted.tasks)
    held.push_async_callback(opened.close)
    bench = opened.ground.bench
    bench.experts = {name: await held.enter_async_context(purse.paid(expert)) for name, expert in bench.experts.items()}
    check_gradable((case.task.task for case in opened.cases if case.task.task is not None), wanted.judge, "--data")
    if wanted.judge is None:
        return opened
    model, replies = judge_model(wanted.judge), wanted.judge.replies
    kept = None if replies is None else Path(replies)
    judge = await held.enter_async_context(purse.client(model, wanted.judge.max_cost, kept))
    bench.judge = MessageJudge(judge, "--max-cost" if wanted.judge.max_cost is None else "--judge-max-cost")
    return opened if opened.with_judge is None else replace(opened, grade=opened.with_judge(judge))


def slug(title: str) -> str:
    """Return a name for a folder."""
    return "".join(letter if letter.isalnum() else "-" for letter in title).strip("-").replace("--", "-")


def _player(name: str, what: str, config: Config, wanted: Wanted, purse: Purse) -> Player:
    if what == MODEL:
        if wanted.environ is None:
            raise UsageError("the policy `model` needs the environment; set TOOLSCALE_MODEL")
        return endpoint(model_from(wanted.environ), purse, wanted.temperature)
    if what == UNTRAINED:
        began = next((own for _, folder in wanted.policies if (own := _config_of(folder, config)) is not None), config)
        return checkpoint(Path(began.model.path), name, began, wanted.temperature)
    if "/" in what or Path(what).is_dir():
        return checkpoint(Path(what), name, _config_of(what, config) or config, wanted.temperature)
    if name != what:
        raise UsageError(f"--policy {name}={what}: {what} is no folder; policies without a model keep their own names")
    return scripted(what, wanted.settings.seed)


def _config_of(folder: str, config: Config) -> Config | None:
    """Return the configuration that training wrote beside a checkpoint; None if there is none. That of SFT says nothing
    of rollouts: they are those of `config`."""
    path = Path(folder).parent / "config.yaml"
    if "/" not in folder or not path.is_file():
        return None
    found = read_any(path)
    return config.model_copy(update={"model": found.model}) if isinstance(found, SftConfig) else found


def _show(bar: Bar, number: TaskID, progress: Progress) -> None:
    bar.update(number, description=progress.told(), completed=progress.done, total=progress.total)


def _bar() -> Bar:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Bar(*columns, console=console, transient=True, disable=not console.is_terminal)
