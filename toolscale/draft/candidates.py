"""Several first replies to one step of a draft: each is measured in a copy of the folder, and the best one is kept.

The order is: coverage, then findings, then novelty, then the reply that came first. What is found wrong goes back to
the model and is mostly mended in the rounds that follow. What a reply leaves out (a table that no tool writes, a wish
without an intent) is hardly asked for again: as long as enough is there, nobody misses it. So a reply that has more and
is wrong in places is worth more than one that has less and is right. What cannot be read covers nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.draft.blocks import entries_of
from toolscale.draft.brief import Brief, Wish, entities_of
from toolscale.patterns import regex
from toolscale.records import DraftCandidate
from toolscale.temporary_folders import temporary_folder

Shapes = set[tuple[str, ...]]
"""Sequences of calls, or of what statements write."""

EFFECTS = 8
"""Different effects that the tools of a domain should have, where so many wishes are to change something."""

_WRITE = regex(
    r"\s*(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+([a-z_][a-z0-9_]*)(?:\s+SET\s+(.*?)(?:\s+WHERE\s|$))?",
    re.IGNORECASE | re.DOTALL,
)
_SET = regex(r"(?:^|,)\s*([a-z_][a-z0-9_]*)\s*=", re.IGNORECASE)
_WORD = regex(r"[a-z]+(?:'[a-z]+)?")
_MARK = regex(r"\{[^{}]*\}")


def best_of(
    replies: Sequence[str],
    folder: Path,
    put: Callable[[Path, str], Sequence[str]],
    findings: Callable[[Path], int],
    coverage: Callable[[Path], float],
    part: int = 1,
) -> tuple[str, list[DraftCandidate]]:
    """Return the best of several replies, and the score of each.

    `put` puts a reply into a copy of the folder and says what is wrong with the reply itself, a line each; `findings`
    counts what is wrong with a folder, `coverage` says how much of what is wanted is in it, from 0 to 1.
    The folder itself stays as it is.
    """
    before, scores = _novelty(folder), list[DraftCandidate]()
    for sample, reply in enumerate(replies):
        with temporary_folder("candidate") as temporary:
            copy = Path(shutil.copytree(folder, temporary / folder.name))
            wrong = put(copy, reply)
            shapes, words = _novelty(copy)
            scores.append(
                DraftCandidate(
                    part=part,
                    sample=sample,
                    coverage=round(coverage(copy), 4),
                    findings=len(wrong) + findings(copy),
                    sequences=len(shapes - before[0]),
                    words=len(words - before[1]),
                    kept=False,
                )
            )
    best = max(scores, key=rank)
    return replies[best.sample], [score.model_copy(update={"kept": score is best}) for score in scores]


def rank(score: DraftCandidate) -> tuple[float, int, int, int, int]:
    """Return by what candidates are compared: the greatest is the best."""
    return score.coverage, -score.findings, score.sequences, score.words, -score.sample


def told(score: DraftCandidate) -> str:
    """Return the score of a candidate as a line says it."""
    return (
        f"candidate {score.sample + 1}: covers {100 * score.coverage:.0f} %, {score.findings} findings, "
        f"{score.sequences} new sequences of calls, {score.words} new words{'; kept' if score.kept else ''}"
    )


def tools_cover(folder: Path, brief: Brief) -> float:
    """Return which share of what is wanted the tools of a folder serve: that some tool writes each table, and one of
    those that a wish names which is more than a question (a wish that names none does not count); and that there are as
    many different effects as wishes to do something, up to EFFECTS: one tool that writes everything serves few."""
    tables = {entity.table: entity.name.replace("_", " ") for entity in entities_of(brief)}
    effects = [tuple(_writes(tool)) for tool in entries_of(folder, "toolset.yaml", "tools")]
    written = {write[1] for effect in effects for write in effect}
    most = min(EFFECTS, sum(wish.kind == "do" for wish in brief.wishes))
    wanted = [{table} for table in tables]
    for wish in brief.wishes:
        text = f"{wish.id} {wish.wish}".lower().replace("_", " ")
        named = {
            table
            for table, name in tables.items()
            if re.search(rf"\b(?:{re.escape(name)}|{re.escape(table.replace('_', ' '))})\b", text)
        }
        if wish.kind != "ask" and named:
            wanted.append(named)
    served = sum(bool(each & written) for each in wanted) + min(most, len(set(effects) - {()}))
    return served / (len(wanted) + most)


def intents_cover(folder: Path, wishes: Sequence[Wish]) -> float:
    """Return which share of the wishes have an intent, and of the tools that change something are called by one."""
    intents = list(entries_of(folder, "intents.yaml", "intents"))
    ids = {each.get("id") for each in intents}
    called = {tool for each in intents for tool in calls_of(each.get("do"))}
    writing = {str(tool.get("name")) for tool in entries_of(folder, "toolset.yaml", "tools") if any(_writes(tool))}
    return (sum(wish.id in ids for wish in wishes) + len(writing & called)) / max(1, len(wishes) + len(writing))


def calls_of(steps: Any) -> Iterator[str]:
    """Yield the tools that the steps of a plan call, as they stand there; what is no step is passed over."""
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, Mapping):
            continue
        if inner := [step[key] for key in ("then", "else", "do") if key in step]:
            for each in inner:
                yield from calls_of(each)
        elif len(step) == 1 and isinstance(call := next(iter(step.values())), Mapping):
            yield from (str(tool) for tool in call)


def _novelty(folder: Path) -> tuple[Shapes, set[str]]:
    """Return the sequences that stand in a folder, of calls in intents and of writes in tools, and the words of
    requests and of descriptions."""
    tools = list(entries_of(folder, "toolset.yaml", "tools"))
    intents = list(entries_of(folder, "intents.yaml", "intents"))
    shapes = {tuple(" ".join(write) for write in _writes(tool)) for tool in tools}
    shapes |= {tuple(calls_of(intent.get("do"))) for intent in intents}
    texts = [str(tool.get("description", "")) for tool in tools]
    texts += [text for intent in intents for key in ("requests", "asks") for text in _phrasings(intent.get(key))]
    return shapes - {()}, {word for text in texts for word in _WORD.findall(_MARK.sub(" ", text.lower()))}


def _phrasings(requests: Any) -> Iterator[str]:
    """Yield the texts of requests, whatever their form."""
    for request in requests if isinstance(requests, list) else ():
        if isinstance(request, Mapping):
            yield from (str(text) for key, text in request.items() if key != "persona")
        else:
            yield str(request)


def _writes(tool: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what the statements of a tool do, to which table, and to which columns of a row that is there. They are
    read as text: a tool that does not compile yet covers what it will cover once it is mended."""
    steps = tool.get("steps")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, Mapping) and (found := _WRITE.match(str(step.get("exec", "")))):
            yield found[1].split()[0].upper(), found[2].lower(), " ".join(sorted(_SET.findall(found[3] or "")))
