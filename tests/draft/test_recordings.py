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
    "hotel front desk": "13f93ae8526a19ce0e56eda75c5b50336b36e6efa230b3dfe858fd269ddc1e4f",
    "pet insurance": "3e6f54dc964bcd8e915575dd1d61bc8df0d82844c929a910a4c946ee6de245f7",
    "port logistics": "066b468a997a8cfe429650b45b632e08039c49d8da352ac1638f8ba9e23fa17c",
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
