"""Whole drafts of three domains that nobody had prepared, as they were recorded: the same domains come out again, and
datasets of them hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_model import use
from served_recording import served

from toolscale.canonical import content_hash
from toolscale.cli import main
from toolscale.environment.registry import FILES, POLICY_TEXT

RECORDINGS = Path(__file__).parent / "recordings"
MADE = {
    "hotel front desk": "7a9c791d68f6c172d821c896737d9a63557842631f110e488b5805370cd901bc",
    "pet insurance": "85cad14faba8e6e9d7bb8b6cc8b678480a324c4c64734fb9b437ad4bfb12d44d",
    "port logistics": "9a83c625112508d5144ac9ea836b281b01f6c0aa81ad73fd081231050ff093ea",
}
"""Name -> hash of the files that were drafted, to the letter: the words that the package adds to every domain are none
of them. A request that is no longer the recorded one gets the reply to the nearest."""


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
    assert content_hash({file: (folder / file).read_text() for file in (*FILES, POLICY_TEXT)}) == MADE[name]
    assert main(["synthesize", str(folder), "--tasks", "20", "--out", "dataset"]) == 0
    assert main(["verify", "dataset"]) == 0
