"""Which model is asked: what the environment names, and settings that cannot be one."""

from __future__ import annotations

import pytest

from toolscale.errors import UsageError
from toolscale.models.chat import model_from
from toolscale.records import Price

KEY = "sk-test-1234567890"
LOCAL = {"TOOLSCALE_MODEL": "qwen", "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}


def test_a_model_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = model_from(
        {
            "TOOLSCALE_MODEL": "gpt",
            "OPENAI_API_KEY": KEY,
            "TOOLSCALE_MODEL_PRICE": "0.25/2",
        }
    )
    assert (found.endpoint.base_url, found.endpoint.api_key_env, found.price) == (
        "https://api.openai.com/v1", "OPENAI_API_KEY", Price(input=0.25, output=2),
    )  # fmt: skip
    assert KEY not in repr(found)
    settings = {"TOOLSCALE_MODEL_AT_ONCE": "4", "TOOLSCALE_MODEL_TIMEOUT": "30", "TOOLSCALE_MODEL_TOKENS": "256"}
    settings["TOOLSCALE_MODEL_TOOL_CHOICE"] = "required"
    local = model_from(LOCAL | settings)
    assert (local.endpoint.api_key_env, local.price, local.at_once) == (None, None, 4)
    assert (local.endpoint.timeout_s, local.most_tokens, found.most_tokens) == (30, 256, None)
    assert (local.tool_choice, found.tool_choice) == ("required", "auto")


PLANS = "without a model, use plans (GENERATOR=plans)"
HOW = "write dollars for a million tokens read and written, as 0.25/2"


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({}, f"no model is named: set TOOLSCALE_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL; {PLANS}"),
        (
            {"TOOLSCALE_MODEL": "gpt"},
            "the model 'gpt' has no key and no address: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your "
            f"own; {PLANS}",
        ),
        (
            LOCAL | {"OPENAI_BASE_URL": "localhost"},
            "'localhost', OPENAI_BASE_URL, is not an address; write it as https://host/v1",
        ),
        (LOCAL | {"TOOLSCALE_MODEL_PRICE": "2"}, f"TOOLSCALE_MODEL_PRICE is '2'; {HOW}"),
        (LOCAL | {"TOOLSCALE_MODEL_PRICE": "nan/2"}, f"TOOLSCALE_MODEL_PRICE is 'nan/2'; {HOW}"),
        (LOCAL | {"TOOLSCALE_MODEL_AT_ONCE": "0"}, "TOOLSCALE_MODEL_AT_ONCE is '0'; write a number from 1 on"),
        (LOCAL | {"TOOLSCALE_MODEL_TOKENS": "0"}, "TOOLSCALE_MODEL_TOKENS is '0'; write a number from 1 on"),
        (
            LOCAL | {"TOOLSCALE_MODEL_TOOL_CHOICE": "none"},
            "TOOLSCALE_MODEL_TOOL_CHOICE is 'none'; write auto or required",
        ),
    ],
)
def test_a_setting_that_cannot_be_one_is_one_line(environ: dict[str, str], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        model_from(environ)
    assert str(caught.value) == line
