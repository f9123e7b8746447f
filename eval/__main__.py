"""Evaluate policies on benchmarks, and compare what came of it.

    python -m eval run heldout --data var/datasets/finance --policy trained=var/training/tiny_cpu/model
    python -m eval compare var/eval/heldout/trained var/eval/heldout/untrained

Exit status: 0 done, 1 the answer is no or something may succeed later, 2 bad input.
"""

from __future__ import annotations

import sys

from eval.cli import run_program

if __name__ == "__main__":
    sys.exit(run_program())
