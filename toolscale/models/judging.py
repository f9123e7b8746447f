"""Which model judges the final messages that rules cannot grade, where it is, and what it may cost: by options of a
verb, a section of a training's configuration, or the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError

from toolscale.errors import UsageError
from toolscale.patterns import regex
from toolscale.records import Endpoint
from toolscale.records.base import Record

if TYPE_CHECKING:
    from toolscale.models.chat import ChatModel

JUDGE_MODEL, JUDGE_ENDPOINT = "TOOLSCALE_JUDGE_MODEL", "TOOLSCALE_JUDGE_ENDPOINT"
JUDGE_KEY_ENV, JUDGE_MAX_COST = "TOOLSCALE_JUDGE_KEY_ENV", "TOOLSCALE_JUDGE_MAX_COST"
JUDGE_DEADLINE, JUDGE_PRICE = "TOOLSCALE_JUDGE_DEADLINE", "TOOLSCALE_JUDGE_PRICE"
"""Seconds for one verdict; dollars for a million tokens read and written, `0.25/2`."""
JUDGE_TOKENS, MODEL_TOKENS = "TOOLSCALE_JUDGE_TOKENS", "TOOLSCALE_MODEL_TOKENS"
"""Tokens of one verdict at most; without the first, as many as the second allows to any reply. The second is named here
too: `toolscale.models.chat.settings` takes long to load."""

NO_JUDGE = (
    "which only a model can grade: make them with --answer form, or name a judge "
    f"(--judge-endpoint and --judge-model, {JUDGE_ENDPOINT} and {JUDGE_MODEL}, or `judge:` in a configuration)"
)
"""The end of the line that says why something does not begin."""

_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLES = {
    "endpoint": JUDGE_ENDPOINT, "model": JUDGE_MODEL, "key_env": JUDGE_KEY_ENV, "max_cost": JUDGE_MAX_COST,
    "deadline_s": JUDGE_DEADLINE, "price": JUDGE_PRICE, "most_tokens": JUDGE_TOKENS,
}  # fmt: skip


class JudgeSettings(Record):
    """A model that reads final messages."""

    endpoint: str
    """Its OpenAI-compatible server: https://host/v1."""
    model: str = Field(min_length=1)
    """As the server calls it."""
    key_env: str | None = None
    """The environment variable that holds the key; none: no key is sent."""
    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Dollars that it may cost in one run, and after a training in each of the two measurements again; needs
    `price`."""
    price: str = ""
    """Dollars for a million tokens read and written: 0.25/2."""
    deadline_s: float = Field(default=120.0, gt=0)
    """Seconds for one verdict, tries and waits included."""
    at_once: int = Field(default=16, ge=1)
    """Messages that are read at one time."""
    most_tokens: int | None = Field(default=None, ge=1)
    """Tokens that one verdict may have, with what is thought before it; none: as many as are asked for."""
    replies: str | None = None
    """Where its replies are kept, so that no message is paid for twice; none: with those of the model that is tried,
    else in var/replies.sqlite."""


def judge_settings(environ: Mapping[str, str], **given: Any) -> JudgeSettings | None:
    """Return the judge that is `given`, or that the environment names; None if neither names one. UsageError, in one
    line, for half a judge.

    A judge without an address is on the server of OPENAI_BASE_URL or of OpenAI, with the key of OPENAI_API_KEY. What
    TOOLSCALE_MODEL_TOKENS allows to a reply holds for its verdicts too, unless TOOLSCALE_JUDGE_TOKENS says otherwise.
    """
    named = {name: environ[variable] for name, variable in _VARIABLES.items() if environ.get(variable)}
    named |= {name: value for name, value in given.items() if value is not None}
    if "model" not in named:
        if "endpoint" in named:
            raise UsageError(f"a judge has an address and no name: give --judge-model too, or set {JUDGE_MODEL}")
        return None
    tokens_of = JUDGE_TOKENS if "most_tokens" in named else MODEL_TOKENS
    if environ.get(MODEL_TOKENS):
        named.setdefault("most_tokens", environ[MODEL_TOKENS])
    if "endpoint" not in named:
        from toolscale.models.chat.settings import KEY, OPENAI, URL  # takes long to load: only where it is needed

        if not environ.get(URL) and not environ.get(KEY):
            raise UsageError(
                f"the judge {named['model']!r} has no address: give --judge-endpoint too, or set {JUDGE_ENDPOINT} "
                f"or {KEY}"
            )
        named |= {"endpoint": environ.get(URL) or OPENAI}
        named = {**({"key_env": KEY} if environ.get(KEY) else {}), **named}
    try:
        return JudgeSettings.model_validate(named)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        told = f"--judge-{name.removesuffix('_s').replace('_', '-')} ({_VARIABLES.get(name, name)})"
        told = tokens_of if name == "most_tokens" else told
        raise UsageError(f"{told} is {first['input']!r}: {first['msg'].lower()}") from error


def judge_model(settings: JudgeSettings) -> ChatModel:
    """Return the model that a judge is. UsageError at once if the address cannot be one, if the key is not in the
    environment, or if there is a cap on dollars and no price."""
    from toolscale.models.chat import ChatModel  # takes long to load: only where a judge is asked
    from toolscale.models.chat.settings import price_of
    from toolscale.models.transport import check_address, key_of

    if settings.key_env is not None and not _VARIABLE.fullmatch(settings.key_env):
        raise UsageError(
            "--judge-key-env takes the name of an environment variable, not a key; set a variable to the key and name "
            "it"
        )
    price = price_of(settings.price, JUDGE_PRICE)
    if settings.max_cost is not None and price is None:
        raise UsageError(
            f"--judge-max-cost needs a price: set {JUDGE_PRICE} to dollars for a million tokens read and written, as "
            "0.25/2"
        )
    check_address(settings.endpoint, "the address of the judge")
    endpoint = Endpoint(
        base_url=settings.endpoint,
        model=settings.model,
        api_key_env=settings.key_env,
        timeout_s=settings.deadline_s,
        deadline_s=settings.deadline_s,
    )
    key_of(endpoint, f"the judge {settings.model!r}")
    return ChatModel(endpoint, price, settings.at_once, settings.most_tokens)
