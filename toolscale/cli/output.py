"""What all verbs share: `--json`, and a progress bar that is drawn on a terminal only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolscale.canonical import finite
from toolscale.text_files import visible

if TYPE_CHECKING:
    from rich.progress import TaskID

Verb = TypeVar("Verb", bound=Callable[..., Any])


def as_json(verb: Verb) -> Verb:
    """Give a verb the option `--json`, passed as `json_`."""
    return click.option("--json", "json_", is_flag=True, help="Print one JSON document, for machines.")(verb)


def with_key(verb: Verb) -> Verb:
    """Give a verb the option `--key`."""
    told = (
        "Public Ed25519 key (a PEM file) of whoever must have signed the manifest.  "
        "[default: TOOLSCALE_VERIFY_KEY, else any or none]"
    )
    return click.option("--key", metavar="FILE", envvar="TOOLSCALE_VERIFY_KEY", help=told)(verb)


def say(text: str, *, err: bool = False) -> None:
    """Print text that may hold what somebody else wrote."""
    click.echo(visible(text), err=err)


def say_cents(texts: Iterable[str]) -> None:
    """Say how amounts are to be read, if one of these texts names some: tools and tables hold whole cents."""
    if any("_cents" in text for text in texts):
        say("names that end in _cents hold cents: 1250 is 12.50")


def echo_json(value: Any) -> None:
    """Print one JSON document; what a terminal obeys is escaped, as JSON allows it, and a number without end is
    null."""
    text = json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def print_result(result: Mapping[str, Any]) -> None:
    """Print what a call gave, as an agent reads it: JSON, or the error."""
    say(f"error: {result['error']}" if result["error"] is not None else json.dumps(result["value"], ensure_ascii=False))


def bytes_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function (act, done, total) that draws a bar on stderr; it draws nothing if stderr is not a terminal."""
    from toolscale.cli.bars import bars

    with bars() as drawn:
        current = drawn.add_task("starting", total=None)

        def report(act: str, done: int, total: int) -> None:
            drawn.show(current, act, done, total)

        yield report


@contextmanager
def progress_bars() -> Iterator[Callable[[str, str, int, int], None]]:
    """Yield a function (name, act, done, total) that draws a bar for each name, as `progress_bar` does for one."""
    from toolscale.cli.bars import bars

    with bars() as drawn:
        known: dict[str, TaskID] = {}

        def report(name: str, act: str, done: int, total: int) -> None:
            if name not in known:
                known[name] = drawn.add_task(name, total=None)
            drawn.show(known[name], f"{name:<14} {act}", done, total)

        yield report
