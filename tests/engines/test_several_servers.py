"""Runs with two real vLLMs: one that is slow, and one that is killed while it reads the weights. The last module that
asks for the second server: it ends here."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from between import between
from engines import Engine, needs_engines
from tables import tell
from trained import Json, lines_of, train, write_run

pytestmark = [
    needs_engines,
    pytest.mark.xdist_group("engines"),
    pytest.mark.slow("tests/training/test_weights_folder.py"),
]

SLOW_S = 30.0
LAST = 4
"""Which request of this kind the server dies of. Two are checks of its architecture (before the run, and before it is
given weights), one the first weights."""
SHORT: Json = {"mixture": {"arithmetic": 1}, "limits": {"turns": 1}}


def test_a_slow_server_is_waited_for_as_long_as_the_settings_say(
    vllm_server: Engine, second_server: Engine, tmp_path: Path
) -> None:
    with between(second_server, late_turns()) as slow:
        waits = write_run(tmp_path / "waits", vllm_server, slow, data=SHORT, steps=1)
        assert train(waits, tmp_path / "a") == (0, [])
        [step] = lines_of(tmp_path / "a" / "metrics.jsonl")
        assert step["failed"] == 0 and SLOW_S <= step["rollout_s"] < 2 * SLOW_S

    with between(second_server, late_turns()) as slow:
        hurries = write_run(tmp_path / "hurries", vllm_server, slow, data=SHORT, steps=1, rollout={"wall_s": 15})
        status, [line] = train(hurries, tmp_path / "b")
        [step] = lines_of(tmp_path / "b" / "metrics.jsonl")
    lost = round(16 * step["failed"])
    assert (status, lost) == (0, 8)
    assert line == "step 0: 8 of 16 rollouts failed, the first: no answer: it was not done after 15 s"
    tell(
        second_server,
        f"turns {SLOW_S:.0f} s late",
        found="waited for; with rollout.wall_s: 15 told, and the run goes on",
    )


def late_turns() -> Callable[[str], None]:
    """Be late with all turns: what is written when the server has weights. Before that it is checked."""
    has_weights = Event()

    def meanwhile(path: str) -> None:
        if path.startswith("/resume"):
            has_weights.set()
        if path.startswith("/inference") and has_weights.is_set():
            time.sleep(SLOW_S)

    return meanwhile


def test_of_two_servers_one_is_killed_while_it_reads_and_the_run_goes_on_with_the_other(
    vllm_server: Engine, second_server: Engine, tmp_path: Path
) -> None:
    reads: list[str] = []

    def meanwhile(path: str) -> None:
        if path == "/collective_rpc":
            reads.append(path)
            if len(reads) == LAST:
                time.sleep(0.1)  # it has begun to read
                second_server.kill()

    out, run = tmp_path / "out", {"steps": 3, "data": SHORT}
    with between(second_server, meanwhile) as url:
        config = write_run(tmp_path, vllm_server, url, **run, vllm={"restart_s": 5})
        status, lines = train(config, out)
    assert (status, len(lines), len(lines_of(out / "metrics.jsonl"))) == (1, 1, 1)
    told = (
        rf"training: vllm.base_url: {url}/collective_rpc: RemoteProtocolError: Server disconnected without sending a "
        rf"response\.; then vllm.base_url: {url}/health: .* \(waited 5 s, vllm.restart_s\): start it anew, and run the "
        r"same command again to go on"
    )
    assert re.fullmatch(told, lines[0])
    assert train(write_run(tmp_path, vllm_server, **run), out)[0] == 0
    assert [line["step"] for line in lines_of(out / "metrics.jsonl")] == [0, 1, 2]
    tell(vllm_server, "two servers, one killed while it reads the weights", found="one line; goes on with the other")
