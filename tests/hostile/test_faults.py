"""What goes wrong around a command: full disks, ended processes, strange paths, folders of others. One line, and
nothing half-written or lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from chat_server import Answer, chat_server
from run_orders import order

from tests.hostile.bounded import Bounded
from tests.installed import needs
from toolscale.cli import main
from toolscale.cli.failures import failure_of
from toolscale.dataset.making.shards import cut_shards, read_shard_plan
from toolscale.dataset.making.units import Unit, judge_unit, read_judged
from toolscale.dataset.manifest import Recipe
from toolscale.dataset.runs import open_run, runs_under
from toolscale.dataset.storage import write_file
from toolscale.errors import DatasetError
from toolscale.pipeline import synthesize
from toolscale.pipeline.scheduled import build_domain
from toolscale.pipeline.stages import build_environment, place_of

MAKE = [sys.executable, "-m", "toolscale", "synthesize", "mock", "--tasks", "4", "--workers", "1", "--out"]


def make(out: str | bytes | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*MAKE, os.fsencode(out)], capture_output=True, check=False)


OTHER_SIGNALS = [
    pytest.param(number, marks=pytest.mark.slow("tests/hostile/test_faults.py"))
    for number in (signal.SIGHUP, signal.SIGINT)
]


@pytest.mark.parametrize("number", [signal.SIGTERM, *OTHER_SIGNALS])
def test_whoever_ends_a_run_gets_one_line_from_it_and_all_its_helpers(tmp_path: Path, number: signal.Signals) -> None:
    # As from a terminal: whatever runs in the background of a script inherits that SIGINT is ignored,
    # and so would this.
    process = subprocess.Popen(
        [*MAKE, str(tmp_path / "mock")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not list(tmp_path.glob(".mock.work/*/judged")):  # helpers run from here on
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "toolscale: interrupted; run the same command again to go on"
    assert make(tmp_path / "mock").returncode == 0


@pytest.mark.slow("tests/hostile/test_faults.py")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_of_all_domains_ends_at_once_with_one_line(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "toolscale", "synthesize", "all", "--out", str(tmp_path / "all")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while len(list(tmp_path.glob(".*.work/*/judged"))) < min(2, len(os.sched_getaffinity(0))):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, number)
    if number == signal.SIGTERM:  # as `timeout make dataset` does: to the group, and once more through make
        process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "toolscale: interrupted; run the same command again to go on"
    assert not (tmp_path / "all").exists()


def test_output_that_cannot_be_written_is_one_line(mock_dataset: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "toolscale", "show", str(mock_dataset)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert (
        done.stderr
        == "toolscale: the output cannot be written: no space left on device; free space, or write it elsewhere\n"
    )


def test_a_path_that_is_not_utf_8_is_written_and_told_with_escapes(tmp_path: Path) -> None:
    out = os.fsencode(tmp_path) + b"/caf\xe9"
    done = make(out)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(os.fsencode(tmp_path) + b"/caf\\udce9: 4 verified tasks (")
    shutil.rmtree(out)


@needs("to be root, who may mount", os.getuid() == 0, "run as root")
def test_a_mount_point_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", place], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        done = make(place)
        assert (done.returncode, done.stdout) == (2, b"")
        assert (
            done.stderr.decode()
            == f"toolscale: {place} is a mount point, which cannot be replaced; choose a folder inside it\n"
        )
    finally:
        subprocess.run(["umount", place], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mounted"]


def test_a_work_folder_that_is_a_link_is_not_followed(tmp_path: Path, bounded: Bounded) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.txt").write_text("mine")
    (tmp_path / ".mock.work").symlink_to(tmp_path / "theirs")
    found = bounded.run("synthesize", "mock", "--tasks", "2", "--out", tmp_path / "mock")
    assert (found.status, found.out) == (2, "") and found.lines == [
        f"toolscale: {tmp_path}/.mock.work is in the way: it is no folder; remove it, or choose another place"
    ]
    assert (tmp_path / "theirs" / "thesis.txt").read_text() == "mine"


def test_a_work_folder_with_files_of_somebody_is_left_alone(tmp_path: Path, bounded: Bounded) -> None:
    (tmp_path / ".mock.work" / "thesis").mkdir(parents=True)
    (tmp_path / ".mock.work" / "thesis" / "thesis.txt").write_text("mine")
    found = bounded.run("synthesize", "mock", "--tasks", "2", "--out", tmp_path / "mock")
    assert (found.status, found.out) == (2, "") and found.lines == [
        f"toolscale: {tmp_path}/.mock.work is in the way: it holds files that are not ours; "
        "move it, or choose another place"
    ]
    assert (tmp_path / ".mock.work" / "thesis" / "thesis.txt").read_text() == "mine"


def test_a_machine_that_fails_is_told_as_what_it_is() -> None:
    ended = click.Abort()
    ended.__cause__ = EOFError()  # as click makes it of a pipe whose other end was killed
    errors: list[BaseException] = [
        MemoryError(), OSError(errno.ENOMEM, "no memory"), OSError(errno.ENAMETOOLONG, "too long", "aaa"),
        click.Abort(), KeyboardInterrupt(), ended, OSError(errno.EIO, "broken"),
    ]  # fmt: skip
    again = "run the same command again to go on"
    memory = f"there is too little memory; free some, or use fewer --workers, and {again}"
    assert [failure_of(error) for error in errors] == [
        (memory, 1),
        (memory, 1),
        ("aaa: the name is too long; choose a shorter one", 2),
        (f"interrupted; {again}", 130),
        (f"interrupted; {again}", 130),
        (f"a helper process was killed (out of memory?); free memory, or use fewer --workers, and {again}", 1),
        None,
    ]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "noise": lambda content: bytes(range(256)),
    "altered": lambda content: content.replace(b"pass", b"fail", 1),
}
LOST = ("cut", "emptied", "noise")
"""Damages that show in a file of any kind."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_unit_is_judged_again(tmp_path: Path, damage: str) -> None:
    world = build_environment("mock", tmp_path / "world" / "mock", tmp_path / "cache")
    unit = Unit(place_of(world, Recipe("mock", tasks=6)), 0, tuple(range(6)), tmp_path / "judged")
    path = judge_unit(unit)
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    with pytest.raises(DatasetError, match="is damaged; run the same command again"):
        read_judged([path])
    assert judge_unit(unit).read_bytes() == whole


def test_a_run_goes_on_from_a_damaged_unit(tmp_path: Path, mock_dataset: Path) -> None:
    """As after a power failure: the work folder is there, and one of its files is not what was written."""
    process = subprocess.Popen(
        [*MAKE[:-1], "--tasks", "10", "--out", str(tmp_path / "mock")],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (units := list(tmp_path.glob(".mock.work/*/judged/*.jsonl"))):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    units[0].write_bytes(b"\0" * 512)
    synthesize("mock", tmp_path / "mock", tasks=10, seed=0, turns="single", answer="message")
    assert (tmp_path / "mock" / "manifest.json").read_bytes() == (mock_dataset / "manifest.json").read_bytes()


@pytest.mark.parametrize("damage", LOST)
@pytest.mark.parametrize(
    "path",
    [
        "manifest.json",
        "mock/train-00000-of-00001.parquet",
        *(f"environments/mock/{name}" for name in ("admission.json", "database.sqlite", "environment.yaml")),
    ],
)
def test_a_damaged_file_of_a_dataset_is_told_in_lines(
    path: str, damage: str, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (dataset / path).write_bytes(DAMAGES[damage]((dataset / path).read_bytes()))
    for words in (["show"], ["play", "0" * 64, "--session", str(tmp_path / "s")], ["export", "--to", "trl-sft"]):
        status = main([words[0], str(dataset), *words[1:]])
        assert status in (0, 2) and capsys.readouterr().err.count("\n") == int(status == 2)


READERS = {
    "corpus.jsonl": ('{"id": "a", "title": "A", "text": "one"}\n', ["phrase", "mock", "--brief", "--people", "FILE"]),
    "frames.jsonl": (
        '{"shape": "return_all", "say": "All books are back."}\n',
        ["phrase", "mock", "--from", "FILE"],
    ),
    "solutions.jsonl": ('{"task": "a", "calls": [], "answer": "Done."}\n', ["grade", "DATASET", "FILE"]),
    "calls.jsonl": ('{"name": "find_member", "arguments": {}}\n', ["play", "DATASET", "0", "--calls", "FILE"]),
    "texts.jsonl": ('{"text": "One text."}\n', ["report", "DATASET", "--out", "page.html", "--against", "FILE"]),
    "texts.parquet": ("PAR1", ["stats", "DATASET", "--against", "FILE"]),
    "experts.yaml": ("title: Two\nexperts: []\n", ["describe", "FILE"]),
    "run.gz": ("\x1f\x8b", ["replay", "FILE"]),
    "replies.sqlite": ("SQLite format 3", ["preferences", "--out", "words.jsonl", "--replies", "FILE"]),
    "environment.yaml": ("title: A\n", ["admit", "."]),
    "rows.jsonl": ('{"prompt": "a"}\n', ["audit", "FILE"]),
    "key.pem": ("-----BEGIN PUBLIC KEY-----", ["pull", "me/x", "--out", "d", "--key", "FILE"]),
}


@pytest.mark.parametrize("damage", LOST)
@pytest.mark.parametrize("file", READERS)
def test_a_damaged_file_of_a_reader_is_told_in_lines(
    file: str, damage: str, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Whatever it is, it is no traceback: nothing in it, or lines that name it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("TOOLSCALE_MODEL", "m")
    content, words = READERS[file]
    Path(file).write_bytes(DAMAGES[damage](content.encode("latin-1")))
    with chat_server(Answer(b"no", 401)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        status = main([{"FILE": file, "DATASET": str(dataset)}.get(word, word) for word in words])
    assert status in (0, 1, 2)
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if not line.startswith(("toolscale: ", f"{file}: "))] == []


@pytest.mark.parametrize("damage", LOST)
@pytest.mark.parametrize("verb", ["stats", "verify", "diff", "report", "rejects", "quarantine", "solve", "publish"])
@pytest.mark.parametrize("path", ["manifest.json", "mock/train-00000-of-00001.parquet", "given/mock/attempts.jsonl"])
def test_a_damaged_dataset_is_one_line_for_every_verb(
    path: str, verb: str, damage: str, few_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    place = Path(shutil.copytree(few_tasks, tmp_path / "d"))
    (place / path).parent.mkdir(parents=True, exist_ok=True)
    whole = (place / path).read_bytes() if (place / path).exists() else b'{"candidate": "a"}\n'
    (place / path).write_bytes(DAMAGES[damage](whole))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLSCALE_MODEL", "m")
    more = {"diff": [str(few_tasks)], "report": ["--out", "page.html"], "publish": ["me/x"]}.get(verb, [])
    with chat_server(Answer(b"no", 401)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        status = main([verb, str(place), *more])
    err = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("round ")]
    assert status in (0, 1, 2) and len(err) <= 1


@pytest.mark.parametrize("damage", LOST)
def test_a_damaged_file_of_a_scheduled_run_is_one_line_or_is_written_anew(damage: str, tmp_path: Path) -> None:
    run = open_run(str(tmp_path), order())
    shard = cut_shards(range(8), domain="mock", round_=0, first=0, task_id="t")[0].write(run.scratch / "plan")
    recipe = write_file(run.scratch / "recipes" / "mock.json", b'{"inputs": "other"}')
    for path in (shard, recipe, run.products / "run.json"):
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(DatasetError, match=r"holds no JSON object, or half of one; clear the task that plans"):
        read_shard_plan(shard)
    with pytest.raises(DatasetError, match=r"run.json holds no JSON object, or half of one; trigger a new run$"):
        run.order()
    assert runs_under(tmp_path) == []
    open_run(str(tmp_path), order())
    build_domain(run.url, "mock")
    assert json.loads(recipe.read_bytes()).keys() == {"inputs"}
