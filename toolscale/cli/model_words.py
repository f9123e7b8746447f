"""The verbs in which a model writes words that are kept in a file: describe, preferences; and replay, which serves
words that a model wrote once."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.asking import asks_model, by_model, model_asked
from toolscale.cli.output import as_json, echo_json, progress_bar, say

if TYPE_CHECKING:
    from toolscale.limits import RunLimits


@click.command()
@click.argument("catalogue", type=click.Path(path_type=Path))
@by_model
@asks_model
@click.option("--out", type=click.Path(path_type=Path), help="The catalogue to write.  [default: CATALOGUE itself]")
@click.option("--tasks", default=10, show_default=True, type=click.IntRange(1), help="Tasks that each expert works on.")
@click.option(
    "--dataset",
    multiple=True,
    type=click.Path(),
    help="A dataset folder: some of the tasks are of its training split. May be repeated.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the tasks.")
@click.option("--again", is_flag=True, help="Also describe the experts that have a description.")
@as_json
def describe(
    catalogue: Path,
    endpoint: str | None,
    model: str | None,
    key_env: str | None,
    answer_deadline: float | None,
    limits: RunLimits,
    replies: Path,
    record: Path | None,
    out: Path | None,
    tasks: int,
    dataset: tuple[str, ...],
    seed: int,
    again: bool,
    json_: bool,
) -> None:
    """Let a model describe the experts of CATALOGUE from what each does on sampled tasks, and write the catalogue with
    these descriptions.

    Experts with an endpoint are really asked, the others simulated. All else in the file stays, comments too. Cards in
    prose (`data.style: prose`) show a description instead of the measured skills.

    The model that writes is named by options or the environment: TOOLSCALE_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY.
    TOOLSCALE_MODEL_PRICE says what a million of its tokens cost (0.25/2), the catalogue what those of experts do.
    --max-cost holds for all of them.
    """
    from toolscale.cli.tallies import costs_told, print_costs, telling_costs
    from toolscale.models.purse import Purse
    from toolscale.pipeline.describing import describe_catalogue

    place, purse = out or catalogue, Purse(limits, replies, record=record)
    writer, ledger = model_asked(endpoint, model, key_env, answer_deadline), purse.ledger
    with telling_costs(ledger, json_=json_), progress_bar() as progress:
        described = describe_catalogue(
            catalogue, place, writer, purse, count=tasks, seed=seed, datasets=dataset, again=again, progress=progress
        )
    if json_:
        return echo_json({"catalogue": str(place), "described": described, "costs": costs_told(ledger)})
    if ledger.stages:
        print_costs(ledger)
    for name, text in described.items():
        say(f"{name}: {text}")
    say(
        f"{place}: {len(described)} experts described"
        + ("" if described else "; all have a description: --again writes new ones")
    )


@click.command()
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The file to write: one JSON object a line."
)
@by_model
@asks_model
@click.option(
    "--count",
    default=200,
    show_default=True,
    type=click.IntRange(1),
    help="Preferences that are asked for, for each split.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the weights.")
@click.option(
    "--wish-share",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of those that speak of single tools too.",
)
@as_json
def preferences(
    out: Path,
    endpoint: str | None,
    model: str | None,
    key_env: str | None,
    answer_deadline: float | None,
    limits: RunLimits,
    replies: Path,
    record: Path | None,
    count: int,
    seed: int,
    wish_share: float,
    json_: bool,
) -> None:
    """Let a model say what users care for, and write a file of it for training (`data.preferences`).

    Weights are drawn, the model puts them into words, and reads its words back: only what is read as it was meant is
    kept.

    The model is named by options or the environment: TOOLSCALE_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY.
    TOOLSCALE_MODEL_PRICE says what a million of its tokens cost (0.25/2).
    """
    from toolscale.cli.tallies import costs_told, print_costs, telling_costs
    from toolscale.models.purse import Purse
    from toolscale.pipeline.preference_files import word_preferences

    writer, purse = model_asked(endpoint, model, key_env, answer_deadline), Purse(limits, replies, record=record)
    ledger = purse.ledger
    with telling_costs(ledger, json_=json_), progress_bar() as progress:
        worded = word_preferences(out, writer, purse, count=count, seed=seed, wish_share=wish_share, progress=progress)
    if json_:
        return echo_json({"file": str(out), **asdict(worded), "costs": costs_told(ledger)})
    print_costs(ledger)
    splits = ", ".join(f"{number} {split}" for split, number in worded.written.items())
    say(
        f"{out}: {sum(worded.written.values())} preferences in the model's words ({splits}); "
        f"use them with `data.preferences: {out}`"
    )
    for split, counts in worded.counts.items():
        say(
            f"  {split}: {counts.asked} asked for, {counts.silent} without words, "
            f"{counts.unreadable} not read, {counts.mismatched} misread"
        )
    if worded.repeated:
        say(f"  {worded.repeated} left out that repeat the words of another")


@click.command()
@click.argument("recording", type=click.Path(path_type=Path))
@click.option("--port", default=8811, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--nearest",
    is_flag=True,
    help="What was not recorded word for word gets the reply to what is most like it: a recording outlives a change of "
    "the prompts.",
)
@as_json
def replay(recording: Path, port: int, host: str, nearest: bool, json_: bool) -> None:
    """Serve the replies in RECORDING as an OpenAI-compatible endpoint, until Ctrl-C: what a model was asked for can be
    run again without it."""
    from toolscale.models.chat.recording import Recorded, read_recording, recording_server

    replies = read_recording(recording)
    server = recording_server(Recorded(replies, nearest=nearest), host, port)
    name = next(iter(replies.values()))["model"] if replies else "recorded"
    address = f"http://{host}:{server.server_port}/v1"
    if json_:
        echo_json({"replies": len(replies), "address": address, "model": name})
    else:
        say(f"{len(replies)} replies; use them with: OPENAI_BASE_URL={address} TOOLSCALE_MODEL={shlex.quote(name)}")
    sys.stdout.flush()
    with server, suppress(KeyboardInterrupt):
        server.serve_forever()
