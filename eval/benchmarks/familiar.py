"""The training split of a dataset that was not trained on: intents that are known, in other cases and other words."""

from __future__ import annotations

from eval.benchmark import About, Opened
from eval.benchmarks import heldout
from eval.records import Settings
from toolscale.errors import UsageError

ABOUT = About(
    title="Environment tasks of the training split of a dataset made with another seed: known intents, other cases",
    size="as many as the datasets have in their training splits",
    licence="that of the datasets",
    data="toolscale synthesize DOMAIN --seed N with a seed that was not trained on; then --data FOLDER",
    judged_by=heldout.ABOUT.judged_by,
)


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open the training splits. That nobody was trained on them is for the caller to see to."""
    if not settings.data:
        raise UsageError("familiar needs a dataset: --data FOLDER, made with a seed that was not trained on")
    return heldout.open_split(ABOUT, "train", settings, tasks)
