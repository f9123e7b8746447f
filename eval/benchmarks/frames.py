"""FRAMES: questions over several articles of Wikipedia (Krishna and others, arXiv 2409.12941)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from eval import question_files
from eval.answers import AnswerJudge
from eval.benchmark import About, Case, Opened
from eval.ground import Ground, open_ground
from eval.question_files import cell_of, read_cells, task_of
from eval.records import Settings
from toolscale.errors import UsageError

COUNT = 824
CLOSED, ORACLE, LOCAL, LIVE = "closed book", "oracle articles", "local search", "live"
TOOLS_OF = {CLOSED: (), ORACLE: (), LOCAL: ("local_search",), LIVE: ("web_search",)}
"""Setting -> the basic tools that find something."""

ABOUT = About(
    title="Questions over 2 to 15 articles of Wikipedia",
    size=f"{COUNT} questions",
    licence="Apache-2.0 (google/frames-benchmark); articles CC BY-SA",
    data="google/frames-benchmark on the Hub: --data test.tsv, or JSON lines or Parquet with question and answer; "
    f"`{LOCAL}` needs --corpus, `{ORACLE}` the texts in a column `articles`, `{LIVE}` TAVILY_API_KEY",
    judged_by="equality, number and date first; then a judge (--judge-model), without which the rest is unscored",
    settings=(CLOSED, ORACLE, LOCAL, LIVE),
)

_NAMES = {"question": ("question", "Prompt", "prompt"), "answer": ("answer", "Answer"), "id": ("id", "", "Unnamed: 0")}


@dataclass(frozen=True)
class Row(question_files.Row):
    """One question. `kind`: its kinds of reasoning."""

    articles: str


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open a file of questions. UsageError where it is missing, or where a setting lacks what it needs."""
    setting = settings.setting or CLOSED
    if len(settings.data) != 1:
        raise UsageError(f"frames needs one file of questions: --data FILE; get it: {ABOUT.data}")
    if (setting == LOCAL) != (settings.corpus is not None):
        raise UsageError(f"--corpus goes with --setting {LOCAL!r} and with no other; give both or neither")
    rows = list(read_rows(Path(settings.data[0])))
    if setting == ORACLE and (without := next((row.id for row in rows if not row.articles), None)):
        raise UsageError(f"{settings.data[0]}: question {without}: has no articles; --setting {ORACLE!r} needs them")
    ground = open_ground(settings, {"knowledge": 1.0}, web=setting == LIVE)
    if missing := [name for name in TOOLS_OF[setting] if name not in ground.bench.basic]:
        ground.held.close()
        raise UsageError(
            f"--setting {setting!r} needs the basic tool {missing[0]}, which cannot be opened: {ABOUT.data}"
        )
    part = rows[:tasks]
    notes = (f"Setting: {setting}", *((f"{len(part)} of the {COUNT} questions",) if len(part) != COUNT else ()))
    return Opened(
        about=ABOUT,
        cases=[_case(rows, number, setting, ground) for number in range(len(part))],
        ground=ground,
        grade=AnswerJudge().grade,
        notes=notes,
        with_judge=lambda client: AnswerJudge(client).grade,
    )


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the questions of a file. UsageError for one that is missing or wrong, with the row."""
    for number, cells in enumerate(read_cells(path, ABOUT.data)):
        found = {name: cell_of(cells, keys) for name, keys in _NAMES.items()}
        for name in ("question", "answer"):
            if not found[name]:
                raise UsageError(f"{path}: row {number}: has no {name}; it needs {' or '.join(_NAMES[name][:2])}")
        articles = cells.get("articles") or ""
        yield Row(
            id=found["id"] or str(number),
            question=found["question"],
            answer=found["answer"],
            kind=str(cells.get("reasoning_types") or ""),
            articles=articles if isinstance(articles, str) else "\n\n".join(map(str, articles)),
        )


def _case(rows: list[Row], number: int, setting: str, ground: Ground) -> Case:
    row = rows[number]
    text = f"{row.question}\n\nArticles:\n{row.articles}" if setting == ORACLE else row.question
    task = task_of(ground, rows, number, text, "knowledge", "frames")
    kept = tuple(name for name in task.basic_tools if name == "python" or name in TOOLS_OF[setting])
    kept = tuple(dict.fromkeys((*kept, *TOOLS_OF[setting])))
    groups = {"reasoning": row.kind} if row.kind else {}
    return Case(task.model_copy(update={"basic_tools": kept}), row.id, groups)
