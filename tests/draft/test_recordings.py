"""Whole drafts of three domains that nobody had prepared, as they were recorded: the same domains come out again, and
datasets of them hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_model import use
from served_recording import served

from toolscale.cli import main
from toolscale.environment.environment import load_environment

RECORDINGS = Path(__file__).parent / "recordings"
MADE = {
    "hotel front desk": "2b9db92499e0c8c9e3f511d265f5cdfc3fa2aeb35e9d14b469916a710d57181f",
    "pet insurance": "8faa6d8b7db3990704ca94adffc64a26c7d775c83d3b34e7aa666f64f5203f8d",
    "port logistics": "6828f3f23c2f30917a55076cec1d3e883ebf19c4be9f0fb2515f78ee13e237db",
}
"""Name -> hash of the environment that was drafted, the package's words included. A change of prompts, findings or of
the page for authors leaves it as it is: a request that is no longer the recorded one gets the reply to the nearest."""


@pytest.mark.slow("tests/draft/test_draft.py")
@pytest.mark.parametrize("name", MADE)
def test_a_recorded_draft_gives_its_domain_again_and_a_dataset_that_holds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(RECORDINGS / f"{name.replace(' ', '_')}.jsonl.gz", nearest=True) as address:
        use(monkeypatch, address, model="drafter", price="0.25/2")
        assert main(["draft", name, "--in", "made"]) == 0
    folder = tmp_path / "made" / name.replace(" ", "_")
    assert load_environment(folder).hash == MADE[name]
    assert main(["synthesize", str(folder), "--tasks", "20", "--out", "dataset"]) == 0
    assert main(["verify", "dataset"]) == 0
