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
from torch.utils.checkpoint import checkpoint

from training.config import LossSettings
from training.packing import Packed, Row, lay_out


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


def token_logprobs(
    logits: torch.Tensor, targets: torch.Tensor, temperature: float, learns_entropy: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each target and entropy of each distribution, in float32; logits (tokens, vocabulary).

    `learns_entropy`: whether the entropy has a gradient, for a bonus on it.
    """
    logits = logits.float() / temperature
    logsumexp = logits.logsumexp(-1)
    logprobs = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - logsumexp
    with torch.set_grad_enabled(learns_entropy and torch.is_grad_enabled()):
        entropy = logsumexp - ((logits - logsumexp.unsqueeze(-1)).exp() * logits).sum(-1)
    return logprobs, entropy


class Scorer(nn.Module):
    """A causal language model that gives log-probabilities of chosen tokens: what DeepSpeed wraps.

    The head runs at the columns that predict a written token, never at a prompt's, and `chunk` of them at a time: with
    151,936 words the logits of 32,768 tokens would be 19 GB. A chunk's logits are made again in the backward pass.
    """

    def __init__(self, model: nn.Module, temperature: float = 1.0, chunk: int = 1024, learns_entropy: bool = False):
        super().__init__()
        self.learns_entropy = learns_entropy
        self.model: Any = model
        self.temperature = temperature
        self.chunk = chunk

    def forward(self, packed: Packed, written: Written) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities and entropies, both (tokens,)."""
        mask = packed.mask()
        positions = None if mask is None else packed.positions  # None: counted from 0, and no look for packed sequences
        hidden = self.model.base_model(
            input_ids=packed.ids, position_ids=positions, attention_mask=mask, use_cache=False
        ).last_hidden_state
        chosen = hidden[written.rows, written.columns]
        parts = [
            self._score(chosen[start : start + self.chunk], written.targets[start : start + self.chunk])
            for start in self._starts(chosen)
        ]
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    def _starts(self, chosen: torch.Tensor) -> range:
        return range(0, max(len(chosen), 1), self.chunk)

    def _score(self, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if not torch.is_grad_enabled() or len(hidden) < self.chunk:
            return self._head(hidden, targets)
        return checkpoint(self._head, hidden, targets, use_reentrant=False)  # type: ignore[no-any-return]

    def _head(self, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return token_logprobs(
            self.model.get_output_embeddings()(hidden), targets, self.temperature, self.learns_entropy
        )


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
    old: torch.Tensor | None = None
    """Log-probabilities before the first update of this batch; None: the new ones, detached."""
    sampled: torch.Tensor | None = None
    """The sampler's, where it is not the trainer's own model."""
    reference: torch.Tensor | None = None
    """Those of the model that the run began with, for the KL term."""


def token_losses(
    new: torch.Tensor, tokens: Tokens, settings: LossSettings
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss of each token (tokens,), and sums for the metrics: `clipped`, `kl`, `weight` (of the importance
    correction, where there is one)."""
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
        weight = (old - tokens.sampled).exp().clamp(max=settings.importance_cap)
        losses = losses * weight
        sums["weight"] = weight.sum()
    if tokens.reference is not None and settings.kl > 0:
        apart = tokens.reference - new
        kl = 0.5 * apart.square() if settings.kl_kind == "mse" else apart.exp() - apart - 1
        losses = losses + settings.kl * kl
        sums["kl"] = kl.detach().sum()
    return losses, sums
