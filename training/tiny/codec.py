"""Conversations for the tiny model: a turn is one word, and stands for a whole message in OpenAI form.

`expert-2` calls that expert with the user's question, all of it and without the wishes, finally; `python` runs what
stands between backticks, with the number that search found as `n` where the question names something to look up too;
`local_search` looks for what stands between quotation marks; `<last>` answers with what the last tool said, or, where
none did, that it does not know. The model decides, and the codec copies. Environment tasks need nothing more, since an
expert takes over the turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from toolscale.errors import UsageError
from toolscale.rollout.prompt import body_of
from training.loading import loading
from training.tiny.tokenizer import collapse
from training.tiny.words import ALIASES, ASSISTANT, END, ERROR, LAST, RESULT, TOOL

_CODE = re.compile(r"```(?:python)?\n?([\s\S]*?)```|`([^`]*)`")
_QUOTED = re.compile(r"\"([^\"]*)\"")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_CLAUSES = re.compile(r"(?<=[.!?])\s+|,\s+(?:and\s+)?|\s+and\s+")
_SAME = tuple(
    (re.compile(rf"\b(?:{asked})", re.IGNORECASE), re.compile(rf"\b(?:{told})", re.IGNORECASE))
    for asked, told in (
        ("born|birth|bear|world|year|when|age\\b|old\\b", "born|world"),
        ("teach|taught|tutor|mentor|pupil|stud|lesson|learn|educat|instruct|train|school", "teach|pupil"),
        ("live|living|home|resid|dwel|settle|house|lodg", "lived|life"),
        ("inhabit|people|popula|resident|soul|headcount|live|how (?:big|large)|size|citizen", "inhabit"),
        ("river|bank|water|flow|stream|runs", "on the|lies where"),
        ("mayor|town hall|in charge|govern|office|head of", "mayor"),
        ("found|start|establish|set (?:it )?up|sets? up|creat|begin|began|idea|owe|bring|brought|behind", "found"),
        ("seat|based?\\b|headq|head office|office|home|located|town|where", "seat"),
        ("work|employ|staff|headcount|payroll|earn|jobs?\\b|how many", "employ|work"),
        ("weigh|weight|gram|heav|mass|scales?\\b", "weigh|grams"),
        ("make|made|manufactur|produc|buil[dt]|compan|firm|label|brand", "made by"),
        (
            "invent|devis|came up|come up|comes? from the mind|design|creat|dream|thought|conceiv|idea|mind",
            "invent|drawing",
        ),
    )
)
"""What a question may ask, and how the library tells it."""
_EMPTY = frozenset(
    {"the", "of", "in", "a", "is", "was", "did", "does", "do", "have", "has", "what", "whic", "who", "how"}
)
FORM = "Write one word: an expert, python, local_search, or <last>."
NOT_KNOWN = "I do not know."

Message = Mapping[str, Any]


class TinyCodec:
    """Messages to the ids of words, and single words back to messages."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        ids = tokenizer.get_vocab()
        missing = [word for word in (*ALIASES, END, LAST) if word not in ids]
        if missing:
            raise UsageError(
                f"the tokenizer does not have the word {missing[0]}; "
                "model.codec: tiny needs the tokenizer of training/tiny/base"
            )
        self.end = ids[END]
        self.stop = frozenset({self.end})
        self.turn_tokens: int | None = 1
        self.pointers: tuple[range, ...] = ()
        self._next = {word: [ids[TOOL], ids[word], ids[ASSISTANT]] for word in (RESULT, ERROR)}

    @classmethod
    def load(cls, model: str) -> TinyCodec:
        """The codec of a model folder."""
        with loading("tokenizer", model):
            tokenizer = AutoTokenizer.from_pretrained(model)
        return cls(tokenizer)

    def vocabulary(self) -> dict[str, int]:
        """Word -> id."""
        ids: dict[str, int] = self._tokenizer.get_vocab()
        return ids

    def first(self, messages: Sequence[Message], tools: Sequence[Message]) -> list[int]:
        """The prompt, through the opening of the assistant's turn."""
        text = self._tokenizer.apply_chat_template(
            list(messages), tools=list(tools), tokenize=False, add_generation_prompt=True
        )
        return collapse(self._tokenizer, self._tokenizer.encode(text, add_special_tokens=False))

    def next(self, observations: Sequence[Message], conversation: Sequence[Message] = ()) -> list[int]:
        """What follows a written turn: whether the last thing that came was an error."""
        return self._next[ERROR if '"error":' in str(observations[-1].get("content")) else RESULT]

    def read(
        self, ids: Sequence[int], conversation: Sequence[Message] = (), tools: Sequence[Message] = ()
    ) -> tuple[dict[str, Any], str | None]:
        """Read a turn of one word. What it copies is taken from the conversation."""
        words = self._tokenizer.convert_ids_to_tokens(list(ids))
        raw = {"role": "assistant", "content": " ".join(words)}
        if len(words) != 1:
            return raw, f"{len(words)} words. {FORM}"
        word, asked = words[0], body_of(_content_of(conversation, "user"))
        if word in ALIASES:
            return _call("call_expert", _asking(word, asked, tools)), None
        if word == "python" and (code := _first(_CODE, asked)):
            found = number_found(asked, _content_of(conversation, "tool"))
            return _call("python", {"code": code if found is None else f"n = {found}\n{code}"}), None
        if word == "local_search" and (query := _first(_QUOTED, asked)):
            return _call("local_search", {"query": query}), None
        if word == LAST:
            said = _content_of(conversation, "tool")
            known = said and '"error":' not in said
            return {"role": "assistant", "content": answering_sentence(asked, said) if known else NOT_KNOWN}, None
        return raw, f"{word} cannot be used here. {FORM}"

    def write(self, message: Message, tools: Sequence[Message] = ()) -> list[int]:
        """The word of a message, and the end of the turn."""
        calls = message.get("tool_calls") or ()
        word = LAST
        if calls:
            function = calls[0]["function"]
            given = function["arguments"]
            arguments = json.loads(given) if isinstance(given, str) else given
            word = arguments["expert"] if function["name"] == "call_expert" else function["name"]
        ids: list[int] = self._tokenizer.convert_tokens_to_ids([word, END])
        return ids

    def save(self, folder: Path) -> None:
        """Write the tokenizer beside a model."""
        self._tokenizer.save_pretrained(folder)


def answering_sentence(question: str, said: str) -> str:
    """Return what a tool said if it is short; of search results the clause of the first one that tells what is asked.

    A clause is worth the words of the question that ask for what it tells (_SAME); where none does, the words that it
    shares with the question, by their first four letters and without those of the quoted name.
    """
    lines = [line for line in said.split("\n\n")[0].splitlines() if line.strip()]
    if not said.startswith("[1] ") or len(lines) < 2:
        return said.strip()
    plain = _QUOTED.sub(" ", question)
    shared = _stems(plain) - _stems(_first(_QUOTED, question)) - _EMPTY

    def worth(clause: str) -> tuple[int, int]:
        asked = sum(len(ask.findall(plain)) for ask, tell in _SAME if tell.search(clause))
        return asked, len(shared & _stems(clause))

    clauses = [clause for line in lines[1:] for clause in _CLAUSES.split(line) if clause.strip()]
    return max(clauses, key=worth).strip()


def number_found(question: str, said: str) -> str | None:
    """Return the first number that search tells of what a question quotes, besides those of its name; None where the
    question quotes nothing, or nothing was found."""
    name = _first(_QUOTED, _CODE.sub(" ", question))
    if not name or not said.startswith("[1] "):
        return None
    _, _, told = said.split("\n\n")[0].partition("\n")
    match = _NUMBER.search(told.replace(name, " "))
    return None if match is None else match[0]


def _stems(text: str) -> set[str]:
    return {word.lower()[:4] for word in _WORD.findall(text)}


def _asking(alias: str, asked: str, tools: Sequence[Message]) -> dict[str, Any]:
    """The arguments of call_expert: with a question where its parameters have one, in which case the reply is final."""
    function: Mapping[str, Any] = next(
        (tool["function"] for tool in tools if tool["function"]["name"] == "call_expert"), {}
    )
    if "question" in function.get("parameters", {}).get("properties", {"question": {}}):
        return {"expert": alias, "question": asked, "final": True}
    return {"expert": alias}


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


def _content_of(conversation: Sequence[Message], role: str) -> str:
    """The first message of the user, the last of a tool."""
    found = [str(message.get("content") or "") for message in conversation if message.get("role") == role]
    return "" if not found else found[0] if role == "user" else found[-1]


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return "" if match is None else next((group for group in match.groups() if group), "").strip()
