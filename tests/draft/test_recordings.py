"""Whole drafts of three domains that nobody had prepared, as they were recorded: the same domains come out again, and
datasets of them hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_model import use
from served_recording import served

from toolscale.cli import main
from toolscale.environment import load_environment

RECORDINGS = Path(__file__).parent / "recordings"
MADE = {
    "hotel front desk": "a5d1e5e0d68437d227cf96d6b52e69e3c2946e44502f8ae88acb707ae2ab30e4",
    "pet insurance": "11c50c0d4e75e36347fa3929b317ee3113603f23729bac43b2c3d05b7f7c2ed3",
    "port logistics": "da53ee27c2c391551d6b29dcedb484f83caa18620d59216b253fb4e420d832cb",
}
"""Name -> hash of the environment that was drafted. A change of prompts, findings or of the page for authors leaves it
as it is: a request that is no longer the recorded one gets the reply to the nearest."""


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
