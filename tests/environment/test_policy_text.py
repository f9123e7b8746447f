"""`policy.md`: what agents read of it, and what enforces each of its sentences."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.environment.environment import load_environment
from toolscale.environment.policy_text import sentences, shown, unenforced
from toolscale.environment.prompt import system_message
from toolscale.records import PolicySentence

POLICY = """# The desk

You lend books. Be kind.

1. A loan is renewed twice at most. <!-- by: renewals --> Say so
   in few words.
2. "Late" means after the day. It costs $1. <!-- by: meaning -->
- Never tell
  about others! <!-- by: faithful,
  nothing_else -->
"""


def test_a_comment_covers_what_stands_before_it_in_its_point() -> None:
    assert sentences(POLICY) == (
        PolicySentence(line=3, text="You lend books.", by=()),
        PolicySentence(line=3, text="Be kind.", by=()),
        PolicySentence(line=5, text="A loan is renewed twice at most.", by=("renewals",)),
        PolicySentence(line=5, text="Say so in few words.", by=()),
        PolicySentence(line=7, text='"Late" means after the day.', by=("meaning",)),
        PolicySentence(line=7, text="It costs $1.", by=("meaning",)),
        PolicySentence(line=8, text="Never tell about others!", by=("faithful", "nothing_else")),
    )


def test_agents_do_not_see_comments(mock_folder: Path) -> None:
    assert "<!--" not in shown(POLICY)
    assert shown(POLICY).splitlines()[4] == "1. A loan is renewed twice at most. Say so"
    plain = load_environment(mock_folder)
    policy = mock_folder / "policy.md"
    policy.write_text(f"{policy.read_text(encoding='utf-8').rstrip()} <!-- by: faithful -->\n", encoding="utf-8")
    marked = load_environment(mock_folder)
    assert (system_message(marked), marked.hash) == (system_message(plain), plain.hash)


def test_admit_lists_what_nothing_enforces(mock_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (mock_folder / "policy.md").write_text(
        "Be kind. <!-- something else -->\n\nWaive no fee over $40. <!-- by: faithful -->\n", encoding="utf-8"
    )
    remedy = "name what does in a comment behind it, make it a rule, or leave it out"
    notes = [
        f"note: policy.md: line 1: nothing enforces 'Be kind.'; {remedy}",
        "note: rules.yaml: rules.desk_limit: no sentence of policy.md names it; "
        "tell it, and write `<!-- by: desk_limit -->` behind it",
    ]
    assert main(["admit", str(mock_folder), "--candidates", "0"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("note")] == notes
    assert main(["admit", str(mock_folder), "--candidates", "0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["unenforced"]
    assert [(each["file"], each["place"]) for each in told] == [
        ("policy.md", "line 1"),
        ("rules.yaml", "rules.desk_limit"),
    ]


def test_a_comment_that_names_nothing_is_refused(mock_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (mock_folder / "policy.md").write_text("Up to $40.\n\nBe kind. <!-- by: faithful, limit -->\n", encoding="utf-8")
    assert main(["admit", str(mock_folder)]) == 2
    assert (
        "policy.md: line 3: nothing is called 'limit'; name rules, invariants, tools, execution_correct, faithful, "
        "nothing_else or meaning in `<!-- by: ... -->`"
    ) in capsys.readouterr().err


@pytest.mark.parametrize("domain", sorted(path.name for path in Path("environments").iterdir() if path.is_dir()))
def test_every_sentence_of_our_policies_is_enforced(domain: str) -> None:
    assert unenforced(load_environment(domain).spec) == []


@pytest.fixture
def mock_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mock"
    shutil.copytree("environments/mock", folder)
    return folder
