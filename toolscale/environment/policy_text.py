"""`policy.md`: what agents read of it, and what enforces each of its sentences.

A comment behind a sentence, `<!-- by: daily_limit, send_transfer -->`, names what enforces it and all before it in the
same paragraph or point, back to the comment before. Agents do not see comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolscale.environment.registry import POLICY_TEXT
from toolscale.errors import SpecIssue
from toolscale.patterns import regex
from toolscale.records import EnvironmentSpec, PolicySentence

if TYPE_CHECKING:
    from toolscale.environment.known_names import Names

CRITERIA = ("execution_correct", "faithful", "nothing_else")
"""What every rollout is graded by."""
MEANING = "meaning"
"""What only says what a word means, or how things are: there is nothing to enforce."""

_COMMENT = regex(r"[ \t]*<!--(.*?)-->", re.DOTALL)
_PARAGRAPH = regex(r"(?:(?!\n[ \t]*(?:\n|(?:\d+\.|[-*+])[ \t]|#)).)+", re.DOTALL)
"""A paragraph, a heading, or a point of a list."""
_SENTENCE = regex(r"\S(?:(?![.!?][\"')*]*\s+[\"'(*]*[A-Z]).)*.", re.DOTALL)
_POINT = regex(r"\s*(?:\d+\.|[-*+])[ \t]+")


def shown(policy: str) -> str:
    """Return a policy as agents read it."""
    return _COMMENT.sub("", policy)


def sentences(policy: str) -> tuple[PolicySentence, ...]:
    """Return the sentences of a policy, headings aside, each with what its comment names."""
    return tuple(
        sentence
        for paragraph in _PARAGRAPH.finditer(policy)
        if not paragraph[0].lstrip().startswith("#")
        for sentence in _of_paragraph(policy, paragraph.start(), paragraph.end())
    )


def _of_paragraph(policy: str, start: int, end: int) -> Iterator[PolicySentence]:
    point = _POINT.match(policy, start, end)
    start = point.end() if point else start
    while start < end:
        comment = _COMMENT.search(policy, start, end)
        names = _names(comment[1]) if comment else ()
        for found in _SENTENCE.finditer(policy, start, comment.start() if comment else end):
            line = policy.count("\n", 0, found.start()) + 1
            yield PolicySentence(line=line, text=" ".join(found[0].split()), by=names)
        start = comment.end() if comment else end


def _names(comment: str) -> tuple[str, ...]:
    mark, _, names = comment.partition(":")
    return tuple(name.strip() for name in names.split(",") if name.strip()) if mark.strip() == "by" else ()


def check_policy(names: Names) -> Iterator[SpecIssue]:
    """Yield the names in comments of the policy that nothing has."""
    if names.policy is None or names.tools is None:
        return
    known = {*names.policy.rules, *names.policy.invariants, *names.tools, *CRITERIA, MEANING}
    told = {(sentence.line, name) for sentence in names.sentences for name in sentence.by if name not in known}
    for line, name in sorted(told):
        yield SpecIssue(
            POLICY_TEXT,
            f"line {line}",
            f"nothing is called {name!r}",
            f"name rules, invariants, tools, {', '.join(CRITERIA)} or {MEANING} in `<!-- by: ... -->`",
        )


def unenforced(spec: EnvironmentSpec) -> list[SpecIssue]:
    """Return the sentences of the policy that nothing is said to enforce, and the rules that no sentence tells."""
    found = [
        SpecIssue(
            POLICY_TEXT,
            f"line {sentence.line}",
            f"nothing enforces {sentence.text!r}",
            "name what does in a comment behind it, make it a rule, or leave it out",
        )
        for sentence in spec.policy_sentences
        if not sentence.by
    ]
    told = {name for sentence in spec.policy_sentences for name in sentence.by}
    for name in spec.policy.rules if told else ():
        if name not in told:
            remedy = f"tell it, and write `<!-- by: {name} -->` behind it"
            found.append(SpecIssue("rules.yaml", f"rules.{name}", f"no sentence of {POLICY_TEXT} names it", remedy))
    return found
