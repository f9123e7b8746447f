"""Of a server that cannot be trained with one line is told, before a model is loaded. A real one: tests/engines."""

from __future__ import annotations

from typing import Any

import pytest
from stand_in_vllm import GOOD, Server, serving

from toolscale.errors import ModelUnavailableError, ToolScaleError, UsageError
from training.config import VllmSettings
from training.server_checks import Expected, check
from training.servers import Servers

EXPECTED = Expected("LlamaForCausalLM", {"layers": 2, "width": 8, "words": 64}, ("a text", [5, 6]), 1024)


def look(server: Server, **settings: Any) -> None:
    servers = Servers(VllmSettings(base_url=server.url, **settings))
    try:
        check(servers, server.url, EXPECTED)
    finally:
        servers.close()


def test_a_server_that_is_set_up_passes(server: Server) -> None:
    look(server)


@pytest.mark.parametrize(
    ("changed", "settings", "problem"),
    [
        ({"version": None}, {}, r"is no vLLM \(it answers '\{\"version\": null\}'\); correct the address, or start it"),
        ({"version": "0.31.2"}, {}, r"is vLLM 0.31.2, and >=0.32,<0.33 was tried; install that, or set vllm.any_ver"),
        ({"version": "0.33.0"}, {}, r"is vLLM 0.33.0, and >=0.32,<0.33 was tried"),
        ({}, {"served_model": "mine"}, r"serves no 'mine' but served; name one of its models"),
        (
            {"models": [{"id": "served", "max_model_len": 512}]},
            {},
            r"holds 512 tokens of a conversation, and rollout.context is 1024; start it with --max-model-len 1024",
        ),
        ({"tokens": [5, 7]}, {}, r"has another tokenizer than model.path \(of one text it makes 2 tokens, ours 2, not"),
        ({"tokens": [5]}, {}, r"has another tokenizer than model.path \(of one text it makes 1 tokens, ours 2, not"),
        (
            {"info": {"vllm_config": {"model_config": {"logprobs_mode": "raw_logprobs"}}}},
            {},
            r"gives raw_logprobs \(log-probabilities before the temperature\); start it with",
        ),
        (
            {"info": {"vllm_config": {**GOOD["vllm_config"], "weight_transfer_config": None}}},
            {"update": "nccl"},
            r"takes no weights; start it with .* or set vllm.update: folder",
        ),
        (
            {"inspection": "Qwen3ForCausalLM()(\n (0-1): 2 x Qwen3DecoderLayer()"},
            {},
            r"serves a Qwen3ForCausalLM \(layers 2\), and model.path is a LlamaForCausalLM \(layers 2, width 8, words",
        ),
        ({"inspection": "LlamaForCausalLM()(\n (0-3): 4 x"}, {}, r"serves a LlamaForCausalLM \(layers 4\), and model"),
    ],
)
def test_each_fault_is_one_line(
    changed: dict[str, Any], settings: dict[str, Any], problem: str, server: Server
) -> None:
    for name, value in changed.items():
        setattr(server, name, value)
    with pytest.raises(UsageError, match=problem) as caught:
        look(server, **settings)
    assert "\n" not in str(caught.value)


def test_a_version_that_was_not_tried_is_taken_where_one_says_so(server: Server) -> None:
    server.version = "0.40.0"
    look(server, any_version=True)


@pytest.mark.parametrize(
    ("statuses", "raised", "problem"),
    [
        ([404], UsageError, r"is no vLLM \(it has no /version\)"),
        ([401], UsageError, r"/version is refused \(busy\)"),
        ([503], ModelUnavailableError, r"/version: status 503: busy"),
    ],
)
def test_another_program_and_a_server_that_is_away_are_told_apart(
    statuses: list[int], raised: type[ToolScaleError], problem: str, server: Server
) -> None:
    server.statuses = statuses
    with pytest.raises(raised, match=problem):
        look(server)


def test_a_dead_server_is_told() -> None:
    with serving() as gone:
        url = gone.url
    with pytest.raises(ModelUnavailableError, match=r"/version: ConnectError"):
        check(Servers(VllmSettings(base_url=url)), url, EXPECTED)
