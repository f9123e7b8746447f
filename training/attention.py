"""Attention over rows whose branches share their beginning (training/packing.py), without a mask over the whole row.

The beginning attends to itself, and each branch to the beginning and to itself: all that there is to see. With a mask,
every branch is multiplied with every other one too, and the mask itself grows with the square of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.functional import pad
from transformers import AttentionInterface, Cache
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from toolscale.errors import TrainingError
from training.packing import Packed, Tree

BRANCHED = "branched"
"""The name under which transformers knows it: `attn_implementation`."""


class Trees:
    """The trees of a batch of rows. `loaded`: columns of the cache that stand before them, of which a tree knows its
    first `known`."""

    def __init__(self, trees: Sequence[Tree], loaded: int = 0):
        self.trees, self.loaded = tuple(trees), loaded
        self.seen = False
        """Whether a layer has asked: a model that hands no such argument on to its attention would see everything."""
        self._masks: dict[tuple[int, int], torch.Tensor] = {}

    def mask(self, queries: int, keys: int, device: torch.device) -> torch.Tensor | None:
        """What queries see that are the last of so many keys, (1, 1, queries, keys); None: what causal attention
        says."""
        if queries in (1, keys):
            return None
        if (queries, keys) not in self._masks:
            whole = torch.ones(queries, keys, dtype=torch.bool, device=device)
            self._masks[queries, keys] = whole.tril(keys - queries)[None, None]
        return self._masks[queries, keys]


def branched_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    trees: Trees | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """The `sdpa` of transformers, part by part where there are trees. query: (rows, heads, columns, width), key and
    value: (rows, heads, loaded + columns, width); gives (rows, columns, heads, width), 0 where padding is."""
    if trees is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    trees.seen = True
    columns = query.shape[2]
    lines = []
    for line, tree in enumerate(trees.trees):
        parts = []
        for own, *before in _parts(tree, trees.loaded):
            spans = [*before, slice(own.start + trees.loaded, own.stop + trees.loaded)]
            seen = [torch.cat([states[line : line + 1, :, span] for span in spans], dim=2) for states in (key, value)]
            part = query[line : line + 1, :, own]
            mask = trees.mask(part.shape[2], seen[0].shape[2], part.device)
            parts.append(sdpa_attention_forward(module, part, *seen, mask, **options)[0])
        found = torch.cat(parts, dim=1)
        lines.append(pad(found, (0, 0, 0, 0, 0, columns - found.shape[1])))
    return torch.cat(lines), None


def _parts(tree: Tree, loaded: int) -> list[list[slice]]:
    """The columns of each part that attends alone, and before them those of the cache that it sees besides."""
    known = [slice(0, tree.known)] if tree.known else []
    parts = [[slice(0, tree.shared), *known]] if tree.shared else []
    start = tree.shared
    for length in filter(None, tree.branches):
        parts.append([slice(start, start + length), *known, slice(loaded, loaded + tree.shared)])
        start += length
    return parts


def read_rows(model: Any, packed: Packed, cache: Cache | None = None, loaded: int = 0) -> torch.Tensor:
    """The last hidden states (rows, columns, width) of a causal language model of transformers. `cache`: what the rows
    go on from, in its first `loaded` columns, and where they are kept. TrainingError if the model cannot read them."""
    seen, trees = {}, None
    # Of plain rows positions are counted from 0, and nobody looks for packed sequences.
    if packed.branched or loaded:
        seen["position_ids"] = packed.positions
        if model.config._attn_implementation == BRANCHED:
            seen["trees"] = trees = Trees(packed.trees, loaded)
        else:
            seen["attention_mask"] = packed.mask(loaded)
    output = model.base_model(input_ids=packed.ids, past_key_values=cache, use_cache=cache is not None, **seen)
    if trees is not None and not trees.seen:
        raise TrainingError(
            f"{type(model).__name__} tells its attention nothing of shared beginnings; set model.attention to eager"
        )
    states: torch.Tensor = output.last_hidden_state
    return states


AttentionInterface.register(BRANCHED, branched_attention)
