"""Updates on batches in which one rank has written much more than the other, or nothing at all.

    python uneven.py OUT CONFIG [CONFIG]…

makes four updates with each configuration, in this process or in one of several, and writes to OUT their figures and
how long the processes would have waited for each other.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from toy import ToyCodec, toy_work

LENGTHS = (((30, 2), (1,)), ((3,), ()), ((), (9, 9, 25)), ((1,), (40,)))
"""For each update, how many tokens each rollout of the first and of the second rank wrote."""


def samples(number: int, which: int) -> list:  # type: ignore[type-arg]
    """The rollouts of one rank in one update."""
    from toolscale.records import TokenTrace
    from training.batch import Sample

    draws = random.Random(f"{number} {which}")
    made = []
    for place, length in enumerate(LENGTHS[number][which]):
        ids = (2, 3, 4, *(draws.randrange(6) for _ in range(length)))
        written = (False,) * 3 + (True,) * length
        trace = TokenTrace(ids=ids, written=written, logprobs=(0.0,) * len(ids))
        made.append(Sample(trace, draws.uniform(-1, 1), (which, place)))
    return made


def run_uneven(configs: list[Path], out: Path) -> None:
    """Update with each configuration; the first rank writes the figures of all updates."""
    import torch

    from training.batch import make_batch
    from training.config_file import read_config
    from training.engine import Engine
    from training.grpo import Trainer
    from training.processes import rank, world_size

    torch.set_num_threads(1)
    figures = []
    for path in configs:
        config = read_config(path)
        trainer = Trainer(config, toy_work(), ToyCodec(), Engine(config))  # type: ignore[arg-type]
        for number in range(len(LENGTHS)):
            own = [each for which in (0, 1) if which % world_size() == rank() for each in samples(number, which)]
            batch = make_batch(own, config.loss.batch_tokens, 0, correct=False)
            figures.append(trainer.update(batch, number))
    if rank() == 0:
        group = torch.distributed.distributed_c10d._get_default_group()
        patience = group._get_backend(torch.device("cpu")).options._timeout.total_seconds()
        out.write_text(json.dumps({"figures": figures, "patience_s": patience}))


if __name__ == "__main__":
    run_uneven([Path(name) for name in sys.argv[2:]], Path(sys.argv[1]))
