"""SFT: only the assistant's tokens are learned, from JSONL and from golden trajectories, and a stopped run ends with
the same bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_qwen import make_model, make_tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import UsageError
from toolscale.records import TokenTrace
from training.batch import Sample, make_batch
from training.chat import ChatCodec
from training.config import SftConfig
from training.config_file import read_config
from training.conversations import Conversation, encode_conversation, golden_conversations, read_conversations
from training.engine import Engine
from training.metrics import read_metrics
from training.sft import load_samples, run, share_beginnings

pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit.script:DeprecationWarning", "ignore:.torch.distributed:FutureWarning"
)


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


def test_what_is_too_long_is_counted_and_too_much_of_it_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = {"role": "user", "content": "Say one. " * 40}
    talks = [*TALKS, {"messages": [long, *TALKS[0]["messages"]]}]
    path = write_config(tmp_path, epochs=1, most_tokens=100)
    (tmp_path / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)))
    told = r"1 of 5 conversations are longer than most_tokens \(100\); half are longer than \d+, the longest has \d{3}"
    with pytest.raises(UsageError, match=told + r"; raise most_tokens, or most_left_out \(0.1\) to go on without"):
        run(read_config(path, SftConfig), tmp_path / "out")
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"most_left_out": 0.2}))
    done = run(read_config(path, SftConfig), tmp_path / "out")
    assert (done["conversations"], done["left_out"]) == (4, 1)
    assert re.search(told + ": they are left out", caplog.text)


def test_conversations_of_a_domain_share_policy_and_tools_and_the_step_is_the_same(
    tmp_path: Path, mock_dataset: Path
) -> None:
    changes = {"conversations": [], "datasets": [str(mock_dataset)], "epochs": 1, "batch": 16, "most_tokens": 20_000}
    codec, found = ChatCodec(make_tokenizer()), []
    for limit in (0, 20_000):
        (tmp_path / str(limit)).mkdir()
        config = read_config(write_config(tmp_path / str(limit), branched_tokens=limit, **changes), SftConfig)
        samples = share_beginnings(load_samples(config, codec)[0], limit)
        parts = make_batch(samples, config.loss.batch_tokens, limit, correct=False).parts
        run(config, tmp_path / str(limit) / "out")
        (line,) = read_metrics(tmp_path / str(limit) / "out" / "metrics.jsonl")
        laid_out = sum(int((part.packed.segments >= 0).sum()) for part in parts)
        found.append((line["tokens"], line["loss"], line["grad_norm"], laid_out))
    (tokens, loss, norm, alone), (shared_tokens, shared_loss, shared_norm, shared) = found
    assert shared_tokens == tokens
    assert (shared_loss, shared_norm) == pytest.approx((loss, norm), rel=1e-4)
    assert shared < 0.6 * alone


def test_a_row_holds_what_fits_and_domains_do_not_mix() -> None:
    def sample(*ids: int, group: str) -> Sample:
        return Sample(
            TokenTrace(ids=ids, written=(False, *(True,) * (len(ids) - 1)), logprobs=(0.0,) * len(ids)), 1.0, group
        )

    samples = [
        sample(1, 2, 3, group="gym"),
        sample(1, 2, 4, group="bank"),
        sample(1, 2, 5, group="gym"),
        sample(1, 2, 6, group="gym"),
        sample(1, 2, 7, 8, 9, group="gym"),
    ]
    assert [(each.trace.ids[2], each.group) for each in share_beginnings(samples, 5)] == [
        (3, 0),
        (4, 1),
        (5, 0),
        (6, 0),
        (7, 2),
    ]
    assert [each.group for each in share_beginnings(samples, 0)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("stage", ["zero2", "zero3"])
def test_gradients_of_many_micro_batches_are_summed_in_float32(stage: str, tmp_path: Path) -> None:
    # A bfloat16 sum loses what is less than a 512th of it: the gradient of a long batch was too small by these parts.
    path = write_config(
        tmp_path,
        model={"path": str(make_model(tmp_path / "small", num_hidden_layers=1)), "dtype": "bfloat16"},
        deepspeed=f"training/deepspeed/{stage}.json",
    )
    engine = Engine(read_config(path, SftConfig))
    engine.set_lr(0.0)
    trace = TokenTrace(ids=tuple(range(9)), written=(False, *(True,) * 8), logprobs=(0.0,) * 9)
    [part] = make_batch([Sample(trace, 1.0, 0)], 100, 0, correct=False).parts
    norms = []
    for shares in ((1.0,), (0.85, *(0.0015,) * 100)):
        for share in shares:
            logprobs, _ = engine.deepspeed(part.packed, part.wanted)
            engine.deepspeed.backward(-share * logprobs.sum())
        engine.deepspeed.step()
        norms.append(float(engine.deepspeed.get_global_grad_norm()))
    assert norms[1] == pytest.approx(norms[0], rel=0.02)


def test_a_conversation_may_show_what_it_calls_and_a_few_others_instead_of_all_tools(mock_dataset: Path) -> None:
    def names(conversation: Conversation) -> list[str]:
        return [tool["function"]["name"] for tool in conversation["tools"]]

    def called(conversation: Conversation) -> set[str]:
        said = [message for message in conversation["messages"] if message["role"] == "assistant"]
        return {call["function"]["name"] for message in said for call in message.get("tool_calls", ())}

    every, bare = list(golden_conversations(mock_dataset)), list(golden_conversations(mock_dataset, 0))
    some, again = (list(golden_conversations(mock_dataset, 2)) for _ in range(2))
    assert some == again
    assert [each["messages"] for each in some] == [each["messages"] for each in every]
    for whole, few, none in zip(every, some, bare, strict=True):
        assert set(names(none)) == called(whole) | {FINAL_ANSWER} & set(names(whole))
        assert set(names(none)) <= set(names(few)) and len(names(few)) == min(len(names(none)) + 2, len(names(whole)))
        assert names(few) == [name for name in names(whole) if name in names(few)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", r"talks.jsonl:1: is not JSON"),
        ("[" * 3_000, r"talks.jsonl:1: is not JSON \(lists and objects are nested more than 64 levels deep\)"),
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
