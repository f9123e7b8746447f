"""What was done on one task so far: the calls with their results, what was said to the person, and what of it counts as
the final answer. It knows of no world and of no folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.environment.environment import Environment
from toolscale.environment.prompt import system_message
from toolscale.errors import SandboxLimitError, UsageError
from toolscale.models.thoughts import spoken
from toolscale.records import Grade, Solution, Task, ToolCall, ToolResult
from toolscale.records.verdict import wrong
from toolscale.rollout.calls import read_arguments
from toolscale.rollout.unanswered import MOST_REPLIES, UNANSWERED
from toolscale.tasks.form import flat_form, with_domain_form, with_form, with_listing

MOST_CALLS = 1_000
"""Of one session. Few tasks need twenty."""
LONGEST_MESSAGE = 100_000

Line = dict[str, Any]


@dataclass(frozen=True)
class View:
    """All that a solver sees of a task before the grade."""

    task: str
    policy: str
    tools: list[dict[str, Any]]
    """OpenAI function tools."""
    request: str
    calls: list[Line]
    """The calls made so far, each with its `value` or `error`."""
    talk: list[Line] | None
    """Of a dialogue: what was `said` to the person `after` so many calls, and what was `heard`. None where the request
    says all."""

    @property
    def own_tools(self) -> list[dict[str, Any]]:
        """The tools that other tasks of the domain do not have, or not with these parameters."""
        return [tool for tool in self.tools if tool["function"]["name"] == FINAL_ANSWER]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The first messages of a conversation: the policy, and the request."""
        return [{"role": "system", "content": self.policy}, {"role": "user", "content": self.request}]


def over_limit(error: SandboxLimitError) -> Grade:
    """Return the grade of calls of which one hit a limit: its world is in no state that could be gone on with."""
    return wrong(f"the calls hit a limit of the sandbox: {error}")


class Transcript:
    """A task that is worked on. `made` and `talk`: what was done before, as `View` shows it. `domain_form`: a form is
    the one that all tasks of the domain share, and what it takes is listed under the request. What a message or an
    answer holds of thoughts is not heard and not graded."""

    def __init__(
        self,
        task: Task,
        environment: Environment,
        made: Iterable[Line] = (),
        talk: Iterable[Line] = (),
        *,
        domain_form: bool = False,
    ):
        self.task, self._environment, self._domain_form = task, environment, domain_form
        self.made, self.talk = list(made), list(talk)
        self._is_left = False

    def view(self) -> View:
        """Return what a solver sees now."""
        opening = self.task.candidate.opening
        tools = with_form([tool.spec.openai_function() for tool in self._environment.tools.values()], self.task.form)
        return View(
            self.task.id,
            system_message(self._environment, self.task.turns, self.task.answer),
            with_domain_form(tools) if self._domain_form else tools,
            with_listing(opening, self.task.form) if self._domain_form else opening,
            list(self.made),
            list(self.talk) if self.task.turns == "dialogue" else None,
        )

    def is_answer(self, call: ToolCall) -> bool:
        """Whether a call fills in the form of the task: it is the final answer."""
        return self.task.form is not None and call.name == FINAL_ANSWER

    def read_call(self, name: str, arguments: Any) -> ToolCall:
        """Return a call that may be made or is the final answer. `arguments`: as text of JSON, or as a host has read
        them. UsageError says why it may not."""
        read, fault = read_arguments(arguments)
        if fault is not None:
            raise UsageError(fault)
        if self.task.form is not None and name == FINAL_ANSWER:
            return ToolCall(name=name, arguments=read)
        if name not in self._environment.tools:
            raise UsageError(f"there is no tool {name!r}; the tools are {', '.join(self._environment.tools)}")
        if len(self.made) >= MOST_CALLS:
            raise UsageError(f"not made: {MOST_CALLS} calls were made; give the final answer")
        return ToolCall(name=name, arguments=read)

    def read_answer(self, answer: str, *, whole: bool = True) -> str:
        """Return a final answer as it is graded: a form of the domain as one of the task. UsageError if it is too long
        or not the form that the task wants: it can be given again. `whole`: a form of the domain must have all names
        that are listed. The person of a dialogue must have come back with everything."""
        if len(answer) > LONGEST_MESSAGE:
            raise UsageError(f"an answer has {LONGEST_MESSAGE:,} characters at most, this one {len(answer):,}")
        answer = spoken(answer).text
        if self.task.form is None:
            return answer
        from toolscale.verify.filled import read_form

        how = f"give the fields of {FINAL_ANSWER} as one JSON object"
        if self._domain_form:
            answer = flat_form(self.task.form, answer, whole=whole)
            how = f"{FINAL_ANSWER} takes done, values and reasons"
        if isinstance(problem := read_form(self.task.form, answer), str):
            raise UsageError(f"{problem}; {how}")
        if self.task.candidate.agenda and not self._domain_form:  # hosts with such a form have a person of their own
            from toolscale.rollout.person import STILL_THERE, next_of

            if next_of(self.task.candidate, self._heard()) is not None:
                raise UsageError(STILL_THERE)
        return answer

    def add(self, call: ToolCall, result: ToolResult) -> None:
        """Note a call and what came of it."""
        found = {"value": result.value} if result.ok else {"error": result.error}
        self.made.append({"name": call.name, "arguments": call.arguments, **found})

    def calls(self) -> tuple[ToolCall, ...]:
        """Return all calls, in order."""
        return tuple(ToolCall(name=made["name"], arguments=made["arguments"]) for made in self.made)

    def ask(self, message: str) -> str | Grade | None:
        """Say something to the person of a dialogue and note it. Return the answer; None if the message asks for
        nothing, which makes it the final one, unless the answer is a form; or the grade of somebody who asked too
        often. UsageError if the person has said all, or the message is too long."""
        if self.task.turns != "dialogue":
            raise UsageError("the person has said all in the request; give the final message as the answer")
        if len(message) > LONGEST_MESSAGE:
            raise UsageError(f"a message has {LONGEST_MESSAGE:,} characters at most, this one {len(message):,}")
        from toolscale.rollout.person import NOTED, answer_to

        message = spoken(message).text
        heard = answer_to(self.task.candidate, message, self._heard()) or (
            NOTED if self.task.answer == "form" else None
        )
        if heard is None:
            return None
        if len(self.talk) >= MOST_REPLIES:
            self._is_left = True
            return wrong(UNANSWERED["left"])
        self.talk.append({"after": len(self.made), "said": message, "heard": heard})
        return heard

    def _heard(self) -> list[str]:
        """What the person has said after the request."""
        return [line["heard"] for line in self.talk]

    def solution(self, answer: str) -> Solution:
        """Return what is graded once the final answer was given. In a dialogue what was said since the last change of
        the rows, questions aside, is a part of it; nobody hears it if the person has left."""
        if self._is_left:
            return Solution(task=self.task.id, calls=self.calls(), answer="")
        whole = "\n\n".join(filter(None, [*self._told_before(), spoken(answer).text]))
        return Solution(task=self.task.id, calls=self.calls(), answer=whole)

    def _told_before(self) -> list[str]:
        """What was said to the person since the last change of the rows, questions aside."""
        if not self.talk or self.task.form is not None:
            return []
        from toolscale.language.inquiries import besides_questions

        changed = max((n for n, made in enumerate(self.made, 1) if self._writes(made)), default=0)
        return [told for line in self.talk if line["after"] >= changed and (told := besides_questions(line["said"]))]

    def _writes(self, made: Line) -> bool:
        return "value" in made and self._environment.tools[made["name"]].mutates_state
