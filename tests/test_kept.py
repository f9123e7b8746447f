"""What one process made is there for the next, and what is not ours, or not whole, is made again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolscale.kept import MOST_FILES, Kept


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "toolscale"


def files(cache: Path) -> list[str]:
    return sorted(path.name.rpartition("-")[0] for path in cache.iterdir())


def test_another_process_reads_what_was_kept(cache: Path) -> None:
    assert Kept("answer", ["made of this"], dict).read() is None
    Kept("answer", ["made of this"], dict).write({"a": 1})
    code = "from toolscale.kept import Kept; print(Kept('answer', ['made of this'], dict).read())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "{'a': 1}\n"
    assert Kept("answer", ["made of that"], dict).read() is None
    assert Kept("other", ["made of this"], dict).read() is None
    assert Kept("answer", ["made of this"], list).read() is None


def test_a_file_that_is_cut_or_changed_is_not_read(cache: Path) -> None:
    kept = Kept("answer", 1, dict)
    kept.write({"a": 1})
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    for content in (b"", whole[:20], whole[:-1], whole[:-2] + b"x" + whole[-1:], whole + b"x"):
        path.write_bytes(content)
        assert kept.read() is None
    path.write_bytes(whole)
    assert kept.read() == {"a": 1}


def test_what_others_could_have_written_is_not_read(cache: Path) -> None:
    kept = Kept("answer", 1, dict)
    kept.write({"a": 1})
    (path,) = cache.iterdir()
    assert (cache.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    path.chmod(0o622)
    assert kept.read() is None
    path.chmod(0o600)
    cache.chmod(0o770)
    assert kept.read() is None
    cache.chmod(0o700)
    assert kept.read() == {"a": 1}


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    kept = Kept("answer", 1, dict)
    kept.write({"a": 1})
    assert kept.read() is None


def test_the_oldest_of_too_many_are_removed(cache: Path) -> None:
    for number in range(MOST_FILES + 3):
        Kept("answer", number, int).write(number)
    Kept("other", 0, int).write(0)
    assert files(cache) == ["answer"] * MOST_FILES + ["other"]
    assert [Kept("answer", number, int).read() for number in (0, 2, 3, MOST_FILES)] == [None, None, 3, MOST_FILES]
