"""What was done of the deeds that a request wants: by deeds alone, whatever was asked or told besides."""

from __future__ import annotations

from toolscale.environment.builtins import TRANSFER
from toolscale.tasks.form import Done
from toolscale.tasks.plan import Plan, calls_of
from toolscale.tasks.record import Recording


def done_of(plan: Plan, recording: Recording) -> Done:
    """Return what `done` says after a recording: `all` if the request wants no deed.

    A deed is undone if a rule forbids it, or if its condition does not hold and nothing else is done in its place.
    Questions are no deeds, refused or not. A hand-over is one only where there is no other.
    """
    planned = {call.tool.spec.name for call in calls_of(plan.steps) if call.tool.mutates_state}
    wanted = planned | {step.tool.spec.name for step, _ in recording.forbidden}
    if wanted <= {TRANSFER}:
        return "all"
    acted = any(recorded.call.name != TRANSFER for recorded in recording.writes)
    if acted and not recording.forbidden and not recording.undone:
        return "all"
    return "part" if acted else "none"
