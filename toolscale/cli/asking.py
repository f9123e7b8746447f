"""The options of verbs that ask a model at an endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.models.expert import Expert

Verb = TypeVar("Verb", bound=Callable[..., Any])


def by_model(what: str, *, required: bool = True) -> Callable[[Verb], Verb]:
    """Give a verb the options that say which model it asks: the fields of an expert's `endpoint` in a catalogue.
    `what`: what the model is for."""
    options = (
        click.option(
            "--endpoint",
            required=required,
            metavar="URL",
            help=f"The OpenAI-compatible server of the model {what}: https://host/v1.",
        ),
        click.option("--model", required=required, metavar="NAME", help="The model, as the server calls it."),
        click.option(
            "--key-env",
            metavar="VARIABLE",
            help="The environment variable that holds the key.  [default: no key is sent]",
        ),
        click.option(
            "--deadline",
            default=120.0,
            show_default=True,
            metavar="SECONDS",
            type=click.FloatRange(0, min_open=True),
            help="Give up if one answer of it takes longer, tries and waits included.",
        ),
    )

    def give(verb: Verb) -> Verb:
        for option in reversed(options):
            verb = option(verb)
        return verb

    return give


def asks_model(verb: Verb) -> Verb:
    """Give a verb that asks the model of the environment (`model_from`) the options of what it may cost and where its
    replies are kept."""
    options = (
        click.option(
            "--max-cost",
            type=click.FloatRange(0, min_open=True),
            envvar="MAX_COST",
            metavar="DOLLARS",
            help="Stop before more is spent; what was paid for is kept.  [default: MAX_COST, else no cap]",
        ),
        click.option(
            "--replies",
            type=click.Path(path_type=Path),
            default=Path("var/replies.sqlite"),
            show_default=True,
            help="Where replies are kept: what was asked once is not asked again.",
        ),
        click.option(
            "--record", type=click.Path(path_type=Path), help="A file for the replies, to serve with `replay`."
        ),
    )
    for option in reversed(options):
        verb = option(verb)
    return verb


def model_at(endpoint: str, model: str, key_env: str | None, deadline: float, name: str = "writer") -> Expert:
    """Return the model; `name`: what messages call it. UsageError at once if the address cannot be one, or its key is
    not in the environment."""
    from toolscale.models.experts import make_expert, unmeasured
    from toolscale.records import Endpoint

    if key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key_env):
        raise UsageError(
            "--key-env takes the name of an environment variable, not a key; set a variable to the key and name it"
        )
    place = Endpoint(base_url=endpoint, model=model, api_key_env=key_env, timeout_s=deadline, deadline_s=deadline)
    return make_expert(unmeasured(name, place))
