"""Training of orchestrators: GRPO on a DeepSpeed engine. This package imports `toolscale`, and is never imported by
it."""

import os

# Before torch is loaded. By default a thread that waits for others spins: two programs with two threads each, on two
# cores, then take twenty times as long as one of them. On a machine that has nothing else to do, a step of the tiny
# model takes the same.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
