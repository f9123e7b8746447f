"""The options that name a judge of final messages: the same words for all verbs."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

Verb = TypeVar("Verb", bound=Callable[..., Any])


def takes_judge(verb: Verb) -> Verb:
    """Give a verb the options that name a judge; it gets them as `judge`, None if neither they nor the environment name
    one."""

    @wraps(verb)
    def judged(
        *args: Any,
        judge_endpoint: str | None,
        judge_model: str | None,
        judge_key_env: str | None,
        judge_max_cost: float | None,
        judge_deadline: float | None,
        judge_replies: str | None,
        **rest: Any,
    ) -> Any:
        from toolscale.models.judging import judge_settings

        judge = judge_settings(
            os.environ,
            endpoint=judge_endpoint,
            model=judge_model,
            key_env=judge_key_env,
            max_cost=judge_max_cost,
            deadline_s=judge_deadline,
            replies=judge_replies,
        )
        return verb(*args, judge=judge, **rest)

    for option in reversed(_OPTIONS):
        judged = option(judged)
    return judged  # type: ignore[return-value]


_OPTIONS = (
    click.option(
        "--judge-endpoint",
        metavar="URL",
        help="The OpenAI-compatible server of the judge, a model that reads the final messages which rules cannot "
        "grade: https://host/v1.  [default: TOOLSCALE_JUDGE_ENDPOINT]",
    ),
    click.option(
        "--judge-model",
        metavar="NAME",
        help="The judge, as the server calls it.  [default: TOOLSCALE_JUDGE_MODEL, else no judge]",
    ),
    click.option(
        "--judge-key-env",
        metavar="VARIABLE",
        help="The environment variable that holds its key.  [default: TOOLSCALE_JUDGE_KEY_ENV, else no key is sent]",
    ),
    click.option(
        "--judge-max-cost",
        type=click.FloatRange(0, min_open=True),
        metavar="DOLLARS",
        help="Ask it no more before so much is spent; TOOLSCALE_JUDGE_PRICE says what a million tokens cost (0.25/2).  "
        "[default: TOOLSCALE_JUDGE_MAX_COST, else no cap]",
    ),
    click.option(
        "--judge-deadline",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="A message has no verdict if it takes longer, tries and waits included.  "
        "[default: TOOLSCALE_JUDGE_DEADLINE, else 120]",
    ),
    click.option(
        "--judge-replies",
        metavar="FILE",
        help="Where its replies are kept: no message is paid for twice.  [default: that of --replies, else "
        "var/replies.sqlite]",
    ),
)
