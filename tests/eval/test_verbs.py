"""The verbs `toolscale evaluate` and `toolscale compare` are the program `python -m eval`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from eval.cli import main
from toolscale.cli.evaluating import _become, compare, evaluate
from toolscale.errors import UsageError


@pytest.mark.parametrize(
    ("verb", "program"),
    [
        (["evaluate", "--list", "--json"], ["list", "--json"]),
        (["evaluate", "no-such-benchmark"], ["run", "no-such-benchmark"]),
        (["compare", "here", "there", "--gate"], ["compare", "here", "there", "--gate"]),
    ],
)
def test_a_verb_says_and_returns_what_the_program_does_from_any_folder(
    verb: list[str], program: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run([sys.executable, "-m", "toolscale", *verb], cwd=tmp_path, capture_output=True, text=True)
    status = main(program)
    assert (done.returncode, done.stdout, done.stderr) == (status, *capsys.readouterr())


def test_without_a_checkout_it_is_one_line(tmp_path: Path) -> None:
    line = f"{tmp_path / 'eval'}: is not there; evaluate and compare are run in a checkout of the repository"
    with pytest.raises(UsageError, match=re.escape(line)):
        _become("run", [], tmp_path)


@pytest.mark.parametrize("verb", [evaluate, compare])
def test_the_help_of_a_verb_says_that_it_needs_a_checkout(
    verb: click.Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with click.Context(verb), pytest.raises(click.exceptions.Exit):
        _become("run", ["--help"], tmp_path)
    assert "\n  In a checkout: " in capsys.readouterr().out
