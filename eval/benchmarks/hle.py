"""HLE (Humanity's Last Exam, arXiv 2501.14249): four sets that are never mixed. Its questions are under conditions:
they carry a canary, and may stand neither in a repository nor on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval import question_files
from eval.answers import AnswerJudge
from eval.benchmark import About, Case, Grade, Opened
from eval.ground import Ground, open_ground
from eval.question_files import cell_of, read_cells, task_of
from eval.records import Settings
from toolscale.errors import UsageError
from toolscale.models.chat import ChatClient

TEXT, STATIC, GOLD, ROLLING = "text-only", "static", "verified gold", "rolling"
COUNTS = {TEXT: 2_158, STATIC: 2_500, GOLD: 668, ROLLING: 2_689}

ABOUT = About(
    title="Questions of experts, at the edge of what is known; confidence is asked for",
    size=", ".join(f"{name} {count:,}" for name, count in COUNTS.items()),
    licence="MIT by its card, under conditions of access: no question may be published",
    data="gated: accept the conditions of cais/hle (cais/hle-rolling for `rolling`) on the Hub, log in with a token of "
    f"your own, and download its Parquet file: --data FILE; `{GOLD}` needs a second --data with the ids, one a line, "
    "from skylenage-ai/HLE-Verified",
    judged_by="equality, number and date first; then a judge (--judge-model), without which the rest is unscored",
    gated=True,
    settings=(TEXT, STATIC, GOLD, ROLLING),
)

ASKED = (
    "\n\nEnd with two lines: `Answer:` and your answer, `Confidence:` and how sure you are of it, from 0 % to 100 %."
)


@dataclass(frozen=True)
class Row(question_files.Row):
    """One question."""

    category: str
    has_image: bool


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open a set. UsageError, with how to get access, where its file is missing."""
    name = settings.setting or TEXT
    wanted = 2 if name == GOLD else 1
    if len(settings.data) != wanted:
        raise UsageError(f"hle ({name}) needs {wanted} file{'s' if wanted > 1 else ''}: --data FILE; {ABOUT.data}")
    rows = list(read_rows(Path(settings.data[0])))
    if name in (TEXT, ROLLING):
        rows = [row for row in rows if not row.has_image]
    if name == GOLD:
        ids = _read_ids(Path(settings.data[1]))
        rows = [row for row in rows if row.id in ids]
    if not rows:
        raise UsageError(f"{settings.data[0]}: has no question of the set {name!r}; {ABOUT.data}")
    ground = open_ground(settings, {"reasoning": 1.0})
    part = rows[:tasks]
    return Opened(
        about=ABOUT,
        cases=[_case(rows, number, ground) for number in range(len(part))],
        ground=ground,
        grade=AnswerJudge(states_confidence=True).grade,
        notes=tuple(_notes(name, part)),
        with_judge=_judged,
    )


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the questions of a file with the columns of cais/hle. UsageError for one that is missing or wrong, with the
    row; the message never holds a question."""
    for number, cells in enumerate(read_cells(path, ABOUT.data)):
        found = {name: cell_of(cells, (name,)) for name in ("id", "question", "answer", "answer_type", "category")}
        if missing := next((name for name in ("id", "question", "answer") if not found[name]), None):
            raise UsageError(f"{path}: row {number}: has no {missing}; it needs the columns of cais/hle")
        yield Row(
            id=found["id"],
            question=found["question"],
            answer=found["answer"],
            kind=found["answer_type"],
            category=found["category"],
            has_image=bool(cells.get("image")),
        )


def _judged(client: ChatClient) -> Grade:
    return AnswerJudge(client, states_confidence=True).grade


def _notes(name: str, part: Sequence[Row]) -> Iterator[str]:
    yield f"Set: {name}"
    if name == ROLLING:
        yield "Questions with an image are left out"
    elif len(part) != COUNTS[name]:
        yield f"{len(part)} of its {COUNTS[name]:,} questions"
    if images := sum(row.has_image for row in part):
        yield f"{images} questions are about an image that is not shown"


def _read_ids(path: Path) -> frozenset[str]:
    try:
        return frozenset(path.read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read; {ABOUT.data}") from error


def _case(rows: Sequence[Row], number: int, ground: Ground) -> Case:
    row = rows[number]
    task = task_of(ground, rows, number, row.question + ASKED, "reasoning", "hle")
    return Case(task.model_copy(update={"basic_tools": ()}), row.id, {"category": row.category, "kind": row.kind})
