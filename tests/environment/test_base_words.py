"""A domain need not bring the words that no trade owns."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.environment.environment import load_environment
from toolscale.errors import SpecError

Spoil = Callable[..., Path]
LANGUAGE = "language.yaml"
OWN = ("openings", "signatures", "conditions", "counts", "personas")


def based(folder: Path, head: str, *, without: tuple[str, ...] = OWN) -> Path:
    """Give a copy of the mock domain a base, and take out sections of its own."""
    path = folder / LANGUAGE
    text = path.read_text(encoding="utf-8")
    for name in without:
        text = re.sub(rf"^{name}:.*\n(?: .*\n)*", "", text, flags=re.MULTILINE)
    path.write_text(f"{head}\n{text}", encoding="utf-8")
    return folder


def test_a_domain_with_a_base_says_only_what_is_its_own(spoil: Spoil) -> None:
    language = load_environment(based(spoil(), "base: english\nspeaker: member")).spec.language
    assert language.openings[0] == "[Hello|Hi|Good morning|Good afternoon], [this is|I'm|my name is] {member}."
    assert set(language.personas) == {"brisk", "chatty", "worried", "formal", "rambling", "hasty"}
    assert all("{person}" not in text for text in (*language.openings, *language.personas["formal"].signatures))
    assert language.nouns == {"loans": "book", "members": "membership"}


def test_its_own_sections_take_the_place_of_the_words_of_the_base(spoil: Spoil) -> None:
    language = load_environment(based(spoil(), "base: english\nspeaker: member", without=("counts",))).spec.language
    assert language.signatures == ("By the way, I am {member}.",)
    assert "How many [was that|is that|were there], and [can you tell me|could you give me] {total}?" in language.counts


def test_such_a_domain_yields_in_every_stream(spoil: Spoil, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admit", str(based(spoil(), "base: english\nspeaker: member")), "--candidates", "8"]) == 0
    assert "of 56 candidates of 7 streams accepted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("base: english", "language.yaml: speaker: there is a base, and nobody speaks; name the role that does"),
        (
            "base: english\nspeaker: membr",
            "language.yaml: speaker: unknown role 'membr'; did you mean 'member'?",
        ),
        (
            "base: klingon\nspeaker: member",
            "language.yaml: base: 'klingon' does not fit here; it should be 'english'",
        ),
    ],
)
def test_a_base_that_cannot_be_used_is_one_line(spoil: Spoil, head: str, line: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_environment(based(spoil(), head))
    assert str(caught.value) == line


def test_the_words_count_as_content_of_the_domain(spoil: Spoil) -> None:
    folder = based(spoil(), "base: english\nspeaker: member")
    before = load_environment(folder)
    path = folder / LANGUAGE
    path.write_text(path.read_text(encoding="utf-8") + 'counts: ["How many?"]\n', encoding="utf-8")
    assert load_environment(folder).files[LANGUAGE] != before.files[LANGUAGE]
