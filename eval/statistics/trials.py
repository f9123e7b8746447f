"""Several samples of a task: one right among k, or all of k."""

from __future__ import annotations

from math import comb

from toolscale.errors import UsageError


def pass_at_k(samples: int, right: int, k: int) -> float:
    """Return the chance that at least one of k samples is right: 1 - C(n-c, k) / C(n, k), unbiased. Chen and others,
    Evaluating Large Language Models Trained on Code, arXiv 2107.03374. UsageError for fewer than k samples."""
    _check(samples, right, k)
    return 1.0 - comb(samples - right, k) / comb(samples, k)


def pass_hat_k(samples: int, right: int, k: int) -> float:
    """Return the chance that all of k samples are right: C(c, k) / C(n, k), unbiased. Yao and others, tau-bench, arXiv
    2406.12045. UsageError for fewer than k samples."""
    _check(samples, right, k)
    return comb(right, k) / comb(samples, k)


def _check(samples: int, right: int, k: int) -> None:
    if not 1 <= k <= samples:
        raise UsageError(f"{k} of {samples} samples cannot be drawn; take {k} samples of each task at least")
    if not 0 <= right <= samples:
        raise UsageError(f"{right} of {samples} samples cannot be right")
