"""What models and people give to a dataset beside its seed is judged as all else is, and verified from the folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from toolscale.canonical import canonical_json
from toolscale.config import POPULATION_SEED
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.columns import Row, task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.given import Given, given_folder, read_given, write_decisions, write_given
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import find_folder
from toolscale.errors import DatasetError
from toolscale.pipeline import synthesize
from toolscale.records import Attempt, Decision, Reading, Task, ToolCall
from toolscale.tasks.candidate_keys import key_of
from toolscale.verify.judge import Judge
from toolscale.verify.readings import hash_of_attempt
from toolscale.verify.verifier import Verifier

TASKS, SEED = 6, 0


@pytest.fixture(scope="module")
def tasks(few_tasks: Path) -> list[Task]:
    """The tasks of the dataset without anything given."""
    return [task_of(row) for row in rows_of(few_tasks)]


@pytest.fixture(scope="module")
def said(few_tasks: Path, tasks: list[Task]) -> dict[str, str]:
    """Task id -> a right final message."""
    environment = load_environment(few_tasks / "environments" / "mock")
    judge = Judge(environment, populate(environment, seed=POPULATION_SEED), replica=False)
    try:
        return {task.id: Verifier(judge).golden(task.candidate)[1] for task in tasks}
    finally:
        judge.close()


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Path]:
    """A copy of the mock environment, for decisions."""
    yield Path(shutil.copytree(find_folder("mock"), tmp_path / "environments" / "mock"))


def rows_of(dataset: Path) -> list[Row]:
    return read_dataset(dataset).rows.tasks


def attempt(task: Task, answer: str | None, calls: tuple[ToolCall, ...] | None = None, sample: int = 0) -> Attempt:
    made = tuple(ToolCall(name=call.name, arguments=call.arguments) for call in task.golden_calls)
    key = key_of(task.candidate, task.environment_hash)
    return Attempt(candidate=key, sample=sample, model="solver", calls=made if calls is None else calls, answer=answer)


def made_with(given: Given, folder: Path, environment: Path | str = "mock") -> Path:
    write_given(folder / "lines", given)
    synthesize(
        environment, folder / "mock", tasks=TASKS, seed=SEED, given=folder / "lines", turns="single", answer="message"
    )
    return folder / "mock"


def grouped(*attempts: Attempt) -> Given:
    return Given(attempts={attempts[0].candidate: attempts})


def gate_of(row: Row, name: str) -> tuple[str, str]:
    (gate,) = [gate for gate in row["verdict"] if gate["gate"] == name]
    return gate["status"], gate["finding"]


def one_that_writes(tasks: list[Task]) -> Task:
    return next(task for task in tasks if task.row_changes)


def test_a_task_that_a_model_solves_says_how_often(tmp_path: Path, tasks: list[Task], said: dict[str, str]) -> None:
    task = one_that_writes(tasks)
    given = grouped(attempt(task, said[task.id], sample=0), attempt(task, None, calls=(), sample=1))
    dataset = made_with(given, tmp_path)
    (row,) = [row for row in rows_of(dataset) if row["id"] == task.id]
    assert row["solved"] == {"tries": 2, "right": 1, "undecided": 0, "models": ["solver"]}
    assert gate_of(row, "solvable") == ("pass", "1 of 2 attempts are right (solver)")
    assert verify_dataset(dataset).findings == ()


@pytest.mark.slow("tests/dataset/test_given.py")
def test_a_task_that_no_model_solves_is_rejected(tmp_path: Path, tasks: list[Task]) -> None:
    task = one_that_writes(tasks)
    given = grouped(attempt(task, None, calls=(), sample=0), attempt(task, "Done.", calls=(), sample=1))
    dataset = made_with(given, tmp_path)
    assert task.id not in {row["id"] for row in rows_of(dataset)}
    (reject,) = [row for row in read_dataset(dataset).rows.rejects if row["request"] == task.request]
    assert [gate["gate"] for gate in reject["failed"]] == ["solvable"]
    assert verify_dataset(dataset).findings == ()


def others(task: Task, tasks: list[Task]) -> tuple[ToolCall, ...]:
    """Calls that end in another state: those of another task."""
    other = next(each for each in tasks if each.row_changes and each.row_changes != task.row_changes)
    return tuple(ToolCall(name=call.name, arguments=call.arguments) for call in other.golden_calls)


def quarantined(task: Task, tasks: list[Task], said: dict[str, str]) -> Given:
    calls, answer = others(task, tasks), said[task.id]
    return grouped(*(attempt(task, answer, calls, sample) for sample in (0, 1)), attempt(task, answer, sample=2))


@pytest.mark.slow("tests/dataset/test_given.py")
def test_solvers_who_agree_on_another_end_state_put_a_task_into_quarantine(
    tmp_path: Path, tasks: list[Task], said: dict[str, str]
) -> None:
    task = one_that_writes(tasks)
    dataset = made_with(quarantined(task, tasks, said), tmp_path)
    (reject,) = [row for row in read_dataset(dataset).rows.rejects if row["request"] == task.request]
    assert reject["failed"] == [
        {
            "gate": "solvable",
            "finding": "quarantined: 2 of 3 attempts agree on another end state; 1 of 3 attempts are right (solver)",
        }
    ]
    assert json.loads(reject["survivor"])["operator"] == "agreed"
    assert json.loads(reject["actual_row_changes"]) != json.loads(reject["expected_row_changes"])
    assert verify_dataset(dataset).findings == ()


@pytest.mark.slow("tests/dataset/test_given.py")
@pytest.mark.parametrize(
    ("take", "kept", "status"), [("accept", True, "pass"), ("reject", False, "fail"), ("add", True, "pass")]
)
def test_a_person_decides_and_the_decision_is_kept_with_the_environment(
    tmp_path: Path, environment: Path, tasks: list[Task], said: dict[str, str], take: str, kept: bool, status: str
) -> None:
    task = one_that_writes(tasks)
    calls = others(task, tasks)
    key = key_of(task.candidate, task.environment_hash)
    more = {"calls": calls} if take == "add" else {}
    decision = Decision.model_validate({"candidate": key, "take": take, "reason": "read twice", "by": "anna", **more})
    write_decisions(environment, [decision])
    dataset = made_with(quarantined(task, tasks, said), tmp_path, environment)
    reading = read_dataset(dataset)
    rows = reading.rows.tasks if kept else reading.rows.rejects
    (row,) = [row for row in rows if row["request"] == task.request]
    found, finding = gate_of(row, "solvable")
    right = 3 if take == "add" else 1
    told = {"accept": "kept as it is", "reject": "rejected", "add": "another end state added"}[take]
    assert (found, finding) == (status, f"{told} by anna: read twice; {right} of 3 attempts are right (solver)")
    assert read_given(None, dataset / "environments" / "mock").decisions == {key: decision}
    assert verify_dataset(dataset).findings == ()


@pytest.mark.slow("tests/dataset/test_given.py")
def test_lines_about_no_candidate_of_the_dataset_do_not_come_into_it(tmp_path: Path, tasks: list[Task]) -> None:
    strange = attempt(tasks[0], "Done.").model_copy(update={"candidate": "0" * 64})
    dataset = made_with(grouped(strange), tmp_path)
    assert not given_folder(dataset, "mock").exists()
    assert {row["id"] for row in rows_of(dataset)} == {task.id for task in tasks}


@pytest.mark.slow("tests/dataset/test_given.py")
def test_an_attempt_that_somebody_altered_is_found(tmp_path: Path, tasks: list[Task], said: dict[str, str]) -> None:
    task = one_that_writes(tasks)
    dataset = made_with(grouped(attempt(task, said[task.id])), tmp_path)
    path = given_folder(dataset, "mock") / "attempts.jsonl"
    line = json.loads(path.read_text())
    path.write_text(canonical_json({**line, "answer": None}) + "\n")
    found = {(finding.gate, finding.place) for finding in verify_dataset(dataset).findings}
    assert ("integrity", "given/mock/attempts.jsonl") in found
    assert "solvable" in {gate for gate, _ in found}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "it is not JSON: Expecting property name"),
        ('{"model": "m", "model": "n"}', "it is not JSON: a key stands twice"),
        ('{"candidate": "x", "sample": 0, "model": "m", "answer": null}', "candidate: string should match pattern"),
        (f'{{"candidate": "{"0" * 64}", "sample": -1, "model": "m", "answer": null}}', "sample: input should be"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "attempts.jsonl").write_text(f"{line}\n")
    with pytest.raises(DatasetError, match=f"attempts.jsonl: line 1: {problem}"):
        read_given(tmp_path, tmp_path)


def test_a_line_that_is_there_twice_is_named(tmp_path: Path) -> None:
    line = canonical_json({"candidate": "0" * 64, "take": "accept", "reason": "fine"})
    (tmp_path / "decisions.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(DatasetError, match=r"decisions.jsonl: line 2: 0{64} is there twice"):
        read_given(None, tmp_path)


def hedged_attempt(tasks: list[Task], said: dict[str, str]) -> tuple[Task, Attempt]:
    """An attempt that did what is right, and whose message rules cannot grade."""
    task = next(task for task in tasks if task.row_changes and any(fact.kind == "money" for fact in task.communicate))
    return task, attempt(task, f"I guess it may be so: {said[task.id]}")


def reading(attempt: Attempt, verdict: str = "right", message: str | None = None) -> Reading:
    return Reading.model_validate(
        {
            "candidate": attempt.candidate,
            "message": message or hash_of_attempt(attempt),
            "model": "judge-1",
            "prompt": "0" * 64,
            "verdict": verdict,
            "sentence": "I guess it may be so",
            "usd": 0.002,
        }
    )


@pytest.mark.slow("tests/dataset/test_given.py")
def test_a_verdict_is_an_input_and_without_its_line_the_message_is_undecided(
    tmp_path: Path, tasks: list[Task], said: dict[str, str]
) -> None:
    task, tried = hedged_attempt(tasks, said)
    given = grouped(tried)
    for name, readings, solved in (
        ("unread", (), (0, 1)),
        ("right", (reading(tried),), (1, 0)),
        ("another message", (reading(tried, message="f" * 64),), (0, 1)),
    ):
        dataset = made_with(replace(given, readings={tried.candidate: readings} if readings else {}), tmp_path / name)
        (row,) = [row for row in rows_of(dataset) if row["id"] == task.id]
        assert (row["solved"]["right"], row["solved"]["undecided"]) == solved
        assert verify_dataset(dataset).findings == ()
        assert (given_folder(dataset, "mock") / "readings.jsonl").exists() == (name == "right")


def test_a_line_about_a_message_that_nobody_wrote_is_reported(
    tmp_path: Path, tasks: list[Task], said: dict[str, str]
) -> None:
    _, tried = hedged_attempt(tasks, said)
    dataset = made_with(replace(grouped(tried), readings={tried.candidate: (reading(tried),)}), tmp_path)
    file = given_folder(dataset, "mock") / "readings.jsonl"
    odd = reading(tried, message="f" * 64)
    file.write_text(file.read_text() + canonical_json(odd.model_dump(mode="json")) + "\n")
    found = {(each.place, each.gate) for each in verify_dataset(dataset).findings}
    assert ("given/mock/readings.jsonl", "schema") in found


def test_two_verdicts_on_one_message_are_refused(tmp_path: Path, tasks: list[Task], said: dict[str, str]) -> None:
    _, tried = hedged_attempt(tasks, said)
    lines = [canonical_json(reading(tried, verdict).model_dump(mode="json")) for verdict in ("right", "wrong")]
    (tmp_path / "readings.jsonl").write_text("\n".join(lines))
    with pytest.raises(DatasetError, match=r"readings.jsonl: line 2: .* is there twice; remove one of them"):
        read_given(tmp_path, tmp_path)


def test_verdicts_belong_to_the_hash_of_what_was_given_and_to_its_dollars(
    tasks: list[Task], said: dict[str, str]
) -> None:
    _, tried = hedged_attempt(tasks, said)
    unread = grouped(tried)
    hashes = {
        replace(unread, readings={tried.candidate: (reading(tried, verdict),)}).hash for verdict in ("right", "wrong")
    }
    assert len(hashes | {unread.hash}) == 3
    assert replace(unread, readings={tried.candidate: (reading(tried),)}).dollars["readings"] == 0.002
