"""Seeded defects: ways to make a good task wrong, each with the place where it sits, to see whether the judge finds
them."""

from toolscale.verify.defects import (
    broken_tools,
    cases,
    company,
    dialogues,
    evolved,
    plans,
    recordings,
    requests,
    rows,
    wrong_outcomes,
)
from toolscale.verify.defects.planting import Court, Defect, Ground, Planted

DEFECTS: dict[str, Defect] = {
    defect.kind: defect
    for module in (requests, dialogues, cases, plans, wrong_outcomes, evolved, broken_tools, rows, recordings, company)
    for defect in module.DEFECTS
}
"""Kind -> defect."""

__all__ = ["DEFECTS", "Court", "Defect", "Ground", "Planted"]
