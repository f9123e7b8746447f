"""The dials of the pipeline: few, named once, each with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

VERSION = "0.2.0"
"""The version of ToolScale, stored in every dataset."""

ALL = "all"
"""What means all domains: an argument, and the config of a dataset with several. No domain is called so."""

DATASET_FOLDERS = frozenset({"environments", "exports", "fixtures", "given", "outcomes", "rejects"})
"""Folders of a dataset beside those of its domains; `rejects` is a config too. No domain is called so."""

RUN_FOLDERS = frozenset({"dataset", "published"})
"""Folders of a run of the scheduler beside those of its domains. No domain is called so."""

GRADING_VERSION = 11
"""The number goes up when the same rollout or candidate may be judged differently than before: scores of different
versions cannot be compared."""

SKELETON_LIMIT = 3
"""At most this many tasks may have the same phrase skeleton (the request with its facts masked) and also call the same
tools."""

SHARED_RUN_WORDS = 12
"""No two requests may have this many words in a row in common; their facts do not count."""

BENCHMARK_GRAM_WORDS = 8
"""A request that has this many words in a row in common with a text of a benchmark is not trained on."""

STREAM_CANDIDATES = 12
"""Candidates of each stream that `toolscale admit` judges."""

STREAM_DRAWS = 40
"""Numbers of a stream that are drawn in search of candidates: not every number has rows that fit it."""

ADMITTED = Path("var/datasets/.admitted")
"""Where admissions are kept, and what was found of each tool: also where `toolscale synthesize` keeps them unless told
otherwise."""

EXPORTS = {
    "trl-sft": "TRL, `SFTTrainer`, and whatever learns from OpenAI messages",
    "trl-grpo": "TRL, `GRPOTrainer`",
    "verl-agent": "verl",
    "verifiers": "verifiers and the Environments Hub",
    "openenv": "OpenEnv",
    "nemo-gym": "NeMo Gym",
    "inspect": "Inspect AI",
    "tau2-domain": "tau2-bench",
    "harbor": "Harbor, and what reads its task folders",
}
"""The formats of `toolscale export`, and for which programs they are: what the card of a dataset says."""

Audit = Literal["sample", "all"]
"""Which candidates the second engine replays."""

AUDIT_SHARE: dict[Audit, float] = {"sample": 0.05, "all": 1.0}
"""The share that it replays."""

TALKED_SHARE = {"plain": 0.35, "evolved": 0.12, "turned": 0.35}
"""Kind of stream -> the share of its candidates in a mixed dataset that are drawn as dialogues: the person tells part
of what is needed only when asked, or comes back with another matter. Something evolves in each dialogue, and in few
requests that are said at once: of the tasks about four in ten are dialogues."""

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

FIXTURE_TASKS = 20
"""Tasks of each domain that a dataset has solutions of known score for, unless told otherwise: three domains then prove
a grader on sixty tasks, and add a few hundred KB each."""

ROWS_PER_FILE = 5_000
"""Rows of one Parquet file."""

TEST_SHARE = 5
"""One intent in so many belongs to the test split."""

POPULATION_SEED = 0
"""The database of an environment is always populated from this seed: the seed of a dataset picks the cases, not the
world."""

SELFTEST_REJECTED = 0.99
"""The judge must reject at least this share of all planted defects. It may miss one in a hundred, since by chance
almost nothing of a defect may be left to see."""

SELFTEST_KIND = 0.90
"""The same for every single kind: a gate that is lost shows in the one kind that only it rejects, however small its
share of the whole."""

SELFTEST_GOOD = 0.01
"""At most this share of the good candidates of the same draw may be rejected for a wrong reason. Without this bound a
judge that rejects everything would pass."""

LEAST_ACCEPTED = 0.65
"""The share of candidates that are right; those that only repeat another are not counted. finance: 85 %, and 77 % of as
few as 26. Where a third of them are wrong, an intent or the judge no longer does what it did, whatever the rest looks
like."""

LEAST_FOUND = 0.95
"""At least this share of the tasks asked for must be found. Below it the domain has run dry, and the intents that have
not run dry have too many of the tasks."""

LEAST_KILL_RATE = 0.99
"""The share of wrong trajectories that the verifier tells from right ones. A survivor is never in a dataset, but many
mean that the verifier does not see what matters. finance: all but two of nine thousand. With two dozen trajectories
tried for each candidate, the bound is still met if one candidate in five has a survivor."""

MOST_NAMED = 3
"""A dataset of more domains than these is called by their number, not by their names."""

MOST_DUPLICATES = 0
"""Tasks that repeat another: the same request, or the same calls, row changes and facts. The gate `novel` lets none
pass, so a dataset that has one was not made through that gate."""

MOST_SAME_CHANGES = 0
"""Tasks that change rows just as an earlier one does and tell the same, by whatever calls. The gate `novel` lets none
pass."""

LEAST_KILLED = 5
"""At least this many wrong trajectories were caught in every single task. The judge asks for as many, so a row with
fewer did not come from it."""

SELF_BLEU_TEXTS = 50
"""Requests of which self-BLEU is taken: as many as the airline domain of τ²-bench has. It rises with their number, so
fewer are not held against the bound."""

SELF_BLEU_DRAWS = 5
"""Draws of that many, of which the median is taken: single draws of finance differ by 0.05."""

MOST_SELF_BLEU = 0.576
"""Self-BLEU-4 of fifty requests, at most. It is what was measured for the whole instructions of τ²-bench's airline
domain, which people wrote: a dataset may not repeat itself more than that."""

VENDI_TEXTS = 400
"""Requests of which the Vendi score is taken. It rises with their number, too."""

VENDI_FEW = 50
"""Requests of which it is taken once more, to compare with what has no more of them."""

NEAR_TEXTS = 4_000
"""Requests that are compared with each other: eight million pairs in a second or two."""

NEAR_COSINE = 0.9
"""Two requests whose embeddings have a higher cosine say nearly the same in nearly the same words. In ten pairs of
paraphrases made by hand the highest is 0.67."""

MOST_NEAR_DUPLICATES = 0.01
"""The share of requests that are nearly the same as an earlier one."""

LONGEST_MEASURED = 4_000
"""Characters of a text that figures of variety look at; the longest request of finance has 588. Without a bound one
text of a dataset from outside could take hours."""
