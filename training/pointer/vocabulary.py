"""The words of a pointer model: those that the conversations of a domain use often, and pointers for all others.

A name, an id or the number of a card, which a tool shows or is given and the domain's own files do not have, is read as
a pointer, one of POINTERS, by its hash. The model learns to find the right pointer and to write it; which text it
stands for is looked up in the conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from training.conversations import Conversation
from training.pointer.turns import (
    ASSISTANT,
    BEGIN,
    CALL,
    END,
    FORM,
    MANY,
    SAY,
    TOOL,
    USER,
    Message,
    read_messages,
    read_prompt,
)
from training.pointer.units import (
    CLOSE,
    END_OF_LIST,
    FALSE,
    KEY,
    LEAST,
    LIST,
    MOST,
    MOST_SAID,
    NULL,
    OPEN,
    ROW,
    SAID,
    SIZE,
    SIZES,
    SMALL,
    TRUE,
    Unit,
    day_of,
    read_text,
)

PAD, UNKNOWN = "<pad>", "<unk>"
OWN = (
    PAD,
    UNKNOWN,
    BEGIN,
    FORM,
    MANY,
    USER,
    TOOL,
    ASSISTANT,
    END,
    SAY,
    OPEN,
    CLOSE,
    LIST,
    END_OF_LIST,
    LEAST,
    MOST,
    ROW,
    SAID,
    MOST_SAID,
)
CONSTANTS = (NULL, TRUE, FALSE)
POINTERS = {"": 4096, KEY: 256, CALL: 64}
"""Pointers for words, keys and tools: two that the vocabulary does not have share one once in so many times."""
POINTER = "#"
OFTEN = 5
"""A word that fewer conversations use is read as a pointer."""
CONSTANT = 0.0025
"""A number that so large a share of the conversations writes, though nobody showed it, is one of the policy."""
MOST_DAYS = 1000


def pointer_of(word: str) -> str:
    """The pointer that stands for a word, a key or a tool."""
    kind = word[0] if len(word) > 1 and word[0] in (KEY, CALL) else ""
    return f"{kind}{POINTER}{crc32(word.encode()) % POINTERS[kind]}"


def vocabulary_of(conversations: Iterable[Conversation], folder: Path) -> list[str]:
    """All words, in the order of their ids: marks, names of tools and keys, sizes, dates, words, pointers. `folder`:
    the files of the domain."""
    counts, unshown, choices, copied = Counter[str](), Counter[str](), set[str](), set[str]()
    for each in conversations:
        units = list(read_prompt(each["messages"], each["tools"]))
        counts.update({unit.word for unit in units})
        unshown.update(_unshown_numbers(units))
        copied |= {unit.word for unit in read_messages(filter(_of_tools, each["messages"]), None)}
        choices |= {word for tool in each["tools"] for word in choices_of(tool["function"].get("parameters", {}))}
    often = {word for word, count in counts.items() if count >= OFTEN}
    names = sorted(word for word in often if word[0] in (CALL, KEY) and len(word) > 1)
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if path.is_file())
    known = {word.lower() for text in texts for word in re.findall(r"\w+(?:['’:]\w+)*", text)}
    constants = {word for word, count in unshown.items() if count >= max(OFTEN, CONSTANT * counts[BEGIN])}
    plain = sorted({word for word in often if _is_plain(word, known, copied)} | choices | constants)
    sizes = [f"{SIZE}{number}" for number in range(SIZES)]
    pointers = [f"{kind}{POINTER}{number}" for kind, count in POINTERS.items() for number in range(count)]
    return list(dict.fromkeys([*OWN, *CONSTANTS, *names, *sizes, *_days(often), *plain, *pointers]))


def _unshown_numbers(units: Iterable[Unit]) -> set[str]:
    """The numbers of a conversation that the assistant was the first to write."""
    seen, found, writes = set[str](), set[str](), False
    for unit in units:
        if unit.word in (USER, TOOL, ASSISTANT):
            writes = unit.word == ASSISTANT
        elif writes and unit.word.isdecimal() and unit.word not in seen:
            found.add(unit.word)
        seen.add(unit.word)
    return found


def _of_tools(message: Message) -> bool:
    """Whether it is a call, or what a tool returned: values that are copied stand there."""
    return message["role"] == "tool" or bool(message.get("tool_calls"))


def choices_of(schema: Mapping[str, Any]) -> set[str]:
    """The words of which parameters take one."""
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    own = {unit.word for each in schema.get("enum", ()) for unit in read_text(str(each))}
    return own.union(*map(choices_of, inner))


def _is_plain(word: str, known: Collection[str], copied: Collection[str]) -> bool:
    """Whether it is a small number, a time of day, a sign, or a word that the domain has or that is never copied. A
    larger number is not: where some amounts are words and others pointers, a model writes the words."""
    if word.isdecimal():
        return len(word) < 3 and int(word) < SMALL
    sign = len(word) == 1 and not word.isalnum()
    return word not in copied or word in known or sign or re.fullmatch(r"\d\d:\d\d", word) is not None


def _days(words: Collection[str]) -> list[str]:
    """Each day from the first to the last that stands among the words; only these where they are years apart."""
    days = sorted(day for day in map(day_of, words) if day is not None)
    if not days or (days[-1] - days[0]).days > MOST_DAYS:
        return [day.isoformat() for day in days]
    return [(days[0] + timedelta(number)).isoformat() for number in range((days[-1] - days[0]).days + 1)]


def make_tokenizer(words: list[str]) -> PreTrainedTokenizerFast:
    """The vocabulary as files that transformers loads."""
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token=UNKNOWN))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token=UNKNOWN, pad_token=PAD, eos_token=END, bos_token=BEGIN
    )


class Vocabulary:
    """Units to ids, and ids to words."""

    def __init__(self, ids: Mapping[str, int]):
        self.ids = ids
        self._words = {number: word for word, number in ids.items()}

    def id_of(self, unit: Unit) -> int:
        """The id of a unit's word, or of its pointer."""
        known = self.ids.get(unit.word)
        return self.ids[pointer_of(unit.word)] if known is None else known

    def pointers(self) -> tuple[range, ...]:
        """The ids of pointers, one range for each kind."""
        starts = [(self.ids[f"{kind}{POINTER}0"], count) for kind, count in POINTERS.items()]
        return tuple(range(start, start + count) for start, count in starts)

    def word_of(self, number: int) -> str:
        """The word of an id."""
        return self._words[number]
