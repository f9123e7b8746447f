"""Which model is asked, where, with which key and at which price: by the environment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from toolscale.errors import UsageError
from toolscale.models.chat.request import ToolChoice
from toolscale.models.transport import check_address, key_of
from toolscale.records import Endpoint, Price

MODEL = "TOOLSCALE_MODEL"
PRICE = "TOOLSCALE_MODEL_PRICE"
AT_ONCE = "TOOLSCALE_MODEL_AT_ONCE"
TIMEOUT = "TOOLSCALE_MODEL_TIMEOUT"
TOKENS = "TOOLSCALE_MODEL_TOKENS"
TOOL_CHOICE = "TOOLSCALE_MODEL_TOOL_CHOICE"
URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""As every program calls them that asks such a server."""

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model behind an endpoint."""

    endpoint: Endpoint
    price: Price | None = None
    """None: not known, and nothing can be said of dollars."""
    at_once: int = 64
    """Requests that are under way at most; a server that is busy brings it down."""
    most_tokens: int | None = None
    """Tokens that one reply may have, whatever is asked for; none: as many as is asked for. A small model that repeats
    itself writes all that it may."""
    tool_choice: ToolChoice = "auto"
    """What is asked of a reply to which tools are offered: `required` makes a server that decodes by a grammar write
    calls alone. That their arguments fit the tool is not said: those of vLLM 0.32 often do not."""


def model_from(environ: Mapping[str, str]) -> ChatModel:
    """Return the model that the environment names. UsageError, in one line, if it names none, or if a setting cannot
    be one.

    TOOLSCALE_MODEL: its name. OPENAI_BASE_URL (that of OpenAI without it) and OPENAI_API_KEY: where, and the key.
    TOOLSCALE_MODEL_PRICE: dollars for a million tokens read and written, `0.25/2`. TOOLSCALE_MODEL_AT_ONCE: requests
    under way at most. TOOLSCALE_MODEL_TIMEOUT: seconds for one request. TOOLSCALE_MODEL_TOKENS: tokens of one reply at
    most. TOOLSCALE_MODEL_TOOL_CHOICE: `auto` or `required`.
    """
    name, address, key = environ.get(MODEL, ""), environ.get(URL, ""), environ.get(KEY, "")
    if not name:
        raise UsageError(
            f"no model is named: set {MODEL}, and {KEY} or {URL}; without a model, use plans (GENERATOR=plans)"
        )
    if not address and not key:
        raise UsageError(
            f"the model {name!r} has no key and no address: set {KEY}, or {URL} for a server of your own; "
            "without a model, use plans (GENERATOR=plans)"
        )
    timeout = _number(environ, TIMEOUT, 300.0, least=1.0)
    endpoint = Endpoint(
        base_url=address or OPENAI,
        model=name,
        api_key_env=KEY if key else None,
        timeout_s=timeout,
        deadline_s=max(600.0, 4 * timeout),
    )
    check_address(endpoint.base_url, URL)
    key_of(endpoint, f"the model {name!r}")
    return ChatModel(
        endpoint,
        price_of(environ.get(PRICE, "")),
        int(_number(environ, AT_ONCE, 64, least=1)),
        int(_number(environ, TOKENS, 1, least=1)) if environ.get(TOKENS) else None,
        _tool_choice(environ.get(TOOL_CHOICE) or "auto"),
    )


def _tool_choice(text: str) -> ToolChoice:
    choices: tuple[ToolChoice, ...] = get_args(ToolChoice)
    for choice in choices:
        if text == choice:
            return choice
    raise UsageError(f"{TOOL_CHOICE} is {text!r}; write {' or '.join(choices)}")


def price_of(text: str, name: str = PRICE) -> Price | None:
    """Return the price that `0.25/2` says, None for no text. UsageError if it is none; `name`: where it stands."""
    if not text:
        return None
    parts = [_read(part) for part in text.split("/")]
    if len(parts) != 2 or not all(part is not None and 0 <= part < 1e6 for part in parts):
        raise UsageError(f"{name} is {text!r}; write dollars for a million tokens read and written, as 0.25/2")
    return Price(input=parts[0] or 0.0, output=parts[1] or 0.0)


def _number(environ: Mapping[str, str], name: str, usual: float, least: float) -> float:
    text = environ.get(name, "")
    value = _read(text) if text else usual
    if value is None or not least <= value <= 1e6:
        raise UsageError(f"{name} is {text!r}; write a number from {least:g} on")
    return value


def _read(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
