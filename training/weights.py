"""The weights of the trainer on their way to the servers that sample: which way, as `vllm.update` says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import torch

from toolscale.canonical import content_hash
from training.chat import Codec
from training.config import Config
from training.server_checks import check, expected_of
from training.servers import Servers


class Sender(Protocol):
    """Gives the servers weights. Only the first rank has one."""

    def send(
        self,
        described: Sequence[tuple[str, str, list[int]]],
        tensors: Iterator[tuple[str, torch.Tensor]],
        version: str,
    ) -> None:
        """Replace the weights of all servers. `described`: name, type and shape of each tensor, in the order in which
        they come; `version`: what the servers call them from then on."""
        ...

    def close(self) -> None:
        """Let go of connections and folders."""
        ...


def make_sender(config: Config, codec: Codec, out: Path | None, first: bool) -> Sender | None:
    """What sends weights, on the first rank; None on others, and where the servers keep their own."""
    if config.vllm is None or config.vllm.update == "none" or not first:
        return None
    servers = Servers(config.vllm)
    checked = partial(check, servers, expected=expected_of(config, codec))
    if config.vllm.update == "nccl":
        from training.weights_nccl import NcclSender, NcclTransport

        return NcclSender(servers, NcclTransport(), checked)
    from training.weights_folder import FolderSender

    return FolderSender(servers, folder_of(config, out), checked)


def folder_of(config: Config, out: Path | None) -> Path:
    """The folder of the weights: the one that is named, or one beside what else the run leaves."""
    assert config.vllm is not None
    return Path(config.vllm.folder) if config.vllm.folder else (out or Path("var")) / "weights"


def versions_of(config: Config, out: Path | None) -> str:
    """What the versions of a run's weights begin with: two runs with one server must not take each other's for their
    own."""
    return content_hash({"config": config.identity(), "out": str(out and out.resolve())})[:8]
