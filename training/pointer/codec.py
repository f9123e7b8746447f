"""Conversations for the pointer model: messages to the ids of words, and written words back to calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import UsageError
from training.loading import loading
from training.pointer.turns import (
    ASSISTANT,
    CALL,
    END,
    FORM,
    SAY,
    Message,
    clock_of,
    fields_of,
    numbered,
    read_form,
    read_messages,
    read_prompt,
    read_said,
    types_of,
    write_message,
)
from training.pointer.units import CLOSE, END_OF_LIST, FALSE, KEY, LIST, NULL, OPEN, ROW, TRUE, Unit, mark
from training.pointer.vocabulary import CONSTANTS, OWN, POINTER, Vocabulary, pointer_of

FORM_OF_A_TURN = f"Write {CALL}tool {KEY}name value …, or {SAY} and words."
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,15})")
_DECIMAL = re.compile(r"-?\d{1,15}\.\d{1,15}")
_CONSTANTS = {NULL: None, TRUE: True, FALSE: False}
_MARKS = frozenset({*OWN, *CONSTANTS})


class PointerCodec:
    """Messages to the ids of units, and turns back to messages."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = Vocabulary(tokenizer.get_vocab())
        missing = [word for word in (*OWN, pointer_of("a")) if word not in self._vocabulary.ids]
        if missing:
            raise UsageError(
                f"the tokenizer does not have the word {missing[0]}; "
                "model.codec: pointer needs a model that training.pointer.base made"
            )
        self.end = self._vocabulary.ids[END]
        self.stop = frozenset({self.end})
        self.turn_tokens: int | None = None
        self.pointers = self._vocabulary.pointers()

    @classmethod
    def load(cls, model: str) -> PointerCodec:
        """The codec of a model folder."""
        with loading("tokenizer", model):
            tokenizer = AutoTokenizer.from_pretrained(model)
        return cls(tokenizer)

    def first(self, messages: Sequence[Message], tools: Sequence[Message]) -> list[int]:
        """The prompt, through the opening of the assistant's turn."""
        return self._ids([*read_prompt(messages, tools), mark(ASSISTANT)])

    def next(self, observations: Sequence[Message], conversation: Sequence[Message] = ()) -> list[int]:
        """What follows a written turn, through the opening of the next one. Rows of which somebody spoke in the
        conversation are marked."""
        today = clock_of(conversation)
        return self._ids([*read_messages(observations, today, said=read_said(conversation, today)), mark(ASSISTANT)])

    def write(self, message: Message, tools: Sequence[Message] = ()) -> list[int]:
        """The ids that the model would write for a message, the end of the turn included."""
        return self._ids(write_message(message, fields_of(tools)))

    def read(
        self, ids: Sequence[int], conversation: Sequence[Message] = (), tools: Sequence[Message] = ()
    ) -> tuple[dict[str, Any], str | None]:
        """Read a turn. What pointers stand for is looked up in the conversation: in what tools said, or else in what
        was asked."""
        words = [self._vocabulary.word_of(number) for number in ids]
        units = _Texts(self._vocabulary, conversation, tools).units_of(ids)
        raw = {"role": "assistant", "content": " ".join(words)}
        if units and units[0].word == SAY:
            said = " ".join(unit.text for unit in units[1:])
            if not said:
                return raw, f"Nothing is said. {FORM_OF_A_TURN}"
            return {"role": "assistant", "content": said}, None
        try:
            calls = _calls(units, tools)
        except ValueError as error:
            return raw, f"{error}. {FORM_OF_A_TURN}"
        return {"role": "assistant", "content": None, "tool_calls": calls}, None

    def save(self, folder: Path) -> None:
        """Write the tokenizer beside a model."""
        self._tokenizer.save_pretrained(folder)

    def _ids(self, units: Iterable[Unit]) -> list[int]:
        return [self._vocabulary.id_of(unit) for unit in units]


class _Texts:
    """What the ids of a conversation stand for."""

    def __init__(self, vocabulary: Vocabulary, conversation: Sequence[Message], tools: Sequence[Message]):
        self._vocabulary = vocabulary
        self._known: dict[int, Unit] = {}
        today = clock_of(conversation)
        for role in ("user", "tool"):  # what a tool said is how it wants to hear it
            said = [message for message in conversation if message["role"] == role]
            self._add(read_messages(said, today))
        self._add(read_form(tools))
        for function in (tool["function"] for tool in tools):
            keys = _keys_of(function.get("parameters", {}))
            self._add(mark(word) for word in (CALL + function["name"], *(KEY + key for key in keys)))

    def _add(self, units: Iterable[Unit]) -> None:
        self._known |= {self._vocabulary.id_of(unit): unit for unit in units}

    def units_of(self, ids: Sequence[int]) -> list[Unit]:
        """The units of written ids."""
        found = []
        for number in ids:
            word = self._vocabulary.word_of(number)
            unit = self._known.get(number, mark(word))
            found.append(Unit(unit.word, _capital(unit.text)) if word.startswith(POINTER) else unit)
        return found


def _keys_of(schema: Mapping[str, Any]) -> Iterator[str]:
    """The names of a schema, those of what is inside too."""
    for key, inner in schema.get("properties", {}).items():
        yield key
        yield from _keys_of(inner)
    if "items" in schema:
        yield from _keys_of(schema["items"])


def _capital(text: str) -> str:
    """A word of letters that the domain does not know is a name, and somebody may have written it small."""
    letters = re.sub(r"[-'’]", "", text)
    return text.title() if letters.isalpha() and text in (text.lower(), text.upper()) else text


def _calls(units: Sequence[Unit], tools: Sequence[Message]) -> list[dict[str, Any]]:
    """Read calls. ValueError says what is wrong."""
    if not units or not _opens_call(units[0]):
        raise ValueError("A turn begins with no tool")
    starts = [place for place, unit in enumerate(units) if _opens_call(unit)]
    schemas = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in tools}
    calls: list[dict[str, Any]] = []
    for start, end in zip(starts, [*starts[1:], len(units)], strict=True):
        name = units[start].word[1:]
        given = units[start + 1 : end]
        if name == FINAL_ANSWER:
            arguments = _form(given, fields_of(tools))
        else:
            arguments = _Parser(given).members(schemas.get(name, {}))
        function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        calls.append({"id": f"call_{len(calls) + 1}", "type": "function", "function": function})
    return calls


def _form(units: Sequence[Unit], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Read a form by the numbers of its fields."""
    names = numbered(fields)
    parser = _Parser(list(_without_words(units)))
    found = parser.members({"properties": {number: fields[key] for number, key in names.items()}})
    if unknown := next((number for number in found if number not in names), None):
        raise ValueError(f"The form has no field {unknown}")
    return {names[number]: value for number, value in found.items()}


def _without_words(units: Sequence[Unit]) -> Iterator[Unit]:
    """What fills a form: the words of its fields, up to their numbers, are left out."""
    within = False
    for unit in units:
        within = unit.word == FORM or (within and not _is_key(unit.word))
        if not within:
            yield unit


def _opens_call(unit: Unit) -> bool:
    return unit.word.startswith(CALL) and len(unit.word) > 1


class _Parser:
    """Reads the arguments of one call, and gives values the types of their schema."""

    def __init__(self, units: Sequence[Unit]):
        self._units = list(units)
        self._place = 0

    def members(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Read keys and values to the end of the object, or of the call."""
        found: dict[str, Any] = {}
        while (word := self._peek()) is not None and _is_key(word):
            self._place += 1
            if word[1:] in found:
                raise ValueError(f"{word} stands twice")
            found[word[1:]] = self._value(schema.get("properties", {}).get(word[1:], {}))
        if word is not None and word not in (CLOSE, ROW, END_OF_LIST):
            raise ValueError(f"{word} stands where a name is wanted")
        return found

    def _peek(self) -> str | None:
        return self._units[self._place].word if self._place < len(self._units) else None

    def _value(self, schema: Mapping[str, Any]) -> Any:
        word = self._peek()
        if word == OPEN:
            self._place += 1
            found = self.members(schema)
            self._expect(CLOSE)
            return found
        if word == LIST:
            return self._list(schema.get("items", {}))
        if word in _CONSTANTS:
            self._place += 1
            return _CONSTANTS[word]
        texts = []
        while (word := self._peek()) is not None and word not in _MARKS and not _is_key(word):
            texts.append(self._units[self._place].text)
            self._place += 1
        if not texts:
            raise ValueError("A value is missing" if word is None else f"{word} stands where a value is wanted")
        return _typed(" ".join(texts), schema)

    def _list(self, schema: Mapping[str, Any]) -> list[Any]:
        self._place += 1
        items = []
        while self._peek() == ROW:
            self._place += 1
            word = self._peek()
            items.append(self.members(schema) if word is not None and _is_key(word) else self._value(schema))
        self._expect(END_OF_LIST)
        return items

    def _expect(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise ValueError(f"{wanted} is missing")
        self._place += 1


def _is_key(word: str) -> bool:
    return word.startswith(KEY) and len(word) > 1


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """A value as its schema wants it: one of its choices as it is written there, a number where one is taken."""
    types = types_of(schema)
    if ("integer" in types or "number" in types) and _WHOLE.fullmatch(text):
        return int(text)
    if "number" in types and _DECIMAL.fullmatch(text):
        return float(text)
    return next((each for each in schema.get("enum", ()) if str(each).lower() == text.lower()), text)
