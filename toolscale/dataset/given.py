"""What models and people gave to a dataset beside its seed: lines of JSON, in files that lie in the dataset too.

    given/finance/attempts.jsonl             what models did with tasks
    given/finance/readings.jsonl             how a judge read their final messages
    given/finance/losses.jsonl               what was paid for tries that came to nothing
    environments/finance/decisions.jsonl     what people decided; kept with the environment

Each line names its candidate by a key, so a line of another environment, or of another request, fits nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from toolscale.canonical import canonical_json, content_hash
from toolscale.dataset.storage import read_file, remove_file, write_file
from toolscale.errors import DatasetError
from toolscale.records import Attempt, Candidate, Decision, Loss, Reading, Record
from toolscale.records.dollars import dollars_of
from toolscale.strict_json import read_record
from toolscale.tasks.candidate_keys import decided, key_of
from toolscale.text_files import printable
from toolscale.verify.readings import hash_of_attempt
from toolscale.verify.solvable import UNTRIED, Tried

ATTEMPTS, READINGS, LOSSES = "attempts.jsonl", "readings.jsonl", "losses.jsonl"
DECISIONS = "decisions.jsonl"
MOST_BYTES = 256 << 20

Line = TypeVar("Line", bound=Record)
About = TypeVar("About", Attempt, Reading, Loss)


@dataclass(frozen=True)
class Given:
    """The lines by the keys of their candidates."""

    attempts: Mapping[str, tuple[Attempt, ...]] = field(default_factory=dict)
    """Ordered by model and number."""
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    readings: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict)
    """Ordered by message: one for each at most."""
    losses: Mapping[str, tuple[Loss, ...]] = field(default_factory=dict)
    """Ordered by model and number."""

    @property
    def hash(self) -> str:
        """Hash of all lines; empty if there are none."""
        lines = [
            *_grouped_lines(self.attempts),
            *_lines(self.decisions.values()),
            *_grouped_lines(self.readings),
            *_grouped_lines(self.losses),
        ]
        return content_hash(lines) if lines else ""

    @property
    def tries(self) -> list[Attempt]:
        """All attempts."""
        return [attempt for group in self.attempts.values() for attempt in group]

    @property
    def dollars(self) -> dict[str, float | None]:
        """What each kind of line cost; None where that is not known of all."""
        return {
            "attempts": dollars_of(attempt.usd for attempt in self.tries),
            "readings": dollars_of(line.usd for group in self.readings.values() for line in group),
            "losses": dollars_of(line.usd for group in self.losses.values() for line in group),
        }

    def put_on(self, candidate: Candidate, environment_hash: str) -> Candidate:
        """Return a candidate that was drawn from the seed with the decision that is given for it."""
        if self.decisions and (decision := self.decisions.get(key_of(candidate, environment_hash))):
            candidate = decided(candidate, decision)
        return candidate

    def about_these(self, candidates: Sequence[Candidate], environment_hash: str) -> Given:
        """Return the attempts, readings and losses of these candidates alone, and all decisions. A reading of a message
        that is in none of the attempts is left out."""
        asked = self.attempts or self.losses
        tried = {key_of(each, environment_hash) for each in candidates} if asked else set[str]()
        return Given(
            {key: lines for key, lines in self.attempts.items() if key in tried},
            self.decisions,
            {key: lines for key in self.readings if key in tried and (lines := self._fitting(key))},
            {key: lines for key, lines in self.losses.items() if key in tried},
        )

    def _fitting(self, key: str) -> tuple[Reading, ...]:
        """Return the readings of messages that are in the attempts at a candidate."""
        written = {hash_of_attempt(attempt) for attempt in self.attempts.get(key, ())}
        return tuple(line for line in self.readings[key] if line.message in written)

    def about(self, candidate: Candidate, environment_hash: str) -> Tried:
        """Return the attempts at a candidate, what was decided about it, and how a judge read the attempts."""
        if not self.attempts and not self.decisions:
            return UNTRIED
        key = key_of(candidate, environment_hash)
        return Tried(self.attempts.get(key, ()), self.decisions.get(key), self.readings.get(key, ()))


def given_folder(dataset: Path, domain: str) -> Path:
    """Return where the lines that belong to a domain lie in a dataset."""
    return dataset / "given" / domain


def given_files(domain: str) -> tuple[str, ...]:
    """Return the files in a dataset that a domain may have."""
    given = (f"given/{domain}/{name}" for name in (ATTEMPTS, READINGS, LOSSES))
    return (*given, f"environments/{domain}/{DECISIONS}")


def read_given(folder: Path | None, environment: Path) -> Given:
    """Return the lines in a folder, and the decisions in that of the environment; of files that are missing, none.

    DatasetError names the first line that is none, or that is there twice.
    """
    attempts = _read(folder / ATTEMPTS, Attempt, _place) if folder else []
    readings = _read(folder / READINGS, Reading, _message) if folder else []
    losses = _read(folder / LOSSES, Loss, _place) if folder else []
    decisions = _read(environment / DECISIONS, Decision, lambda line: line.candidate)
    return Given(
        by_candidate(sorted(attempts, key=_place)),
        {line.candidate: line for line in decisions},
        by_candidate(sorted(readings, key=_message)),
        by_candidate(sorted(losses, key=_place)),
    )


def by_candidate(lines: Iterable[About]) -> dict[str, tuple[About, ...]]:
    """Return lines by the key of their candidate, in their order."""
    grouped: dict[str, list[About]] = defaultdict(list)
    for line in lines:
        grouped[line.candidate].append(line)
    return {key: tuple(group) for key, group in grouped.items()}


def write_given(folder: Path, given: Given) -> None:
    """Write attempts, readings and losses into a folder, in the order of their candidates; no file where there are
    none."""
    for name, lines in (
        (ATTEMPTS, _grouped_lines(given.attempts)),
        (READINGS, _grouped_lines(given.readings)),
        (LOSSES, _grouped_lines(given.losses)),
    ):
        if lines:
            write_file(folder / name, "".join(f"{line}\n" for line in lines).encode())


def copy_decisions(environment: Path, out: Path) -> None:
    """Have the folder `out` hold the decisions of an environment, and no others."""
    if (environment / DECISIONS).is_file():
        write_decisions(out, read_given(None, environment).decisions.values())
    else:
        remove_file(out / DECISIONS)


def write_decisions(environment: Path, decisions: Iterable[Decision]) -> Path:
    """Write decisions into the folder of an environment, in the order of their candidates."""
    return write_file(environment / DECISIONS, "".join(f"{line}\n" for line in _lines(decisions)).encode())


def _place(attempt: Attempt | Loss) -> tuple[str, str, int]:
    return attempt.candidate, attempt.model, attempt.sample


def _message(reading: Reading) -> tuple[str, str]:
    return reading.candidate, reading.message


def _lines(records: Iterable[Decision]) -> list[str]:
    return [canonical_json(each.model_dump(mode="json")) for each in sorted(records, key=lambda each: each.candidate)]


def _grouped_lines(groups: Mapping[str, tuple[About, ...]]) -> list[str]:
    return [canonical_json(each.model_dump(mode="json")) for key in sorted(groups) for each in groups[key]]


def _read(path: Path, kind: type[Line], key: Callable[[Line], object]) -> list[Line]:
    if not path.is_file():
        return []
    if path.stat().st_size > MOST_BYTES:
        raise DatasetError(f"{path} has more than {MOST_BYTES:,} bytes; split the dataset")
    found: dict[object, Line] = {}
    for number, line in enumerate(_text_lines(path), 1):
        try:
            record = read_record(kind, line)
        except ValueError as error:
            told = printable(str(error))
            raise DatasetError(f"{path}: line {number}: {told}; remove the line, or have it written again") from error
        if key(record) in found:
            raise DatasetError(f"{path}: line {number}: {key(record)} is there twice; remove one of them")
        found[key(record)] = record
    return list(found.values())


def _text_lines(path: Path) -> Iterator[str]:
    try:
        text = read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: byte {error.start} is not UTF-8; have the file written again") from error
    return (line for line in text.split("\n") if line.strip())
