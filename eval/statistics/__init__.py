"""What can be said of a mean, a proportion or a difference, and how surely. Sources: [M] Miller, Adding Error Bars to
Evals, arXiv 2411.00640; [B] Bowyer, Aitchison and Ivanova, arXiv 2503.01747."""

from eval.statistics.clusters import Estimate, clustered_error, mean_interval, ratio_interval
from eval.statistics.paired import (
    Difference,
    McNemar,
    mcnemar,
    paired_difference,
    ratio_difference,
    share_difference,
    share_moved,
)
from eval.statistics.sizes import tasks_needed
from eval.statistics.trials import pass_hat_k
from toolscale.proportions import wilson

__all__ = [
    "Difference", "Estimate", "McNemar", "clustered_error", "mcnemar", "mean_interval", "paired_difference",
    "pass_hat_k", "ratio_difference", "ratio_interval", "share_difference", "share_moved",
    "tasks_needed", "wilson",
]  # fmt: skip
