"""Whole drafts of three domains that nobody had prepared, as they were recorded: the same domains come out again, and
datasets of them hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_model import use
from served_recording import served

from toolscale.canonical import content_hash
from toolscale.cli import main
from toolscale.draft import PROMPTS_VERSION
from toolscale.environment.registry import FILES, POLICY_TEXT

RECORDINGS = Path(__file__).parent / "recordings"
MADE = {
    "hotel front desk": "2b7b4277fd677b3964e9a8d437f69729b41da75d785dd3d0d33a0e17f63337f4",
    "pet insurance": "9a1449a7d0b1276bac6ae964f6d0768342a348e3cbd978bcc866261fa9efc7fd",
    "port logistics": "819ae68468a71763c526556cd2122e0969780ab41b484c7b116dc582386c7a10",
}
"""Name -> hash of the files that were drafted, to the letter: the words that the package adds to every domain are none
of them, and the version of the prompts, which was 3, is not compared. A request that is no longer the recorded one gets
the reply to the nearest."""


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
    world = written["environment.yaml"].replace(f"prompts: {PROMPTS_VERSION}\n", "prompts: 3\n")
    assert content_hash({**written, "environment.yaml": world}) == MADE[name]
    assert main(["synthesize", str(folder), "--tasks", "20", "--out", "dataset"]) == 0
    assert main(["verify", "dataset"]) == 0
