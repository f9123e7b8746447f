"""How an agent knows who is speaking: most people are signed in, and the desk says as whom."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from toolscale.environment.column_kinds import kind_of_column
from toolscale.environment.environment import Environment
from toolscale.language.render import render
from toolscale.tasks.dialogue import Held, is_anonymous, speaker_of, spoken
from toolscale.tasks.phrase import FORM_OF_KIND
from toolscale.tasks.plan import Plan

SIGNED_IN = "Signed in"


def is_signed_in(
    plan: Plan, environment: Environment, held: Held, rng: random.Random, *, talked: bool, alone: bool
) -> bool:
    """Draw whether the person of a plan is signed in. Most of those who are not are in a dialogue, where they are asked
    who they are; in a single message they say it themselves. In a dialogue about one matter (`alone`) something must be
    left to ask for."""
    speaker = speaker_of(plan, environment.spec.language)
    if speaker is None or (talked and alone and is_anonymous(held) and len(held) == 1):
        return False
    other = 1 - environment.spec.world.signed_in / 100
    return rng.random() >= (min(1.0, other * 1.4) if talked else other * (1 + other) / 2)


def context_of(plan: Plan, environment: Environment, said: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the desk says of somebody who is signed in: *Signed in: full name Ana Diaz, date of birth May 3,
    1990*. `said`: role -> described columns. Empty if the plan has nobody who speaks."""
    speaker = speaker_of(plan, environment.spec.language)
    if speaker is None:
        return ""
    role = plan.roles[speaker]
    columns = environment.schema.tables[role.table].columns
    values = []
    for column in role.said:
        form = FORM_OF_KIND[kind_of_column(column, columns[column].type)]
        values.append(f"{spoken(column)} {render(said[speaker][column], form, environment.spec.world.today)}")
    return f"{SIGNED_IN}: {', '.join(values)}"
