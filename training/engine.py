"""The DeepSpeed engine: the model in it, and what all ranks do together beside training.

Ranks must enter every collective equally often, or they wait for each other for ever. Rollouts need different numbers
of turns on different ranks, so nothing in a rollout is a collective: under ZeRO-3, where no rank has the whole model,
each keeps a second copy for sampling and fills it once a step before the first turn (`Engine.refresh`), one gather for
each parameter. The number of micro-batches is made equal (`most`), with empty ones where a rank has fewer.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")  # read when deepspeed is imported

import deepspeed
import numpy
import torch.distributed
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.integrations import HfDeepSpeedConfig
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from transformers.utils import logging as transformers_logging

from toolscale.errors import UsageError
from training.attention import BRANCHED
from training.config import ModelSettings, RunSettings
from training.loading import loading
from training.loss import Scorer
from training.processes import join_group, rank, world_size_wanted

_ATTENTION = {"sdpa": BRANCHED, "eager": "eager", "flash_attention_2": "flash_attention_2"}
"""`model.attention` -> what transformers calls it."""


def join_processes(seed: int, patience_s: float) -> None:
    """Seed the generators, and join the group of processes. `patience_s`: so long they wait for each other, in
    seconds."""
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    if torch.distributed.is_initialized():
        return
    if not torch.cuda.is_available():
        # DeepSpeed would compile its shared-memory operations here, which takes a minute and a compiler;
        # gloo does without.
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    patience = timedelta(seconds=patience_s)
    join_group(patience)
    deepspeed.init_distributed(timeout=patience)


def load_model(settings: ModelSettings) -> Any:
    """The model as transformers loads it."""
    transformers_logging.disable_progress_bar()
    with loading("model", settings.path):
        model = AutoModelForCausalLM.from_pretrained(
            settings.path, dtype=getattr(torch, settings.dtype), attn_implementation=_ATTENTION[settings.attention]
        )
    if settings.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def read_deepspeed(config: RunSettings) -> dict[str, Any]:
    """The DeepSpeed configuration of a run, with what this package decides filled in. Raises UsageError."""
    path = Path(config.deepspeed)
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"deepspeed: {path}: is not a readable JSON file ({error}); name one of training/deepspeed"
        ) from error
    ours = {
        "train_micro_batch_size_per_gpu": 1,  # a number is wanted; the real batches differ in size
        "gradient_accumulation_steps": 1,
        "managed_gradient_accumulation": False,  # a step has as many micro-batches as its rollouts fill
        "gradient_clipping": config.optimizer.grad_clip,
        "bf16": {"enabled": config.model.dtype == "bfloat16"},
        # In bfloat16 a sum of equal parts stops growing at 256 to 512 of them: a long batch would teach no more.
        "data_types": {"grad_accum_dtype": "fp32"},
    }
    taken = sorted(set(ours) & set(settings))
    if taken:
        raise UsageError(f"deepspeed: {path}: {taken[0]!r} is decided by the configuration of the run; remove it")
    stage = settings.get("zero_optimization", {}).get("stage", 0)
    if stage not in (2, 3):
        raise UsageError(
            f"deepspeed: {path}: zero_optimization.stage is {stage}, and gradients of many micro-batches are summed in "
            "float32 with 2 and 3 only; name one of training/deepspeed"
        )
    return settings | ours


class Engine:
    """A `Scorer` in a DeepSpeed engine. `samples`: this process samples too, which under ZeRO-3 takes a copy of the
    model."""

    def __init__(self, config: RunSettings, temperature: float = 1.0, samples: bool = False):
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        join_processes(config.seed, config.patience_s(world_size_wanted()))
        settings = read_deepspeed(config)
        self.stage = int(settings["zero_optimization"]["stage"])
        # Loads each rank's part only; must stay alive.
        self._partitioned_loading = HfDeepSpeedConfig(settings) if self.stage == 3 else None
        scorer = Scorer(
            load_model(config.model), temperature, config.loss.head_chunk, learns_entropy=config.loss.entropy > 0
        )
        if self.stage == 3:
            for parameter in scorer.head.borrowed():  # gathered for its one call, not for a call of their own module
                deepspeed.zero.register_external_parameter(scorer.head, parameter)
        parameters = [parameter for parameter in scorer.parameters() if parameter.requires_grad]
        options = config.optimizer
        optimizer = torch.optim.AdamW(
            parameters, lr=options.lr, betas=options.betas, eps=options.eps, weight_decay=options.weight_decay
        )
        self.deepspeed, *_ = deepspeed.initialize(model=scorer, optimizer=optimizer, config=settings)
        self.device = torch.device(self.deepspeed.device)
        self._partitioned_loading = None
        unset_hf_deepspeed_config()  # every other model of this process is loaded whole
        self._copy = self._empty_copy(config.model) if samples and self.stage == 3 else None

    @property
    def model(self) -> Any:
        """The model inside; under ZeRO-3 its parameters are in parts."""
        return self.deepspeed.module.model

    @property
    def actor(self) -> Any:
        """The whole model for sampling: the trained one itself, or under ZeRO-3 the copy of the last `refresh`."""
        return self.model if self._copy is None else self._copy

    def refresh(self) -> None:
        """Make the actor what the model is now, and ready to sample. All ranks call it, once a step."""
        if self._copy is not None:
            own = dict(self._copy.named_parameters())
            with torch.no_grad():
                for name, tensor in self.weights():
                    own[name].copy_(tensor)
        self.actor.eval()

    def weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Name and whole tensor of each parameter in turn. All ranks iterate to the end, each parameter is gathered
        once."""
        for name, parameter in self.model.named_parameters():
            with deepspeed.zero.GatheredParameters([parameter], enabled=self.stage == 3):
                # A gathered parameter is gone when its turn is over, and whoever sends several at once still needs it.
                yield name, parameter.data.clone() if self.stage == 3 else parameter.data

    def described(self) -> list[tuple[str, str, list[int]]]:
        """Name, type and shape of each parameter, in the order of `weights`."""
        types = {name: str(parameter.dtype).removeprefix("torch.") for name, parameter in self.model.named_parameters()}
        return [(name, types[name], shape) for name, shape in self.shapes().items()]

    def set_lr(self, lr: float) -> None:
        """The learning rate of the next step."""
        for group in self.deepspeed.optimizer.param_groups:
            group["lr"] = lr

    def shapes(self) -> dict[str, list[int]]:
        """Name and shape of each parameter: what a checkpoint must fit."""
        return {
            name: list(getattr(parameter, "ds_shape", parameter.shape))
            for name, parameter in self.model.named_parameters()
        }

    def save_model(self, folder: Path) -> None:
        """Write the model for `from_pretrained`. All ranks call it; the first one writes."""
        state = {}
        for name, tensor in self.weights():
            if rank() == 0:
                state[name] = tensor.detach().cpu().clone()
        if rank() == 0:
            self.model.save_pretrained(folder, state_dict=state)
        torch.distributed.barrier()

    def _empty_copy(self, settings: ModelSettings) -> Any:
        configuration = AutoConfig.from_pretrained(settings.path)
        copy = AutoModelForCausalLM.from_config(
            configuration, dtype=getattr(torch, settings.dtype), attn_implementation=_ATTENTION[settings.attention]
        )
        return copy.to(self.device).requires_grad_(False)
