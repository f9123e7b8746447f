"""What can be said of a mean, a proportion or a difference, and how surely. Sources: [M] Miller, Adding Error Bars to
Evals, arXiv 2411.00640; [B] Bowyer, Aitchison and Ivanova, arXiv 2503.01747."""

from eval.statistics.agreement import Corrected, cohen_kappa, corrected_proportion
from eval.statistics.clusters import Estimate, clustered_error, mean_interval, ratio_interval
from eval.statistics.many import benjamini_hochberg, holm
from eval.statistics.paired import (
    Difference,
    McNemar,
    mcnemar,
    paired_difference,
    ratio_difference,
    share_difference,
    share_moved,
)
from eval.statistics.seeds import seed_interval, seeds_and_tasks
from eval.statistics.sizes import detectable_difference, sample_size, tasks_needed
from eval.statistics.trials import pass_at_k, pass_hat_k
from toolscale.proportions import wilson

__all__ = [
    "Corrected", "Difference", "Estimate", "McNemar", "benjamini_hochberg", "clustered_error",
    "cohen_kappa", "corrected_proportion", "detectable_difference", "holm", "mcnemar", "mean_interval",
    "paired_difference", "pass_at_k", "pass_hat_k", "ratio_difference", "ratio_interval", "sample_size",
    "seed_interval", "seeds_and_tasks", "share_difference", "share_moved", "tasks_needed", "wilson",
]  # fmt: skip
