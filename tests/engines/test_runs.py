"""Runs with a real vLLM: what is told of a server that cannot be trained with, one that is started anew in the middle
of a run, and two ranks that are killed and go on."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines import MODEL, Engine, needs_engines, vllm
from safetensors.torch import load_file
from tables import tell
from trained import HANGS, Json, lines_of, start, train, write_run

pytestmark = [
    needs_engines,
    pytest.mark.xdist_group("engines"),
    pytest.mark.slow("tests/training/test_weights_folder.py"),
]


def told(config: Path, out: Path) -> tuple[int, str]:
    """The exit status of a run, and its last line."""
    status, lines = train(config, out)
    return status, lines[-1] if lines else ""


def test_a_model_of_another_architecture_or_tokenizer_is_told_before_anything_is_loaded(
    vllm_server: Engine, tmp_path: Path
) -> None:
    wide = shutil.copytree(MODEL, tmp_path / "wide")
    text = (wide / "config.json").read_text()
    (wide / "config.json").write_text(text.replace('"num_hidden_layers": 30', '"num_hidden_layers": 6'))
    status, line = told(write_run(tmp_path, vllm_server, model={"path": str(wide)}), tmp_path / "a")
    assert status == 2 and "serves a LlamaForCausalLM (layers 30" in line and "layers 6" in line
    other = shutil.copytree(MODEL, tmp_path / "other")
    words = json.loads((other / "tokenizer.json").read_text())
    known = words["model"]["vocab"]
    known["name"], known["tool"] = known["tool"], known["name"]
    (other / "tokenizer.json").write_text(json.dumps(words))
    status, line = told(write_run(tmp_path, vllm_server, model={"path": str(other)}), tmp_path / "b")
    assert status == 2 and "has another tokenizer than model.path" in line
    tell(vllm_server, "another architecture, another tokenizer", found="refused in a line, status 2")


def test_no_server_is_told_in_a_line(tmp_path: Path) -> None:
    status, line = told(write_run(tmp_path, "http://127.0.0.1:9"), tmp_path / "out")
    assert status == 1 and "vllm.base_url: http://127.0.0.1:9/version: Connect" in line


def test_a_server_that_is_started_anew_gets_the_weights_and_the_run_goes_on(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    with vllm(MODEL, logs) as engine:
        port = int(engine.url.rpartition(":")[2])
        run = start(write_run(tmp_path, engine, steps=3), tmp_path / "out")
        metrics = tmp_path / "out" / "metrics.jsonl"
        while not (metrics.exists() and metrics.read_text()) and run.poll() is None:
            time.sleep(0.5)
        engine.kill()
    with vllm(MODEL, tmp_path, port=port) as engine:
        _, errors = run.communicate(timeout=HANGS)
        assert run.returncode == 0, errors
        assert [line["step"] for line in lines_of(metrics)] == [0, 1, 2]
        tell(engine, "killed in a run of three steps, and started anew", found="goes on; rollouts that failed are told")


ALONE = ("--max-num-seqs", "1", "--no-enable-prefix-caching")
"""One request at a time, and nothing kept of those before: which requests meet in a batch, and whose prompt was read
before, depends on the clock, and changes the last bits of a probability, and with them now and then a token."""


@pytest.fixture
def repeating_server(tmp_path: Path) -> Iterator[Engine]:
    """A vLLM that writes the same again to who asks the same in any order."""
    folder = tmp_path / "server"
    folder.mkdir()
    with vllm(MODEL, folder, *ALONE) as engine:
        yield engine


def test_two_ranks_that_were_killed_go_on_where_they_were(repeating_server: Engine, tmp_path: Path) -> None:
    config = write_run(
        tmp_path, repeating_server, steps=20, processes=2, threads=1, deepspeed="training/deepspeed/zero3.json",
        rollout={"prompts": 2, "samples": 3, "max_new_tokens": 16}, checkpoint={"every": 5},
        vllm={"folder": str(tmp_path / "weights")},
    )  # fmt: skip
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert train(config, whole)[0] == 0
    run = start(config, broken)
    while not (broken / "metrics.jsonl").exists() or len(lines_of(broken / "metrics.jsonl")) < 10:
        assert run.poll() is None, run.communicate()
        time.sleep(0.2)
    run.kill()
    run.communicate()
    assert train(config, broken)[0] == 0
    figures = [[_counted(line) for line in lines_of(each / "metrics.jsonl")] for each in (whole, broken)]
    assert figures[0] == figures[1] and len(figures[0]) == 20
    apart = _apart(whole / "model", broken / "model")
    found = f"same figures of all steps; weights at most {apart:.1e} apart"
    tell(repeating_server, "ZeRO-3, two gloo ranks, 20 steps, killed once and resumed", found=found)
    assert apart <= 2**-8


def _counted(line: Json) -> Json:
    """The figures of a step that must be the same: all but seconds."""
    return {name: value for name, value in line.items() if name != "seconds" and not name.endswith("_s")}


def _apart(one: Path, other: Path) -> float:
    """How far two models are apart, in parts of the greatest weight of each tensor."""
    first, second = (
        {k: v for path in sorted(each.glob("*.safetensors")) for k, v in load_file(path).items()}
        for each in (one, other)
    )
    assert first.keys() == second.keys()
    return max(
        float(
            (first[name].float() - second[name].float()).abs().max() / first[name].float().abs().max().clamp_min(1e-6)
        )
        for name in first
    )
