"""The runs of `research.tool_experiments`: what each of them reads, and how it is trained."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from research.spread import WHOLE
from toolscale.dataset.storage import write_file
from toolscale.errors import UsageError
from toolscale.exports.golden import golden_trajectories
from training.checkpoint import check_folder
from training.config import Config, RunSettings, SftConfig
from training.config_file import read_config
from training.conversations import Conversation, golden_conversations, read_conversations
from training.starting import run_program, write_json

MODEL, TRAINED, OTHER = "model", "trained", "other"
"""Folders: the model that runs begin with, the dataset that they read, and one of another seed."""
OTHER_SEED = 1
GOLDEN = "golden.jsonl"
"""The file that all runs read from."""
UNTRAINED, SHUFFLED, CLOSED = "untrained", "shuffled", "grpo"


@dataclass(frozen=True)
class Run:
    """One model. `conversations`: how many it reads; none: all."""

    name: str
    seed: int = 0
    conversations: int | None = None
    shuffled: bool = False
    """Each trajectory stands after the request of another task."""
    begins: str | None = None
    """GRPO from the model of this run; else SFT from the model before training."""
    beside: str | None = None
    """The run whose figures its own are compared with; none: the first whole one."""


@dataclass(frozen=True)
class Series:
    """All runs of one table, and the configurations that they share."""

    sft: Path
    grpo: Path
    seeds: int = 1
    datasets: int = 1
    """Datasets that are read, each of a seed of its own: one seed of `gym` has about 1,000 different tasks of one
    message."""
    most: int | None = None
    """Conversations of the whole runs; none: all."""
    fewer: tuple[int, ...] = (100,)
    """Conversations of the runs that read fewer."""
    control: int | None = None
    """Conversations of the control; none: as many as the whole runs."""
    closed: tuple[str, ...] = ()
    """The runs that go on with GRPO."""
    closed_seeds: int = 1
    """Of each of these."""

    def runs(self) -> list[Run]:
        """All runs, the most telling first: a stop leaves the better part of the table. A run that goes on from another
        comes one after it, so that it need not wait where two are trained at a time; UsageError if that other is none
        of them. The model before training comes last: it makes no right call, and talks longest."""
        whole = [Run(f"{WHOLE}-{seed}", seed, self.most) for seed in range(self.seeds)]
        fewer = [Run(f"{count}-0", 0, count) for count in self.fewer]
        made = [whole[0], self._control(), *fewer, *whole[1:]]
        known = [run.name for run in made]
        if unknown := next((name for name in self.closed if name not in known), None):
            raise UsageError(f"--closed {unknown}: is none of the runs; give one of {', '.join(known)}")
        planned, waiting = list[Run](), list[Run]()
        for run in made:
            planned += [run, *waiting]
            waiting = self._closed(run.name) if run.name in self.closed else []
        return [*planned, *waiting, Run(UNTRAINED)]

    def _closed(self, name: str) -> list[Run]:
        """What goes on from a run with GRPO: each seed."""
        return [
            Run(f"{name}-{CLOSED}" + (f"-{seed}" if seed else ""), seed, begins=name, beside=name)
            for seed in range(self.closed_seeds)
        ]

    def _control(self) -> Run:
        beside = f"{self.control}-0" if self.control in self.fewer else None
        return Run(f"{SHUFFLED}-0", 0, self.control or self.most, shuffled=True, beside=beside)


def chosen(runs: Sequence[Run], only: Sequence[str]) -> list[Run]:
    """The runs that are named, and what they go on from; all, where none is named. UsageError for a name that none
    has."""
    known = {run.name: run for run in runs}
    if unknown := next((name for name in only if name not in known), None):
        raise UsageError(f"--only {unknown}: is none of the runs; give one of {', '.join(known)}")
    wanted = {*only, *(begins for name in only if (begins := known[name].begins))} or set(known)
    return [run for run in runs if run.name in wanted]


def exchanged(conversations: Sequence[Conversation], seed: int) -> list[Conversation]:
    """The same requests and the same trajectories, each after a request that is not its own."""
    order = list(range(len(conversations)))
    random.Random(f"exchanged|{seed}").shuffle(order)
    after = dict(zip(order, order[1:] + order[:1], strict=True))
    made: list[Conversation] = []
    for number, each in enumerate(conversations):
        asked = _opening(each)
        other = conversations[after[number]]
        made.append({**each, "messages": [*asked, *other["messages"][len(_opening(other)) :]]})
    return made


def _opening(conversation: Conversation) -> list[Mapping[str, Any]]:
    """What stands before the first message of the assistant."""
    messages = conversation["messages"]
    first = next(place for place, message in enumerate(messages) if message["role"] == "assistant")
    return list(messages[:first])


def trained_datasets(series: Series, work: Path) -> dict[Path, int]:
    """Return the folders of the datasets that are read -> their seeds. The first one's held-out intents are played, so
    its name says no seed."""
    seeds = [seed for seed in range(series.datasets + 1) if seed != OTHER_SEED][: series.datasets]
    return {work / (f"{TRAINED}-{seed}" if seed else TRAINED): seed for seed in seeds}


def golden_of(folders: Iterable[Path], others: Path, decoys: int | None) -> Iterator[Conversation]:
    """Yield the golden conversations of datasets, each first message once, and none that a task of `others` has."""
    played = golden_trajectories(others, ("train", "test"))
    seen = {_opening({"messages": golden.messages})[-1]["content"] for golden in played}
    for conversation in (each for folder in folders for each in golden_conversations(folder, decoys)):
        asked = _opening(conversation)[-1]["content"]
        if asked not in seen:
            seen.add(asked)
            yield conversation


def prepare_conversations(series: Series, work: Path) -> None:
    """Write what the runs read from, unless it is there: all golden conversations."""
    path, decoys = work / GOLDEN, read_config(series.sft, SftConfig).decoys
    if not path.exists():
        _write_lines(path, golden_of(trained_datasets(series, work), work / OTHER, decoys))


def model_of(run: Run, work: Path) -> Path:
    """The folder of a run's model."""
    return work / MODEL if run.name == UNTRAINED else work / run.name / "model"


def train(run: Run, series: Series, work: Path) -> None:
    """Make one model, unless it is made. TrainingError if that fails."""
    if run.name == UNTRAINED:
        return
    out = work / run.name
    config = closed_loop(run, series, work) if run.begins else fine_tuning(run, series, work)
    check_folder(out, config)
    if (out / "done.json").exists():
        return
    if isinstance(config, SftConfig):
        write_conversations(run, work)
    settings = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
    write_file(out / "wanted.yaml", settings.encode())
    program = "training.grpo" if run.begins else "training.sft"
    run_program([program, str(out / "wanted.yaml"), "--out", str(out)], out / "log.txt", os.environ)


def fine_tuning(run: Run, series: Series, work: Path) -> SftConfig:
    """The configuration of a run of SFT."""
    config: SftConfig = read_config(series.sft, SftConfig)
    read = {"datasets": (), "conversations": (str(work / run.name / "conversations.jsonl"),)}
    return _beginning(config, run, work / MODEL, read)


def closed_loop(run: Run, series: Series, work: Path) -> Config:
    """The configuration of a run of GRPO."""
    config: Config = read_config(series.grpo, Config)
    folders = tuple(str(folder) for folder in trained_datasets(series, work))
    data = config.data.model_copy(update={"datasets": folders})
    return _beginning(config, run, work / str(run.begins) / "model", {"data": data})


def _beginning(config: RunSettings, run: Run, model: Path, update: Mapping[str, Any]) -> Any:
    began = config.model.model_copy(update={"path": str(model)})
    return config.model_copy(update={"seed": run.seed, "model": began, **update})


def write_conversations(run: Run, work: Path) -> None:
    """Write what a run of SFT reads, and beside it how many of these are not the golden trajectory of their task."""
    read = list(read_conversations(work / GOLDEN))
    read = (exchanged(read, run.seed) if run.shuffled else read)[: run.conversations]
    wrong = len(read) if run.shuffled else 0
    _write_lines(work / run.name / "conversations.jsonl", read)
    write_json(work / run.name / "read.json", {"conversations": len(read), "wrong": wrong})


def _write_lines(path: Path, conversations: Iterable[Conversation]) -> None:
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in conversations]
    write_file(path, "".join(lines).encode())
