"""How weights are said: frames, adverbs of degree with fixed levels, nouns; and how wishes about single tools are said.
The words are in files: wordings_plain.yaml, wordings_train.yaml, wordings_test.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

import yaml

from toolscale.patterns import regex

Words = Literal["plain", "train", "test"]
"""Whose words: `train` and `test` are of people who did not see those of the other; `plain` is a small part of `train`,
for models that know single words."""

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The weights that have words: not at all, a little, somewhat, quite, a lot, above all."""

DIMENSIONS = ("outcome", "cost", "latency")
UNSAID = {"outcome": 1.0, "cost": 0.0, "latency": 0.0}
"""What holds for a dimension that an instruction does not speak of."""


class Frame(NamedTuple):
    """A way to say how much something counts. `some`: one group of things of one level above 0; `none`: what does not
    count."""

    some: str
    none: str
    first: str
    """What stands before the first group."""
    degrees: tuple[str, ...]
    """Words of each level, 0 first (unused: `none` says it)."""


WishKind = Literal["like", "avoid", "rather", "private"]
WISH_KINDS: tuple[WishKind, ...] = get_args(WishKind)
Wish = tuple[WishKind, tuple[str, ...]]
"""What is said of tools: `like` and `avoid` name some, `rather` names the liked one first; `private` keeps to OWN and
names nothing."""


class Wording(NamedTuple):
    """The words of some people."""

    nouns: dict[str, tuple[str, ...]]
    """Dimension -> ways to name it."""
    frames: tuple[Frame, ...]
    tools: dict[WishKind, tuple[str, ...]]
    """Kind of wish -> sentences, as many of each kind. Slots: {names}; {name} and {other}; {own} and {others}."""


def _read(name: Words) -> Wording:
    text = files(__package__).joinpath(f"wordings_{name}.yaml").read_text(encoding="utf-8")
    found = yaml.load(text, Loader=yaml.CSafeLoader)
    frames = tuple(Frame(each["some"], each["none"], each["first"], ("", *each["degrees"])) for each in found["frames"])
    nouns = {name: tuple(found["nouns"][name]) for name in DIMENSIONS}
    return Wording(nouns, frames, {kind: tuple(found["tools"][kind]) for kind in WISH_KINDS})


def _together(one: Wording, other: Wording) -> Wording:
    nouns = {name: one.nouns[name] + other.nouns[name] for name in DIMENSIONS}
    return Wording(nouns, one.frames + other.frames, {kind: one.tools[kind] + other.tools[kind] for kind in WISH_KINDS})


_PLAIN = _read("plain")
WORDINGS: dict[Words, Wording] = {"plain": _PLAIN, "train": _together(_PLAIN, _read("train")), "test": _read("test")}
"""No frame and no sentence is both in `train` and in `test`. Some of the nouns are: people name the same things
alike."""
OPENINGS = ("", "please note: ", "for this task, ", "my wishes: ")

TOOL_WORDS = {"python": "your own interpreter", "local_search": "local search", "web_search": "web search"}
"""Basic tool -> what a user calls it. Tools of a domain are not here: nobody has wishes about them."""
OWN = ("python", "local_search")
"""Tools that send nothing to others."""

EVERY_EXPERT = "any expert"

SLOTS = regex(r"\{(\w*)\}")
_WORD = regex(r"[a-z]+|[^\sa-z]")


class Phrasing(NamedTuple):
    """The choices between ways of saying the same. Each is the number of an entry of the tables above, of those of
    `words`."""

    frame: int
    nouns: tuple[int, int, int]
    ranked: int
    """1: what counts most is said first; 0: outcome, cost, latency."""
    opening: int
    told: int
    """1: also says of cost and latency that they do not count; 0: leaves that out."""
    tools: int
    words: Words = "plain"
    """Whose frame, nouns and sentences about tools."""


def words(text: str) -> list[str]:
    """Return the words and the punctuation marks of an instruction, as a word-level tokenizer sees them."""
    return _WORD.findall(text)


def state_weights(weights: Mapping[str, float], phrasing: Phrasing) -> str:
    """Return the weights of DIMENSIONS, each one of LEVELS, in one or two sentences. What is UNSAID may be left out, if
    something is left to say."""
    wording = WORDINGS[phrasing.words]
    frame, nouns = wording.frames[phrasing.frame], wording.nouns
    order = sorted(DIMENSIONS, key=lambda name: -weights[name]) if phrasing.ranked else DIMENSIONS
    groups: dict[float, list[str]] = {}
    for name in order:
        groups.setdefault(weights[name], []).append(nouns[name][phrasing.nouns[DIMENSIONS.index(name)]])
    nothing = groups.pop(0.0, [])
    parts = [_fill(frame.some, group, " and ", frame.degrees[LEVELS.index(level)]) for level, group in groups.items()]
    sentences = [frame.first + _listed(parts)] if parts else []
    if nothing and (phrasing.told or not parts or weights["outcome"] == 0):
        sentences.append(_fill(frame.none, nothing, " and " if frame.none.startswith("{") else " or "))
    return OPENINGS[phrasing.opening] + ". ".join(sentences) + "."


def state_wish(wish: Wish, phrasing: Phrasing, aliases: Sequence[str], basic_tools: Sequence[str]) -> str:
    """Return one wish about tools as a sentence."""
    kind, names = wish
    said = [TOOL_WORDS.get(name, name) for name in names]
    sentence = WORDINGS[phrasing.words].tools[kind][phrasing.tools] + "."
    if kind == "private":
        own = " and ".join(TOOL_WORDS[name] for name in OWN if name in basic_tools)
        others = [EVERY_EXPERT] * bool(aliases) + [TOOL_WORDS["web_search"]] * ("web_search" in basic_tools)
        return sentence.format(own=own, others=" or ".join(others))
    if kind == "rather":
        return sentence.format(name=said[0], other=said[1])
    return sentence.format(names=(" and " if kind == "like" else " or ").join(said))


def wished(wish: Wish, aliases: Sequence[str], basic_tools: Sequence[str]) -> dict[str, float]:
    """Return the weights that a wish stands for: 1 for what is liked, 0 for what is to be kept away from."""
    kind, names = wish
    if kind == "private":
        return {name: float(name in OWN) for name in (*basic_tools, *aliases) if name in TOOL_WORDS or name in aliases}
    if kind == "rather":
        return {names[0]: 1.0, names[1]: 0.0}
    return {name: float(kind == "like") for name in names}


def _fill(pattern: str, nouns: Sequence[str], joint: str, degree: str = "") -> str:
    many = len(nouns) > 1
    verbs = {"matter": "matter" if many else "matters", "do": "do" if many else "does", "be": "are" if many else "is"}
    together = joint.join(nouns) if len(nouns) < 3 else f"{nouns[0]}, {nouns[1]}{joint}{nouns[2]}"
    return pattern.format(nouns=together, degree=degree, **verbs)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + ", and " + parts[-1]


def _vocabulary() -> frozenset[str]:
    nouns, frames, tools = WORDINGS["plain"]
    texts = [*OPENINGS, *TOOL_WORDS.values(), *(text for kind in tools.values() for text in kind)]
    texts += [
        EVERY_EXPERT,
        "and or . ,",
        "matter matters do does is are",
        *(noun for group in nouns.values() for noun in group),
    ]
    texts += [text for frame in frames for text in (frame.some, frame.none, frame.first, *frame.degrees)]
    return frozenset(word for text in texts for word in words(SLOTS.sub(" ", text)))


VOCABULARY = _vocabulary()
"""Every word and punctuation mark that an instruction in plain words can have, besides aliases."""
