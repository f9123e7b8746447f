"""The person whom an agent talks with in a dialogue: answers what is asked, and never more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from toolscale.language.inquiries import read_inquiry
from toolscale.models.thoughts import spoken
from toolscale.records import Candidate

UNKNOWN = "I'm not sure I can answer that. What exactly do you need to know?"
"""The answer to what the person cannot tell, or does not understand: it is no refusal, so one may ask again."""
STILL_THERE = "the person has not gone, and may want more: write to them before you give the answer"
"""Said of a form that is filled in before the person has come back with everything."""
NOTED = "All right."
"""The answer to a message that asks for nothing, where a call of `final_answer` ends the conversation."""
LEAVE = "Just what I asked for, please. If that can't be done, leave it as it is."
"""The answer to a proposal: it permits what was asked for, and nothing else."""


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
