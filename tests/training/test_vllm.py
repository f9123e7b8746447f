"""This side of vLLM's protocol, against a local server that speaks it. A real one: tests/engines."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from stand_in_vllm import Server, turn
from tiny_qwen import make_model

from toolscale.errors import ModelUnavailableError, UsageError
from training.chat import ChatCodec
from training.config import VllmSettings
from training.generation import Completion, Request
from training.vllm import VllmWriter


def write(server: Server, stop: frozenset[int] = frozenset({0}), **settings: Any) -> Completion:
    """Write one turn after the tokens 1, 2."""

    async def once() -> Completion:
        writer = VllmWriter(VllmSettings(base_url=f"{server.url}/v1", first_wait_s=0.01, **settings), stop, 0.7)
        try:
            return await writer.write(Request("task", (1, 2), 9, random.Random("draw")))
        finally:
            await writer.close()

    return asyncio.run(once())


def test_token_ids_go_in_and_come_out(server: Server) -> None:
    assert write(server) == Completion([5, 6, 0], [-1.0, -0.5, -0.25], finished=True, versions=("default",))
    assert server.seen == [
        ("/v1/models", None),
        (
            "/inference/v1/generate",
            {
                "model": "served",
                "token_ids": [1, 2],
                "sampling_params": {
                    "max_tokens": 9,
                    "n": 1,
                    "temperature": 0.7,
                    "top_p": 1.0,
                    "top_k": -1,
                    "min_p": 0.0,
                    "repetition_penalty": 1.0,
                    "presence_penalty": 0.0,
                    "frequency_penalty": 0.0,
                    "seed": random.Random("draw").getrandbits(31),
                    "logprobs": 0,
                    "stop_token_ids": [0],
                    "detokenize": False,
                },
            },
        ),
    ]


def test_several_servers_share_the_tasks_of_a_step_evenly(server: Server, second: Server) -> None:
    """By a checksum of their ids, which differ in a digit, one server had all of them."""

    async def all_of_a_step() -> None:
        settings = VllmSettings(base_url=server.url, further_urls=(second.url,), served_model="m")
        writer = VllmWriter(settings, frozenset({0}), 0.7)
        try:
            for _ in range(2):  # turns
                for task in range(4):
                    ids = (task, 1)
                    for sample in range(2):
                        group = f"train-0-{task}-arithmetic-train-0-{task}"
                        await writer.write(Request(group, ids, 9, random.Random("draw"), sample))
        finally:
            await writer.close()

    asyncio.run(all_of_a_step())
    had = [[body["token_ids"][0] for _, body in each.seen] for each in (server, second)]
    assert had == [[0, 0, 2, 2] * 2, [1, 1, 3, 3] * 2]


def test_a_turn_that_was_cut_is_not_finished(server: Server) -> None:
    server.choice = turn([5], [-1.0], "length")
    assert write(server, served_model="m") == Completion([5], [-1.0], finished=False, versions=("default",))


def test_a_turn_ends_with_any_stop_token_of_the_model(server: Server, tmp_path: Path) -> None:
    # A vLLM adds the ids of generation_config to those of the request; this ended the run.
    codec = ChatCodec.load(str(make_model(tmp_path)))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [codec.end, 6]}))
    server.choice = turn([5, 6], [-1.0, -0.5])
    codec = ChatCodec.load(str(tmp_path))
    assert write(server, codec.stop, served_model="m").finished
    assert server.seen[0][1]["sampling_params"]["stop_token_ids"] == sorted({codec.end, 6})


def test_a_turn_may_wait_in_the_server_for_longer_than_other_requests(server: Server) -> None:
    server.slow_s = 0.6
    assert write(server, timeout_s=0.3).finished
    assert [path for path, _ in server.seen] == ["/v1/models", "/inference/v1/generate"]


def test_a_busy_server_is_asked_again(server: Server) -> None:
    server.statuses = [503, 429]
    assert write(server, served_model="m").ids == [5, 6, 0]


def test_a_server_that_asks_to_wait_is_asked_again_after_that(server: Server) -> None:
    server.statuses, server.asks_to_wait_s = [429], 1
    began = time.monotonic()
    assert write(server, served_model="m").ids == [5, 6, 0]
    assert time.monotonic() - began >= 1


def test_a_server_that_is_away_ends_the_rollout(server: Server) -> None:
    server.statuses = [500] * 5
    with pytest.raises(ModelUnavailableError, match=r"gave no answer in 5 attempts \(status 500: busy\)"):
        write(server, served_model="m")


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ({"text": "hello"}, "does not give token ids with log-probabilities"),
        (turn([5, 6], [-1.0]), "gave 2 tokens and 1 log-probabilities"),
        (
            turn([5], [-1.0]),
            r"ended a turn with the token 5, and its stop tokens are \[0\]; serve the model of model.path,",
        ),
    ],
)
def test_a_server_that_is_not_set_up_is_told_apart(choice: dict[str, Any], problem: str, server: Server) -> None:
    server.choice = choice
    with pytest.raises(UsageError, match=problem):
        write(server, served_model="m")


def test_a_turn_with_other_weights_than_were_given_is_none(server: Server) -> None:
    async def once() -> None:
        writer = VllmWriter(VllmSettings(base_url=server.url, served_model="m"), frozenset({0}), 0.7)
        writer.expect("run-000003")
        try:
            await writer.write(Request("task", (1, 2), 9, random.Random("draw")))
        finally:
            await writer.close()

    with pytest.raises(ModelUnavailableError, match=r"wrote with the weights default instead of run-000003"):
        asyncio.run(once())


def test_a_key_that_is_not_there_is_asked_for(server: Server) -> None:
    with pytest.raises(UsageError, match=r"vllm.api_key_env: NO_SUCH_KEY is not set"):
        write(server, api_key_env="NO_SUCH_KEY")
