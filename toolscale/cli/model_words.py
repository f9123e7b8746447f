"""The verbs in which a model writes words that are kept in a file: describe, preferences; and replay, which serves
words that a model wrote once."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click

from toolscale.cli.asking import by_model, model_at
from toolscale.cli.output import as_json, echo_json, progress_bar, say


@click.command()
@click.argument("catalogue", type=click.Path(path_type=Path))
@by_model("that writes")
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
    endpoint: str,
    model: str,
    key_env: str | None,
    deadline: float,
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
    """
    from toolscale.pipeline.describing import describe_catalogue

    writer, place = model_at(endpoint, model, key_env, deadline), out or catalogue
    with progress_bar() as progress:
        described = describe_catalogue(
            catalogue, place, writer, count=tasks, seed=seed, datasets=dataset, again=again, progress=progress
        )
    if json_:
        return echo_json({"catalogue": str(place), "described": described})
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
@by_model("that writes")
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
    endpoint: str,
    model: str,
    key_env: str | None,
    deadline: float,
    count: int,
    seed: int,
    wish_share: float,
    json_: bool,
) -> None:
    """Let a model say what users care for, and write a file of it for training (`data.preferences`).

    Weights are drawn, the model puts them into words, and reads its words back: only what is read as it was meant is
    kept.
    """
    from toolscale.pipeline.preference_files import word_preferences

    writer = model_at(endpoint, model, key_env, deadline)
    with progress_bar() as progress:
        worded = word_preferences(out, writer, count=count, seed=seed, wish_share=wish_share, progress=progress)
    if json_:
        return echo_json({"file": str(out), **asdict(worded)})
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
