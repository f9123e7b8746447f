"""A recording of replies, served on a free port of loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from toolscale.models.chat.recording import Recorded, read_recording, recording_server


@contextmanager
def served(path: Path, *, nearest: bool = False) -> Iterator[str]:
    """Serve the replies in a file; the base URL of the server."""
    server = recording_server(Recorded(read_recording(path), nearest=nearest), "127.0.0.1", 0)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
