"""Weights on their way to servers that sample, and what becomes of a run when a server does not take them."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from stand_in_vllm import Server, serving

from toolscale.errors import ModelUnavailableError, UsageError
from training.config import VllmSettings
from training.generation import Request
from training.servers import Servers
from training.vllm import VllmWriter
from training.weights_nccl import NcclSender, address_towards


class QueueTransport:
    """Carries tensors through the servers' queues."""

    def __init__(self, *servers: Server):
        self._servers = servers

    def join(self, init_info: dict[str, Any]) -> None:
        for server in self._servers:
            server.wire.put(init_info)

    def send(self, tensors: Iterator[tuple[str, torch.Tensor]]) -> None:
        for each in tensors:
            for server in self._servers:
                server.wire.put(each)


TENSORS = {"a": torch.ones(2, 3), "b": torch.zeros(4)}
DESCRIBED = [(name, "float32", list(tensor.shape)) for name, tensor in TENSORS.items()]


def sender_to(server: Server, **settings: Any) -> NcclSender:
    settings = {"base_url": server.url, "refusal_s": 0.2, "update": "nccl"} | settings
    return NcclSender(Servers(VllmSettings(**settings)), QueueTransport(server))


def test_weights_arrive_in_order_while_the_server_waits_for_them(server: Server) -> None:
    sender = sender_to(server, group_address="10.0.0.1")
    for _ in range(2):
        sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    sender.close()
    health = ("/health", None)
    update = [
        ("/start_weight_update", {}),
        ("/update_weights", {"update_info": {"names": [], "dtype_names": [], "shapes": []}}),
        (
            "/update_weights",
            {"update_info": {"names": ["a", "b"], "dtype_names": ["float32"] * 2, "shapes": [[2, 3], [4]]}},
        ),
        ("/finish_weight_update", {"weight_version": "run-1"}),
        ("/reset_prefix_cache", None),
    ]
    init = {"master_address": "10.0.0.1", "master_port": 51216, "rank_offset": 1, "world_size": 3, "packed": True}
    once = [("/get_world_size", None), ("/init_weight_transfer_engine", {"init_info": init})]
    assert server.seen == [health, *once, *update, health, *update]
    assert [name for name, _ in server.received] == ["a", "b"] * 2


def test_the_server_finds_the_trainer_at_the_address_on_the_way_to_it(server: Server) -> None:
    # The name of a machine often stands for 127.0.1.1, where no other machine finds it.
    sender = sender_to(server)
    sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    sender.close()
    [joined] = [body["init_info"] for path, body in server.seen if path == "/init_weight_transfer_engine"]
    assert joined["master_address"] == "127.0.0.1"
    with pytest.raises(UsageError, match=r"there is no way to http://no\.such\.server\.invalid .* vllm.group_address"):
        address_towards("http://no.such.server.invalid")


def test_a_server_that_cannot_forget_yet_is_asked_again(server: Server) -> None:
    # It answers with status 200, and keeps the keys and values of the old weights.
    sender = sender_to(server)
    server.resets = [False, False]
    sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    assert [path for path, _ in server.seen].count("/reset_prefix_cache") == 3
    sender.close()


def test_a_server_that_never_forgets_ends_the_run(server: Server) -> None:
    sender = sender_to(server, reset_s=0)
    server.resets = [False] * 9
    with pytest.raises(ModelUnavailableError, match=r"/reset_prefix_cache was refused .* does anybody else use"):
        sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    sender.close()


class Broadcast(QueueTransport):
    """Waits for whoever takes part, for ever if one is gone."""

    def send(self, tensors: Iterator[tuple[str, torch.Tensor]]) -> None:
        next(tensors)
        threading.Event().wait()


def lose_a_server() -> None:
    """Run in a process of its own, which ends."""
    with serving() as server:
        server.dies_after_s = 0.5
        settings = VllmSettings(base_url=server.url, refusal_s=0.1, lost_s=0.2)
        NcclSender(Servers(settings), Broadcast(server)).send(DESCRIBED, iter(TENSORS.items()), "run-1")


def test_a_broadcast_to_a_server_that_died_ends_the_process() -> None:
    here = Path(__file__)
    path = os.pathsep.join([str(here.parents[2]), str(here.parent)])
    command = [sys.executable, "-c", "import test_weights_nccl; test_weights_nccl.lose_a_server()"]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert "a server failed while it took the weights" in ended.stderr
    assert "start all servers anew, and run the same command again to go on" in ended.stderr


def test_a_server_that_was_started_anew_is_joined_again(server: Server) -> None:
    sender = sender_to(server, restart_s=60)
    sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    server.joined = 0  # it was started anew, and still loads its model
    server.statuses = [503]
    sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    sender.close()
    assert [name for name, _ in server.received] == ["a", "b"] * 2
    assert server.joined == 1


def test_several_servers_share_the_tasks_and_get_the_same_weights(server: Server, second: Server) -> None:
    settings = VllmSettings(base_url=server.url, further_urls=(f"{second.url}/v1",), refusal_s=0.2)
    sender = NcclSender(Servers(settings), QueueTransport(server, second))
    sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    second.joined = 0  # one of them was started anew
    sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    sender.close()
    for each, offset in ((server, 1), (second, 3)):  # two workers each, after the trainer
        found = [body["init_info"] for path, body in each.seen if path == "/init_weight_transfer_engine"]
        assert [(info["rank_offset"], info["world_size"]) for info in found] == [(offset, 5)] * 2
        assert [name for name, _ in each.received][-2:] == ["a", "b"]

    async def turns() -> None:
        writer = VllmWriter(settings, frozenset({0}), 1.0)
        for task in range(8):
            for _ in range(2):
                await writer.write(Request(f"task-{task}", (task,), 9, random.Random(0)))
        await writer.close()

    asyncio.run(turns())
    prompts = [
        {body["token_ids"][0] for path, body in each.seen if path == "/inference/v1/generate"}
        for each in (server, second)
    ]
    assert prompts[0] | prompts[1] == set(range(8)) and prompts[0] and prompts[1] and not prompts[0] & prompts[1]


def test_a_server_that_does_not_come_back_ends_the_run(server: Server) -> None:
    sender = sender_to(server, restart_s=0)
    server.statuses = [503]
    with pytest.raises(ModelUnavailableError, match=r"/health: status 503: .* \(waited 0 s, vllm.restart_s\)"):
        sender.send(DESCRIBED, iter(TENSORS.items()), "run-1")
    sender.close()


def test_an_update_that_fails_is_noticed_before_anything_is_sent(server: Server) -> None:
    sender = sender_to(server)
    server.loses_update = True
    sent = iter(TENSORS.items())
    with pytest.raises(ModelUnavailableError, match=r"/update_weights: status 500: .*a worker died"):
        sender.send(DESCRIBED, sent, "run-1")
    sender.close()
    assert next(sent)[0] == "a"  # a broadcast of it would wait for the worker for ever
