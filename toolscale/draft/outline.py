"""The steps in which a model drafts the files of a domain: each is admitted before the next begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PROMPTS_VERSION = 5
"""Of the texts in `prompts/` and below: it goes up when a model is asked otherwise than before."""


@dataclass(frozen=True, slots=True)
class Step:
    """Some files that are written together."""

    name: str
    files: tuple[str, ...]
    """What is asked for."""
    shown: tuple[str, ...]
    """Files of earlier steps that are shown in short."""
    task: str
    pages: tuple[str, ...]
    """Parts of the page for authors that are shown."""
    whole: tuple[str, ...] = ()
    """Of `shown`, those that are shown whole."""
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """File -> the sections that this step writes of it, where it does not write it whole."""
    mended: tuple[str, ...] = ()
    """Files of earlier steps that may change too where the checks find something."""
    kinds: tuple[str, ...] = ()
    """The kinds of wishes that are told; none given: all."""
    tells_tables: bool = False
    """Whether the tables are told as the brief has them."""
    tells_rules: bool = True
    """Whether the rules are."""
    max_tokens: int = 12_000


STEPS = (
    Step(
        "schema",
        ("schema.yaml",),
        (),
        """
Write `schema.yaml` whole: the tables above, in this order, with their columns (parents before children). Money is
type `cents` and ends in `_cents`; dates end in `_on`, moments in `_at`. States are `values`. Give a table 4 to 12
columns, no more than the rules and wishes need; where people speak of a row by its parent's name, copy that name into
it. Keep `full_name` and `date_of_birth` of the person. `check` is for what can never be (an amount below zero), not for
limits of the policy: the tools let through what only the policy forbids.
""",
        pages=("Columns and names",),
        tells_tables=True,
    ),
    Step(
        "population",
        ("population.yaml",),
        ("schema.yaml",),
        """
Write `population.yaml` whole: about 60 persons with 2 to 5 of each thing that belongs to them, and as much of the
catalogue as the trade has. Names and amounts must be believable and differ between rows of one person, so that people
can say which they mean. Plant the rare rows that the rules and wishes need (overdue, over a limit, two of a kind): a
refusal needs some dozen rows that break its rule, and what is allowed needs some dozen that keep it. Values that depend
on each other use `by`, `from`, `after`.
""",
        pages=("SQL", "Words of rows"),
        whole=("schema.yaml",),
    ),
    Step(
        "words",
        ("language.yaml",),
        ("schema.yaml", "population.yaml"),
        """
Write `language.yaml` whole: `base: english` and `speaker: {person}`, and then `describe` for the person (`identity`)
and for each thing that people speak of: two or three ways in which a person says which one is meant (by its name, its
kind, its date, its amount), each of which fits exactly one row of that person in most cases: a kind that repeats goes
with a date or an amount. Describe what stands in the catalogue by its name: a look-up finds it by that. `adjectives`
for the states, `nouns` for the tables. Without `acts` and `enum_cues`: there are no tools yet.
""",
        pages=("Look-ups, and how one is chosen", "Requests", "Words of rows"),
        sections={
            "language.yaml": ("base", "speaker", "describe", "superlatives", "adjectives", "plurals", "nouns", "totals")
        },
    ),
    Step(
        "tools",
        ("toolset.yaml", "language.yaml"),
        ("schema.yaml",),
        """
Write `toolset.yaml` whole, with `lookups: auto` (it gives the look-ups above; do not write these) and 8 to 14 tools
that change something, compute what no look-up shows, or find by a name what no look-up above finds. Every tool checks
what a program must check whatever the policy says: that the row exists, and is in a state in which the deed makes
sense. What the policy forbids is not checked by the tool. A tool returns the row that it changed, and every figure that
a person would ask for afterwards. What reads rows has no LIMIT: it gives all that fit. In `language.yaml` write `acts`
for each tool that changes something, and nothing else.
""",
        pages=("SQL", "Columns and names"),
        whole=("schema.yaml",),
        sections={"language.yaml": ("acts",)},
        mended=("population.yaml",),
    ),
    Step(
        "policy",
        ("policy.md", "rules.yaml"),
        ("schema.yaml", "toolset.yaml"),
        """
Write `policy.md` (what the assistant must obey, in plain sentences with all figures, 30 lines or fewer) and
`rules.yaml`: the constants, a rule for each thing that the policy forbids or hands over (with `guards`, `reads`,
`breaks`, `tell`, and `case: auto` where all reads are look-ups), and two or more invariants of the data. `reads`
calls the look-ups and tools that are listed here, by their names, and has no LIMIT; a read that gives rows is a
relation of its name, one that gives one row has its columns. `tell` has the limit, the date or the state that decided.
Each rule can be broken, by some row or by some argument, and kept; where the checks find no row that does, plant some.
Leave `lifts` out: it quotes conditions of intents, which come later.
""",
        pages=("SQL", "Expressions in intents and rules", "Rules"),
        mended=("population.yaml",),
        kinds=("refuse", "transfer"),
    ),
)
"""All but the intents, which come in parts."""

INTENTS = Step(
    "intents",
    ("intents.yaml", "language.yaml"),
    ("schema.yaml", "toolset.yaml", "rules.yaml", "policy.md", "language.yaml"),
    """
Write in `intents.yaml` an intent for each of the wishes of this part, under its id. Each has five `requests` that
differ in their words and order, with alternatives in brackets and {{more}} where another sentence may stand. Half of
those that change something ask nothing afterwards (no `tell`); the others ask for one or two things that this person
would want to know. A question ends with a question mark. `object` names the role that the request is about. A wish that
cannot be said with these tools is left out. In `language.yaml` write only what these intents need besides: `enum_cues`
for literals in arguments, more ways in `describe`.
""",
    pages=(
        "SQL",
        "Look-ups, and how one is chosen",
        "Expressions in intents and rules",
        "Requests",
        "Values that are left open",
        "What makes candidates fail",
        "What can never pass",
        "Branches",
        "Hand-overs and questions",
    ),
    whole=("policy.md", "language.yaml"),
    sections={"language.yaml": ("describe", "adjectives", "plurals", "nouns", "enum_cues")},
    mended=("rules.yaml", "population.yaml"),
    tells_rules=False,
    max_tokens=16_000,
)
