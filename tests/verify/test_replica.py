"""The second process: asked first, answered last."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.errors import SandboxError
from toolscale.records import GoldenCall
from toolscale.verify.replica import Replica, replayed


def test_an_answer_that_nobody_waited_for_is_passed_over() -> None:
    environment = load_environment("mock")
    renewals = [
        GoldenCall(name="renew_loan", arguments={"loan_id": loan}, result=None)
        for loan in ("ln_1001", "ln_1004", "ln_1007", "ln_1010")
    ]
    replica = Replica(environment.folder, 0)
    try:
        for length in range(3):
            replica.ask(renewals[:length])
        number = replica.ask(renewals)
        with World(environment, populate(environment)) as world:
            assert replica.answer(number) == replayed(
                world, [(renewal.name, renewal.arguments) for renewal in renewals]
            )
    finally:
        replica.close()


def test_modules_of_the_folder_that_one_works_in_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toolscale").mkdir()
    for name in ("toolscale/__init__.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit('loaded from the working folder')")
    environment = load_environment("mock")
    monkeypatch.chdir(tmp_path)
    replica = Replica(environment.folder, 0)
    try:
        with World(environment, populate(environment)) as world:
            assert replica.answer(replica.ask([])) == replayed(world, [])
    finally:
        replica.close()


def test_a_process_that_ended_is_an_error(tmp_path: Path) -> None:
    replica = Replica(tmp_path / "nothing", 0)
    number = replica.ask([])
    with pytest.raises(SandboxError, match="the replica process ended with status 1; run"):
        replica.answer(number)
    with pytest.raises(SandboxError, match="ended"):
        for _ in range(2):  # the pipe takes one line before it is seen to be closed
            replica.ask([GoldenCall(name="renew_loan", arguments={"loan_id": "ln_1001"}, result=None)])
    replica.close()


def test_another_population_gives_another_fingerprint() -> None:
    replica, other = (Replica(discover()["mock"], 0, scale) for scale in (1, 2))
    calls = [GoldenCall(name="list_loans", arguments={"member_id": "mb_1009"}, result=None)]
    try:
        assert replica.answer(replica.ask(calls)) != other.answer(other.ask(calls))
    finally:
        replica.close()
        other.close()
