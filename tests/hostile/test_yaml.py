"""Every file of a domain, written by somebody who means harm: named in one line each, within a few seconds and little
memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.bounded import Bounded
from toolscale.environment.registry import FILES, OPTIONAL, POLICY_TEXT

pytestmark = pytest.mark.xdist_group("hostile_yaml")

Attack = Callable[[Path], object]


def text(content: str) -> Attack:
    return lambda path: path.write_text(content)


def appended(content: str) -> Attack:
    return lambda path: path.write_text(path.read_text() + content)


def content(content: bytes) -> Attack:
    return lambda path: path.write_bytes(content)


def instead(make: Attack) -> Attack:
    def attack(path: Path) -> None:
        path.unlink()
        make(path)

    return attack


TENFOLD = [f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(TENFOLD)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{number}: &a{number} [*a{number - 1}]\n" for number in range(1, 2_000))

ATTACKS: dict[str, Attack] = {
    "a tag of its own": appended("\nevil: !evil 1\n"),
    "a tag of Python": appended('\nevil: !!python/object/apply:os.system ["true"]\n'),
    "a set": appended("\nevil: !!set {a, b}\n"),
    "bytes": appended("\nevil: !!binary aGVsbG8=\n"),
    "no number": appended("\nevil: .nan\n"),
    "an infinity": appended("\nevil: -.inf\n"),
    "five thousand digits": appended(f"\nevil: {'9' * 5_000}\n"),
    "a number beyond a database": appended(f"\nevil: {2**63}\n"),
    "a date that is none": appended("\nevil: 2026-99-99\n"),
    "Latin-1": lambda path: path.write_bytes(path.read_bytes() + "\n# café\n".encode("latin-1")),
    "an anchor in itself": appended("\nevil: &evil [*evil]\n"),
    "an anchor in its own mapping": appended("\nevil: &evil {a: *evil}\n"),
    "a bomb of aliases": text(BOMB),
    "a chain of aliases": text(CHAIN),
    "an unknown alias": appended("\nevil: *nowhere\n"),
    "lists in lists": text("[" * 10_000),
    "lists in lists, closed": text("evil: " + "[" * 5_000 + "]" * 5_000),
    "mappings in mappings": text("{a: " * 10_000),
    "a deep block": text("".join(" " * number + "a:\n" for number in range(500))),
    "a key twice": appended("\nevil: 1\nevil: 2\n"),
    "a key that is a list": appended("\n? [a, b]\n: 1\n"),
    "a key that is a mapping": appended("\n? {a: b}\n: 1\n"),
    "a key that is no text": appended("\nyes: 1\n"),
    "a merge of no mapping": appended("\n<<: 3\n"),
    "nothing": text(""),
    "only a number": text("3"),
    "only a list": text("- a\n- b\n"),
    "null": text("null"),
    "two documents": appended("\n---\na: 1\n"),
    "an escape sequence": appended('\nevil: "\\e]0;owned\\a"\n'),
    "an escape sequence as it is": appended("\nevil: \x1b[2J\n"),
    "a text from right to left": appended("\nevil: \u202eabc\n"),
    "half a character": appended('\nevil: "\\ud800"\n'),
    "NUL": content(b"a: \0\n"),
    "UTF-16": content("a: 1".encode("utf-16")),
    "no YAML": text("a: [1, 2\nb: }"),
    "tabs": text("a:\n\tb: 1\n"),
    "nine megabytes": text("# " + "x" * 9_000_000),
    "a folder": instead(lambda path: path.mkdir()),
    "a pipe": instead(lambda path: os.mkfifo(path)),
    "a link to a device": instead(lambda path: path.symlink_to("/dev/zero")),
    "a link to nowhere": instead(lambda path: path.symlink_to("nowhere")),
    "a link to itself": instead(lambda path: path.symlink_to(path)),
    "nobody may read it": instead(lambda path: path.symlink_to("/proc/1/mem")),
    "missing": lambda path: path.unlink(),
}


NEEDED = [file for file in FILES if file not in OPTIONAL]


@pytest.mark.parametrize(
    ("attack", "file"), [(attack, NEEDED[number % len(NEEDED)]) for number, attack in enumerate(ATTACKS)]
)
def test_a_file_of_a_domain_is_refused_in_lines_that_name_it(
    bounded: Bounded, domain: Path, file: str, attack: str
) -> None:
    """Each attack on one file, each file under several attacks: all are read by the same function."""
    ATTACKS[attack](domain / file)
    found = bounded.run("admit", domain)
    assert (found.status, found.out) == (2, ""), found.err
    assert found.lines and all(line.startswith(f"toolscale: {file}: ") for line in found.lines), found.err
    assert "\x1b" not in found.err and "\u202e" not in found.err


@pytest.mark.parametrize(
    "attack",
    ["Latin-1", "nine megabytes", "a folder", "a pipe", "a link to a device", "missing", "a text from right to left"],
)
def test_a_policy_is_refused_in_lines_that_name_it(bounded: Bounded, domain: Path, attack: str) -> None:
    ATTACKS[attack](domain / POLICY_TEXT)
    found = bounded.run("admit", domain)
    assert (found.status, found.out) == (2, "") and all(
        line.startswith(f"toolscale: {POLICY_TEXT}: ") for line in found.lines
    ), found.err


@pytest.mark.parametrize(
    "attack",
    [
        # The reader is that of the files of a domain, on which all attacks are tried.
        attack if number % 4 == 0 else pytest.param(attack, marks=pytest.mark.slow("tests/hostile/test_yaml.py"))
        for number, attack in enumerate(sorted(ATTACKS.keys() - {"missing"}))
    ],
)
def test_a_catalogue_is_refused_in_lines_that_name_it(bounded: Bounded, tmp_path: Path, attack: str) -> None:
    path = tmp_path / "experts.yaml"
    path.write_text("version: 1\n")
    ATTACKS[attack](path)
    found = bounded.run(
        "describe", path, "--endpoint", "http://127.0.0.1:9", "--model", "m", "--out", tmp_path / "out.yaml"
    )
    assert (found.status, found.out) == (2, "") and all(
        line.startswith(f"toolscale: {path}: ") for line in found.lines
    ), found.err
    assert not (tmp_path / "out.yaml").exists()
