"""Gives the trained weights to the servers that sample by a folder that they read: no GPU and no NCCL is needed.

Tested against vLLM 0.32 on the CPU (tests/engines). Once a step, before the first turn, every rank gathers each
parameter (under ZeRO-3), and the first one writes them into FOLDER/VERSION: under another name, then renamed, so that
what has its name is whole. Then each server finishes what it is writing and begins nothing new, reads the weights,
forgets the keys and values of the old ones, and goes on. One that was started anew gets them as all do. One that ends
while it reads is waited for, and reads once more.

A server elsewhere must find the folder too: on a disk that both see, under the path in `vllm.folder_there`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from math import prod
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from toolscale.dataset.storage import make_folder, only_writer, remove_folder, storage_errors, sync_folder
from toolscale.errors import ModelUnavailableError, StorageError, UsageError
from training.servers import Servers

PART_BYTES = 2 * 10**9
"""Of one file: so much is held on the first rank beside the model."""
ATTEMPTS = 2
INDEX = "model.safetensors.index.json"
GO_ON = "and run the same command again to go on"


class FolderSender:
    """Gives the servers the weights of the trainer. `check` is called with the address of each server that is new to
    this run, and raises where it cannot be trained with."""

    def __init__(self, servers: Servers, folder: Path, check: Callable[[str], None] = lambda url: None):
        self._servers = servers
        self._check = check
        self._folder = make_folder(folder).resolve()
        self._there = Path(servers.settings.folder_there or self._folder)
        self._given: dict[str, str] = {}
        self._held = ExitStack()
        try:
            self._held.enter_context(only_writer(self._folder))
        except UsageError as error:
            raise UsageError(
                f"vllm.folder: another run writes its weights into {folder}; wait for it, or name another folder"
            ) from error

    def send(
        self,
        described: Sequence[tuple[str, str, list[int]]],
        tensors: Iterator[tuple[str, torch.Tensor]],
        version: str,
    ) -> None:
        """Replace the weights of the servers. Raises StorageError where there is no room for them, and
        ModelUnavailableError where a server is not back after `restart_s`, or ends twice when it reads them."""
        write_weights(self._folder / version, described, tensors)
        with ThreadPoolExecutor(max_workers=len(self._servers.urls)) as executor:
            for answer in [executor.submit(self._bring, url, version) for url in self._servers.urls]:
                answer.result()
        for old in self._folder.iterdir():
            if old.is_dir() and old.name != version:
                remove_folder(old)

    def close(self) -> None:
        """Let go of connections and of the folder."""
        self._servers.close()
        self._held.close()

    def _bring(self, url: str, version: str) -> None:
        """Let a server read the weights, and once more if it ends meanwhile."""
        servers, failures = self._servers, list[ModelUnavailableError]()
        while len(failures) < ATTEMPTS:
            self._await(url, failures)
            try:
                if servers.weights_of(url) != self._given.get(url):
                    self._check(url)
                self._read(url, version)
                self._given[url] = version
                return
            except ModelUnavailableError as error:
                failures.append(error)
        told = "; then ".join(dict.fromkeys(map(str, failures)))
        raise ModelUnavailableError(
            f"{told}: it did not take the weights in {self._there / version}, {ATTEMPTS} times; it must "
            "find them there (vllm.folder_there), and may need more memory; start it anew, {GO_ON}"
        )

    def _await(self, url: str, failures: Sequence[ModelUnavailableError]) -> None:
        """Wait for a server that answered before. One that does not come back is told by what it died of."""
        try:
            self._servers.wait_for(url, self._servers.settings.restart_s if failures or self._given else 0.0)
        except ModelUnavailableError as error:
            if not failures:
                raise
            raise ModelUnavailableError(f"{failures[0]}; then {error}: start it anew, {GO_ON}") from failures[0]

    def _read(self, url: str, version: str) -> None:
        """Let a server read the weights while it writes nothing. It goes on whatever becomes of that; what went wrong
        first is told, not that a server which is gone does not go on."""
        try:
            self._bring_paused(url, version)
        except BaseException:
            with suppress(ModelUnavailableError, UsageError):
                self._go_on(url)
            raise
        self._go_on(url)

    def _bring_paused(self, url: str, version: str) -> None:
        ask = self._servers.request
        ask("POST", url, "/pause", params={"mode": "wait"}, timeout=self._patience_s)
        path = {"weights_path": str(self._there / version)}
        ask("POST", url, "/collective_rpc", json={"method": "reload_weights", "kwargs": path})
        self._servers.reset_cache(url)
        ask("POST", url, "/update_weight_version", json={"new_version": version})

    def _go_on(self, url: str) -> None:
        self._servers.request("POST", url, "/resume", timeout=self._patience_s)

    @property
    def _patience_s(self) -> float:
        """Seconds for a request that takes none of the weights."""
        return max(self._servers.settings.reset_s, 1.0)


def write_weights(
    place: Path, described: Sequence[tuple[str, str, list[int]]], tensors: Iterator[tuple[str, torch.Tensor]]
) -> None:
    """Write tensors into a folder as safetensors, with an index, whole or not at all; at most PART_BYTES of them are
    held at a time. StorageError if there is no room."""
    partial = place.with_name(f".{place.name}.partial")
    needed = sum(getattr(torch, kind).itemsize * prod(shape) for _, kind, shape in described)
    for old in (partial, place):
        remove_folder(old)
    with storage_errors("write the weights into", place.parent):
        free = shutil.disk_usage(place.parent).free
        if free < needed:
            raise StorageError(
                f"vllm.folder: {place.parent} has room for {free:,} bytes, and the weights take {needed:,}; free space "
                f"or name another folder, {GO_ON}"
            )
        partial.mkdir()
        try:
            _write_parts(partial, tensors, needed)
            sync_folder(partial)
            partial.rename(place)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise StorageError(
                f"vllm.folder: {place.parent}: the weights cannot be written ({error}); free space or name another "
                f"folder, {GO_ON}"
            ) from error


def _write_parts(folder: Path, tensors: Iterator[tuple[str, torch.Tensor]], total: int) -> None:
    held: dict[str, torch.Tensor] = {}
    files: dict[str, str] = {}

    def write() -> None:
        name = f"model-{len(set(files.values())) + 1:05d}.safetensors"
        save_file(held, folder / name, metadata={"format": "pt"})
        files.update(dict.fromkeys(held, name))
        held.clear()

    for name, tensor in tensors:
        held[name] = tensor.detach().to("cpu", copy=True).contiguous()
        if sum(each.nbytes for each in held.values()) >= PART_BYTES:
            write()
    if held:
        write()
    index = {"metadata": {"total_size": total}, "weight_map": files}
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
