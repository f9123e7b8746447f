"""Rows of tokens that share their beginning: a prompt goes through the model once, however many samples follow it.

A row is a prefix and branches. A token sees the prefix and what stands before it in its own branch, so its
log-probability is that of the sequence `prefix + branch` written out alone; only the last bits of a float differ. Each
token has a position in that sequence and a segment:
0 for the prefix, k for branch k, -1 for padding.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import torch

PADDING, SHARED = -1, 0


@dataclass(frozen=True, slots=True)
class Row:
    """Sequences that begin alike. `members[k]` says which sequence of the caller is `prefix + branches[k]`."""

    prefix: tuple[int, ...]
    branches: tuple[tuple[int, ...], ...]
    members: tuple[int, ...]
    known: int = 0
    """How many tokens at the beginning of the prefix went through the model before. They are not laid out again; the
    last token of the prefix always is."""

    def __len__(self) -> int:
        return len(self.prefix) - self.known + sum(map(len, self.branches))

    def column(self, branch: int, position: int) -> int:
        """Where the token at `position` of the sequence of a branch stands in what is laid out."""
        if position < len(self.prefix):
            return position - self.known
        return position - self.known + sum(map(len, self.branches[:branch]))


@dataclass(frozen=True, slots=True)
class Tree:
    """How a row is laid out: so many columns of its beginning, and then those of each branch."""

    shared: int
    branches: tuple[int, ...]
    known: int = 0
    """Tokens that stand before the row, and are not laid out again."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows as tensors, padded on the right to the longest: `ids`, `positions`, `segments` of shape (rows, length)."""

    ids: torch.Tensor
    positions: torch.Tensor
    segments: torch.Tensor
    trees: tuple[Tree, ...]

    @property
    def branched(self) -> bool:
        """Whether there is a token that does not see all that stand before it in its row."""
        return any(length for tree in self.trees for length in tree.branches)

    def past(self, loaded: int) -> torch.Tensor:
        """Which of the first columns of a cache belong to each row, (rows, loaded)."""
        known = torch.tensor([tree.known for tree in self.trees], device=self.ids.device)
        return torch.arange(loaded, device=self.ids.device) < known.unsqueeze(1)

    def mask(self, loaded: int = 0) -> torch.Tensor:
        """What each token sees, (rows, 1, length, loaded + length), true for seen."""
        of, on = self.segments.unsqueeze(2), self.segments.unsqueeze(1)
        # Padding sees itself and what pads before it: a row of nothing would give NaN.
        seen = ((on == SHARED) | (on == of)).tril()
        past = self.past(loaded).unsqueeze(1).expand(-1, seen.shape[1], -1)
        return torch.cat([past, seen], dim=2).unsqueeze(1)

    def to(self, device: torch.device) -> Packed:
        """The same on another device."""
        return Packed(self.ids.to(device), self.positions.to(device), self.segments.to(device), self.trees)


def common_prefix(sequences: Sequence[tuple[int, ...]]) -> int:
    """How many first tokens all sequences share."""
    first, last = min(sequences), max(sequences)  # what the smallest and the largest share, all between them share
    limit = min(len(first), len(last))
    if first[:limit] == last[:limit]:
        return limit
    return next((place for place in range(limit) if first[place] != last[place]), limit)


def pack_rows(sequences: Sequence[tuple[int, ...]], groups: Sequence[Hashable], branched_limit: int) -> list[Row]:
    """Put the sequences of a group into one row, or each into a row of its own where the row would be longer than
    `branched_limit`.

    The limit bounds the attention mask, which grows with the square of a row. Equal sequences are not merged here:
    training/batch.py does that.
    """
    rows: list[Row] = []
    for members in _gather(groups):
        row = _row(sequences, members)
        rows += (
            [row] if len(row) <= branched_limit else [Row(sequences[number], ((),), (number,)) for number in members]
        )
    return rows


def fill_rows(sequences: Sequence[tuple[int, ...]], groups: Sequence[Hashable], limit: int) -> list[int]:
    """Part groups that are too long for a row: for each sequence the number of a smaller group, whose row has at most
    `limit` tokens, unless it is the only one in it."""
    filled: list[list[int]] = []
    for members in _gather(groups):
        filled.append(members[:1])
        for number in members[1:]:
            if len(_row(sequences, [*filled[-1], number])) <= limit:
                filled[-1].append(number)
            else:
                filled.append([number])
    places = {number: place for place, members in enumerate(sorted(filled)) for number in members}
    return [places[number] for number in range(len(sequences))]


def _gather(groups: Sequence[Hashable]) -> list[list[int]]:
    """The numbers of the members of each group, in the order of its first one."""
    gathered: dict[Hashable, list[int]] = {}
    for number, group in enumerate(groups):
        gathered.setdefault(group, []).append(number)
    return list(gathered.values())


def _row(sequences: Sequence[tuple[int, ...]], members: Sequence[int]) -> Row:
    own = [sequences[number] for number in members]
    shared = common_prefix(own)
    return Row(own[0][:shared], tuple(sequence[shared:] for sequence in own), tuple(members))


def batch_rows(rows: Iterable[Row], tokens: int) -> list[list[Row]]:
    """Rows of similar length together, at most `tokens` with padding in one batch (a longer row goes alone)."""
    batches: list[list[Row]] = []
    for row in sorted(rows, key=len):  # stable: rows of one length keep their order
        if batches and (len(batches[-1]) + 1) * len(row) <= tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def lay_out(rows: Sequence[Row]) -> Packed:
    """The tensors of a batch of rows."""
    length = max(map(len, rows))
    ids, positions, segments = [], [], []
    for row in rows:
        shared, padding = len(row.prefix), length - len(row)
        line, places = list(row.prefix[row.known :]), list(range(row.known, shared))
        parts = [SHARED] * len(line)
        for number, branch in enumerate(row.branches, 1):
            line += branch
            places += range(shared, shared + len(branch))
            parts += [number] * len(branch)
        ids.append(line + [0] * padding)
        positions.append(places + [0] * padding)
        segments.append(parts + [PADDING] * padding)
    trees = tuple(
        Tree(len(row.prefix) - row.known, tuple(len(branch) for branch in row.branches), row.known) for row in rows
    )
    return Packed(torch.tensor(ids), torch.tensor(positions), torch.tensor(segments), trees)
