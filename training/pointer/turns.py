"""Messages in OpenAI form as units.

The system message is not read but for its date, nor are tools but for the form: policy and tools are the same in all
conversations of a domain, and what follows from them is learned. The fields of a form are new in each task, so they are
numbered, and a form is filled in as it stands in the prompt: `<form> places left .2` there, `<form> places left .2 3`
in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.strict_json import read_json
from training.pointer.units import KEY, Unit, last_day, mark, read_content, read_text, write_json

BEGIN, FORM, MANY, USER, TOOL, ASSISTANT, END = (
    "<begin>", "<form>", "<many>", "<user>", "<tool>", "<assistant>", "<end>",
)  # fmt: skip
CALL, SAY = "@", "<say>"
"""Before the name of a tool that is called; at the head of a message without calls."""

Message = Mapping[str, Any]
NO_FIELDS: Mapping[str, Any] = {}


def read_prompt(messages: Sequence[Message], tools: Sequence[Message]) -> Iterator[Unit]:
    """Yield the units of a conversation, or of what stands before its first turn: the form, then the messages."""
    yield mark(BEGIN)
    yield from read_form(tools)
    yield from read_messages(messages, clock_of(messages), fields_of(tools))


def read_messages(
    messages: Iterable[Message], today: date | None, fields: Mapping[str, Any] = NO_FIELDS, said: Sequence[str] = ()
) -> Iterator[Unit]:
    """Yield the units of messages. `today`: what dates without a year are counted from; `fields`: of the form; `said`:
    the words of users before."""
    said = list(said)
    for message in messages:
        if message["role"] == "user":
            units = list(read_text(content_of(message), today))
            said += [USER, *(unit.word for unit in units)]
            yield from [mark(USER), *units]
        elif message["role"] == "tool":
            yield mark(TOOL)
            yield from read_content(content_of(message), said)
        elif message["role"] == "assistant":
            yield mark(ASSISTANT)
            yield from write_message(message, fields)


def read_said(messages: Iterable[Message], today: date | None) -> list[str]:
    """The words of users."""
    asked = (message for message in messages if message["role"] == "user")
    return [unit.word for unit in read_messages(asked, today)]


def write_message(message: Message, fields: Mapping[str, Any] = NO_FIELDS) -> Iterator[Unit]:
    """Yield the units that the model would write for a message, the end of the turn included. `fields`: the schema of
    each field of the form."""
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield mark(CALL + function["name"])
        yield from _write_arguments(function["arguments"], fields if function["name"] == FINAL_ANSWER else NO_FIELDS)
    if not message.get("tool_calls"):
        yield mark(SAY)
        yield from read_text(content_of(message))
    yield mark(END)


def _write_arguments(given: Any, fields: Mapping[str, Any]) -> Iterator[Unit]:
    """Arguments that are not JSON are written as words; read back, they are a fault."""
    try:
        given = read_json(given) if isinstance(given, str) else given
    except ValueError:
        yield from read_text(given)
        return
    named = isinstance(given, Mapping)
    filled = {number: key for number, key in numbered(fields).items() if named and key in given}
    for number, key in filled.items():
        yield from _read_field(key, fields[key])
        yield from write_json({number: given[key]})
    others = {key: value for key, value in given.items() if key not in fields} if named else given
    yield from write_json(others)


def clock_of(messages: Sequence[Message]) -> date | None:
    """The date that the system message says it is."""
    return next((last_day(content_of(each)) for each in messages if each["role"] == "system"), None)


def content_of(message: Message) -> str:
    """The text of a message."""
    return str(message.get("content") or "")


def read_form(tools: Sequence[Message]) -> Iterator[Unit]:
    """Yield the fields of `final_answer`: its words, whether it takes several values, and its number."""
    fields = fields_of(tools)
    for number, key in numbered(fields).items():
        yield from _read_field(key, fields[key])
        yield mark(KEY + number)


def _read_field(key: str, schema: Any) -> Iterator[Unit]:
    yield mark(FORM)
    yield from read_text(key.replace("_", " "))
    if "array" in types_of(schema):
        yield mark(MANY)


def fields_of(tools: Sequence[Message]) -> dict[str, Any]:
    """The schema of each field of `final_answer`; none if there is no such tool."""
    functions = [tool["function"] for tool in tools]
    form = next((each for each in functions if each["name"] == FINAL_ANSWER), None)
    return {} if form is None else dict(form["parameters"]["properties"])


def numbered(fields: Iterable[str]) -> dict[str, str]:
    """Number -> field, in the order of the alphabet."""
    return {str(number): key for number, key in enumerate(sorted(fields), 1)}


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The JSON types that a schema names."""
    named = schema.get("type", ())
    return (named,) if isinstance(named, str) else tuple(named)
