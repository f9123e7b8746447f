"""A model that says what it is told to, behind an endpoint, and what `vf-eval` is told of it."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from verifiers.v1.configs.cli.eval import EvalConfig


def serve(says):
    """Serve a model in a thread, and return its URL. `says` makes a message of a request."""

    class Model(BaseHTTPRequestHandler):
        """An endpoint that speaks as OpenAI's does, in streams."""

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(in_chunks(request, says(request)).encode())

        def log_message(self, *_):
            """Say nothing."""

    os.environ["ENDPOINT_KEY"] = "none"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def in_chunks(request, said):
    finish = "tool_calls" if "tool_calls" in said else "stop"
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": request["model"]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunks = (
        {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", **said}, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage},
    )
    return "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"


def makes_call(number, name, arguments):
    """A message that makes a call; the arguments are JSON."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]}


def config_of(taskset, url, model, tasks, rollouts=1):
    """What `vf-eval TASKSET -m MODEL` is told."""
    config = {
        "env": {
            "taskset": {"id": taskset, "split": "all"},
            "agent": {"harness": {"id": "in_process"}, "runtime": {"type": "subprocess"}},
        },
        "model": model,
        "client": {"base_url": url, "api_key_var": "ENDPOINT_KEY"},
        "select": {"include": {"ids": list(tasks)}},
        "num_rollouts": rollouts,
        "push": False,
        "rich": None,
    }
    return EvalConfig.model_validate(config)


def traces_of(episodes):
    assert all(episode.ok for episode in episodes), [episode.errors for episode in episodes]
    return [trace for episode in episodes for trace in episode.traces]
