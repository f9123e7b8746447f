"""`toolscale evaluate`, `toolscale compare`: the program `python -m eval` of this checkout, under the names of verbs.

Evaluation imports training, which imports this package; so its code is not imported here. The process becomes that
program: its messages, signals and exit status are the verb's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from toolscale.cli.output import as_json
from toolscale.errors import UsageError

ROOT = Path(__file__).parents[2]
PASSED_ON = {"ignore_unknown_options": True, "help_option_names": []}


@click.command(context_settings=PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@as_json
def evaluate(arguments: tuple[str, ...], json_: bool) -> None:
    """In a checkout: evaluate policies on a benchmark.

    It writes the report, as `python -m eval run` does. --list names the benchmarks, --help the options. It needs the
    folders eval/ and training/ of the repository, which no wheel has."""
    command, rest = ("list", arguments[1:]) if arguments[:1] == ("--list",) else ("run", arguments)
    _become(command, [*rest, *["--json"] * json_])


@click.command(context_settings=PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@as_json
def compare(arguments: tuple[str, ...], json_: bool) -> None:
    """In a checkout: compare two evaluations, A less B.

    Printed are the paired difference with its interval, the tasks that changed sides, and how many tasks show half of
    it, as by `python -m eval compare`. It needs the folders eval/ and training/ of the repository, which no wheel
    has."""
    _become("compare", [*arguments, *["--json"] * json_])


def _become(command: str, arguments: Sequence[str], root: Path = ROOT) -> NoReturn:
    """Go on as the program in `root`. If there is none, --help is that of the verb, and all else a UsageError."""
    if not (root / "eval" / "__main__.py").is_file():
        if "--help" in arguments:
            context = click.get_current_context()
            click.echo(context.get_help())
            context.exit()
        raise UsageError(f"{root / 'eval'}: is not there; evaluate and compare are run in a checkout of the repository")
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    sys.stdout.flush()
    os.execve(  # the interpreter of this process, and words of the user's own command line
        sys.executable,
        [sys.executable, "-m", "eval", command, *arguments],
        {**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
