"""Mutants that misreport a deed: all is done and told as it should be, and then something is denied, or claimed that
nobody did."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.language.deeds import past_forms
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory


def misreports(subject: Subject) -> Iterator[Trajectory]:
    """Yield golden trajectories whose message denies a deed that was done, or claims one that was not. A form has no
    words for either."""
    brief = subject.brief
    if brief.form is not None:
        return
    verbs, deeds = brief.lexicon.verbs, brief.deeds
    for tool in sorted(deeds.done) if deeds.complete else ():
        if (verb := verbs.plain(tool)) is not None:
            yield Trajectory("denied", "wrong", subject.writes, f"{subject.answer} I was not able to {verb} it.")
    request = subject.candidate.heard.lower()
    for tool in sorted(verbs.base):
        verb = verbs.plain(tool)
        if verb is not None and not verbs.tools_of[verb] & deeds.done.keys() and verb[:4] not in request:
            yield Trajectory(
                "invented", "wrong", subject.writes, f"{subject.answer} I have also {past_forms(verb)[-1]} it."
            )
