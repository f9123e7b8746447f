"""What the process of a judge spares the garbage collector."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import gc

import duckdb  # it complains at the end of objects that nobody freed
from toolscale.dataset.making.judging import COLLECTED_AT, spare_collector
from toolscale.environment.world import World
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate

environment = load_environment("mock")
world = World(environment, populate(environment), "duckdb")
world.itself = world  # only the collector can free it
spare_collector()
print(gc.get_freeze_count() > 10_000, gc.get_threshold()[0] == COLLECTED_AT)
"""


def test_what_is_loaded_is_left_alone_until_the_process_ends() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True True\n", "")
