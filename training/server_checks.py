"""Whether a server can be trained with: it is a vLLM of a version that was tried, set up for it, with the model and the
tokenizer of the run. Each fault is one line.

What the next version of vLLM does is tried by `make engines` with its pin (tests/engines/requirements.txt); if that
passes, OLDEST and NEWER move.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from transformers import AutoConfig

from toolscale.errors import ModelUnavailableError, UsageError
from training.chat import ChatCodec, Codec
from training.config import Config
from training.loading import loading
from training.servers import START, NoSuchPathError, Servers, said

OLDEST, NEWER = (0, 32), (0, 33)
"""Versions from the first to before the second ran here."""
SHOWN = 60
"""Characters of an answer that no vLLM gives."""

_SIZES = {"layers": r"\(0-(\d+)\): ", "width": r"embedding_dim=(\d+)", "words": r"org_vocab_size=(\d+)"}


@dataclass(frozen=True)
class Expected:
    """What a server must serve: the architecture of the model, a text with the ids that the run makes of it, and the
    tokens that a conversation may have."""

    kind: str
    sizes: dict[str, int]
    text: tuple[str, list[int]] | None
    context: int

    def __str__(self) -> str:
        return _shown(self.kind, self.sizes)


def expected_of(config: Config, codec: Codec) -> Expected:
    """What the servers of a run must serve."""
    with loading("configuration", config.model.path):
        found = AutoConfig.from_pretrained(config.model.path).get_text_config()
    sizes = {"layers": found.num_hidden_layers, "width": found.hidden_size, "words": found.vocab_size}
    text = codec.probe() if isinstance(codec, ChatCodec) else None
    return Expected((found.architectures or ["model"])[0], sizes, text, config.rollout.context)


def check_first(config: Config, codec: Codec) -> None:
    """Check all servers before the model is loaded; the first rank does it. Raises UsageError or
    ModelUnavailableError."""
    if config.vllm is None or int(os.environ.get("RANK", "0")):
        return
    servers = Servers(config.vllm)
    expected = expected_of(config, codec)
    try:
        for url in servers.urls:
            check(servers, url, expected)
    finally:
        servers.close()


def check(servers: Servers, url: str, expected: Expected) -> None:
    """Check one server. Raises UsageError where it must be set up otherwise, ModelUnavailableError where it does not
    answer."""
    _check_version(servers, url)
    name = _check_models(servers, url, expected)
    if expected.text is not None:
        _check_tokenizer(servers, url, name, *expected.text)
    if servers.settings.update != "none":
        _check_setup(servers, url, expected)
    _check_turn(servers, url, name)


def _check_version(servers: Servers, url: str) -> None:
    try:
        response = servers.request("GET", url, "/version")
    except NoSuchPathError as error:
        raise UsageError(
            f"vllm.base_url: {url} is no vLLM (it has no /version); correct the address, or {START}"
        ) from error
    version = said(response).get("version")
    if not isinstance(version, str):
        shown = " ".join(response.text.split())[:SHOWN]
        raise UsageError(f"vllm.base_url: {url} is no vLLM (it answers {shown!r}); correct the address, or {START}")
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not OLDEST <= number < NEWER and not servers.settings.any_version:
        tried = f">={'.'.join(map(str, OLDEST))},<{'.'.join(map(str, NEWER))}"
        raise UsageError(
            f"vllm.base_url: {url} is vLLM {version}, and {tried} was tried; install that, or set vllm.any_version: "
            "true and look at `weight` in metrics.jsonl"
        )


def _check_models(servers: Servers, url: str, expected: Expected) -> str:
    """The name of the model, which must be served and have room for a conversation."""
    listed = said(servers.request("GET", url, "/v1/models")).get("data") or []
    names = [str(each.get("id")) for each in listed]
    wanted = servers.settings.served_model or next(iter(names), "")
    if wanted not in names:
        raise UsageError(
            f"vllm.served_model: {url} serves no {wanted!r} but {', '.join(names) or 'nothing'}; name one of its models"
        )
    room = listed[names.index(wanted)].get("max_model_len")
    if room is not None and room < expected.context:
        raise UsageError(
            f"vllm.base_url: {url} holds {room} tokens of a conversation, and rollout.context is {expected.context}; "
            f"start it with --max-model-len {expected.context}, or lower rollout.context"
        )
    return wanted


def _check_tokenizer(servers: Servers, url: str, name: str, text: str, ids: list[int]) -> None:
    body = {"model": name, "prompt": text, "add_special_tokens": False}
    theirs = said(servers.request("POST", url, "/tokenize", json=body)).get("tokens")
    if theirs != ids:
        count = len(theirs) if isinstance(theirs, list) else 0
        raise UsageError(
            f"vllm.base_url: {url} has another tokenizer than model.path (of one text it makes {count} tokens, ours "
            f"{len(ids)}, not the same); serve the model of model.path, or a folder that has its tokenizer"
        )


def _check_setup(servers: Servers, url: str, expected: Expected) -> None:
    """The mode for developers, the kind of log-probabilities, and the architecture: weights of another one end the
    server."""
    info = said(servers.request("GET", url, "/server_info", params={"config_format": "json"})).get("vllm_config") or {}
    mode = info.get("model_config", {}).get("logprobs_mode")
    if mode != "processed_logprobs":
        raise UsageError(f"vllm.base_url: {url} gives {mode} (log-probabilities before the temperature); {START}")
    if servers.settings.update == "nccl" and info.get("weight_transfer_config") is None:
        raise UsageError(
            f"vllm.base_url: {url} takes no weights; {START} --weight-transfer-config "
            """'{"backend": "nccl"}', or set vllm.update: folder"""
        )
    answer = servers.request("POST", url, "/collective_rpc", json={"method": "get_model_inspection"})
    [told, *_] = said(answer).get("results") or [""]
    kind, sizes = read_inspection(str(told))
    differs = [key for key in sizes if sizes[key] != expected.sizes[key]]
    if kind != expected.kind or differs:
        raise UsageError(
            f"vllm.base_url: {url} serves a {_shown(kind, sizes)}, and model.path is a {expected}; serve the model of "
            "model.path"
        )


def read_inspection(told: str) -> tuple[str, dict[str, int]]:
    """The kind and the sizes of a model, from how vLLM prints it; sizes that it does not print are left out."""
    found = {key: match for key, pattern in _SIZES.items() if (match := re.search(pattern, told))}
    sizes = {key: int(match[1]) + (key == "layers") for key, match in found.items()}
    kind = re.match(r"\w+", told)
    return (kind[0] if kind else ""), sizes


def _check_turn(servers: Servers, url: str, name: str) -> None:
    """Ask for one token as turns are asked for."""
    body: dict[str, Any] = {"model": name, "token_ids": [0], "sampling_params": {"max_tokens": 1, "logprobs": 0}}
    answer = said(servers.request("POST", url, "/inference/v1/generate", json=body))
    if not answer.get("choices"):
        raise ModelUnavailableError(f"vllm.base_url: {url} wrote nothing when it was asked for one token; {START}")


def _shown(kind: str, sizes: dict[str, int]) -> str:
    return f"{kind or 'model'} ({', '.join(f'{key} {value}' for key, value in sizes.items())})"
