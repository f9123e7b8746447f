"""What one optimizer step is made from: the kept rollouts as unique sequences, cut into micro-batches of rows that
share prompts.

Rollouts of a group that wrote the same go through the model once; their log-probability is used for each of them, so
the loss is that of all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch

from toolscale.records import TokenTrace
from training.loss import Tokens, Written, arrange
from training.packing import Packed, Row, Tree, batch_rows, pack_rows


@dataclass(frozen=True, slots=True)
class Sample:
    """One kept rollout: its tokens, what it was worth, and which others begin alike."""

    trace: TokenTrace
    advantage: float
    group: Hashable


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One forward and backward pass."""

    packed: Packed
    wanted: Written
    spread: torch.Tensor
    """For each written token of each sample, which of the wanted log-probabilities is its own: (tokens,)."""
    tokens: Tokens
    """One entry for each of `spread`."""

    def to(self, device: torch.device) -> MicroBatch:
        """The same on another device."""
        sampled = None if self.tokens.sampled is None else self.tokens.sampled.to(device)
        tokens = Tokens(self.tokens.advantages.to(device), self.tokens.turns.to(device), sampled=sampled)
        return MicroBatch(self.packed.to(device), self.wanted.to(device), self.spread.to(device), tokens)


@dataclass(frozen=True, slots=True)
class Batch:
    """All micro-batches of a rank, and how many written tokens they train on, each sample counted."""

    parts: list[MicroBatch]
    tokens: int


def make_batch(samples: Sequence[Sample], budget: int, branched: int, correct: bool) -> Batch:
    """Make micro-batches of at most `budget` tokens. `correct`: keep the sampler's log-probabilities, to weigh what
    another program sampled."""
    numbers: dict[tuple[Hashable, tuple[int, ...], tuple[bool, ...]], int] = {}
    owners: dict[int, list[Sample]] = {}
    for sample in samples:
        if any(sample.trace.written):
            # Nothing is learned from what came after.
            end = max(place for place, own in enumerate(sample.trace.written) if own) + 1
            number = numbers.setdefault(
                (sample.group, sample.trace.ids[:end], sample.trace.written[:end]), len(numbers)
            )
            owners.setdefault(number, []).append(sample)
    sequences = [ids for _, ids, _ in numbers]
    written = [[place for place, own in enumerate(mine) if own] for _, _, mine in numbers]
    rows = pack_rows([ids[:-1] for ids in sequences], [group for group, _, _ in numbers], branched)
    parts = [_micro_batch(batch, sequences, written, owners, correct) for batch in batch_rows(rows, budget)]
    return Batch(parts, sum(len(part.spread) for part in parts))


def _micro_batch(
    rows: list[Row],
    sequences: list[tuple[int, ...]],
    written: list[list[int]],
    owners: dict[int, list[Sample]],
    correct: bool,
) -> MicroBatch:
    packed, wanted, order = arrange(rows, sequences, written)
    spread, advantages, turns, sampled = list[int](), list[float](), list[int](), list[float]()
    start = 0
    while start < len(order):  # the tokens of one sequence stand together
        number = order[start]
        own, own_turns = written[number], turns_of(written[number])
        for sample in owners[number]:
            spread += range(start, start + len(own))
            advantages += [sample.advantage] * len(own)
            turns += own_turns
            if correct:
                sampled += [sample.trace.logprobs[place] for place in own]
        start += len(own)
    weighed = torch.tensor(sampled) if correct else None
    tokens = Tokens(torch.tensor(advantages), torch.tensor(turns), sampled=weighed)
    return MicroBatch(packed, wanted, torch.tensor(spread), tokens)


def turns_of(places: Sequence[int]) -> list[int]:
    """The turn of each written token, counted from 0: something that the model did not write stands between two."""
    turns = [0] * len(places)
    for number in range(1, len(places)):
        turns[number] = turns[number - 1] + (places[number] > places[number - 1] + 1)
    return turns


def empty_micro_batch(correct: bool = False) -> MicroBatch:
    """Return what a rank runs when it has no micro-batch left but other ranks have: the same passes through the model
    and the same figures, with a loss of 0."""
    index = torch.zeros(0, dtype=torch.long)
    packed = Packed(
        torch.zeros(1, 2, dtype=torch.long), torch.tensor([[0, 1]]), torch.zeros(1, 2, dtype=torch.long), (Tree(2, ()),)
    )
    one = torch.zeros(1, dtype=torch.long)
    tokens = Tokens(torch.zeros(0), index, sampled=torch.zeros(0) if correct else None)
    return MicroBatch(packed, Written(one, one, one), index, tokens)
