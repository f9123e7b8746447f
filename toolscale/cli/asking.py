"""The options of verbs that ask a model at an endpoint."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolscale.cli.limiting import limited
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.models.chat import ChatModel

Verb = TypeVar("Verb", bound=Callable[..., Any])


def by_model(verb: Verb) -> Verb:
    """Give a verb that asks the model of the environment the options that name another one: `model_asked`."""
    options = (
        click.option(
            "--endpoint",
            metavar="URL",
            help="The OpenAI-compatible server of the model: https://host/v1.  [default: OPENAI_BASE_URL]",
        ),
        click.option("--model", metavar="NAME", help="The model, as the server calls it.  [default: TOOLSCALE_MODEL]"),
        click.option(
            "--key-env",
            metavar="VARIABLE",
            help="The environment variable that holds the key.  [default: OPENAI_API_KEY; none for --endpoint]",
        ),
        click.option(
            "--answer-deadline",
            metavar="SECONDS",
            type=click.FloatRange(0, min_open=True),
            help="Give up if one answer of it takes longer, tries and waits included.  [default: 600]",
        ),
    )
    for option in reversed(options):
        verb = option(verb)
    return verb


def asks_model(verb: Verb) -> Verb:
    """Give a verb that asks the model of the environment (`model_from`) the options of what it may take (`limits`) and
    where its replies are kept."""
    options = (
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
    return limited("max_cost", "deadline_s")(verb)


def model_asked(
    endpoint: str | None, model: str | None, key_env: str | None, answer_deadline: float | None
) -> ChatModel:
    """Return the model that the options of `by_model` name, and the environment where they do not. A server that is
    named gets no key but the one that is named for it. UsageError at once if the address cannot be one, or its key is
    not in the environment."""
    from toolscale.models.chat import model_from
    from toolscale.models.chat.settings import KEY, MODEL, URL
    from toolscale.models.transport import check_address, key_of

    if key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key_env):
        raise UsageError(
            "--key-env takes the name of an environment variable, not a key; set a variable to the key and name it"
        )
    if endpoint is not None:
        check_address(endpoint, "--endpoint")
    told = {MODEL: model, URL: endpoint, KEY: None if endpoint is None else ""}
    found = model_from({**os.environ, **{name: value for name, value in told.items() if value is not None}})
    changed: dict[str, Any] = {} if key_env is None else {"api_key_env": key_env}
    if answer_deadline is not None:
        changed |= {"timeout_s": min(found.endpoint.timeout_s, answer_deadline), "deadline_s": answer_deadline}
    place = found.endpoint.model_copy(update=changed)
    key_of(place, f"the model {place.model!r}")
    return replace(found, endpoint=place)
