"""How far our requests pass for people's: `python -m research.blind COMMAND`.

    wishes DATASET...            the wishes of some tasks, for a writer of the control
    page DATASET... --people F   a page of numbered messages, ours among people's (and the control's), for readers
    read FOLDER SCORES...        what the readers' scores come to

Readers see a page and nothing else. A score without people's or a control's beside it, from the same reading, means
nothing: readers have no scale of their own. The *control* is the same wishes, written freely by a model for somebody
who is signed in, with no frame and no gate. People's messages are read from a file and never copied: JSON lines with
`text`. The control is a file of JSON lines with `task` and `text`.

A reader of a page gives a line of JSON for each message, `{"number": 1, "score": 4, "machine": false}`: 1 (nobody would
write this) to 5 (a person wrote this).
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import click
from scipy.stats import t

from toolscale.canonical import stable_int
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.errors import ToolScaleError, UsageError
from toolscale.json_lines import read_json_lines
from toolscale.records import Task

OURS, PEOPLE, CONTROL = "ours", "people", "control"
PAGE, KEY = "page.md", "key.json"

_HOW = (
    "Each message below was written to the desk of some service. Some were written by people, some were not. Give each "
    "a score from 1 (nobody would write this) to 5 (a person wrote this), and say whether you think a machine made it. "
    "Judge how it is written, not what it is about."
)


@dataclass(frozen=True)
class Message:
    """One message of a page."""

    kind: str
    text: str
    domain: str = ""
    evolved: str = ""
    """The evolutions of its wish, in short: `constrain`, `plain`. People have none."""
    turns: str = ""
    task: str = ""


@click.group(help=__doc__)
def main() -> None:
    """Read the command line."""


@main.command()
@click.argument("datasets", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--count", default=60, show_default=True)
@click.option("--seed", default=0, show_default=True)
def wishes(datasets: tuple[Path, ...], count: int, seed: int) -> None:
    """Print wishes of tasks that are said at once, a line of JSON each."""
    for task in drawn(datasets, count, seed, turns="single"):
        click.echo(json.dumps(wish_of(task), ensure_ascii=False))


@main.command()
@click.argument("datasets", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--people", required=True, type=click.Path(path_type=Path))
@click.option("--control", type=click.Path(path_type=Path))
@click.option("--count", default=60, show_default=True, help="Messages of ours.")
@click.option("--others", default=40, show_default=True, help="Messages of people; of the control, as many.")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", required=True, type=click.Path(path_type=Path))
def page(
    datasets: tuple[Path, ...], people: Path, control: Path | None, count: int, others: int, seed: int, out: Path
) -> None:
    """Write a page of numbered messages, and the key to it."""
    rng, free = random.Random(seed), _lines(control, "task", "text") if control is not None else []
    tasks = {task.id: task for task in _tasks(datasets)}
    texts = {_task(tasks, line, control).id: str(line["text"]) for line in free}  # nobody is shown one wish twice
    found = [_message(OURS, task, task.request) for task in drawn(datasets, count, seed, but=texts)]
    found += [Message(PEOPLE, str(line["text"])) for line in rng.sample(_lines(people, "text"), others)]
    chosen = rng.sample(sorted(texts), min(others, len(texts)))
    found += [_message(CONTROL, tasks[name], texts[name]) for name in chosen]
    rng.shuffle(found)
    blocks = [f"**{number}.** {_quoted(each.text)}" for number, each in enumerate(found, 1)]
    out.mkdir(parents=True, exist_ok=True)
    (out / PAGE).write_text("\n\n".join([_HOW, *blocks]) + "\n", encoding="utf-8")
    key = {"messages": [asdict(each) for each in found]}
    (out / KEY).write_text(json.dumps(key, ensure_ascii=False, indent=1), encoding="utf-8")
    click.echo(f"{out / PAGE}: {len(blocks)}; give readers this file alone, and keep {out / KEY} from them")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("scores", nargs=-1, required=True, type=click.Path(path_type=Path))
def read(folder: Path, scores: tuple[Path, ...]) -> None:
    """Print what scores come to, each reader's lines in a file."""
    key = json.loads((folder / KEY).read_text(encoding="utf-8"))
    for line in _page_read(key["messages"], scores):
        click.echo(line)


def drawn(datasets: Iterable[Path], count: int, seed: int, turns: str = "", but: Collection[str] = ()) -> list[Task]:
    """Draw tasks by hash: as many of each domain. `turns`: only such tasks; `but`: ids that are left out."""
    by_domain: dict[str, list[Task]] = defaultdict(list)
    for task in _tasks(datasets):
        if turns in ("", task.turns) and task.id not in but:
            by_domain[task.domain].append(task)
    for tasks in by_domain.values():
        tasks.sort(key=lambda task: stable_int("blind", seed, task.id))
    found = [tasks[place] for place in range(count) for tasks in by_domain.values() if place < len(tasks)]
    return found[:count]


def wish_of(task: Task) -> dict[str, Any]:
    """Return what somebody wants, in no words of a message: what the request says, the deeds, and what is asked."""
    fields = (task.form or {}).get("properties", {})
    asked = [str(field["description"]) for name, field in fields.items() if name not in ("done", "reasons")]
    return {
        "task": task.id,
        "domain": task.domain,
        "wish": task.intent_id.replace("_", " "),
        "evolutions": list(task.evolutions),
        "says": task.scenario.known,
        "deeds": [{"name": call.name, "arguments": call.arguments} for call in task.golden_calls],
        "asked": asked,
    }


def _message(kind: str, task: Task, text: str) -> Message:
    evolved = "+".join(sorted({line.split()[0] for line in task.evolutions} - {"quiet"})) or "plain"
    return Message(kind, text, task.domain, evolved, task.turns, task.id)


def _task(tasks: Mapping[str, Task], line: Mapping[str, Any], control: Path | None) -> Task:
    if line["task"] not in tasks:
        raise UsageError(f"{control}: {line['task']!r} is no task of the datasets")
    return tasks[line["task"]]


def _tasks(datasets: Iterable[Path]) -> Iterator[Task]:
    for folder in datasets:
        for domain in read_dataset(folder).domains.values():
            yield from (task_of(row) for rows in domain.splits.values() for row in rows)


def _lines(path: Path, *fields: str) -> list[dict[str, Any]]:
    remedy = f"is no JSON object with {', '.join(fields)}"
    return [line for _, line in read_json_lines(path, lambda line: set(fields) <= line.keys(), remedy)]


def _quoted(text: str) -> str:
    return text.strip().replace("\n", "\n> ").join(("\n\n> ", ""))


def _page_read(messages: Sequence[Mapping[str, Any]], scores: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each group of messages: mean score with its interval of 95 %, share taken for a machine."""
    given: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for path in scores:
        for line in _lines(path, "number", "score"):
            if not 1 <= line["number"] <= len(messages) or not 1 <= line["score"] <= 5:
                raise UsageError(f"{path}: {line} is no score from 1 to 5 of a message of the page")
            given[line["number"] - 1].append((float(line["score"]), bool(line.get("machine"))))
    groups: Sequence[tuple[str, Callable[[Mapping[str, Any]], str]]] = (
        ("kind", lambda each: str(each["kind"])),
        *(
            (f"{kind} by {name}", _part(kind, name))
            for name in ("turns", "evolved", "domain")
            for kind in (OURS, CONTROL)
        ),
    )
    for title, of in groups:
        yield f"{title:<24}{'messages':>9}{'mean':>7}  95 %          taken for a machine"
        found: dict[str, list[int]] = defaultdict(list)
        for place, each in enumerate(messages):
            if of(each) and place in given:
                found[of(each)].append(place)
        for name, places in sorted(found.items()):
            means = [fmean(score for score, _ in given[place]) for place in places]
            machine = [guess for place in places for _, guess in given[place]]
            yield f"  {name:<22}{len(places):>9}{fmean(means):>7.2f}  {_interval(means)}  {fmean(machine):>6.0%}"
    worst = sorted(
        (fmean(score for score, _ in given[place]), place) for place in given if messages[place]["kind"] == OURS
    )
    yield "the ten worst of ours"
    for mean, place in worst[:10]:
        each = messages[place]
        yield f"  {mean:.2f}  {each['domain']} {each['evolved']}: {each['text'][:200]!r}"


def _part(kind: str, name: str) -> Callable[[Mapping[str, Any]], str]:
    """Return what groups the messages of one kind, so that each part of ours has its anchor beside it."""
    return lambda each: str(each[name]) if each["kind"] == kind else ""


def _interval(values: Sequence[float]) -> str:
    if len(values) < 2:
        return " " * 12
    half = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return f"{fmean(values) - half:.2f} to {fmean(values) + half:.2f}"


if __name__ == "__main__":
    try:
        main()
    except ToolScaleError as error:
        click.echo(f"blind: {error}", err=True)
        raise SystemExit(2) from None
