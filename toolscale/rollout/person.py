"""The person whom an agent talks with in a dialogue: answers what is asked, and never more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from toolscale.errors import VoidConversationError
from toolscale.language.inquiries import Inquiry, read_inquiry
from toolscale.language.mentions import mentions
from toolscale.language.render import contains_words
from toolscale.models.thoughts import spoken
from toolscale.patterns import regex
from toolscale.records import Candidate, Reply, Tense

if TYPE_CHECKING:
    from toolscale.models.chat import ChatClient

UNKNOWN = "I'm not sure I can answer that. What exactly do you need to know?"
"""The answer to what the person cannot tell, or does not understand: it is no refusal, so one may ask again."""
STILL_THERE = "the person has not gone, and may want more: write to them before you give the answer"
"""Said of a form that is filled in before the person has come back with everything."""
NOTED = "All right."
"""The answer to a message that asks for nothing, where a call of `final_answer` ends the conversation."""
LEAVE = "Just what I asked for, please. If that can't be done, leave it as it is."
"""The answer to a proposal: it permits what was asked for, and nothing else."""

LONGEST = 400
"""Characters of a reply that a model writes."""

STAGE = "person"


class Person(Protocol):
    """Answers the messages of an agent."""

    async def reply(self, candidate: Candidate, conversation: Sequence[Mapping[str, Any]], message: str) -> str | None:
        """Return the answer to a message of the agent; None if it asks for nothing: the conversation is over.
        `conversation`: all messages before it, in OpenAI form. VoidConversationError if the person erred."""
        ...


class ScriptedPerson:
    """The embedded person: reads what is asked by rules, and answers in the words that the candidate holds."""

    async def reply(self, candidate: Candidate, conversation: Sequence[Mapping[str, Any]], message: str) -> str | None:
        """Return the answer to a message."""
        return answer_to(candidate, message, said_by_person(conversation))


def said_by_person(conversation: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the person of a conversation has said."""
    return [str(turn.get("content")) for turn in conversation if turn["role"] == "user"]


def answer_to(candidate: Candidate, message: str, said: Collection[str] = ()) -> str | None:
    """Return what the embedded person answers, who has `said` something before. Where a message asks for nothing, it is
    what they come back with next; None if there is nothing more, or if all was said at once."""
    if candidate.turns != "dialogue":
        return None
    inquiry = read_inquiry(spoken(message).text, candidate.replies)
    if not inquiry.asks:
        return next_of(candidate, said)
    told = [reply.says for reply in candidate.replies if reply.about in inquiry.about]
    return " ".join(told) or (LEAVE if inquiry.leave else UNKNOWN)


def next_of(candidate: Candidate, said: Collection[str]) -> str | None:
    """Return what the person comes back with after all that was `said`; None if there is nothing more."""
    return next((each for each in candidate.agenda if each not in said), None)


class ModelPerson:
    """A person whom a model plays. What it writes is held against the scenario before the agent sees it."""

    def __init__(self, client: ChatClient, today: str) -> None:
        self._client, self._today = client, today

    async def reply(self, candidate: Candidate, conversation: Sequence[Mapping[str, Any]], message: str) -> str | None:
        """Return the answer to a message. VoidConversationError if it is not faithful to the scenario."""
        inquiry = read_inquiry(message, candidate.replies)
        if not inquiry.asks:
            return next_of(candidate, said_by_person(conversation))
        told = [*_seen_by_person(conversation), {"role": "user", "content": message}]
        from toolscale.models.chat import ChatRequest  # with the client of a model: most persons are embedded

        request = ChatRequest(STAGE, ({"role": "system", "content": scenario_of(candidate)}, *told))
        written = ((await self._client.ask(request)).content or "").strip()
        if (fault := unfaithful(written, candidate, inquiry, self._today)) is not None:
            raise VoidConversationError(f"the person who is played by {self._client.name} {fault}")
        return written


def _seen_by_person(conversation: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what was said after the request, from the other side: the agent is the user of whoever plays the
    person."""
    said = [turn for turn in conversation if turn["role"] in ("user", "assistant") and turn.get("content")]
    spoken = [turn for turn in said[1:] if not str(turn["content"]).startswith('{"error"')]
    return [
        {"role": "user" if turn["role"] == "assistant" else "assistant", "content": turn["content"]} for turn in spoken
    ]


def scenario_of(candidate: Candidate) -> str:
    """Return what a model is told that plays the person."""
    facts = "\n".join(f"- {' / '.join(reply.words)}: {reply.says}" for reply in candidate.replies)
    return (
        "You play a person who wrote to a service desk. The messages you get are from its assistant. "
        "Answer in one or two short sentences, as that person would write.\n"
        "Say only what is asked for. Say nothing that does not stand below; if something else is asked, say that you "
        "do not know it. If the assistant proposes something, say that you want just what you asked for.\n\n"
        f"You wrote first:\n{candidate.request}\n\nWhat you can tell when you are asked:\n{facts}"
    )


def unfaithful(written: str, candidate: Candidate, inquiry: Inquiry, today: str) -> str | None:
    """Return in what a reply that a model wrote is not what the person of a scenario could say, or None.

    It has no value that the scenario does not have. It tells what is asked for, and of what is held back nothing else.
    Where the rules do not find what is asked for, it tells nothing that is held back.
    """
    if not written or len(written) > LONGEST:
        return f"wrote {len(written)} characters; 1 to {LONGEST} are a reply"
    known = {str(value) for value in candidate.say.values()} | {today} | _readings(candidate.heard, today)
    known |= {value for reply in candidate.replies for value in _readings(reply.says, today)}
    for mention in mentions(written, today, None):
        if mention.kind in ("money", "date", "digits", "id", "time") and not {str(r) for r in mention.readings} & known:
            return f"said {written[mention.start : mention.end]!r}, which the scenario does not have"
    for reply in candidate.replies:
        tells = _tells(written, reply, today)
        if reply.about in inquiry.about and not tells:
            return f"was asked for {reply.about} and did not tell it"
        if reply.held and reply.about not in inquiry.about and tells:
            return f"told {reply.about}, which was not asked for"
    return None


def _readings(text: str, today: str) -> set[str]:
    tenses: tuple[Tense | None, ...] = (None, "past", "future")
    return {
        str(reading) for tense in tenses for mention in mentions(text, today, tense) for reading in mention.readings
    }


def _tells(written: str, reply: Reply, today: str) -> bool:
    """Whether a text tells what a reply tells: its values, or without any its own words."""
    values = _readings(reply.says, today)
    if values:
        return bool(values & _readings(written, today))
    names = _CAPITALS.findall(reply.says.partition(" ")[2]) or [reply.says.strip(" .")]
    return all(contains_words(written.lower(), name.lower()) for name in names)


_CAPITALS = regex(r"[A-Z][\w'&.-]*\w(?: [A-Z][\w'&.-]*\w)*")
