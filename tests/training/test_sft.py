"""SFT: only the assistant's tokens are learned, from JSONL and from golden trajectories, and a stopped run ends with
the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_qwen import make_model, make_tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from toolscale.errors import UsageError
from training.chat import ChatCodec
from training.config import SftConfig, read_config
from training.conversations import encode_conversation, golden_conversations, read_conversations
from training.metrics import read_metrics
from training.sft import run

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")


TALKS: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": f"Say {word}."}, {"role": "assistant", "content": word}]}
    for word in ("one", "two", "six", "ten")
]


def write_config(folder: Path, **changes: Any) -> Path:
    (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, TALKS)))
    config = {
        "model": {"path": str(make_model(folder / "base"))},
        "conversations": [str(folder / "talks.jsonl")],
        "epochs": 15,
        "batch": 4,
        "optimizer": {"lr": 0.01},
        "checkpoint": {"every": 5},
        "metrics": {"plots": False},
    } | changes
    path = folder / "sft.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def test_only_what_the_assistant_says_is_trained_on(mock_dataset: Path) -> None:
    codec = ChatCodec(make_tokenizer())
    talk = next(golden_conversations(mock_dataset))
    trace = encode_conversation(codec, talk)
    own = codec._tokenizer.decode([token for token, mine in zip(trace.ids, trace.written, strict=True) if mine])
    said = [message for message in talk["messages"] if message["role"] == "assistant"]
    assert own == "".join(codec._tokenizer.decode(codec.write(message)) for message in said)
    whole = codec._render(talk["messages"], tools=talk["tools"])
    assert codec._tokenizer.decode(list(trace.ids)) == whole.removesuffix("\n")


def test_a_model_learns_what_it_is_shown(tmp_path: Path) -> None:
    config: SftConfig = read_config(write_config(tmp_path), SftConfig)
    done = run(config, tmp_path / "out")
    lines = read_metrics(tmp_path / "out" / "metrics.jsonl")
    assert [line["step"] for line in lines] == list(range(15))
    assert lines[-1]["loss"] < 0.5 * lines[0]["loss"]
    assert done["steps"] == 15
    assert AutoTokenizer.from_pretrained(tmp_path / "out" / "model").chat_template
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "model").num_parameters() > 0


def test_a_run_that_was_stopped_ends_with_the_same_bytes(tmp_path: Path) -> None:
    path = write_config(tmp_path, epochs=8, batch=3)
    config: SftConfig = read_config(path, SftConfig)
    run(config, tmp_path / "whole")
    broken = tmp_path / "broken"
    run(config, broken)
    for name in ("step-000016",):  # as if it had ended at step 15, after the checkpoint of step 15 and before the last
        last = broken / "checkpoints" / name
        last.rename(broken / "gone")
    run(config, broken)
    assert (broken / "model" / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model" / "model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", r"talks.jsonl:1: is not JSON"),
        ('{"messages": 1}', r"talks.jsonl:1: has no list of messages"),
    ],
)
def test_a_line_that_is_no_conversation_is_named(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "talks.jsonl").write_text(text)
    with pytest.raises(UsageError, match=told):
        list(read_conversations(tmp_path / "talks.jsonl"))


def test_a_conversation_without_the_assistant_is_refused() -> None:
    with pytest.raises(UsageError, match="a conversation needs a message to the assistant and one of the assistant"):
        encode_conversation(ChatCodec(make_tokenizer()), {"messages": [{"role": "user", "content": "a"}]})
