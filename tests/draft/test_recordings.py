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
    "hotel front desk": "4272946cd3f8f179ed75df03893c8f9a4a767f3a974f699d1f71c3de46dbbb8c",
    "pet insurance": "2f16d18aa896cfba13b700abb36412074aecbb26e95a39c1cefc58ef0ab2e06f",
    "port logistics": "b81f358185ae507b76f6bf04173848cc07e694c22035204d3b6204c6c241d756",
}
"""Name -> hash of the files that were drafted, to the letter: the words that the package adds to every domain are none
of them, and what the draft took is not compared. A request that is no longer the recorded one gets the reply to the
nearest."""


@pytest.mark.slow("tests/draft/test_draft.py")
@pytest.mark.parametrize("name", MADE)
def test_a_recorded_draft_gives_its_domain_again_and_a_dataset_that_holds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(RECORDINGS / f"{name.replace(' ', '_')}.jsonl.gz", nearest=True) as address:
        use(monkeypatch, address, model="drafter", price="0.25/2")
        assert main(["draft", name, "--no-phrase", "--in", "made"]) == 0
    folder = tmp_path / "made" / name.replace(" ", "_")
    written = {file: (folder / file).read_text() for file in (*FILES, POLICY_TEXT) if (folder / file).exists()}
    world = written["environment.yaml"].partition("drafted:")[0]
    assert content_hash({**written, "environment.yaml": world}) == MADE[name]
    assert main(["synthesize", str(folder), "--tasks", "20", "--out", "dataset"]) == 0
    assert main(["verify", "dataset"]) == 0
