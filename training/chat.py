"""Conversations as tokens. A turn that was written is never made into tokens again: what follows it is made alone and
appended.

`ChatCodec` serves tokenizers with a chat template in the manner of Qwen3: tool calls between <tool_call> and
</tool_call> as {"name": …, "arguments": {…}}, reasoning between <think> and </think> before everything else. A template
that does otherwise is refused when the codec is made: what a model learned by it could not be read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import jinja2

from toolscale.errors import UsageError
from toolscale.strict_json import read_json
from toolscale.text_files import printable
from training.loading import loading

CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
REMEDY = (
    "set model.template to training/templates/qwen3.jinja, or to training/templates/compact.jinja for a small model"
)
FORM = 'Write each call as <tool_call>{"name": "…", "arguments": {…}}</tool_call>.'


class Codec(Protocol):
    """Messages in OpenAI form to ids, and back."""

    end: int
    """The id with which the template ends a turn. It is appended if the model wrote none that ends one: the turn was
    cut, or needs none."""
    stop: frozenset[int]
    """Ids that end a turn when the model writes them, `end` among them."""
    pointers: tuple[range, ...]
    """Ids of which any stands for any word that the vocabulary does not have: which one does is nothing to learn, so
    SFT draws others for each conversation, each time that it is read."""
    turn_tokens: int | None
    """After so many tokens a turn is complete without a stop token; None: a turn ends with a stop token."""

    def first(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> list[int]:
        """The prompt, through the opening of the assistant's turn."""
        ...

    def next(
        self, observations: Sequence[Mapping[str, Any]], conversation: Sequence[Mapping[str, Any]] = ()
    ) -> list[int]:
        """What follows a written turn, after its stop token, through the opening of the next turn.

        `conversation`: what was said before; a codec may read an observation in its light.
        """
        ...

    def read(
        self,
        ids: Sequence[int],
        conversation: Sequence[Mapping[str, Any]] = (),
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[dict[str, Any], str | None]:
        """An assistant message from what was written (without the stop token), and what could not be read.

        `conversation`: what was said so far, without the assistant's own turns; a codec may copy from it.
        """
        ...

    def write(self, message: Mapping[str, Any], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """The ids that the assistant would write for a message, the stop token included: what SFT trains on. `tools`:
        those of the conversation; a codec may name them in a way of its own."""
        ...

    def save(self, folder: Path) -> None:
        """Write the tokenizer beside a model, for AutoTokenizer."""
        ...


BROKEN = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""What a template of somebody else may raise."""


class ChatCodec:
    """The chat template of a tokenizer. It must show the model what is said, write calls that can be read, and not
    change earlier turns when later ones come; that is tried on short conversations."""

    def __init__(self, tokenizer: Any, template: str | None = None, thinking: bool = True, stop: Collection[int] = ()):
        self._tokenizer = tokenizer
        self._template = template
        self._options = {} if thinking else {"enable_thinking": False}
        if template is None and not tokenizer.chat_template:
            raise UsageError(f"the tokenizer has no chat template; {REMEDY}")
        if tokenizer.eos_token is None:
            raise UsageError("the tokenizer has no end-of-turn token (eos_token); set one in its tokenizer_config.json")
        self._end = str(tokenizer.eos_token)
        self.end = int(tokenizer.eos_token_id)
        self.stop = frozenset({self.end, *stop})
        self.turn_tokens: int | None = None
        self.pointers: tuple[range, ...] = ()
        self._reserved = sorted(tokenizer.get_added_vocab(), key=len, reverse=True)
        ask = {"role": "user", "content": "a"}
        call = {"type": "function", "function": {"name": "f", "arguments": {}}}
        self._after_call: list[Mapping[str, Any]] = [ask, {"role": "assistant", "content": "", "tool_calls": [call]}]
        self._after_text: list[Mapping[str, Any]] = [ask, {"role": "assistant", "content": "b"}]
        self._check()

    @classmethod
    def load(cls, model: str, template: str | None = None, thinking: bool = True) -> ChatCodec:
        """The codec of a model folder, or of a model on the Hub."""
        from transformers import AutoTokenizer

        text = None
        if template is not None:
            try:
                text = Path(template).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                told = (isinstance(error, OSError) and error.strerror) or str(error)
                raise UsageError(f"model.template: {template}: cannot be read ({told})") from error
        with loading("tokenizer", model):
            tokenizer = AutoTokenizer.from_pretrained(model)
        return cls(tokenizer, text, thinking, stop_ids(model))

    def first(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> list[int]:
        """The prompt, through the opening of the assistant's turn."""
        return self._encode(self._render(self._plain(messages), tools=list(tools) or None, add_generation_prompt=True))

    def next(
        self, observations: Sequence[Mapping[str, Any]], conversation: Sequence[Mapping[str, Any]] = ()
    ) -> list[int]:
        """What follows a written turn. It is cut from a short conversation that ends with these observations: templates
        look one message back."""
        before = self._after_call if observations[0]["role"] == "tool" else self._after_text
        start = self._through_end(self._render(before))
        whole = self._render([*before, *self._plain(observations)], add_generation_prompt=True)
        if not whole.startswith(start):
            raise self._refused(_CHANGES)
        return self._encode(whole[len(start) :])

    def read(
        self,
        ids: Sequence[int],
        conversation: Sequence[Mapping[str, Any]] = (),
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[dict[str, Any], str | None]:
        """Read a turn. What cannot be read is never taken for a final answer: the raw text comes back with what is
        wrong with it."""
        return read_turn(
            self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        )

    def write(self, message: Mapping[str, Any], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """The ids that the assistant would write for a message, the stop token included."""
        ask = self._after_text[:1]
        start = self._render(ask, add_generation_prompt=True)
        whole = self._render([*ask, *self._plain([message])])
        if not whole.startswith(start):
            raise self._refused(_CHANGES)
        return self._encode(self._through_end(whole[len(start) :]))

    def save(self, folder: Path) -> None:
        """Write the tokenizer, with the template that was trained with."""
        if self._template is not None:
            self._tokenizer.chat_template = self._template
        self._tokenizer.save_pretrained(folder)

    def probe(self) -> tuple[str, list[int]]:
        """A text with all that a conversation may hold, and its ids: whoever has the same tokenizer makes the same of
        it."""
        text = self._render([*self._after_call, *_TURNS], tools=[_TOOL])
        return text, self._encode(text)

    def _render(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> str:
        shaped = [_with_objects(message) for message in messages]
        try:
            text: str = self._tokenizer.apply_chat_template(
                shaped, tokenize=False, chat_template=self._template, **options, **self._options
            )
        except BROKEN as error:  # it refuses, is broken, or is one of several
            raise self._refused(f"cannot write a conversation ({printable(str(error), 160)})") from error
        return text

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _through_end(self, text: str) -> str:
        """The text through the last token that ends a turn."""
        place = text.rfind(self._end)
        if place < 0:
            raise self._refused(f"does not end a turn with the tokenizer's eos_token, {self._end!r}")
        return text[: place + len(self._end)]

    def _plain(self, value: Any) -> Any:
        """Change reserved words in what users and tools said, so that they have no effect: `<|im_end|>` in a tool's
        reply must not end its message."""
        if isinstance(value, str):
            for word in self._reserved:
                if word in value:
                    value = value.replace(word, f"{word[:1]} {word[1:]}")
            return value
        if isinstance(value, Mapping):
            return {key: self._plain(item) for key, item in value.items()}
        return [self._plain(item) for item in value] if isinstance(value, list | tuple) else value

    def _check(self) -> None:
        """Raise UsageError where the template rewrites the past, keeps something from the model, or writes a turn that
        cannot be read."""
        reply = {"role": "tool", "tool_call_id": "1", "name": "f", "content": "said_81"}
        more = {"role": "user", "content": "asked_81"}
        for before, observation in ((self._after_call, reply), (self._after_text, more)):
            later = self._render([*before, observation], add_generation_prompt=True)
            opening, written = self._render(before[:1], add_generation_prompt=True), self._render(before)
            written = self._through_end(written)
            if not later.startswith(written) or not written.startswith(opening):
                raise self._refused(_CHANGES)
            if observation["content"] not in later[len(written) :]:
                raise self._refused(f"leaves out messages with the role {observation['role']}")
        system = {"role": "system", "content": "policy_81"}
        prompt = self._render([system, *self._after_text[:1]], tools=[_TOOL], add_generation_prompt=True)
        for mark, what in (("policy_81", "the system message"), ("tool_81", "the tools"), ("member_81", "arguments")):
            if mark not in prompt:
                raise self._refused(f"leaves {what} out of the prompt")
        for message in _TURNS:
            read, fault = self.read(ids := self.write(message)[:-1])
            if fault is not None or any(read.get(name) != value for name, value in message.items()):
                text = printable(self._tokenizer.decode(ids, skip_special_tokens=False), 120)
                told = fault or f"as {'a call' if read.get('tool_calls') else 'an answer'}"
                what = "calls" if "tool_calls" in message else "an answer"
                raise self._refused(f"writes {what} as {text!r}, which is read otherwise ({told.rstrip('.')})")

    @staticmethod
    def _refused(what: str) -> UsageError:
        return UsageError(f"the chat template {what}; {REMEDY}")


_CHANGES = "changes earlier turns when later ones come, so that written tokens cannot be kept"
_TOOL = {
    "type": "function",
    "function": {
        "name": "tool_81",
        "description": "Look something up.",
        "parameters": {
            "type": "object",
            "properties": {"member_81": {"type": "string", "description": "The member."}},
            "required": ["member_81"],
        },
    },
}
_TURNS: tuple[dict[str, Any], ...] = (
    {"role": "assistant", "content": "b"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"call_{number}", "type": "function", "function": {"name": "tool_81", "arguments": arguments}}
            for number, arguments in enumerate(('{"member_81": "Zoë"}', '{"rows": [1, null, true]}'), 1)
        ],
    },
)
"""Turns that a template must write so that they are read as they are."""


def stop_ids(model: str) -> list[int]:
    """The ids that end a text by the model's generation_config.json, or by its config.json where it has none. A vLLM
    server ends turns with them too, whatever a request says, so every sampler does."""
    from transformers import AutoConfig, GenerationConfig

    with loading("configuration", model):
        try:
            found = GenerationConfig.from_pretrained(model).eos_token_id
        except OSError:  # it has no generation_config.json
            found = AutoConfig.from_pretrained(model).eos_token_id
    return [] if found is None else [found] if isinstance(found, int) else list(found)


def read_turn(text: str) -> tuple[dict[str, Any], str | None]:
    """Read the raw text of a turn: the message, and what is wrong with it in words that a model can act on (the message
    then holds the text)."""
    raw = {"role": "assistant", "content": text}
    reasoning, rest, fault = _split_reasoning(text)
    if fault is not None:
        return raw, fault
    content, found, tail = rest.partition(CALL_OPEN)
    calls: list[dict[str, Any]] = []
    while found:
        body, closed, tail = tail.partition(CALL_CLOSE)
        if not closed:
            return raw, f"A {CALL_OPEN} has no {CALL_CLOSE}. {FORM}"
        call, fault = _read_call(body)
        if fault is not None:
            return raw, fault
        calls.append({"id": f"call_{len(calls) + 1}", "type": "function", "function": call})
        between, found, tail = tail.partition(CALL_OPEN)
        if between.strip():
            return (
                raw,
                f"Text stands after a call: {between.strip()[:60]!r}. "
                "Write text before the first call, or without calls.",
            )
    stray = next((mark for mark in (CALL_CLOSE, THINK_OPEN, THINK_CLOSE) if mark in content), None)
    if stray is not None:
        return raw, f"{stray} stands alone. {FORM}"
    content = content.strip()
    if not calls and not content:
        return raw, "The message is empty. Call a tool, or write the answer."
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message, None


def _split_reasoning(text: str) -> tuple[str, str, str | None]:
    """Reasoning, the rest, and what is wrong."""
    if not text.lstrip().startswith(THINK_OPEN):
        return "", text, None
    reasoning, closed, rest = text.lstrip()[len(THINK_OPEN) :].partition(THINK_CLOSE)
    return (
        (reasoning.strip(), rest, None)
        if closed
        else ("", "", f"{THINK_OPEN} has no {THINK_CLOSE}. Close it before you call a tool or answer.")
    )


def _read_call(body: str) -> tuple[dict[str, str], str | None]:
    try:
        call = read_json(body)
    except ValueError as error:
        return {}, f"A call is not JSON ({str(error)[:80]}). {FORM}"
    if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
        return {}, f"A call must have exactly the keys name and arguments. {FORM}"
    if not isinstance(call["name"], str) or not isinstance(call["arguments"], dict):
        return {}, f"In a call, name must be a string and arguments an object. {FORM}"
    return {"name": call["name"], "arguments": json.dumps(call["arguments"], ensure_ascii=False)}, None


def _with_objects(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as templates want it: arguments as objects, content never None."""
    shaped = {**message, "content": message.get("content") or ""}
    if message.get("tool_calls"):
        shaped["tool_calls"] = [{**call, "function": _objects(call["function"])} for call in message["tool_calls"]]
    return shaped


def _objects(function: Mapping[str, Any]) -> dict[str, Any]:
    arguments = function["arguments"]
    if isinstance(arguments, str):
        try:
            arguments = read_json(arguments)
        except ValueError:  # an expert wrote it; it is shown as it is
            return dict(function)
    return {**function, "arguments": arguments}
