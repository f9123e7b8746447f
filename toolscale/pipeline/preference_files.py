"""Write a file of preferences in a model's words: weights are drawn as for the grammar, a model says them, and what is
not read back as it was meant is left out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from toolscale.dataset.storage import write_file
from toolscale.errors import UnusableReplyError, UsageError
from toolscale.models.chat import ChatClient, ChatModel, ChatRequest
from toolscale.models.purse import Purse
from toolscale.preferences.drawing import preference
from toolscale.preferences.grammar import TOOL_WORDS
from toolscale.preferences.worded import WordedPreferences, as_lines
from toolscale.preferences.wording import Ask, WordingCounts, worded_by_model
from toolscale.records import Split, WordedPreference
from toolscale.rollout.offering import ALIASES

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
    writer: ChatModel,
    purse: Purse,
    *,
    count: int,
    seed: int = 0,
    wish_share: float = 0.5,
    progress: Report = lambda act, done, total: None,
) -> Worded:
    """Ask for `count` preferences of each split in the words of `writer`, and write those to `out` that it reads back
    as they were meant.

    Drafts offer every expert and every basic tool, so that an instruction means the same in each task that offers what
    it names. The writer is paid from the purse. No file, and what a ChatClient raises, if it cannot be asked or the cap
    is reached; UsageError if it leaves a split without a preference that fits every task.
    """
    counts: dict[str, WordingCounts] = {}
    lines: dict[str, WordedPreference] = {}
    kept, fault = 0, ""

    async def word() -> None:
        nonlocal kept, fault
        async with purse.client(writer, recorded=True) as client:
            asked = _Asked(client, 2 * count, progress)
            for split in get_args(Split):
                drafts = [preference(i, seed, split, ALIASES, tuple(TOOL_WORDS), wish_share) for i in range(count)]
                found, counts[split] = await worded_by_model(
                    drafts, ALIASES, tuple(TOOL_WORDS), asked.writing(split), asked.reading()
                )
                kept += len(found)
                for one in found:
                    lines.setdefault(one.instruction, WordedPreference(split=split, **one.model_dump()))
            fault = asked.fault

    asyncio.run(word())
    if empty := WordedPreferences(lines.values()).splits_without():
        raise UsageError(f"{writer.endpoint.base_url}: {_too_few(empty[0], counts[empty[0]], fault)}")
    write_file(out, as_lines(lines.values()))
    written = {split: sum(line.split == split for line in lines.values()) for split in counts}
    return Worded(counts, kept - len(lines), written)


class _Asked:
    """The writer as somebody who is sent a prompt and gives text, another one each time. Remembers what could not be
    used."""

    def __init__(self, client: ChatClient, drafts: int, progress: Report) -> None:
        self._client, self._drafts, self._progress = client, drafts, progress
        self._done = 0
        self._sent = Counter[str]()
        self.fault = ""

    def writing(self, split: str) -> Ask:
        """Return what writes instructions."""

        async def write(prompt: str) -> str | None:
            self._progress(f"wording preferences ({split})", self._done, self._drafts)
            self._done += 1
            return await self._ask(prompt, "word preferences")

        return write

    def reading(self) -> Ask:
        """Return what reads them back."""

        async def read(prompt: str) -> str | None:
            return await self._ask(prompt, "read preferences")

        return read

    async def _ask(self, prompt: str, stage: str) -> str | None:
        self._sent[prompt] += 1
        message = {"role": "user", "content": prompt}
        try:
            reply = await self._client.ask(ChatRequest(stage, (message,), sample=self._sent[prompt] - 1))
        except UnusableReplyError as error:
            self.fault = str(error)
            return None  # this draft is lost, others may succeed
        self.fault = reply.problem or reply.refusal or self.fault
        return reply.content


def _too_few(split: str, counts: WordingCounts, fault: str) -> str:
    told = ", ".join(f"{name} {number}" for name, number in asdict(counts).items())
    fault = f" (the last unusable reply: {fault})" if fault else ""
    return (
        f"no preference of the split {split!r} without wishes about tools could be kept: {told}{fault}; "
        "ask for more with --count, or use a model that follows instructions better"
    )
