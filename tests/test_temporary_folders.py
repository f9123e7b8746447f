"""Folders for a while: gone afterwards, and where a process was killed, with the next one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from toolscale.errors import StorageError
from toolscale.temporary_folders import temporary_folder

STAY = """
import sys, time
from toolscale.temporary_folders import temporary_folder
with temporary_folder("made") as folder:
    (folder / "rows").write_text("many")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of the system."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # Python looks once
    return tmp_path


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_stays(root: Path) -> None:
    other = root / "toolscale.of-somebody"
    other.mkdir()  # it has no lock: not ours
    first, second = (subprocess.Popen([sys.executable, "-c", STAY], stdout=subprocess.PIPE, text=True) for _ in "ab")
    left, used = (Path(process.stdout.readline().strip()) for process in (first, second) if process.stdout)
    killed(first)
    assert (left / "rows").exists()
    with temporary_folder("mine") as folder:
        assert (list(folder.iterdir()), folder.parent.parent) == ([], root)
        assert sorted(root.iterdir()) == sorted([folder.parent, used.parent, other])
    killed(second)
    with temporary_folder("mine"):
        assert not used.exists()
    assert list(root.iterdir()) == [other]


def test_that_none_can_be_made_is_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(root / "missing"))
    with (
        pytest.raises(
            StorageError, match=r"^cannot make a temporary folder: no such file or directory; free space, or"
        ),
        temporary_folder("mine"),
    ):
        pass
