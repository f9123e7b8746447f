"""Whole drafts of three domains that nobody had prepared, as they were recorded: the same domains come out again, and
datasets of them hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from scripted_model import use

from toolscale.cli import main
from toolscale.environment import load_environment
from toolscale.models.chat.recording import Recorded, read_recording, recording_server

RECORDINGS = Path(__file__).parent / "recordings"
MADE = {
    "hotel front desk": "a5d1e5e0d68437d227cf96d6b52e69e3c2946e44502f8ae88acb707ae2ab30e4",
    "pet insurance": "11c50c0d4e75e36347fa3929b317ee3113603f23729bac43b2c3d05b7f7c2ed3",
    "port logistics": "da53ee27c2c391551d6b29dcedb484f83caa18620d59216b253fb4e420d832cb",
}
"""Name -> hash of the environment that was drafted. A change of prompts, findings or of the page for authors leaves it
as it is: a request that is no longer the recorded one gets the reply to the nearest."""


@contextmanager
def served(name: str) -> Iterator[str]:
    recorded = Recorded(read_recording(RECORDINGS / f"{name.replace(' ', '_')}.jsonl.gz"), nearest=True)
    server = recording_server(recorded, "127.0.0.1", 0)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("name", MADE)
def test_a_recorded_draft_gives_its_domain_again_and_a_dataset_that_holds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(name) as address:
        use(monkeypatch, address, model="drafter", price="0.25/2")
        assert main(["draft", name, "--in", "made"]) == 0
    folder = tmp_path / "made" / name.replace(" ", "_")
    assert load_environment(folder).hash == MADE[name]
    assert main(["synthesize", str(folder), "--tasks", "20", "--out", "dataset"]) == 0
    assert main(["verify", "dataset"]) == 0
