"""Conditions that evolution puts on a plan."""

from toolscale.environment.environment import load_environment
from toolscale.environment.registry import find_folder
from toolscale.tasks.catalogue import Catalogue


def test_a_condition_may_be_put_on_a_figure_that_the_plan_changes() -> None:
    plan = Catalogue(load_environment(find_folder("finance"))).plan("pay_soonest_bill", ("constrain cover",))
    told = [(tell.tell.kind, tell.tell.before) for tell in plan.tells]
    assert told == [("bool", True), ("text", False), ("money", False), ("money", True)]
