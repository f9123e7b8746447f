"""The messages of an agent to the person of a dialogue, and which of them are its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolscale.language.inquiries import besides_questions
from toolscale.records import Candidate
from toolscale.rollout.person import NOTED, Person, next_of
from toolscale.rollout.unanswered import MOST_REPLIES


class Talk:
    """One conversation. What an agent said before its last change of the rows was true then, and is not its answer."""

    def __init__(self, candidate: Candidate, person: Person) -> None:
        self._candidate, self._person = candidate, person
        self._said: list[str] = []
        self._heard: list[str] = []
        self.replies = 0
        """Messages of the agent that were answered."""

    @property
    def answer(self) -> str:
        """All that was said since the last change, without the questions that were answered: this is graded."""
        return "\n\n".join(filter(None, self._said))

    @property
    def is_left(self) -> bool:
        """Whether the person answers no more."""
        return self.replies > MOST_REPLIES

    @property
    def is_over(self) -> bool:
        """Whether the person has come back with everything."""
        return next_of(self._candidate, self._heard) is None

    def changed(self) -> None:
        """Note that a call changed the rows."""
        self._said.clear()

    async def say(self, message: str, conversation: Sequence[Mapping[str, Any]]) -> str | None:
        """Say something to the person; return the answer, None if the message asks for nothing and is the final one: no
        message is where the answer is a form. `conversation`: the messages before it. VoidConversationError if the
        person erred."""
        reply = await self._person.reply(self._candidate, conversation, message)
        if reply is None and self._candidate.answer == "form":
            reply = NOTED
        self._heard.append(reply or "")
        self.replies += reply is not None
        self._said.append(message if reply is None else besides_questions(message))
        return reply
