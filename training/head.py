"""The output embedding at the columns that are wanted: log-probabilities and entropies without logits of all of them at
once.

With 151,936 words the logits of 32,768 tokens would be 19 GB, so they are made for `chunk` tokens at a time, and made
again in the backward pass. All chunks belong to one call of one module: under ZeRO-3 a call gathers its parameters,
forward and backward, and ranks whose rollouts wrote more would otherwise gather more often than the others, and wait
for them for ever.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import linear


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


class Head(nn.Module):
    """Scores hidden states with the output embedding of a model."""

    def __init__(self, output: nn.Linear, temperature: float, chunk: int, learns_entropy: bool):
        super().__init__()
        self._output = (output,)  # in a tuple: its parameters are the model's, and are not counted twice
        self.temperature = temperature
        self.chunk = chunk
        self.learns_entropy = learns_entropy

    def borrowed(self) -> list[nn.Parameter]:
        """The parameters of the model that a call needs, for whoever keeps them in parts."""
        return list(self._output[0].parameters())

    def forward(self, hidden: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities of the targets and entropies, both (tokens,); hidden (tokens, width), targets (tokens,)."""
        [output] = self._output
        if len(hidden) <= self.chunk:
            logits = linear(hidden, output.weight, output.bias)
            return token_logprobs(logits, targets, self.temperature, self.learns_entropy)
        options = (self.temperature, self.chunk, self.learns_entropy)
        logprobs, entropy = _Chunked.apply(hidden, output.weight, output.bias, targets, *options)
        return logprobs, entropy


class _Chunked(torch.autograd.Function):
    """`token_logprobs` of all chunks, with the gradient written out.

    z: logits / temperature, p: softmax(z), m: sum of p z. Then the log-probability of target t has the gradient
    [j = t] - p_j with respect to z_j, and the entropy has -p_j (z_j - m).
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        targets: torch.Tensor,
        temperature: float,
        chunk: int,
        learns_entropy: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        # The parameters themselves are kept, not what was gathered of them: that is gone until the backward pass.
        ctx.save_for_backward(hidden, weight, bias, targets)
        ctx.options = temperature, chunk, learns_entropy
        parts = [
            token_logprobs(linear(states, weight, bias), wanted, temperature)
            for states, wanted in zip(hidden.split(chunk), targets.split(chunk), strict=True)
        ]
        logprobs, entropy = (torch.cat(part) for part in zip(*parts, strict=True))
        if not learns_entropy:
            ctx.mark_non_differentiable(entropy)
        return logprobs, entropy

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        hidden, weight, bias, targets = ctx.saved_tensors
        temperature, chunk, learns_entropy = ctx.options
        # Sums over many chunks, in float32: in bfloat16 the later ones would be rounded away.
        of_weight = torch.zeros(weight.shape, dtype=torch.float32, device=hidden.device)
        of_bias = None if bias is None else torch.zeros(bias.shape, dtype=torch.float32, device=hidden.device)
        of_hidden = torch.empty_like(hidden)
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            scaled = linear(hidden[part], weight, bias).float() / temperature
            logprobs = scaled - scaled.logsumexp(-1, keepdim=True)
            chances = logprobs.exp()
            of_logprob = grads[0][part].float().unsqueeze(-1)
            slope = -of_logprob * chances
            slope.scatter_add_(-1, targets[part].unsqueeze(-1), of_logprob)
            if learns_entropy:
                mean = (chances * scaled).sum(-1, keepdim=True)
                slope -= grads[1][part].float().unsqueeze(-1) * chances * (scaled - mean)
            slope = (slope / temperature).to(hidden.dtype)
            of_hidden[part] = slope @ weight
            of_weight += slope.T @ hidden[part]
            if of_bias is not None:
                of_bias += slope.sum(0)
        return (
            of_hidden,
            of_weight.to(weight.dtype),
            None if of_bias is None or bias is None else of_bias.to(bias.dtype),
            *(None,) * 4,
        )
