"""Several samples of a task, all of them right."""

from __future__ import annotations

from math import comb

from toolscale.errors import UsageError


def pass_hat_k(samples: int, right: int, k: int) -> float:
    """Return the chance that all of k samples are right: C(c, k) / C(n, k), unbiased. Yao and others, tau-bench, arXiv
    2406.12045. UsageError for fewer than k samples."""
    if not 1 <= k <= samples:
        raise UsageError(f"{k} of {samples} samples cannot be drawn; take {k} samples of each task at least")
    if not 0 <= right <= samples:
        raise UsageError(f"{right} of {samples} samples cannot be right")
    return comb(right, k) / comb(samples, k)
