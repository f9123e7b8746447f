"""GRPO for orchestrators: rollouts -> rewards -> advantages -> clipped loss on the tokens that the model wrote -> one
DeepSpeed step.

    python -m training.grpo training/configs/gpu_small.yaml --out var/training/gpu-small
    torchrun --nproc-per-node 8 -m training.grpo training/configs/qwen3_8b.yaml --out var/training/qwen3-8b

The same command takes up a run that was stopped. Exit status: 0 done, 1 stopped by an alarm or a failure, 2 bad input.

What differs from the plainest GRPO, and why:
- Groups whose rewards hardly differ, and rollouts that could not be read, are left out (`toolscale.reward`); the loss
  is divided by the number of written tokens of what is kept, so that what was left out does not make the step smaller.
- No KL term unless the configuration asks for one, and then the reference is the model that the run began with.
- The samples of a task share one pass over their prompt, in sampling and in training, and rollouts that wrote the same
  share the rest (training/packing.py, training/batch.py). The loss is the same number.
- One optimizer step for each batch of rollouts, so the ratio is 1 and only its gradient counts, unless loss.epochs says
  more (training/loss.py).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click
import torch

from toolscale.errors import TrainingError, UsageError
from toolscale.records import Rollout, RolloutTask, TokenTrace
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.message_judge import open_judge
from toolscale.rollout.storage import write_rollouts
from training import checkpoint
from training.alarms import Alarms
from training.batch import Batch, MicroBatch, Sample, empty_micro_batch, make_batch
from training.chat import Codec
from training.codecs import load_codec
from training.config import Config
from training.config_file import read_config
from training.data import Work, open_work
from training.engine import Engine, load_model
from training.judged import shared, with_judge
from training.loss import Scorer, Tokens, token_losses
from training.memory import announce
from training.metrics import Metrics, progress, read_metrics
from training.processes import longest, meet, most, rank, run_in_processes, total, world_size, world_size_wanted
from training.sampler import local_policy
from training.scoring import score_groups
from training.server_checks import check_first
from training.starting import done_of, run_command, take_up, write_done
from training.step_figures import DOMAIN, describe
from training.vllm import VllmWriter, vllm_policy
from training.weights import make_sender, versions_of


class Trainer:
    """One run on one rank."""

    def __init__(self, config: Config, work: Work, codec: Codec, engine: Engine, out: Path | None = None):
        self.config, self.work, self.engine, self.out = config, work, engine, out
        self.policy = (
            local_policy(engine.actor, codec, config.rollout) if config.vllm is None else vllm_policy(config, codec)
        )
        self.sender = make_sender(config, codec, out, first=rank() == 0)
        self.versions = versions_of(config, out)
        self.names = [*sorted(work.experts), *sorted(work.bench.basic), DOMAIN]
        self.reference = None
        if config.loss.kl > 0:
            whole = load_model(config.model).to(engine.device).eval()
            self.reference = Scorer(whole, config.rollout.temperature, config.loss.head_chunk)

    async def step(self, number: int) -> dict[str, Any]:
        """Make step `number`, counted from 0; return its figures, those of all ranks together."""
        began = time.perf_counter()
        tasks = self.take(number)
        self.hand_over(number)
        self.policy.begin(f"{self.config.seed}|{number}")
        rollout = self.config.rollout
        limits = (rollout.samples, rollout.concurrency, rollout.wall_s)
        handed_over = time.perf_counter()
        groups = await run_rollouts(tasks, self.policy, self.work.bench, *limits)
        await self.policy.writer.settle()
        rolled = time.perf_counter()
        self.keep(number, groups)
        tell_failed(number, groups)
        scored = score_groups(tasks, groups, self.work.experts, self.config.reward)
        samples = [
            Sample(trace_of(groups[each.group][each.member]), each.advantage, each.group) for each in scored.selected
        ]
        loss = self.config.loss
        batch = make_batch(samples, loss.batch_tokens, rollout.branched_tokens, correct=self.config.vllm is not None)
        figures = {
            "step": number,
            **describe(tasks, groups, scored, self.policy, self.names),
            **self.update(batch, number),
        }
        ended = time.perf_counter()
        times = {
            "hand_over_s": handed_over - began,
            "rollout_s": longest(rolled - handed_over),
            "seconds": ended - began,
        }
        return figures | {name: round(value, 3) for name, value in times.items()}

    def hand_over(self, number: int) -> None:
        """Give the weights to whoever samples, before the first turn. All ranks gather each parameter once, whatever
        their rollouts do later, and none begins a turn before the servers have taken all weights."""
        vllm, version = self.config.vllm, f"{self.versions}-{number:06d}"
        if vllm is None:
            self.engine.refresh()
        if vllm is None or vllm.update == "none":
            return
        if self.sender is not None:
            self.sender.send(self.engine.described(), self.engine.weights(), version)
        else:
            for _ in self.engine.weights():
                pass
        meet()
        if isinstance(self.policy.writer, VllmWriter):
            self.policy.writer.expect(version)

    async def close(self) -> None:
        """Let go of the servers."""
        if self.sender is not None:
            self.sender.close()
        if isinstance(self.policy.writer, VllmWriter):
            await self.policy.writer.close()

    def keep(self, number: int, groups: list[list[Rollout]]) -> None:
        """Write the rollouts of some steps: each rank its own."""
        every = self.config.metrics.rollouts_every
        if self.out is not None and every and number % every == 0:
            write_rollouts(
                self.out / "rollouts" / f"step-{number:06d}-{rank()}.jsonl",
                (rollout for group in groups for rollout in group),
            )

    def take(self, number: int) -> list[RolloutTask]:
        """The tasks of a step that are this rank's: whole groups, so that an advantage never looks at another rank."""
        prompts = self.config.rollout.prompts
        return [self.work.tasks[number * prompts + place] for place in range(rank(), prompts, world_size())]

    def update(self, batch: Batch, number: int) -> dict[str, float]:
        """Train on a batch: `loss.epochs` optimizer steps. All ranks run as many passes; a rank with fewer
        micro-batches runs empty ones."""
        config, engine = self.config, self.engine
        lr = config.optimizer.lr_at(number, config.steps)
        engine.set_lr(lr)
        engine.model.train()
        passes = most(len(batch.parts))
        parts = [
            *batch.parts,
            *(empty_micro_batch(correct=config.vllm is not None) for _ in range(passes - len(batch.parts))),
        ]
        parts = [part.to(engine.device) for part in parts]
        tokens = total({"tokens": float(batch.tokens)})["tokens"]
        if not tokens:
            return {
                "trained_tokens": 0,
                "loss": 0.0,
                "entropy": 0.0,
                "clipped": 0.0,
                "kl": 0.0,
                "grad_norm": 0.0,
                "lr": lr,
            }
        olds = [self.logprobs(part) for part in parts] if config.loss.epochs > 1 else [None] * len(parts)
        references = [self.reference_logprobs(part) for part in parts]
        for _ in range(config.loss.epochs):
            sums = Counter[str]()
            for part, old, reference in zip(parts, olds, references, strict=True):
                sums.update(
                    self.learn(part, old, reference, tokens, config.loss.entropy * max(0.0, 1 - number / config.steps))
                )
            engine.deepspeed.step()
        figures = {name: value / tokens for name, value in total(dict(sorted(sums.items()))).items()}
        norm = engine.deepspeed.get_global_grad_norm()
        figures = {"trained_tokens": int(tokens), "kl": 0.0, **figures, "grad_norm": float(norm or 0.0), "lr": lr}
        if not all(math.isfinite(value) for value in figures.values()):
            raise TrainingError(f"step {number}: the loss or the gradient is no number ({figures}); lower optimizer.lr")
        return figures

    def learn(
        self,
        part: MicroBatch,
        old: torch.Tensor | None,
        reference: torch.Tensor | None,
        tokens: float,
        bonus: float = 0.0,
    ) -> dict[str, float]:
        """Forward and backward for one micro-batch; return sums over its tokens. `bonus`: what entropy counts in this
        step."""
        wanted, entropy = self.engine.deepspeed(part.packed, part.wanted)
        new = wanted[part.spread]
        given = Tokens(part.tokens.advantages, part.tokens.turns, old, part.tokens.sampled, reference)
        losses, sums = token_losses(new, given, self.config.loss)
        entropies, last = entropy[part.spread], self.config.loss.entropy_turns
        tried = entropies if last is None else entropies * (part.tokens.turns < last)
        # An empty micro-batch has a gradient too, of zeros.
        loss = losses.sum() - bonus * tried.sum() + 0.0 * wanted.sum()
        # DeepSpeed averages over the ranks; the loss is one mean over the tokens of all.
        self.engine.deepspeed.backward(loss * (world_size() / tokens))
        return {
            "loss": loss.item(),
            "entropy": entropies.sum().item(),
            **{name: value.item() for name, value in sums.items()},
        }

    @torch.no_grad()
    def logprobs(self, part: MicroBatch) -> torch.Tensor:
        """Log-probabilities before the first update."""
        wanted, _ = self.engine.deepspeed(part.packed, part.wanted)
        return wanted[part.spread].detach()

    @torch.no_grad()
    def reference_logprobs(self, part: MicroBatch) -> torch.Tensor | None:
        """Those of the model that the run began with; None without a KL term."""
        if self.reference is None:
            return None
        wanted, _ = self.reference(part.packed, part.wanted)
        return wanted[part.spread]


def tell_failed(number: int, groups: list[list[Rollout]]) -> None:
    """Warn of rollouts that failed, in one line: with the reason of the first, and how many they are."""
    rollouts = [rollout for group in groups for rollout in group]
    failed = [rollout for rollout in rollouts if rollout.stop == "failed"]
    if failed:
        logging.getLogger("training").warning(
            f"step {number}: {len(failed)} of {len(rollouts)} rollouts failed, the first: {failed[0].finding}"
        )


def trace_of(rollout: Rollout) -> TokenTrace:
    """The tokens of a rollout; every policy here keeps them."""
    if rollout.trace is None:
        raise TrainingError(f"rollout {rollout.id} has no tokens to train on; use a policy that keeps them")
    return rollout.trace


def run_here(config: Config, out: Path) -> dict[str, Any]:
    """`run`, in as many processes of this machine as the configuration says."""
    return run_in_processes(config.processes, _run_one, config, out)


def _run_one(config: Config, out: Path) -> dict[str, Any]:
    return asyncio.run(run(config, out))


async def run(
    config: Config, out: Path, work: Work | None = None, codec: Codec | None = None, make: type[Trainer] = Trainer
) -> dict[str, Any]:
    """Train until `config.steps`, from the last checkpoint in `out` if there is one; return what done.json is to say.
    `make`: a trainer that looks at more."""
    checkpoint.check_folder(out, config)
    codec = codec or load_codec(config.model)
    work = work or open_work(config.data, judge=config.judge)
    if config.rollout.prompts % world_size_wanted():
        raise UsageError(
            f"rollout.prompts: {config.rollout.prompts} cannot be shared by {world_size_wanted()} processes; "
            "use a multiple of it"
        )
    announce(config)
    check_first(config, codec)
    with work.held:
        async with work.bench, open_judge(shared(config.judge)) as work.bench.judge:
            engine = Engine(config, config.rollout.temperature, samples=config.vllm is None)
            metrics = Metrics(out, config.metrics, config.model_dump(mode="json")) if rank() == 0 else None
            trainer = make(config, work, codec, engine, out)
            try:
                await train(trainer, out, metrics)
            finally:
                await trainer.close()
            return finish(out, config, engine, codec, metrics)


async def train(trainer: Trainer, out: Path, metrics: Metrics | None) -> None:
    """Make the steps that are left, with figures, alarms and checkpoints."""
    config = trainer.config
    if metrics is not None:
        checkpoint.write_config(out, config)
        for idle in config.idle():
            logging.getLogger("training").warning(idle)
    step = take_up(out, trainer.engine, metrics)
    alarms = Alarms(config.alarms)
    for figures in read_metrics(out / "metrics.jsonl")[-config.alarms.window :]:
        alarms.look(figures)
    gc.collect()
    gc.freeze()  # libraries and model: looking through all of it again takes a third of a second, every few steps
    try:
        await make_steps(trainer, out, metrics, alarms, step)
    finally:
        gc.unfreeze()


async def make_steps(trainer: Trainer, out: Path, metrics: Metrics | None, alarms: Alarms, step: int) -> None:
    """Make the steps from `step` on."""
    config = trainer.config
    with progress(config.steps, step, shown=metrics is not None) as advance:
        while step < config.steps:
            figures = await trainer.step(step)
            if metrics is not None:
                metrics.write(figures)
            advance(figures)
            step += 1
            for warning in alarms.look(figures):
                logging.getLogger("training").warning(warning)
            if step % config.checkpoint.every == 0 or step == config.steps:
                checkpoint.save(out, trainer.engine, step, metrics, config.checkpoint.keep)


def finish(out: Path, config: Config, engine: Engine, codec: Codec, metrics: Metrics | None) -> dict[str, Any]:
    """Write the model; return what done.json is to say."""
    engine.save_model(out / "model")
    if metrics is None:
        return {}
    codec.save(out / "model")
    metrics.close()
    names = ("reward", "right", "cost_usd", "latency_s", "groups_kept", "malformed", "entropy")
    return done_of(config, config.steps, read_metrics(out / "metrics.jsonl"), names)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the run; one that was stopped is taken up."
)
def command(config: Path, out: Path) -> None:
    """Train an orchestrator with GRPO as CONFIG (a YAML file of training/configs) says."""
    done = run_here(with_judge(read_config(config)), out)
    if done:
        write_done(out, done)


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.grpo"))
