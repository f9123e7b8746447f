"""The dials of the pipeline: few, named once, each with its reason."""

from __future__ import annotations

from typing import Literal

VERSION = "0.1.0"
"""The version of ToolScale, stored in every dataset."""

GRADING_VERSION = 3
"""Raised when the same rollout or the same candidate may be judged otherwise: scores of one version are not comparable
with those of another."""

SKELETON_LIMIT = 3
"""So many tasks at most may share a phrase skeleton (the request with its facts masked) and the names of its calls."""

SHARED_RUN_WORDS = 12
"""No two requests share a run of so many words outside their facts."""

BENCHMARK_GRAM_WORDS = 8
"""A request that shares so many words in a row with a text of a benchmark is not trained on."""

Audit = Literal["sample", "all"]
"""Which candidates the second engine replays."""

AUDIT_SHARE: dict[Audit, float] = {"sample": 0.05, "all": 1.0}
"""The share that it replays."""

EVOLVED_SHARE = 2 / 3
"""The share of tasks that are evolved: plain ones teach the single tools, evolved ones teach to keep several matters
apart."""

REFUSAL_SHARE = 0.08
"""The share of tasks in which nothing is done as asked: refusals and hand-overs. Compositions that end in a hand-over
add one or two in a hundred."""

OVERSAMPLE = 1.6
"""Candidates that the first block draws for each task that is wanted."""

MIN_ROUND = 12
"""Candidates at least that a later block draws for each stream that is still short; one that yields nothing in a whole
such block is dry."""

MAX_ROUNDS = 12
"""Blocks after which what is there is taken."""

UNIT_NUMBERS = 32
"""Candidates judged between two writes to disk: what a crash costs at most, for each worker."""

SHARD_NUMBERS = 2_048
"""Candidates that one mapped task of a scheduler judges at most: about 40 s of work, beside 4 s to start."""

MIN_SHARDS = 4
"""Shards into which a scheduler divides a round at least, so that a small run uses several cores too; each has at least
two units."""

ROWS_PER_FILE = 5_000
"""Rows of one Parquet file."""

TEST_SHARE = 5
"""One intent in so many belongs to the test split."""

POPULATION_SEED = 0
"""The database of an environment is always populated from this seed: the seed of a dataset picks the cases, not the
world."""

SELFTEST_REJECTED = 0.99
"""The share of all planted defects that the judge must reject: a hundredth may hide where chance leaves next to nothing
of a defect."""

SELFTEST_KIND = 0.90
"""The same for every single kind: a gate that is lost shows in the one kind that only it rejects, however small its
share of the whole."""

SELFTEST_GOOD = 0.01
"""The share of good candidates of the same draw that may be rejected for a wrong reason: a judge that rejects
everything finds every defect."""

LEAST_ACCEPTED = 0.5
"""The share of candidates that are right; those that only repeat another are not counted. finance: 85 %, and 77 % of as
few as 26. Where half of them are wrong, an intent or the judge no longer does what it did, whatever the other half
looks like."""

LEAST_FOUND = 0.95
"""The share of the tasks asked for: below it the domain has run dry, and what is there is skewed towards the intents
that have not."""

LEAST_KILL_RATE = 0.99
"""The share of wrong trajectories that the verifier tells from right ones. A survivor is never in a dataset, but many
mean that the verifier does not see what matters. finance: all but two of nine thousand. With two dozen tried a
candidate, the bound is met when one candidate in five has one."""

MOST_DUPLICATES = 0
"""Tasks that say, or do and tell, the same as another. The gate `novel` lets none pass: one that is there came in past
it."""

LEAST_KILLED = 5
"""Wrong trajectories that were caught in every single task: so many the judge asks for, and a row with fewer did not
come from it."""
