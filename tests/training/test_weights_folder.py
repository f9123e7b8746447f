"""Weights in a folder, and what becomes of a run when a server does not read them. A real server: tests/engines."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from stand_in_vllm import Server

from toolscale.errors import ModelUnavailableError, StorageError, UsageError
from training.config import VllmSettings
from training.servers import Servers
from training.weights_folder import FolderSender, write_weights

TENSORS = {"a": torch.ones(2, 3), "b": torch.zeros(4, dtype=torch.bfloat16)}
DESCRIBED = [("a", "float32", [2, 3]), ("b", "bfloat16", [4])]


def sender_to(folder: Path, *servers: Server, **settings: Any) -> FolderSender:
    first, *others = [each.url for each in servers]
    return FolderSender(Servers(VllmSettings(base_url=first, further_urls=tuple(others), **settings)), folder)


def send(sender: FolderSender, version: str) -> None:
    sender.send(DESCRIBED, iter(TENSORS.items()), version)


def test_a_folder_of_weights_is_whole_and_holds_what_was_given(tmp_path: Path) -> None:
    write_weights(tmp_path / "v1", DESCRIBED, iter(TENSORS.items()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v1"]
    index = json.loads((tmp_path / "v1" / "model.safetensors.index.json").read_text())
    assert index == {
        "metadata": {"total_size": 32},
        "weight_map": dict.fromkeys(TENSORS, "model-00001.safetensors"),
    }
    held = load_file(tmp_path / "v1" / "model-00001.safetensors")
    assert held.keys() == TENSORS.keys() and all(torch.equal(held[name], tensor) for name, tensor in TENSORS.items())


def test_a_server_finishes_its_turns_reads_forgets_and_goes_on(tmp_path: Path, server: Server) -> None:
    sender = sender_to(tmp_path, server)
    for version in ("run-000000", "run-000001"):
        send(sender, version)
    sender.close()
    once = ["/health", "/weight_info", "/pause?mode=wait", "/collective_rpc", "/reset_prefix_cache"]
    assert [path for path, _ in server.seen] == [*once, "/update_weight_version", "/resume"] * 2
    assert (server.read, server.weights) == (["run-000000", "run-000001"], "run-000001")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["run-000001"]


def test_all_servers_read_the_same_and_one_that_was_started_anew_is_checked_again(
    tmp_path: Path, server: Server, second: Server
) -> None:
    checked: list[str] = []
    settings = VllmSettings(base_url=server.url, further_urls=(second.url,), restart_s=60)
    sender = FolderSender(Servers(settings), tmp_path, checked.append)
    send(sender, "v0")
    second.weights, second.statuses = "default", [503]  # it was started anew, and still loads its model
    send(sender, "v1")
    sender.close()
    assert [each.read for each in (server, second)] == [["v0", "v1"]] * 2
    assert sorted(checked) == sorted([server.url, second.url, second.url])


def test_a_server_that_ends_while_it_reads_reads_once_more(tmp_path: Path, server: Server) -> None:
    sender = sender_to(tmp_path, server, restart_s=60)
    server.ends_reading = 1
    send(sender, "v0")
    sender.close()
    assert (server.read, server.weights) == (["v0"], "v0")


def test_one_that_ends_twice_ends_the_run_and_goes_on_writing(tmp_path: Path, server: Server) -> None:
    sender = sender_to(tmp_path, server, restart_s=60)
    server.ends_reading = 2
    with pytest.raises(ModelUnavailableError, match=r"it did not take the weights in .*v0, 2 times; .* may need more"):
        send(sender, "v0")
    sender.close()
    assert server.seen[-1] == ("/resume", None)


def test_a_server_that_is_killed_while_it_reads_is_told_by_that(tmp_path: Path, server: Server) -> None:
    sender = sender_to(tmp_path, server, restart_s=0)
    server.is_killed_reading = True
    told = (
        r"^vllm.base_url: \S+/collective_rpc: RemoteProtocolError: Server disconnected without sending a response.; "
        r"then vllm.base_url: \S+/health: ConnectError: .* \(waited 0 s, vllm.restart_s\): start it anew, and run the "
        r"same command again to go on$"
    )
    with pytest.raises(ModelUnavailableError, match=told):
        send(sender, "v0")
    sender.close()


def test_of_several_servers_one_that_is_killed_while_it_reads_ends_the_run_and_the_others_have_read(
    tmp_path: Path, server: Server, second: Server
) -> None:
    sender = sender_to(tmp_path, server, second, restart_s=0)
    send(sender, "v0")
    second.is_killed_reading = True
    with pytest.raises(ModelUnavailableError, match=rf"^vllm.base_url: {second.url}/collective_rpc: RemoteProtocol"):
        send(sender, "v1")
    sender.close()
    assert (server.read, server.weights, server.seen[-1]) == (["v0", "v1"], "v1", ("/resume", None))


def test_what_went_wrong_is_told_though_the_server_does_not_go_on_either(tmp_path: Path, server: Server) -> None:
    sender = sender_to(tmp_path, server, restart_s=60)
    server.refused["/collective_rpc"] = "no file of that name"
    server.refused["/resume"] = "engine is dead"
    with pytest.raises(ModelUnavailableError, match=r"^vllm.base_url: \S+/collective_rpc: status 500: no file of that"):
        send(sender, "v0")
    sender.close()


def test_servers_elsewhere_are_told_their_own_path(tmp_path: Path, server: Server) -> None:
    there = tmp_path / "seen_there"
    there.symlink_to(tmp_path / "here")
    sender = sender_to(tmp_path / "here", server, folder_there=str(there))
    send(sender, "v0")
    sender.close()
    [asked] = [body for path, body in server.seen if path == "/collective_rpc"]
    assert asked == {"method": "reload_weights", "kwargs": {"weights_path": str(there / "v0")}}


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path, server: Server) -> None:
    sender = sender_to(tmp_path, server)
    with pytest.raises(UsageError, match=r"vllm.folder: another run writes its weights into .*; wait for it, or name"):
        sender_to(tmp_path, server)
    sender.close()
    sender_to(tmp_path, server).close()


def test_weights_for_which_there_is_no_room_are_not_begun(tmp_path: Path) -> None:
    huge = [("a", "float32", [10**6, 10**6, 10])]
    with pytest.raises(StorageError, match=r"vllm.folder: .* has room for [\d,]+ bytes, and the weights take 40,000,0"):
        write_weights(tmp_path / "v0", huge, iter(()))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_leaves_nothing_half_written(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"vllm.folder: .*: the weights cannot be written \("):
            write_weights(tmp_path / "v0", DESCRIBED, iter(TENSORS.items()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".v0.partial").mkdir()
    write_weights(tmp_path / "v0", DESCRIBED, iter(TENSORS.items()))
    assert [path.name for path in tmp_path.iterdir()] == ["v0"]
