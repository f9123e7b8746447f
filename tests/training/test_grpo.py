"""Runs of training.grpo on a toy: it learns, it can be killed at any step, ranks wait for each other no more often than
they must."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from toy import ToyCodec, make_toy, run_toy, toy_work
from transformers import AutoModelForCausalLM
from uneven import run_uneven

from toolscale.errors import StorageError, TrainingError, UsageError
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.storage import read_rollouts
from training.config import RolloutSettings, VllmSettings
from training.config_file import read_config
from training.grpo import Trainer, run
from training.metrics import read_metrics
from training.processes import rank, run_in_processes
from training.sampler import local_policy

pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit.script:DeprecationWarning", "ignore:.torch.distributed:FutureWarning"
)

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).with_name("toy.py")
TIMES = {"seconds", "rollout_s", "hand_over_s"}


def start(*command: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a Python with the repository on its path."""
    known = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(TOY.parent)]),
        "OMP_NUM_THREADS": "1",
        **environment,
    }
    return subprocess.Popen(
        [sys.executable, *command], env=known, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def outcome(out: Path) -> tuple[bytes, list[dict[str, Any]]]:
    """The model's bytes, and the figures of all steps without their times."""
    lines = [
        {name: value for name, value in line.items() if name not in TIMES}
        for line in read_metrics(out / "metrics.jsonl")
    ]
    return (out / "model" / "model.safetensors").read_bytes(), lines


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def unbroken(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("unbroken")
    run_toy(config, out)
    return out


def test_rollouts_are_kept_and_can_be_graded_again(unbroken: Path) -> None:
    kept = sorted((unbroken / "rollouts").iterdir())
    assert [path.name for path in kept] == ["step-000000-0.jsonl"]
    rollouts = list(read_rollouts(kept[0]))
    assert rollouts and all(rollout.trace is not None and rollout.ledger for rollout in rollouts)
    assert sum(rollout.right for rollout in rollouts) / len(rollouts) == pytest.approx(
        read_metrics(unbroken / "metrics.jsonl")[0]["right"]
    )


def test_a_run_learns_and_leaves_what_it_should(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run_toy(make_toy(tmp_path, steps=30, checkpoint={"every": 10, "keep": 2}, metrics={"plots": True}), out)
    lines = read_metrics(out / "metrics.jsonl")
    assert [line["step"] for line in lines] == list(range(30))
    assert lines[0]["right"] < 0.5
    assert done["last"]["right"] > 0.9
    assert json.loads((out / "done.json").read_text()) == done
    assert sorted(path.name for path in (out / "checkpoints").iterdir()) == ["step-000020", "step-000030"]
    assert {"config.yaml", "metrics.png", "model", "done.json"} <= {path.name for path in out.iterdir()}
    policy = local_policy(
        AutoModelForCausalLM.from_pretrained(out / "model"),
        ToyCodec(),
        RolloutSettings(max_new_tokens=3),
        temperature=0,
    )
    work = toy_work()
    groups = asyncio.run(
        run_rollouts([work.tasks[number] for number in range(1000, 1020)], policy, work.bench, samples=1)
    )
    assert sum(rollout.right for [rollout] in groups) >= 19


LATER = [pytest.param(step, marks=pytest.mark.slow("tests/training/test_grpo.py")) for step in (4, 5)]


@pytest.mark.parametrize("step", [1, 3, *LATER])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(
    step: int, config: Path, unbroken: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_toy(config, tmp_path, stop_at=8 * step)
    assert [line["step"] for line in read_metrics(tmp_path / "metrics.jsonl")] == list(range(step))
    run_toy(config, tmp_path)
    assert outcome(tmp_path) == outcome(unbroken)


@pytest.mark.slow("tests/training/test_grpo.py")
def test_a_run_that_was_killed_ends_with_the_same_bytes(config: Path, unbroken: Path, tmp_path: Path) -> None:
    process = start(str(TOY), str(config), str(tmp_path))
    while process.poll() is None and len(read_metrics(tmp_path / "metrics.jsonl")) < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    told = process.communicate()[0].decode()
    assert process.returncode == -signal.SIGKILL, told[-3000:]
    assert 3 <= len(read_metrics(tmp_path / "metrics.jsonl")) < 6
    # As if it had been killed while it saved.
    (tmp_path / "checkpoints" / ".partial-step-000004").mkdir(exist_ok=True, parents=True)
    run_toy(config, tmp_path)
    assert outcome(tmp_path) == outcome(unbroken)


def test_a_run_that_is_done_is_not_made_again(config: Path, unbroken: Path) -> None:
    before = outcome(unbroken)
    run_toy(config, unbroken)
    assert outcome(unbroken) == before


class SlowSender:
    """A server takes its time."""

    def __init__(self, taken: Path):
        self._taken = taken

    def send(self, described: Any, tensors: Any, version: str) -> None:
        time.sleep(0.5)
        self._taken.touch()


def train_and_hand_over(pairs: Sequence[Path], taken: Path) -> bool:
    """Be one of two ranks that train, and then hand over weights: are they taken once this one goes on?"""
    for config, out in zip(pairs[::2], pairs[1::2], strict=True):
        run_toy(config, out)
    trainer: Any = Trainer.__new__(Trainer)
    trainer.config = SimpleNamespace(vllm=VllmSettings(base_url="http://server"))
    trainer.engine = SimpleNamespace(described=list, weights=lambda: iter(()))
    trainer.sender = SlowSender(taken) if rank() == 0 else None
    trainer.versions, trainer.policy = "run", SimpleNamespace(writer=None)
    trainer.hand_over(0)
    if not taken.exists():
        raise UsageError(f"rank {rank()} began before the server had the weights")
    return True


def test_two_processes_with_unequal_numbers_of_turns_finish_and_none_begins_before_servers_have_all_weights(
    unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tasks 1, 3, 5, 7 have an expert and up to three turns, and belong to the second process;
    # those of the first end after one message.
    monkeypatch.delenv("RANK", raising=False)  # TRL's accelerate, in another test of this process, leaves one behind
    pairs = []
    for stage in ("zero2", "zero3"):
        folder = tmp_path / stage
        pairs += [
            make_toy(folder, steps=3, deepspeed=f"training/deepspeed/{stage}.json", loss={"batch_tokens": 60}),
            folder / "out",
        ]
    assert run_in_processes(2, train_and_hand_over, pairs, tmp_path / "taken")
    alone = read_metrics(unbroken / "metrics.jsonl")
    for out in pairs[1::2]:
        lines = read_metrics(out / "metrics.jsonl")
        assert [line["step"] for line in lines] == [0, 1, 2]
        assert lines[0]["turns"] > 64
        # The first step is that of one process: the same rollouts, and the same gradient of the mean over all tokens.
        counted = ("reward", "right", "turns", "tokens", "groups_kept", "trained_tokens")
        assert [lines[0][name] for name in counted] == pytest.approx([alone[0][name] for name in counted])
        assert lines[0]["calls"] == alone[0]["calls"]
        assert lines[0]["grad_norm"] == pytest.approx(alone[0]["grad_norm"], rel=1e-3)
        assert lines[0]["loss"] == pytest.approx(alone[0]["loss"], abs=1e-4)
        model = AutoModelForCausalLM.from_pretrained(out / "model")
        assert sum(parameter.abs().sum().item() > 0 for parameter in model.parameters()) == len(
            list(model.parameters())
        )


@pytest.mark.slow("tests/training/test_grpo.py")
def test_two_ranks_that_wrote_unequally_enter_every_collective_equally_often(tmp_path: Path) -> None:
    # Of no parameter every rank keeps a copy, as with large models, and the head runs in up to ten chunks. With one
    # gather for each chunk the ranks waited for each other for ever, forward and backward.
    partitioned = {"zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0, "overlap_comm": False}}
    (tmp_path / "zero3.json").write_text(json.dumps(partitioned | {"steps_per_print": 10**9}))
    losses: list[dict[str, Any]] = [{}, {"epochs": 2, "kl": 0.1, "entropy": 0.1}]
    configs = [
        make_toy(
            tmp_path / str(number),
            deepspeed=str(tmp_path / "zero3.json"),
            loss={"head_chunk": 4, "batch_tokens": 40, **loss},
            rollout={"prompts": 4, "samples": 2, "concurrency": 1, "wall_s": 50.0},
            collective_timeout_s=100.0,
            sizes={"tie_word_embeddings": bool(number % 2)},
        )
        for number, loss in enumerate(losses)
    ]
    script = (str(TOY.with_name("uneven.py")), str(tmp_path / "two"), *map(str, configs))
    process = start(
        "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *script, DS_ACCELERATOR="cpu"
    )
    run_uneven(configs, tmp_path / "one")
    try:
        told = process.communicate(timeout=300)[0].decode()
    except subprocess.TimeoutExpired:
        process.terminate()
        pytest.fail(f"the ranks wait for each other: {process.communicate()[0].decode()[-3000:]}")
    assert process.returncode == 0, told[-3000:]
    found = [json.loads((tmp_path / name).read_text()) for name in ("one", "two")]
    one, two = (each["figures"] for each in found)
    assert found[1]["patience_s"] == 100 + 4 * 50  # 4 rollouts of 50 s at most, one after the other
    assert [figures["trained_tokens"] for figures in two] == [33, 3, 43, 41] * len(losses)
    for alone, shared in zip(one, two, strict=True):
        assert shared == pytest.approx(alone, rel=1e-3, abs=1e-4)


def test_a_checkpoint_of_another_model_or_configuration_is_refused(
    config: Path, unbroken: Path, tmp_path: Path
) -> None:
    other = make_toy(tmp_path / "other", sizes={"hidden_size": 48})
    shutil.copytree(unbroken, tmp_path / "run")
    settings = yaml.safe_load(other.read_text())
    with pytest.raises(
        UsageError, match=r"holds a run with model.path = .* use the same configuration, or another folder"
    ):
        run_toy(other, tmp_path / "run")
    moved = yaml.safe_load(config.read_text()) | {"model": settings["model"]}
    (tmp_path / "moved.yaml").write_text(yaml.safe_dump(moved))
    (tmp_path / "run" / "config.yaml").unlink()
    with pytest.raises(
        UsageError, match=r"is of another architecture: \S+ has the shape \[.*\] there and \[.*\] in the model"
    ):
        run_toy(tmp_path / "moved.yaml", tmp_path / "run")


@pytest.mark.parametrize(
    ("stage", "optimizer"),
    [("zero2", {"warmup_steps": 10**9}), ("zero3", {"warmup_steps": 10**9}), ("zero2", {"eps": 1e6})],
)
def test_the_learning_rate_of_the_step_counts_and_eps_holds_small_gradients_back(
    stage: str, optimizer: dict[str, Any], tmp_path: Path
) -> None:
    deepspeed = f"training/deepspeed/{stage}.json"
    run_toy(make_toy(tmp_path, steps=2, optimizer={"lr": 0.01, **optimizer}, deepspeed=deepspeed), tmp_path / "out")
    before, after = (
        AutoModelForCausalLM.from_pretrained(folder).state_dict()
        for folder in (tmp_path / "base", tmp_path / "out" / "model")
    )
    assert [line["trained_tokens"] > 0 for line in read_metrics(tmp_path / "out" / "metrics.jsonl")] == [True, True]
    torch.testing.assert_close(after, before, atol=1e-8, rtol=0)


def test_several_updates_on_one_batch_and_a_reference_model(tmp_path: Path) -> None:
    run_toy(make_toy(tmp_path, steps=3, loss={"epochs": 2, "kl": 0.01, "kl_kind": "mse"}), tmp_path / "out")
    lines = read_metrics(tmp_path / "out" / "metrics.jsonl")
    assert lines[0]["kl"] < lines[-1]["kl"]
    assert max(line["clipped"] for line in lines) > 0


def test_the_bonus_for_entropy_counts_in_the_first_turns_only(tmp_path: Path) -> None:
    norms = {}
    for turns in (1, 3, None):
        folder = tmp_path / str(turns)
        run_toy(make_toy(folder, steps=1, loss={"entropy": 0.5, "entropy_turns": turns}), folder / "out")
        [line] = read_metrics(folder / "out" / "metrics.jsonl")
        norms[turns] = line["grad_norm"]
    assert norms[3] == norms[None]  # the toy has three turns at most
    assert norms[1] != pytest.approx(norms[None], rel=1e-3)


@pytest.mark.parametrize("left", ["no weights", "half of the weights", "no generators"])
def test_a_checkpoint_that_lost_its_weights_is_refused(left: str, config: Path, unbroken: Path, tmp_path: Path) -> None:
    # This once ended in a traceback of DeepSpeed's.
    shutil.copytree(unbroken, tmp_path / "run")
    last = tmp_path / "run" / "checkpoints" / "step-000006"
    if left == "no weights":
        shutil.rmtree(last / "deepspeed")
    elif left == "half of the weights":
        [weights] = (last / "deepspeed").glob("*model_states.pt")
        os.truncate(weights, weights.stat().st_size // 2)
    else:
        (last / "generators-0.pt").unlink()
    with pytest.raises(
        StorageError, match=r"step-000006: cannot be read .* remove this checkpoint, the one before is used then"
    ):
        run_toy(config, tmp_path / "run")


class Mumbling(ToyCodec):
    """Nothing that the model writes can be read."""

    def read(self, ids: Sequence[int], *known: Any) -> tuple[dict[str, Any], str | None]:
        return {"role": "assistant", "content": "?"}, "Nothing can be read."


def test_groups_of_which_no_rollout_can_be_read_are_not_kept(tmp_path: Path) -> None:
    # Their rewards differ, and still nothing is learned from them: every rollout was left out, and no alarm said so.
    config = make_toy(
        tmp_path, steps=4, rollout={"output_price": 1000.0}, reward={"least_std": 0.0}, alarms={"window": 2}
    )
    with pytest.raises(TrainingError, match="alarm no_groups at step 1"):
        asyncio.run(run(read_config(config), tmp_path / "out", toy_work(), Mumbling()))
    lines = read_metrics(tmp_path / "out" / "metrics.jsonl")
    assert [(line["groups_kept"], line["samples_kept"], line["reward_std"] > 0) for line in lines] == [(0, 0, True)] * 2


def test_an_alarm_stops_the_run(tmp_path: Path) -> None:
    config = make_toy(tmp_path, steps=6, reward={"least_std": 100.0}, alarms={"window": 2})
    with pytest.raises(
        TrainingError, match="alarm no_groups at step 1: no group of rollouts passed the filters in 2 steps"
    ):
        run_toy(config, tmp_path / "out")
    assert len(read_metrics(tmp_path / "out" / "metrics.jsonl")) == 2
