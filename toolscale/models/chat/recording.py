"""The replies of a run as a file, and a server that gives them again: whatever a model was asked for can be run again
without the model, and gives the same bytes."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from toolscale.canonical import canonical_json, content_hash
from toolscale.errors import StorageError, UsageError
from toolscale.models.chat.replies import ReplyStore
from toolscale.strict_json import read_json
from toolscale.whole_files import write_whole

MOST_BYTES = 64_000_000
"""Of a recording, unpacked, and of a request."""


def write_recording(path: Path, store: ReplyStore, keys: Iterable[str], model: str) -> int:
    """Write the replies that are kept under these keys to a gzip file of JSON lines; return how many there are."""
    lines = [
        canonical_json(
            {
                "model": model,
                "messages": asked["messages"],
                "sample": asked["sample"],
                "content": reply.content,
                "refusal": reply.refusal,
                "finish": reply.finish,
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                **({"uncounted": list(reply.uncounted)} if reply.uncounted else {}),
                **({"tool_calls": list(reply.tool_calls)} if reply.tool_calls else {}),
                **({"message": reply.message} if reply.message is not None else {}),
            }
        )
        for asked, reply in store.lines(keys)
    ]
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    try:
        write_whole(path, packed)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error}") from error
    return len(lines)


def read_recording(path: Path) -> dict[str, dict[str, Any]]:
    """Return the recorded replies: a hash of what was asked -> the reply. UsageError if the file is no recording."""
    try:
        packed = path.read_bytes()
        reader = zlib.decompressobj(wbits=31)
        unpacked = reader.decompress(packed, MOST_BYTES)
        if not reader.eof:
            raise ValueError(f"it is cut off, or longer than {MOST_BYTES:,} bytes")
        lines = [read_json(line) for line in unpacked.decode().splitlines()]
        return {_digest(line["messages"], line["sample"]): line for line in lines}
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}); check the path") from error
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise UsageError(f"{path} is no recording of replies ({error}); name the file that was recorded") from error


class Recorded:
    """Finds the reply to a conversation. Safe from any thread."""

    def __init__(self, replies: Mapping[str, Mapping[str, Any]], *, nearest: bool = False):
        self._replies, self._nearest = dict(replies), nearest
        self._left = {key: _lines(line["messages"]) for key, line in replies.items()} if nearest else {}
        self._common = Counter(line for lines in self._left.values() for line in lines)
        self._lock = threading.Lock()

    def reply(self, messages: Any, sample: Any) -> Mapping[str, Any] | None:
        """Return the reply that was recorded for a conversation. With `nearest`, one that was not recorded gets the
        reply, not yet given, to that whose last message has most lines in common with its own; a line counts for less
        the more of the recorded ones have it."""
        key = _digest(messages, sample)
        with self._lock:
            if key not in self._replies and self._left:
                asked = _lines(messages)
                like = max(
                    self._left,
                    key=lambda other: sum(1 / self._common[line] for line in sorted(asked & self._left[other])),
                )
                self._replies[key] = self._replies[like]
                del self._left[like]
            self._left.pop(key, None)
            return self._replies.get(key)


def _lines(messages: Any) -> set[str]:
    return set(str(messages[-1]["content"]).splitlines())


def recording_server(recorded: Recorded, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server that answers chat completions with recorded replies, whatever the model is called. A conversation
    that has none gets 404. UsageError if the port cannot be had."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MOST_BYTES:
                self.close_connection = True
                return self._give(413, _error("the request has no length, or is too long"))
            try:
                asked = json.loads(self.rfile.read(int(length)))
                reply = recorded.reply(asked["messages"], asked.get("seed", 0))
            except (ValueError, LookupError, TypeError, RecursionError):
                return self._give(400, _error("the request is no chat completion"))
            if not self.path.endswith("/chat/completions") or reply is None:
                return self._give(404, _error("no reply to this conversation is recorded"))
            self._give(200, _completion(reply))

        def _give(self, status: int, value: Mapping[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing of each request."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # as many connect at once as a run asks at once

    try:
        server = Server((host, port), Handler)
    except OSError as error:
        raise UsageError(f"port {port} of {host} cannot be had ({error}); choose another") from error
    server.daemon_threads = True
    return server


def _completion(reply: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": reply["content"] or None,
        "refusal": reply["refusal"] or None,
    }
    if calls := reply.get("tool_calls"):
        message["tool_calls"] = calls
    message = reply.get("message") or message  # as it came, where it cannot be used as it is
    return {
        "id": "recorded",
        "object": "chat.completion",
        "created": 0,
        "model": reply["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply["finish"] or "stop"}],
        "usage": {
            told: reply[name]
            for name, told in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
            if name not in reply.get("uncounted", ())
        },
    }


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


def _digest(messages: Any, sample: Any) -> str:
    return content_hash([messages, sample])
