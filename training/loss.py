"""Log-probabilities of the tokens that the model wrote, and the loss of GRPO on them.

Loss of one token: -min(r A, clip(r, 1 - low, 1 + high) A), r = exp(new - old log-probability), A the advantage of its
rollout (Shao et al. 2024, DeepSeekMath; separate bounds: DAPO, Yu et al. 2025). Losses are summed over the written
tokens of all kept rollouts and divided by their number. `tests/training` holds this against TRL.

Old log-probabilities: with one epoch and one optimizer step a batch, the policy that is trained is the one that
sampled, so old = new, detached:
r is exactly 1 and its gradient that of the log-probability. With more epochs they are computed once before the first.
They are never those of the sampler: where the sampler is another program (vLLM), its numbers differ from the trainer's,
and the loss is multiplied by min(exp(old - sampled), cap), truncated importance sampling as in TRL and verl.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from training.attention import read_rows
from training.config import LossSettings
from training.head import Head
from training.packing import Packed, Row, lay_out

NEAR = 0.8, 1.25
"""From and to which importance weight trainer and sampler are said to agree on a token."""


@dataclass(frozen=True, slots=True)
class Written:
    """Which log-probabilities are wanted: for each wanted token its row, the column whose output predicts it, and its
    id; all (tokens,)."""

    rows: torch.Tensor
    columns: torch.Tensor
    targets: torch.Tensor

    def to(self, device: torch.device) -> Written:
        """The same on another device."""
        return Written(self.rows.to(device), self.columns.to(device), self.targets.to(device))


class Scorer(nn.Module):
    """A causal language model that gives log-probabilities of chosen tokens: what DeepSpeed wraps.

    The head runs at the columns that predict a written token, never at a prompt's, and `chunk` of them at a time
    (training/head.py). Every pass calls each module of the model once, whatever its tokens.
    """

    def __init__(self, model: nn.Module, temperature: float = 1.0, chunk: int = 1024, learns_entropy: bool = False):
        super().__init__()
        self.model: Any = model
        self.head = Head(self.model.get_output_embeddings(), temperature, chunk, learns_entropy)

    def forward(self, packed: Packed, written: Written) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities and entropies, both (tokens,)."""
        hidden = read_rows(self.model, packed)
        logprobs, entropy = self.head(hidden[written.rows, written.columns], written.targets)
        return logprobs, entropy


def arrange(
    rows: Sequence[Row], sequences: Sequence[tuple[int, ...]], written: Sequence[Sequence[int]]
) -> tuple[Packed, Written, list[int]]:
    """Tensors for `Scorer`. `sequences` are whole, rows hold them without their last token, which nothing has to
    follow.

    `written[n]` are the positions of sequence n that the model wrote. Also gives, for each wanted token, the number of
    its sequence.
    """
    places: list[tuple[int, int, int, int]] = []
    for line, row in enumerate(rows):
        for branch, number in enumerate(row.members):
            places += [
                (line, row.column(branch, place - 1), sequences[number][place], number) for place in written[number]
            ]
    lines, columns, targets, owners = (list(part) for part in zip(*places, strict=True)) if places else ([], [], [], [])
    wanted = Written(*(torch.tensor(part, dtype=torch.long) for part in (lines, columns, targets)))
    return lay_out(rows), wanted, owners


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the loss needs beside the new log-probabilities: one entry for each written token of each kept rollout, all
    (tokens,)."""

    advantages: torch.Tensor
    turns: torch.Tensor
    """Which turn of its rollout wrote it, counted from 0."""
    old: torch.Tensor | None = None
    """Log-probabilities before the first update of this batch; None: the new ones, detached."""
    sampled: torch.Tensor | None = None
    """The sampler's, where it is not the trainer's own model."""
    reference: torch.Tensor | None = None
    """Those of the model that the run began with, for the KL term."""


def token_losses(
    new: torch.Tensor, tokens: Tokens, settings: LossSettings
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss of each token (tokens,), and sums for the metrics: `clipped`, `kl`, and where there is an importance
    correction `weight`, and `weight_near_1`: how many tokens have one of NEAR."""
    old = new.detach() if tokens.old is None else tokens.old
    ratio = (new - old).exp()
    clipped = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    bounded = ratio if settings.ratio_cap is None else ratio.clamp(max=settings.ratio_cap)
    advantages = tokens.advantages
    losses = -torch.min(bounded * advantages, clipped * advantages)
    outside = ((ratio < 1 - settings.clip_low) & (advantages < 0)) | (
        (ratio > 1 + settings.clip_high) & (advantages > 0)
    )
    sums = {"clipped": outside.sum()}
    if tokens.sampled is not None:
        exact = (old - tokens.sampled).exp()
        weight = exact.clamp(max=settings.importance_cap)
        losses = losses * weight
        sums["weight"] = weight.sum()
        sums["weight_near_1"] = ((exact >= NEAR[0]) & (exact <= NEAR[1])).sum()
    if tokens.reference is not None and settings.kl > 0:
        apart = tokens.reference - new
        kl = 0.5 * apart.square() if settings.kl_kind == "mse" else apart.exp() - apart - 1
        losses = losses + settings.kl * kl
        sums["kl"] = kl.detach().sum()
    return losses, sums
