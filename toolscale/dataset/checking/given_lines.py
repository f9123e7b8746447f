"""Whether what models gave to a dataset is about its candidates, and written as ToolScale writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.given import (
    ATTEMPTS,
    DECISIONS,
    LOSSES,
    READINGS,
    given_folder,
    read_given,
    write_decisions,
    write_given,
)
from toolscale.dataset.manifest import world_folder
from toolscale.dataset.storage import read_file
from toolscale.environment.environment import Environment
from toolscale.records import Judged
from toolscale.temporary_folders import temporary_folder


def check_given(folder: Path, environment: Environment, judged: Sequence[Judged]) -> Iterator[Finding]:
    """Yield the files whose lines are about no candidate that was `judged` again, or that hold more than their
    lines. Decisions are kept with the environment, and may be about the candidates of other seeds."""
    place, world = given_folder(folder, environment.domain), world_folder(folder, environment.domain)
    given = read_given(place, world)
    fitting = given.about_these([each.candidate for each in judged], environment.hash)
    with temporary_folder("lines") as anew:
        write_given(anew, fitting)
        write_decisions(anew, given.decisions.values())
        for path in (place / ATTEMPTS, place / READINGS, place / LOSSES, world / DECISIONS):
            written = anew / path.name
            if path.is_file() and (not written.is_file() or read_file(written) != read_file(path)):
                yield Finding(
                    path.relative_to(folder).as_posix(),
                    "schema",
                    "it has lines about no candidate of the dataset, or about no attempt, or is not written as "
                    "ToolScale writes it",
                )
