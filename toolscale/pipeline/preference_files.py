"""Write a file of preferences in a model's words: weights are drawn as for the grammar, a model says them, and what is
not read back as it was meant is left out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from toolscale.dataset.storage import write_file
from toolscale.errors import UsageError
from toolscale.models.endpoint import endpoint_of
from toolscale.models.expert import Expert
from toolscale.preferences.drawing import preference
from toolscale.preferences.grammar import TOOL_WORDS
from toolscale.preferences.worded import WordedPreferences, as_lines
from toolscale.preferences.wording import Ask, WordingCounts, worded_by_model
from toolscale.records import Split, WordedPreference
from toolscale.rollout.offering import ALIASES

UNUSABLE = "its reply cannot be used"
"""An error of the client that begins so means that the server did answer, but not with a message that can be used: this
draft is lost, others may succeed."""

Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Worded:
    """What became of the drafts of both splits."""

    counts: dict[str, WordingCounts]
    """By split."""
    repeated: int
    """Kept, but in the words of another: not in the file."""
    written: dict[str, int]
    """Lines of the file, by split."""


def word_preferences(
    out: Path,
    writer: Expert,
    *,
    count: int,
    seed: int = 0,
    wish_share: float = 0.5,
    progress: Report = lambda act, done, total: None,
) -> Worded:
    """Ask for `count` preferences of each split in the words of `writer`, and write those to `out` that it reads back
    as they were meant.

    Drafts offer every expert and every basic tool, so that an instruction means the same in each task that offers what
    it names. UsageError, and no file, if the writer cannot be asked, or leaves a split without a preference that fits
    every task.
    """
    counts: dict[str, WordingCounts] = {}
    lines: dict[str, WordedPreference] = {}
    kept = 0
    asked = _Asked(writer, 2 * count, progress)
    for split in get_args(Split):
        drafts = [preference(number, seed, split, ALIASES, tuple(TOOL_WORDS), wish_share) for number in range(count)]
        found, counts[split] = asyncio.run(
            worded_by_model(drafts, ALIASES, tuple(TOOL_WORDS), asked.writing(split), asked.reading(split))
        )
        kept += len(found)
        for one in found:
            lines.setdefault(one.instruction, WordedPreference(split=split, **one.model_dump()))
    if empty := WordedPreferences(lines.values()).splits_without():
        raise UsageError(_too_few(empty[0], counts[empty[0]], asked))
    write_file(out, as_lines(lines.values()))
    written = {split: sum(line.split == split for line in lines.values()) for split in counts}
    return Worded(counts, kept - len(lines), written)


class _Asked:
    """The writer as somebody who is sent a prompt and gives text. Remembers what could not be used."""

    def __init__(self, writer: Expert, drafts: int, progress: Report) -> None:
        self._writer, self._drafts, self._progress = writer, drafts, progress
        self._done = 0
        self.fault: str | None = None
        self.where = endpoint_of(writer.spec).base_url

    def writing(self, split: str) -> Ask:
        """Return what writes instructions."""

        async def write(prompt: str) -> str | None:
            self._progress(f"wording preferences ({split})", self._done, self._drafts)
            self._done += 1
            return await self._ask(prompt, f"word {split}")

        return write

    def reading(self, split: str) -> Ask:
        """Return what reads them back."""

        async def read(prompt: str) -> str | None:
            return await self._ask(prompt, f"read {split}")

        return read

    async def _ask(self, prompt: str, draw: str) -> str | None:
        reply = await self._writer.reply(
            [{"role": "user", "content": prompt}], (), key=None, category="reasoning", draw=draw, made=()
        )
        if reply.error is not None and not reply.error.startswith(UNUSABLE):
            raise UsageError(
                f"{self.where}: {reply.error}; check the address and the name of the model, and that the server runs"
            )
        self.fault = reply.error or self.fault
        return reply.content


def _too_few(split: str, counts: WordingCounts, asked: _Asked) -> str:
    told = ", ".join(f"{name} {number}" for name, number in asdict(counts).items())
    fault = f" (the last unusable reply: {asked.fault})" if asked.fault else ""
    return (
        f"{asked.where}: no preference of the split {split!r} without wishes about tools could be kept: {told}{fault}; "
        "ask for more with --count, or use a model that follows instructions better"
    )
