"""A run of GRPO that tells, before each of its updates, how far trainer and server are apart.

    python measured.py CONFIG OUT        one line of JSON for each step in OUT/weights.jsonl

`weight` of a token is exp(trainer's - server's log-probability): what the loss is multiplied by (training/loss.py).
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import torch

from training import grpo
from training.batch import Batch, MicroBatch
from training.config_file import read_config
from training.loss import NEAR

PLACES = (0, 1, 8, 32)
"""Where the parts of a turn begin that are told apart: its first token, the next seven, and so on."""


class Measured(grpo.Trainer):
    """Writes what the weights are before each update."""

    def update(self, batch: Batch, number: int) -> dict[str, float]:
        self.engine.model.train()
        parts = [part.to(self.engine.device) for part in batch.parts]
        apart = torch.cat([self.logprobs(part) - part.tokens.sampled for part in parts])
        turns = torch.cat([part.tokens.turns for part in parts])
        places = torch.tensor([place for part in parts for place in places_of(part)])
        assert self.out is not None
        found = {
            "step": number,
            **told(apart),
            "turns": {int(turn): told(apart[turns == turn]) for turn in turns.unique()},
            "places": {
                first: told(apart[(places >= first) & (places < last)])
                for first, last in zip(PLACES, (*PLACES[1:], 10**6), strict=True)
            },
        }
        with (self.out / "weights.jsonl").open("a") as file:
            file.write(json.dumps(found) + "\n")
        return super().update(batch, number)


def places_of(part: MicroBatch) -> list[int]:
    """The place of each token in its turn."""
    places: list[int] = []
    spread, turns = part.spread.tolist(), part.tokens.turns.tolist()
    for number, turn in enumerate(turns):
        goes_on = number and turn == turns[number - 1] and spread[number] == spread[number - 1] + 1
        places.append(places[-1] + 1 if goes_on else 0)
    return places


def told(apart: torch.Tensor) -> dict[str, Any]:
    """The figures of some tokens."""
    if not len(apart):
        return {"tokens": 0}
    weights = apart.exp()
    near = (weights >= NEAR[0]) & (weights <= NEAR[1])
    return {
        "tokens": len(apart),
        "mean": round(weights.mean().item(), 4),
        "near": round(near.float().mean().item(), 4),
        "least": round(weights.min().item(), 3),
        "most": round(weights.max().item(), 3),
        "apart": round(apart.abs().mean().item(), 4),
    }


if __name__ == "__main__":
    asyncio.run(grpo.run(read_config(Path(sys.argv[1])), Path(sys.argv[2]), make=Measured))
