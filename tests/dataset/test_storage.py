"""Files are whole or absent, and what the operating system says becomes one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolscale.dataset.storage import (
    file_hash,
    only_writer,
    read_file,
    remove_folder,
    remove_leftovers,
    replace_folder,
    work_folder,
    write_file,
)
from toolscale.errors import StorageError, UsageError


def test_write_file_makes_folders_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a" / "b.txt", b"text")
    assert read_file(path) == b"text"
    assert [found.name for found in path.parent.iterdir()] == ["b.txt"]
    assert file_hash(path) == "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"


def test_a_file_where_a_folder_is_needed_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(
        StorageError, match=r"^cannot write .*/a/b.txt: (not a directory|file exists); free space or choose a place"
    ):
        write_file(tmp_path / "a" / "b.txt", b"text")


def test_a_full_disk_is_one_clear_line_and_leaves_the_old_file(tmp_path: Path) -> None:
    write_file(tmp_path / "file", b"old")
    code = f"""
import resource, pathlib
from toolscale.dataset.storage import write_file
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_file(pathlib.Path({str(tmp_path)!r}) / "file", bytes(5000))
except Exception as error:
    print(type(error).__name__, error)
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == (
        f"StorageError cannot write {tmp_path}/file: file too large; free space or choose a place that can be written\n"
    )
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


def test_replace_folder_puts_the_new_one_in_place(tmp_path: Path) -> None:
    write_file(tmp_path / "old" / "a", b"1")
    write_file(tmp_path / "new" / "b", b"2")
    replace_folder(tmp_path / "new", tmp_path / "old", tmp_path / "aside")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == ["old", "old/b"]


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    write_file(tmp_path / "a" / "b", b"1")
    write_file(tmp_path / "a" / ".b.123.tmp", b"half")
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["b"]


def test_a_second_writer_is_told_to_wait(tmp_path: Path) -> None:
    with only_writer(tmp_path), pytest.raises(UsageError, match="another run is writing"), only_writer(tmp_path):
        pass
    with only_writer(tmp_path):
        pass


def test_what_is_half_removed_is_in_nobodys_way(tmp_path: Path) -> None:
    write_file(tmp_path / "a" / "b", b"1")
    write_file(tmp_path / ".a.removed" / "b", b"of a process that was killed")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    remove_folder(tmp_path / "link")
    assert [path.name for path in tmp_path.rglob("b")] == ["b", "b"]
    for _ in range(2):
        remove_folder(tmp_path / "a")
        assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long_is_no_matter_of_space(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageError, match=r"^cannot prepare .*: file name too long; choose a shorter name$"),
        work_folder(tmp_path / ("a" * 250), "work"),
    ):
        pass
