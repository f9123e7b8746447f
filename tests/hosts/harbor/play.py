"""In the container, as the agent: make calls by the MCP server that the task declares, and print what they return."""

import json
import sys
from urllib.request import Request, urlopen

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def ask(method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with urlopen(Request(sys.argv[1], body, HEADERS)) as answered:
        return json.load(answered)["result"]


tools = {tool["name"] for tool in ask("tools/list")["tools"]}
results = []
for call in json.loads(sys.argv[2]):
    shown = ask("tools/call", **call)
    assert call["name"] in tools or shown["isError"], call
    results.append(shown["content"][0]["text"])
print(json.dumps(results))
