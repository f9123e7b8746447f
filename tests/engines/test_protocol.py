"""The stand-in of tests/training says nothing that a real vLLM does not say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from engines import Engine, needs_engines
from tables import strange, tell

sys.path.append(str(Path(__file__).parents[1] / "training"))
from stand_in_vllm import serving

pytestmark = [
    needs_engines,
    pytest.mark.xdist_group("engines"),
    pytest.mark.slow("tests/training/test_weights_folder.py"),
]

SAMPLING = {"max_tokens": 3, "logprobs": 0, "temperature": 1.0, "detokenize": False, "seed": 3}
ASKED: list[tuple[str, str, Any]] = [
    ("GET", "/version", None),
    ("GET", "/v1/models", None),
    ("GET", "/weight_info", None),
    ("GET", "/server_info?config_format=json", None),
    ("POST", "/tokenize", {"model": "served", "prompt": "hello there", "add_special_tokens": False}),
    ("POST", "/collective_rpc", {"method": "get_model_inspection"}),
    ("POST", "/inference/v1/generate", {"model": "served", "token_ids": [1, 2], "sampling_params": SAMPLING}),
    ("POST", "/reset_prefix_cache", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ASKED, ids=[path for _, path, _ in ASKED])
def test_the_stand_in_answers_as_vllm_does(vllm_server: Engine, method: str, path: str, body: Any) -> None:
    with serving() as stand_in:
        ours, theirs = (
            httpx2.request(method, url + path, json=body, timeout=60).raise_for_status().json()
            for url in (stand_in.url, vllm_server.url)
        )
    assert [*strange(ours, theirs)] == []
    if path == ASKED[-1][1]:
        tell(vllm_server, "the stand-in of tests/training beside it", found=f"{len(ASKED)} answers of one shape")
