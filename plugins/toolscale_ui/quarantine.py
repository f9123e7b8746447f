"""Tasks in quarantine: what a person decided about one, and how that is kept with its environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from pydantic import ValidationError

from toolscale.canonical import canonical_json
from toolscale.dataset.columns import candidate_of
from toolscale.dataset.given import DECISIONS, read_given
from toolscale.environment.environment import load_environment
from toolscale.errors import DatasetError, StorageError, ToolScaleError
from toolscale.pipeline.deciding import case_of, decision_on, is_quarantined, keep_decision
from toolscale.records import Decision
from toolscale.tasks.candidate_keys import key_of

Row = dict[str, Any]

MOST_BYTES = 20_000
"""Of a form that is sent."""

TAKES = {
    "accept": "Keep the task: the golden calls are right, and the solvers are wrong.",
    "reject": "Drop the task: it can be read in two ways, or is wrong.",
    "add": "Keep the task, and count what the solvers did as right too.",
}
"""What can be decided, in words."""


@dataclass(frozen=True)
class Dispute:
    """A task in quarantine, and what was decided about it so far."""

    decision: Decision | None
    takes: Mapping[str, str]
    problem: str = ""
    """Why no decision can be kept, if it cannot."""


class Quarantine:
    """Reads and keeps decisions in the folders of the environments."""

    def __init__(self, folder_of: Callable[[], Mapping[str, Path]]):
        self._folder_of = folder_of

    def dispute(self, row: Row) -> Dispute | None:
        """Return what is disputed in a reject, or None if it is not in quarantine."""
        if not is_quarantined(row):
            return None
        folder = self._folder_of().get(row["domain"])
        if folder is None:
            return Dispute(None, TAKES, f"The domain {row['domain']} is not among those of this machine.")
        try:
            kept = read_given(None, folder).decisions
            return Dispute(kept.get(key_of(candidate_of(row), row["environment_hash"])), TAKES)
        except (DatasetError, StorageError) as error:
            return Dispute(None, TAKES, str(error))

    def decide(self, row: Row, body: bytes, by: str) -> str:
        """Keep what a form says about a reject; return why that cannot be, empty if it was."""
        dispute = self.dispute(row)
        if dispute is None:
            return "This task does not wait for a decision."
        if dispute.problem:
            return dispute.problem
        given = {name: values[-1].strip() for name, values in parse_qs(body.decode(errors="replace")).items()}
        folder = self._folder_of()[row["domain"]]
        try:
            decision = decision_on(
                case_of(row), row["environment_hash"], given.get("take", ""), given.get("reason", ""), by
            )
            if load_environment(folder).hash != row["environment_hash"]:
                return "The environment has changed since: the task is no longer what it was."
            keep_decision(folder, decision)
        except ValidationError:
            return "Choose one of the three, and give a reason of at most 2,000 characters."
        except StorageError as error:
            line = canonical_json(decision.model_dump(mode="json"))
            return f"{error} Put this line into {row['domain']}/{DECISIONS} yourself: {line}"
        except ToolScaleError as error:
            return str(error)
        return ""
