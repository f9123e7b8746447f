"""A local server that speaks vLLM's protocol, for what a real one does not do on demand. What it answers is what
vLLM 0.32 answered (tests/engines); tests/engines/test_protocol.py holds it to that."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

GOOD = {
    "vllm_config": {
        "weight_transfer_config": {"backend": "nccl"},
        "model_config": {"logprobs_mode": "processed_logprobs"},
    }
}


def turn(ids: list[int], logprobs: list[float], reason: str = "stop") -> dict[str, Any]:
    """A turn as the endpoint for token ids gives it."""
    content = [{"token_id": token, "logprob": logprob} for token, logprob in zip(ids, logprobs, strict=False)]
    return {"token_ids": ids, "logprobs": {"content": content}, "finish_reason": reason}


class Server(ThreadingHTTPServer):
    """Answers as a vLLM would: the turn 5, 6, 0, and weights that are read from a folder, or come through a queue while
    /update_weights waits for them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, Any]] = []
        self.statuses: list[int] = []
        """Of its next answers, before it answers with 200."""
        self.asks_to_wait_s = 0
        """What it says with them in Retry-After."""
        self.joined = 0
        """How often a trainer has joined; 0: it was just started, and takes no weights."""
        self.loses_update = False
        self.dies_after_s: float | None = None
        """A worker dies so long after it began to take tensors."""
        self.refused: dict[str, str] = {}
        """Path -> what is raised there."""
        self.slow_s = 0.0
        """Before a turn is written."""
        self.resets: list[bool] = []
        """What it says of resets of its cache, then that they succeed."""
        self.choice: dict[str, Any] = turn([5, 6, 0], [-1.0, -0.5, -0.25])
        self.info: Any = GOOD
        self.version: Any = "0.32.0"
        self.models: list[dict[str, Any]] = [{"id": "served", "max_model_len": 4096}]
        self.inspection = (
            "LlamaForCausalLM(\n  (embed_tokens): VocabParallelEmbedding(org_vocab_size=64, embedding_dim=8)"
        )
        self.tokens = [5, 6]
        """What it makes of any text."""
        self.weights = "default"
        """The version that it was told."""
        self.read: list[str] = []
        """The folders of weights that it read."""
        self.ends_reading = 0
        """How often its engine ends while it reads them, and it begins anew."""
        self.is_killed_reading = False
        """The whole of it ends then: that request gets no answer, and nobody listens any more."""
        self.wire: queue.Queue[tuple[str, torch.Tensor] | dict[str, Any]] = queue.Queue()
        self.received: list[tuple[str, torch.Tensor]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str, body: Any) -> Any:
        self.seen.append((path, body))
        if path in self.refused:
            raise RuntimeError(self.refused[path])
        if path == "/version":
            return {"version": self.version}
        if path == "/v1/models":
            return {"data": self.models}
        if path == "/tokenize":
            return {"tokens": self.tokens}
        if path == "/weight_info":
            return {"weight_version": self.weights}
        if path == "/update_weight_version":
            self.weights = body["new_version"]
        if path == "/collective_rpc" and body["method"] == "get_model_inspection":
            return {"results": [self.inspection]}
        if path == "/collective_rpc":
            self._read(body["kwargs"]["weights_path"])
        if path.startswith("/server_info"):
            return self.info
        if path == "/get_world_size":
            return {"world_size": 2}
        if path == "/init_weight_transfer_engine":
            met = self.wire.get(timeout=120)  # the trainer joins while this request is under way
            assert isinstance(met, dict) and {**met, "rank_offset": 0} == {**body["init_info"], "rank_offset": 0}
            self.joined += 1
        if path == "/update_weights":
            if not self.joined:
                raise RuntimeError("NCCL weight transfer not initialized.")
            if self.loses_update and body["update_info"]["names"]:
                raise RuntimeError("a worker died")
            if self.dies_after_s is not None and body["update_info"]["names"]:
                time.sleep(self.dies_after_s)
                raise RuntimeError("a worker died")
            self.received += [self.wire.get(timeout=120) for _ in body["update_info"]["names"]]  # type: ignore[misc]
        if path == "/reset_prefix_cache":
            return {"success": self.resets.pop(0) if self.resets else True}
        if path == "/finish_weight_update" and body:
            self.weights = body["weight_version"]
        if path == "/inference/v1/generate":
            time.sleep(self.slow_s)
            return {"choices": [{"weight_versions": [{"version": self.weights}], **self.choice}]}
        return {}

    def _read(self, folder: str) -> None:
        if self.is_killed_reading:
            self.shutdown()
            self.server_close()
            raise ConnectionAbortedError
        if self.ends_reading:
            self.ends_reading, self.weights = self.ends_reading - 1, "default"
            raise RuntimeError("EngineCore encountered an issue")
        assert sorted(path.name for path in Path(folder).iterdir())[-1] == "model.safetensors.index.json"
        self.read.append(Path(folder).name)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._reply(None)

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null"))

    def _reply(self, body: Any) -> None:
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        answer: Any = {"error": "busy"}
        if status == 200:
            try:
                answer = self.server.answer(self.path, body)
            except ConnectionAbortedError:
                self.close_connection = True
                return
            except RuntimeError as error:  # as vLLM answers what its engine raises
                status, answer = 500, {"error": str(error)}
        content = json.dumps(answer).encode()
        self.send_response(status)
        if status != 200 and self.server.asks_to_wait_s:
            self.send_header("Retry-After", str(self.server.asks_to_wait_s))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as found:
        threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield found
        found.shutdown()
