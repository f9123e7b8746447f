"""tau2, audited: what its driver wrote when it ran, read with limits; and, where tau2 is installed, for real.

`recorded/tau2_mock.jsonl` is what the driver printed for the domain `mock` of tau2 1.0.1. `recorded/tau2_retail.jsonl`
is cut from what it printed for `retail`: seven tasks, and the records of the database that their arguments name.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.installed import needs
from toolscale.audit import Finding, Undecided, audit_source
from toolscale.audit.checks import check_tasks, check_texts
from toolscale.audit.examined import Examined, Made
from toolscale.audit.references import dangling, references
from toolscale.audit.tau2 import Driven, read_driver
from toolscale.cli import main
from toolscale.errors import ProgramError, UsageError
from toolscale.tau2.checkout import Checkout, open_checkout
from toolscale.tau2.driver import IDLE
from toolscale.tau2.driving import drive, read_lines
from toolscale.tau2.process import Place

RECORDED = Path(__file__).parent / "recorded"
PYTHON = os.environ.get("TOOLSCALE_TAU2_PYTHON", "")


def driven(name: str) -> Driven:
    return read_driver(read_lines(RECORDED / f"tau2_{name}.jsonl"))


def found(name: str, *kinds: str) -> list[tuple[str, tuple[str, ...], str]]:
    said = driven(name)
    everything = [*check_tasks(said.tasks), *check_texts(said.tasks)]
    return [
        (each.kind, each.tasks, each.evidence)
        for each in everything
        if isinstance(each, Finding) and each.kind in kinds
    ]


def test_golden_calls_that_fail_are_told_with_the_error() -> None:
    assert found("retail", "golden_fails") == [
        ("golden_fails", ("46",), "get_order_details(order_id='#9502126'): ValueError: Order not found (a look-up)"),
        ("golden_fails", ("46",), "get_order_details(order_id='#9502127'): ValueError: Order not found (a look-up)"),
        (
            "golden_fails",
            ("64",),
            "exchange_delivered_order_items(order_id='#W7464385', item_ids=['1810466394'], "
            "new_item_ids=['6700049080'], payment_method_id='paypal_1261484'): ValueError: "
            "Non-delivered order cannot be exchanged (the call writes)",
        ),
        (
            "golden_fails",
            ("105",),
            "exchange_delivered_order_items(order_id='#W4316152', item_ids=['7292993796', '7292993796'], "
            "new_item_ids=['3761330360', '9647374798'], payment_method_id='gift_card_7245904'): ValueError: "
            "Insufficient gift card balance to pay for the price difference (the call writes)",
        ),
    ]


def test_an_idle_agent_wins_where_nothing_is_to_change_and_nothing_to_say() -> None:
    said = "an agent that makes no call and says 'I am sorry, I cannot do that.' gets the reward 1"
    idle = "the 5 golden calls change no row, and neither does an agent that makes none"
    empty = "the task has no golden call, so there is nothing to do"
    assert found("retail", "idle_wins", "words_win") == [
        ("idle_wins", ("10",), f"{said} (DB 1, NL_ASSERTION 1): {idle}"),
        ("idle_wins", ("57",), f"{said} (DB 1, NL_ASSERTION 1): {empty}"),
    ]
    assert [
        (each.tasks, each.reason)
        for each in check_tasks(driven("retail").tasks)
        if isinstance(each, Undecided) and each.kind == "idle_wins"
    ] == [(("105",), "all else is met, and a model judges nl_assertions")]


def test_goals_that_tasks_share_are_named() -> None:
    assert found("retail", "shared_goal") == [
        ("shared_goal", ("10", "57"), "nothing is to change in any of them, and all else that is graded is equal"),
        ("shared_goal", ("41", "42"), "all have the same end state, and all else that is graded is equal"),
    ]


def test_what_nobody_said_is_told_apart_from_what_was_not_looked_up() -> None:
    assert found("retail", "unsaid") == [
        (
            "unsaid",
            ("46",),
            f"get_order_details: nothing that was said before holds order_id '{order}'; nor does the database",
        )
        for order in ("#9502126", "#9502127")
    ]


def test_a_value_that_a_call_has_from_an_earlier_one_is_told_once() -> None:
    calls = [Made("dispute", {"account": "chk_1", "entry": entry}, "Error: no such form") for entry in ("e1", "e2")]
    task = Examined("t", ("Dispute both.",), ("Be kind.",), tuple(calls), (), (), ("DB",), databases={"a": ["chk_1"]})
    told = [(each.kind, each.place, each.evidence) for each in check_texts([task]) if isinstance(each, Finding)]
    nobody = "dispute: nothing that was said before holds"
    assert told == [
        ("unsaid", "call 1", f"{nobody} entry 'e1'; nor does the database"),
        ("unread", "call 1", f"{nobody} account 'chk_1'; the database holds it"),
        ("unsaid", "call 2", f"{nobody} entry 'e2'; nor does the database"),
    ]


BANK = Path(__file__).with_name("stand_in_tau2.py")


def bank_python(folder: Path) -> Path:
    """A Python that seems to have a tau2 with the domain `bank`."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{BANK}" "$@"\n')
    program.chmod(0o755)
    return program


def test_a_domain_whose_tasks_begin_with_data_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "src" / "tau2" / "domains" / "bank").mkdir(parents=True)
    (tmp_path / "src" / "tau2" / "domains" / "bank" / "environment.py").touch()
    data = tmp_path / "data" / "tau2" / "domains" / "bank"
    data.mkdir(parents=True)
    (data / "tasks.json").write_text("[]")
    (data / "db.json").write_text("{}")
    audit = audit_source(f"tau2:{tmp_path}", domain="bank", python=bank_python(tmp_path))
    tool, nobody = "call_discoverable_agent_tool", "nothing that was said before holds arguments.card_id"
    closes = f"{tool}(agent_tool_name='close_card', arguments='{{\"card_id\": "
    words = "an agent that makes no call and says 'I am sorry, I cannot do that.' gets the reward 1 (DB 1)"
    lost = "golden call 2 should write and fails, so its change is no part of the goal"
    assert [(each.kind, each.tasks, each.evidence) for each in audit.findings] == [
        ("golden_fails", ("said as a text",), f'{closes}"c7"}}\'): Error: no card c7 (the call writes)'),
        ("golden_fails", ("not in its data",), f'{closes}"c2"}}\'): Error: no card c2 (the call writes)'),
        ("no_effect", ("closed before",), f'{closes}"c1"}}\') writes, and all is as it was before'),
        ("idle_wins", ("said as a text",), f"{words}: {lost}"),
        (
            "idle_wins",
            ("closed before",),
            f"{words}: the 2 golden calls change no row, and neither does an agent that makes none",
        ),
        ("idle_wins", ("not in its data",), f"{words}: {lost}"),
        ("unsaid", ("said as a text",), f"{tool}: {nobody} 'c7'; nor does the database"),
        ("unsaid", ("not in its data",), f"{tool}: {nobody} 'c2'; nor does the database"),
        ("unread", ("in its own data",), f"{tool}: {nobody} 'c8'; the database holds it"),
    ]
    assert (audit.tasks, audit.executed, audit.undecided) == (8, 15, ())


def test_of_some_tasks_alone_it_is_asked_what_doing_nothing_is_worth(tmp_path: Path) -> None:
    checkout, place = Checkout(tmp_path, bank_python(tmp_path), "1.0.1", BANK), Place(tmp_path / "x", {}, tmp_path)
    done: list[tuple[int, int]] = []
    lines = asyncio.run(drive(checkout, "bank", place, lambda *each: done.append(each), idle=["sound", "read twice"]))
    said = {"said": IDLE, "judged": False}
    assert list(lines) == [
        {"kind": "idle", "id": "sound", "parts": {"DB": 0.0}, **said},
        {"kind": "idle", "id": "read twice", "parts": {"DB": 0.0}, **said},
    ]
    assert done == [(1, 2), (2, 2)]


def test_a_run_that_tau2_cannot_grade_is_undecided() -> None:
    assert [
        (each.kind, each.tasks, each.reason)
        for each in check_tasks(driven("mock").tasks)
        if isinstance(each, Undecided) and each.kind == "idle_wins"
    ] == [
        (
            "idle_wins",
            ("create_task_1_with_env_assertions",),
            "tau2's own evaluator raises: ValueError: Task task_2 not found",
        )
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "the driver of tau2 stopped after 0 lines"),
        (b"hello\n", "the driver of tau2 wrote no JSON in line 1: hello"),
        (b"[1]\n", "the driver of tau2 wrote no JSON object in line 1"),
        (b'{"kind": "task"}\n', "the driver of tau2 wrote what it should not in line 1: KeyError('basis')"),
        (b'{"kind": "rm"}\n', "the driver of tau2 wrote what it should not in line 1: ValueError(\"a kind 'rm'\")"),
        (b"[" * 100_000 + b"\n", "the driver of tau2 wrote no JSON in line 1: " + "[" * 79 + "…"),
    ],
)
def test_a_driver_that_writes_something_else_is_refused(text: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "driver.jsonl").write_bytes(text)
    with pytest.raises(ProgramError) as caught:
        read_driver(read_lines(tmp_path / "driver.jsonl"))
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("script", "limit", "told"),
    [
        ("import sys; open(sys.argv[2], 'w').write('hello')", 60, "the driver of tau2 wrote no JSON in line 1: hello"),
        (
            # What runs in the background of a script inherits that SIGINT is ignored.
            "import signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); time.sleep(60)",
            0.5,
            "tau2 took longer than 0.5 seconds on shop; give it more with --timeout",
        ),
        (
            "import os, time\nif os.fork() == 0:\n os.setsid()\n time.sleep(5)",
            0.5,
            "tau2 took longer than 0.5 seconds on shop; give it more with --timeout",
        ),
        ("raise KeyError('shop')", 60, "tau2 ended with status 1 on shop: KeyError: 'shop'"),
        ("import os; os.close(1); os.kill(os.getpid(), 9)", 60, "tau2 ended with signal 9 on shop: it says nothing"),
    ],
)
def test_a_process_that_does_something_else_is_ended(script: str, limit: float, told: str, tmp_path: Path) -> None:
    (tmp_path / "driver.py").write_text(script)
    checkout = Checkout(tmp_path, Path(sys.executable), "1.0.1", tmp_path)
    place = Place(tmp_path / "work", os.environ, tmp_path, timeout_s=limit)
    with pytest.raises(ProgramError) as caught:
        list(asyncio.run(drive(checkout, "shop", place, lambda done, total: None, driver=tmp_path / "driver.py")))
    assert str(caught.value) == told


def test_a_reference_that_names_no_row_is_listed() -> None:
    users = {f"u{n}": {"user_id": f"u{n}", "orders": [f"o{n}"]} for n in range(40)}
    orders = {f"o{n}": {"order_id": f"o{n}", "user_id": f"u{n}", "total": n} for n in range(40)}
    whole = {"users": users, "orders": orders}
    assert list(dangling(references(whole))) == []
    orders["o7"]["user_id"] = "u77"
    assert list(dangling(references(whole))) == [
        Finding("dangling", (), "orders.*.user_id", "1 of 40 values name no row of users: 'u77' (of o7)")
    ]
    for n in range(20):
        orders[f"o{n}"]["user_id"] = "guest"
    told = "orders.*.user_id: 50% of 40 values name a row of users; it may be no reference"
    assert list(dangling(references(whole))) == [Undecided("dangling", (), told)]


def test_a_checkout_that_cannot_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "src" / "tau2" / "domains" / "shop").mkdir(parents=True)
    (tmp_path / "src" / "tau2" / "domains" / "shop" / "environment.py").touch()
    data = tmp_path / "data" / "tau2" / "domains" / "shop"

    def told(*arguments: str) -> str:
        assert main(["audit", f"tau2:{tmp_path}", *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix("toolscale: ")

    assert told() == f"{tmp_path}: it has no domain 'retail'; take one of shop"
    assert told("--domain", "shop") == f"{data}: the folder is missing; get the data of the checkout too"
    data.mkdir(parents=True)
    (data / "tasks.json").write_text("[")
    assert told("--domain", "shop").startswith(f"{data}/tasks.json: cannot be read (Expecting value")
    (data / "tasks.json").write_text("[]")
    (data / "db.json").write_text("{}")
    assert told("--domain", "shop").startswith(f"{tmp_path}/.venv/bin/python: there is no such Python; name ")
    with pytest.raises(UsageError, match=r"needs 3\.12|has no tau2"):
        open_checkout(tmp_path, Path(sys.executable), os.environ, "--python")


@needs("tau2-bench", PYTHON, "name a Python that has it in TOOLSCALE_TAU2_PYTHON")
def test_tau2_itself_finds_what_was_recorded() -> None:
    where = "import pathlib, tau2; print(pathlib.Path(tau2.__file__).parents[2])"
    ran = subprocess.run([PYTHON, "-c", where], capture_output=True, text=True, check=True)
    audit = audit_source(f"tau2:{ran.stdout.splitlines()[-1]}", domain="mock", python=Path(PYTHON))
    said = driven("mock")
    recorded: list[Any] = [*check_tasks(said.tasks), *check_texts(said.tasks)]
    assert audit.notes == (
        f"executed and graded by tau2 {said.version} itself, in a process of its own",
        "1 columns of the databases refer to rows; their 1 values were looked up",
    )
    assert (audit.tasks, audit.executed) == (len(said.tasks), sum(len(task.calls) for task in said.tasks))
    assert set(audit.findings) == {each for each in recorded if isinstance(each, Finding)}
