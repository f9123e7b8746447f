"""The words of the tiny model: facts that are bound to an alias, the words of questions and wishes, and a few of its
own.

A fact is one word, such as `expert-2.mathematics=7`: who it is about, what it says, and how much. So a look-up is one
step of attention.
"""

from __future__ import annotations

from toolscale.models.cards import HIGHEST_LEVEL
from toolscale.preferences.grammar import VOCABULARY as WISHES
from toolscale.questions.generate import VOCABULARY as QUESTIONS
from toolscale.records import CATEGORIES
from toolscale.rollout.offering import ALIASES as EVERY_ALIAS

ALIASES = EVERY_ALIAS[:4]
"""It knows four aliases: a task offers it four experts at most."""

PAD, UNKNOWN, NUMBER, CODE, QUOTED = "<pad>", "<unk>", "<number>", "<code>", "<quoted>"
"""`<number>` is any number, `<code>` what stands between backticks, `<quoted>` between quotation marks: the model sees
that it is there, not what it says."""
BEGIN, USER, TOOL, ASSISTANT, END = "<begin>", "<user>", "<tool>", "<assistant>", "<end>"
LAST = "<last>"
"""A word of the model. As a message it gives what the last tool said as the final answer; if no tool said anything,
it says that the answer is not known."""
RESULT, ERROR = "result", "error"
"""All that it sees of what a tool said."""
BASIC = ("python", "local_search", "web_search")

LEVELS = {"price": HIGHEST_LEVEL + 1, "latency": HIGHEST_LEVEL + 1, **dict.fromkeys(CATEGORIES, 11)}
"""Kind of fact -> how many levels it has."""

PROBES = (
    "strongest",
    "cheapest",
    "fastest",
    "name",
    "good",
    "price",
    "latency",
    "kind",
    "weight",
    "low",
    "middle",
    "high",
)
"""Words of the reading probes that the base model is trained on (training/tiny/probes.py), and their answers."""
ANSWERS = tuple(f"{name}!" for name in (*CATEGORIES, "none", "little", "some", "quite", "much", "most"))
"""What a probe about the kind of a question, or about the weight of a wish, is answered with."""


def fact(alias: str, kind: str, level: int) -> str:
    """Return the word of a fact, as `compact` cards have it."""
    return f"{alias}.{kind}={level}"


def vocabulary() -> list[str]:
    """Return all words, in the order of their ids. Words of questions and wishes are in order of the alphabet."""
    facts = [
        fact(alias, kind, level) for alias in ALIASES for kind, levels in LEVELS.items() for level in range(levels)
    ]
    own = [
        PAD,
        UNKNOWN,
        NUMBER,
        CODE,
        QUOTED,
        BEGIN,
        USER,
        TOOL,
        ASSISTANT,
        END,
        LAST,
        RESULT,
        ERROR,
        *BASIC,
        *ALIASES,
        *PROBES,
        *ANSWERS,
    ]
    read = sorted(
        {word.lower() for word in (*QUESTIONS, *WISHES, "do", "not", "use", "that", "is", "allowed", *":.,?")}
    )
    return list(dict.fromkeys([*own, *facts, *read]))
