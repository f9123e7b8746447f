"""The command line: one thin verb per stage.

Results go to stdout, everything else to stderr. The exit status 2 is bad usage or bad input, in one line that says what
to do.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence

import click

from toolscale.cli.attempts import decide, quarantine, solve
from toolscale.cli.auditing import audit
from toolscale.cli.comparing import diff
from toolscale.cli.domains import admit, domains, new
from toolscale.cli.drafts import draft, propose
from toolscale.cli.evaluating import compare, evaluate
from toolscale.cli.exporting import export
from toolscale.cli.extras import what_to_install
from toolscale.cli.failures import failure_of
from toolscale.cli.keeping import prune
from toolscale.cli.making import judge, schemas, synthesize
from toolscale.cli.measuring import report
from toolscale.cli.model_words import describe, preferences, replay
from toolscale.cli.output import say
from toolscale.cli.phrasing import phrase
from toolscale.cli.playing import grade, play
from toolscale.cli.reading import rejects, show, stats, verify
from toolscale.cli.serving import serve
from toolscale.cli.sharing import publish, pull
from toolscale.cli.trial import selftest
from toolscale.config import VERSION
from toolscale.errors import ToolScaleError

PURPOSES: Mapping[str, Mapping[click.Command, str]] = {
    "What most people need": {
        synthesize: "make a verified dataset of a domain",
        show: "print tasks: request, calls, form",
        verify: "draw and judge all of a dataset again",
        export: "write tasks for another program: TRL, tau2, Inspect, …",
        publish: "put a dataset on the Hugging Face Hub",
    },
    "Read a dataset": {
        stats: "count what is in it",
        rejects: "list what was rejected, and why",
        report: "write a page on its quality",
        diff: "say how two datasets differ",
        pull: "download one from the Hub",
        prune: "remove old runs",
    },
    "Make a domain": {
        domains: "list those that there are",
        new: "write one that is admitted as it is",
        admit: "check every file of one",
        judge: "draw one candidate, and say what each gate finds",
        selftest: "plant faults, and count what the gates find",
        schemas: "write the JSON Schemas of all files",
    },
    "Ask models": {
        draft: "have a domain drafted, from a name or from what you have",
        phrase: "have whole first messages written",
        propose: "have more intents proposed",
        solve: "have tasks tried",
        quarantine: "list tasks whose end state attempts doubt",
        decide: "keep such a task, or leave it out",
        describe: "have experts described by what they did",
        preferences: "have preferences of users written",
        replay: "serve recorded replies as an endpoint",
    },
    "Play and judge": {
        play: "solve a task by hand",
        grade: "grade recorded solutions",
        serve: "serve tasks over MCP",
        audit: "try our gates on somebody else's benchmark",
        evaluate: "evaluate policies on a benchmark",
        compare: "compare two evaluations",
    },
}
"""What the verbs are for, and what each does, as `--help` shows them."""


class _ByPurpose(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for purpose, verbs in PURPOSES.items():
            with formatter.section(purpose):
                formatter.write_dl([(f"{verb.name:<11}", does) for verb, does in verbs.items()])


@click.group(cls=_ByPurpose, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(VERSION, prog_name="toolscale")
def commands() -> None:
    """Make, verify and read datasets of verified tool-use tasks."""


for command in (verb for verbs in PURPOSES.values() for verb in verbs):
    commands.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; every failure that we name is one line on stderr (a spec: one for each
    issue)."""
    try:
        status = int(commands.main(args=arguments, prog_name="toolscale", standalone_mode=False) or 0)
        sys.stdout.flush()
        return status
    except click.ClickException as error:
        return _fail(" ".join(error.format_message().split()), 2)
    except ToolScaleError as error:
        return _fail(str(error), error.exit_status)
    except ModuleNotFoundError as error:  # also of the metadata of a package, if that is what was asked for
        module = error.name or ""
        if (wanted := what_to_install(module)) is None:
            raise
        return _fail(f"{_verb(arguments)} needs {module.partition('.')[0]}; pip install {wanted}", 2)
    except BrokenPipeError:
        # Whoever read our output has gone (`toolscale show | head`). Python would complain once more when it flushes
        # stdout at exit.
        _drop_output()
        return 0
    except (click.Abort, KeyboardInterrupt, MemoryError, OSError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            _drop_output()
            return _fail("the output cannot be written: no space left on device; free space, or write it elsewhere", 1)
        if (failure := failure_of(error)) is None:
            raise
        return _fail(*failure)


def run() -> None:
    """Run as the program `toolscale`. The signals SIGTERM and SIGHUP end it in the same way as Ctrl-C."""
    gc.set_threshold(50_000)  # what is loaded at the start is no garbage, and there is much of it
    # Pydantic looks for plug-ins of itself in the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    sys.exit(main())


def _verb(arguments: Sequence[str] | None) -> str:
    told = sys.argv[1:] if arguments is None else arguments
    return next((word for word in told if word in commands.commands), "this")


def _interrupt(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # `timeout make dataset` sends it twice: to the group, and through make
    raise KeyboardInterrupt


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int) -> int:
    for line in message.split("\n"):
        say(f"toolscale: {line}", err=True)
    return status
