"""Judge the tasks of an earlier version again, with the judge of today, from the files of that version."""

from __future__ import annotations

from toolscale.dataset.checking.recheck_rows import Chunk, regrade_chunk
from toolscale.dataset.columns import Row, candidate_of, task_of, verdict_of
from toolscale.dataset.describing.reading import Reading
from toolscale.dataset.making.judging import Place, close_kept_judges
from toolscale.dataset.making.workers import fitting_workers, map_in_workers
from toolscale.dataset.world import open_world
from toolscale.errors import DatasetError, SandboxError, SpecError, UsageError
from toolscale.records import FailedTask, Judged, RegradedTasks, UnjudgedTask
from toolscale.verify.novel import Novelty

CHUNK_ROWS = 32


def regrade(reading: Reading, domain: str) -> RegradedTasks:
    """Return what today's judge says of every task of one domain. What cannot be judged is told with the reason, never
    left out."""
    rows = sorted(reading.domains[domain].tasks, key=lambda row: (int(row["provenance"]["candidate"]), row["id"]))
    try:
        outcomes = _judge(reading, domain, rows)
    except (DatasetError, SandboxError, SpecError, UsageError) as error:
        reason = f"its environment cannot be used today: {str(error).splitlines()[0]}"
        return RegradedTasks(
            passed=(), failed=(), unjudged=tuple(UnjudgedTask(id=row["id"], reason=reason) for row in rows)
        )
    novelty = Novelty()
    passed, failed, unjudged = list[str](), list[FailedTask](), list[UnjudgedTask]()
    for row, outcome in zip(rows, outcomes, strict=True):
        if isinstance(outcome, str):
            unjudged.append(UnjudgedTask(id=row["id"], reason=outcome))
            continue
        novel = novelty.check(Judged(candidate=candidate_of(row), verdict=verdict_of(row), task=task_of(row)))
        gates = outcome | ({"novel": novel.finding} if novel.status == "fail" else {})
        if gates:
            failed.append(FailedTask(id=row["id"], gates=gates))
        else:
            passed.append(row["id"])
    failed.sort(key=lambda task: task.id)
    unjudged.sort(key=lambda task: task.id)
    return RegradedTasks(passed=tuple(sorted(passed)), failed=tuple(failed), unjudged=tuple(unjudged))


def _judge(reading: Reading, domain: str, rows: list[Row]) -> list[dict[str, str] | str]:
    environment, database = open_world(reading.folder, domain)
    part = reading.manifest.domains[domain]
    at = Place.of(environment, database, part.audit, scale=part.scale)
    cut = [rows[start : start + CHUNK_ROWS] for start in range(0, len(rows), CHUNK_ROWS)]
    chunks = [Chunk(at, tuple(("", row) for row in some), environment_changed=False) for some in cut]
    try:
        return [
            outcome for part in map_in_workers(regrade_chunk, chunks, fitting_workers(len(rows))) for outcome in part
        ]
    finally:
        close_kept_judges()  # the files of an earlier version may be removed now
