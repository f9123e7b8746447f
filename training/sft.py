"""Supervised fine-tuning on conversations: the same codec and the same engine as GRPO, and a loss on the assistant's
tokens only, unless `repeats` says otherwise.

    python -m training.sft training/configs/sft_finance.yaml --out var/training/sft

Exit status: 0 done, 1 stopped, 2 bad input. A run that was stopped is taken up.
"""

from __future__ import annotations

import logging
import math
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from toolscale.canonical import content_hash
from toolscale.errors import TrainingError, UsageError
from training import checkpoint
from training.batch import Sample, empty_micro_batch, make_batch
from training.chat import Codec
from training.codecs import load_codec
from training.config import SftConfig
from training.config_file import read_config
from training.conversations import Conversation, encode_conversation, golden_conversations, read_conversations
from training.engine import Engine
from training.memory import announce
from training.metrics import Metrics, progress, read_metrics
from training.packing import fill_rows
from training.processes import most, rank, run_in_processes, total, world_size
from training.starting import done_of, run_command, take_up, write_done


def load_samples(config: SftConfig, codec: Codec) -> tuple[list[Sample], int]:
    """Read and encode all conversations; return those that are short enough, and how many are not. Raises UsageError if
    there are none, or if more than `most_left_out` of them are too long."""
    conversations = [each for name in config.conversations for each in read_conversations(Path(name))]
    conversations += [each for name in config.datasets for each in golden_conversations(Path(name), config.decoys)]
    samples = [Sample(encode_conversation(codec, each), 1.0, _setting(each)) for each in conversations]
    if not samples:
        raise UsageError("there is no conversation to learn from; name conversations or datasets")
    if config.repeats:
        samples = [with_repeats(each) for each in samples]
    kept = [sample for sample in samples if len(sample.trace.ids) <= config.most_tokens]
    if left_out := len(samples) - len(kept):
        lengths = sorted(len(sample.trace.ids) for sample in samples)
        told = (
            f"{left_out} of {len(samples)} conversations are longer than most_tokens ({config.most_tokens}); "
            f"half are longer than {lengths[len(lengths) // 2]}, the longest has {lengths[-1]}"
        )
        if left_out > config.most_left_out * len(samples):
            raise UsageError(f"{told}; raise most_tokens, or most_left_out ({config.most_left_out:g}) to go on without")
        logging.getLogger("training").warning("%s: they are left out", told)
    return kept, left_out


def with_repeats(sample: Sample) -> Sample:
    """The same conversation, in which each token after the first turn that stood before counts as written."""
    ids, written = sample.trace.ids, sample.trace.written
    first = _first_places(ids)
    begun = written.index(True)
    counted = tuple(
        own or (place > begun and first[number] < place)
        for place, (number, own) in enumerate(zip(ids, written, strict=True))
    )
    return replace(sample, trace=sample.trace.model_copy(update={"written": counted}))


def _first_places(ids: Sequence[int]) -> dict[int, int]:
    """Where each token stands for the first time."""
    return {number: place for place, number in reversed(list(enumerate(ids)))}


def _setting(conversation: Conversation) -> str:
    """What conversations of one domain begin with, as a hash: the system message. Their tools are the same up to the
    form of each task, and rows share whatever is."""
    return content_hash([message for message in conversation["messages"][:1] if message["role"] == "system"])


def pick(samples: list[Sample], config: SftConfig, step: int, pointers: Sequence[range] = ()) -> list[Sample]:
    """The samples of a step that are this rank's. Each epoch has an order of its own, and pointers of its own; the
    position in it follows from the step."""
    steps = steps_per_epoch(samples, config)
    epoch, place = divmod(step, steps)
    order = list(range(len(samples)))
    random.Random(f"sft|{config.seed}|{epoch}").shuffle(order)
    mine = order[place * config.batch : (place + 1) * config.batch][rank() :: world_size()]
    if not pointers:
        return [samples[number] for number in mine]
    return [
        with_other_pointers(samples[number], pointers, random.Random(f"pointers|{config.seed}|{epoch}|{number}"))
        for number in mine
    ]


def with_other_pointers(sample: Sample, pointers: Sequence[range], rng: random.Random) -> Sample:
    """The same conversation with other ids for the words that pointers stand for, each in its own range. A pointer to
    what stands nowhere before it is not learned: it is one of thousands by chance."""
    ids = sample.trace.ids
    others: dict[int, int] = {}
    for kind in pointers:
        used = sorted({number for number in ids if number in kind})
        others |= dict(zip(used, rng.sample(kind, len(used)), strict=True))
    first = _first_places(ids)
    written = tuple(
        own and not (number in others and first[number] == place)
        for place, (number, own) in enumerate(zip(ids, sample.trace.written, strict=True))
    )
    changed = {"ids": tuple(others.get(number, number) for number in ids), "written": written}
    return replace(sample, trace=sample.trace.model_copy(update=changed))


def share_beginnings(samples: Sequence[Sample], limit: int) -> list[Sample]:
    """The same samples in new groups, each of which fits into one row of at most `limit` tokens: those that begin with
    the same policy and tools go through these once. What does not fit beside another stays alone."""
    rows = fill_rows([sample.trace.ids for sample in samples], [sample.group for sample in samples], limit)
    return [replace(sample, group=row) for sample, row in zip(samples, rows, strict=True)]


def steps_per_epoch(samples: list[Sample], config: SftConfig) -> int:
    """How many batches hold all samples once."""
    return math.ceil(len(samples) / config.batch)


def learn(engine: Engine, samples: list[Sample], config: SftConfig) -> dict[str, float]:
    """One optimizer step on the mean negative log-probability of the assistant's tokens, over all ranks."""
    rows = share_beginnings(samples, config.branched_tokens)
    batch = make_batch(rows, config.loss.batch_tokens, config.branched_tokens, correct=False)
    parts = [*batch.parts, *(empty_micro_batch() for _ in range(most(len(batch.parts)) - len(batch.parts)))]
    tokens = total({"tokens": float(batch.tokens)})["tokens"]
    engine.model.train()
    summed = 0.0
    for part in (each.to(engine.device) for each in parts):
        wanted, _ = engine.deepspeed(part.packed, part.wanted)
        loss = -wanted[part.spread].sum() + 0.0 * wanted.sum()
        engine.deepspeed.backward(loss * (world_size() / tokens))
        summed += loss.item()
    engine.deepspeed.step()
    figures = {
        "loss": total({"loss": summed})["loss"] / tokens,
        "grad_norm": float(engine.deepspeed.get_global_grad_norm() or 0.0),
    }
    return figures | {"tokens": int(tokens)}


def run(config: SftConfig, out: Path, codec: Codec | None = None) -> dict[str, Any]:
    """Train for all steps, from the last checkpoint in `out` if there is one; return what done.json is to say."""
    checkpoint.check_folder(out, config)
    codec = codec or load_codec(config.model)
    samples, left_out = load_samples(config, codec)
    steps = config.steps or steps_per_epoch(samples, config) * config.epochs
    announce(config)
    engine = Engine(config)
    metrics = Metrics(out, config.metrics, config.model_dump(mode="json")) if rank() == 0 else None
    if metrics is not None:
        checkpoint.write_config(out, config)
    step = take_up(out, engine, metrics)
    with progress(steps, step, shown=rank() == 0) as advance:
        while step < steps:
            began = time.perf_counter()
            lr = config.optimizer.lr_at(step, steps)
            engine.set_lr(lr)
            figures = {"step": step, **learn(engine, pick(samples, config, step, codec.pointers), config), "lr": lr}
            if not math.isfinite(figures["loss"]):
                raise TrainingError(f"step {step}: the loss is no number; lower optimizer.lr")
            if metrics is not None:
                metrics.write(figures | {"seconds": round(time.perf_counter() - began, 3)})
            advance(figures)
            step += 1
            if step % config.checkpoint.every == 0 or step == steps:
                checkpoint.save(out, engine, step, metrics, config.checkpoint.keep)
    engine.save_model(out / "model")
    if metrics is None:
        return {}
    codec.save(out / "model")
    metrics.close()
    done = done_of(config, steps, read_metrics(out / "metrics.jsonl"), ("loss", "grad_norm"))
    return done | {"conversations": len(samples), "left_out": left_out}


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the run; one that was stopped is taken up."
)
def command(config: Path, out: Path) -> None:
    """Fine-tune a model on conversations as CONFIG (a YAML file) says."""
    settings = read_config(config, SftConfig)
    done = run_in_processes(settings.processes, run, settings, out)
    if done:
        write_done(out, done)


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.sft"))
