"""What no table, column, tool or parameter may be called: one table of what SQL engines, the program itself, providers
of models and the hosts of exports refuse.

`admit` checks specs against all of it, what is drafted from somebody's source is renamed by it, and an export checks
what its own host refuses.
"""

from __future__ import annotations

import keyword
from collections.abc import Collection
from dataclasses import dataclass

_SQL = (
    "add all alter analyse analyze and anti any array as asc asof asymmetric at authorization autoincrement between "
    "binary both by case cast check collate collation column commit concurrently constraint create cross current_date "
    "current_time current_timestamp default deferrable delete desc describe distinct do drop else end escape except "
    "exclude exists false fetch for foreign freeze from full glob grant group having if ilike in index initially "
    "inner insert intersect into is isnull join lambda lateral leading left like limit natural not nothing notnull "
    "null offset on only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify "
    "raise references regexp returning revoke right rollback select semi set show similar some summarize symmetric "
    "table tablesample then to trailing transaction true union unique unpack unpivot update using values variadic "
    "verbose when where window with"
)
SQL_WORDS = frozenset(_SQL.split())
"""Words that SQLite, DuckDB or sqlglot does not take for the name of a table and of a column everywhere (tried, all
three)."""

NAMESPACES = frozenset({"say", "policy", "call", "more"})
"""What no role may be called: slots, constants of the policy, arguments of a call, and a place in requests."""

SQL, OWN, PROVIDERS, TRL, TAU2, OPENENV, NEMO_GYM, HARBOR = (
    "SQL", "ToolScale", "providers", "TRL", "tau2-bench", "OpenEnv", "NeMo Gym", "Harbor",
)  # fmt: skip

SAY = "say_to_person"
"""The tool by which an agent in a container speaks to the person of a dialogue."""

LONGEST = 64
"""Letters of a tool or a parameter that OpenAI, Anthropic and Google take."""

LONGEST_TABLE = 40
"""Letters of a table of a new domain: `list_` and `_by_` with the name of another stand around it."""

LONG = 48
"""Letters of a tool from which on it may be refused behind a host: many put a prefix before it (`mcp__shop__`)."""


@dataclass(frozen=True)
class Forbidden:
    """Names that a consumer refuses: words, what begins so, and what is longer."""

    consumer: str
    kinds: tuple[str, ...]
    """Of what: table, column, role, tool, parameter, field (of an array parameter), let (whatever steps bind), relation
    (of these what is read like a table)."""
    why: str
    """What is said of such a name."""
    words: frozenset[str] = frozenset()
    begins: str = "\0"
    longest: int = 1_000

    def refuses(self, name: str) -> bool:
        """Whether the consumer refuses a name of these kinds."""
        return name in self.words or name.startswith(self.begins) or len(name) > self.longest


_TABLE: tuple[tuple[str, str, str, frozenset[str]], ...] = (
    (SQL, "table column role relation", "is a word of SQL", SQL_WORDS),
    (SQL, "table column", "is a word of SQL", frozenset({"ord"})),
    (OWN, "role", "means something else in expressions and requests", NAMESPACES),
    (OWN, "parameter field let", "has a meaning of its own", frozenset({"now", "today", "ord", "holds"})),
    (OWN, "tool", "is built in", frozenset({"transfer_to_human", "calculate", "final_answer"})),
    (OWN, "table", "is built in", frozenset({"handovers"})),
    (TRL, "tool", "is a method that TRL calls itself", frozenset({"reset", "get_reward"})),
    (TAU2, "parameter", "is a word of Python, and tau2 makes signatures of parameters", frozenset(keyword.kwlist)),
    (TAU2, "parameter", "is an argument of tau2 itself", frozenset({"self", "tool_name", "requestor"})),
    (
        TAU2, "parameter", "is a name of pydantic, and tau2 makes models of parameters",
        frozenset({
            "model_config", "model_dump", "model_dump_json", "model_validate", "model_validate_json",
            "model_validate_strings",
        }),
    ),
    (
        OPENENV, "tool", "is a name that an OpenEnv server keeps for itself",
        frozenset({"reset", "step", "state", "close", "respond"}),
    ),
    (HARBOR, "tool", "is the tool by which the person of a dialogue is spoken to there", frozenset({SAY})),
    (
        NEMO_GYM, "tool", "is a route that a server of NeMo Gym keeps for itself",
        frozenset({
            "verify", "seed_session", "close_session", "sandbox_access", "aggregate_metrics", "reverify_mode", "mcp",
            "stats",
        }),
    ),
)  # fmt: skip

FORBIDDEN: tuple[Forbidden, ...] = (
    *(Forbidden(consumer, tuple(kinds.split()), why, words) for consumer, kinds, why, words in _TABLE),
    Forbidden(SQL, ("table",), "begins as tables of SQLite itself do", begins="sqlite_"),
    Forbidden(
        OWN,
        ("table",),
        f"has more than {LONGEST_TABLE} letters, and look-ups are called after it",
        longest=LONGEST_TABLE,
    ),
    Forbidden(TRL, ("tool",), "begins with _, and TRL offers no such method to a model", begins="_"),
    Forbidden(TAU2, ("parameter",), "begins with _, and tau2 makes models of parameters", begins="_"),
    Forbidden(
        PROVIDERS,
        ("tool", "parameter", "field"),
        f"has more than {LONGEST} letters, which providers of models refuse",
        longest=LONGEST,
    ),
)
"""All that is forbidden, whoever forbids it."""

_OF_KIND = {kind: [each for each in FORBIDDEN if kind in each.kinds] for rule in FORBIDDEN for kind in rule.kinds}


def refusals(name: str, kind: str, but: Collection[str] = ()) -> list[Forbidden]:
    """Return who refuses a name for something of this kind, all but some consumers."""
    return [each for each in _OF_KIND.get(kind, ()) if each.refuses(name) and each.consumer not in but]


def is_long(name: str) -> bool:
    """Whether a tool of this name may be refused behind a host that puts a prefix before it."""
    return LONG <= len(name) <= LONGEST
