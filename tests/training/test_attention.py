"""Attention over rows that share a beginning: what a mask over the whole row gives, with and without a cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_qwen import make_model
from transformers import AutoModelForCausalLM, BloomConfig
from transformers.cache_utils import DynamicLayer

from toolscale.errors import TrainingError
from training.attention import BRANCHED, read_rows
from training.generation import RoomyLayer, roomy_cache
from training.packing import Row, lay_out

ROWS = [
    Row((1, 2, 3, 4), ((5,), (6, 7, 8)), (0, 1)),
    Row((9,), ((),), (2,)),
    Row((), ((3, 2), (4,), (1, 1, 1)), (3, 4, 5)),
]


def load(folder: Path, attention: str) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation=attention).eval()


@torch.no_grad()
@pytest.mark.parametrize("checkpointing", [False, True])
def test_parts_give_what_a_mask_over_the_row_gives(tmp_path: Path, checkpointing: bool) -> None:
    folder, packed = make_model(tmp_path), lay_out(ROWS)
    masked, parts = load(folder, "sdpa"), load(folder, BRANCHED)
    if checkpointing:
        parts.train().activation_checkpointing_enable({"use_reentrant": False})
    there = packed.segments >= 0
    torch.testing.assert_close(read_rows(parts, packed)[there], read_rows(masked, packed)[there])


@torch.no_grad()
def test_rows_that_go_on_from_a_cache_see_what_is_theirs_of_it(tmp_path: Path) -> None:
    folder = make_model(tmp_path)
    begun = lay_out([Row((1, 2, 3), ((),), (0,)), Row((4,), ((),), (1,))])
    rows = lay_out([Row((1, 2, 3, 5), ((6,), (7, 8)), (0, 1), known=3), Row((4, 9, 9), ((),), (2,), known=1)])
    found = []
    for model in (load(folder, "sdpa"), load(folder, BRANCHED)):
        cache = roomy_cache(model.config)
        read_rows(model, begun, cache)
        found.append(read_rows(model, rows, cache, loaded=3)[rows.segments >= 0])
    whole = lay_out([Row((1, 2, 3, 5), ((6,), (7, 8)), (0, 1)), Row((4, 9, 9), ((),), (2,))])
    states = read_rows(load(folder, BRANCHED), whole)
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[1], torch.cat([states[0, 3:7], states[1, 1:3]]))


def test_a_model_that_cannot_be_told_is_refused() -> None:
    model = AutoModelForCausalLM.from_config(BloomConfig(vocab_size=20, hidden_size=8, n_layer=1, n_head=2))
    model.config._attn_implementation = BRANCHED
    with pytest.raises(TrainingError, match="BloomForCausalLM tells its attention nothing of shared beginnings; set"):
        read_rows(model, lay_out(ROWS))


def test_a_layer_with_room_holds_what_one_without_holds() -> None:
    roomy, plain = RoomyLayer(), DynamicLayer()
    for tokens in (5, 1, 1, 200, 1):
        states = torch.randn(2, 3, 2, tokens, 4)
        for ours, theirs in zip(roomy.update(*states), plain.update(*states), strict=True):
            assert torch.equal(ours, theirs)
    assert roomy.get_seq_length() == 208
