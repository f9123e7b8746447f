"""`language.yaml`: how people of a domain speak, once per domain. Evolution puts its words together from here, never
from an intent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from toolscale.records.base import Record
from toolscale.records.intent import FactKind, Role, Tell, Tense


class Description(Record):
    """A way to name one row of a table: by columns that are said, or by being first in an order (a superlative)."""

    cols: tuple[str, ...] = ()
    first: str | None = None
    """Order by this, lowest first; `{r}` stands for the role."""
    text: str
    """With `{column}` or `{column|form}` of `cols`, and `{adj}` for the adjectives of the role's conditions; a noun
    phrase that can stand as an object. `[a|b]` picks one of the alternatives."""
    cues: tuple[str, ...] = ()
    """Words that must stand in the request (superlatives)."""
    tense: Tense | None = None
    """On which side of today dates in it lie."""


class Quantity(Record):
    """A quantity on which a request may put a condition."""

    roles: dict[str, str]
    """Name -> table: the roles that it is about, which the texts name as `{name}`."""
    reads: dict[str, dict[str, dict[str, str]]] = Field(default_factory=dict)
    """Look-ups `{name: {tool: {parameter: expression}}}` made first; `{argument}` stands for what the plan's call gives
    as that argument."""
    value: str
    kind: FactKind
    test: str
    """Over `say.limit`."""
    text: str
    """The condition in words, with `{limit|money}`: a clause that can follow *if*."""
    noun: str
    """What is told either way: an object of *tell me*."""
    steps: tuple[int, ...]
    """What the limit is drawn from."""
    why: tuple[str, ...] = ()
    """Clauses that say why somebody puts the condition: *I need to keep some money in there*."""
    tools: tuple[str, ...] = ()
    """The deeds on which it bears: a plan must call one of these tools. None given: any."""
    without: tuple[str, ...] = ()
    """Roles with which the condition makes no sense: a plan must have none of them. An account that is to be topped up
    cannot be required to be full."""
    backup: str | None = None
    """A role of `roles` for which another row may be named, to be used where the condition does not hold."""
    about: str | None = None
    """An expression that labels the value."""


class Total(Record):
    """What a set of rows comes to."""

    column: str
    ask: str
    """An object of *tell me*: *what they come to in total*."""


class Private(Record):
    """Something of somebody else's that a person asks for and must not be told."""

    roles: dict[str, Role]
    """Roles that only the request names, or that only the judge knows."""
    when: str | None = None
    asks: tuple[str, ...]
    withhold: tuple[Tell, ...]
    about: str
    """An expression that names this part of the request."""


class Persona(Record):
    """A kind of person: what a request of theirs begins and ends with, and how they write. What is not given is as
    anybody's."""

    text: str
    """Who that is: register, verbosity, mood, competence."""
    openings: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    forms: dict[FactKind, tuple[str, ...]] = Field(default_factory=dict)
    """Kind -> forms, one of which is drawn where a text leaves the form open."""


class LanguageSpec(Record):
    """`language.yaml`."""

    base: Literal["english"] | None = None
    """Words that the package has for any trade: openings, signatures, conditions, personas and what else
    stands in `environment/words`. A section that the file has takes the place of the package's."""
    speaker: str | None = None
    """With `base`: the role that speaks, which stands for `{person}` in its words."""
    describe: dict[str, dict[str, Description]]
    """Table -> name -> description, from exact to vague."""
    superlatives: Literal["auto"] | dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Descriptions that are derived from columns of money and days: table -> columns; `auto`: all such columns of the
    tables that are described."""
    adjectives: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Table -> conjunct of a predicate (`status = 'active'`) -> the word that states it."""
    plurals: dict[str, str] = Field(default_factory=dict)
    """Table -> the noun for several of its rows, where the table's own name is not it."""
    nouns: dict[str, str] = Field(default_factory=dict)
    """Table -> the noun for one of its rows, where the table's own name without its s is not it."""
    quantities: dict[str, Quantity] = Field(default_factory=dict)
    totals: dict[str, Total] = Field(default_factory=dict)
    """Table -> what several of its rows come to."""
    private: dict[str, Private] = Field(default_factory=dict)
    shared: tuple[str, ...] = ()
    """Tables of which two matters of one request may be about the same row: accounts, not bills."""
    acts: dict[str, str] = Field(default_factory=dict)
    """Tool -> how a person asks for a call of it: an imperative clause over `{parameter}`."""
    deeds: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Tool -> base forms of more verbs with which people report a call of it: *wire*. Its own first word and those of
    `acts` count too."""
    enum_cues: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Enum value -> words of which one must stand in the request that uses it."""
    openings: tuple[str, ...]
    """How a request begins; `{client}`-like names of roles whose description identifies the speaker."""
    signatures: tuple[str, ...] = ()
    """How a request ends that did not begin with who is speaking."""
    referents: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Table -> words that mean a row of it named before: *that account*. Where two were named, nobody knows which."""
    conditions: tuple[str, ...] = ()
    """Sentences that put a condition, over `{condition}`, `{why}` and `{noun}`: nothing is done where it does not
    hold."""
    fallbacks: tuple[str, ...] = ()
    """The same, with `{backup}` to be used where it does not hold."""
    counts: tuple[str, ...] = ()
    """Sentences that ask how many there were, over `{total}` where the table has one."""
    weights: dict[Literal["obscure", "constrain", "batch", "pry"], Annotated[float, Field(gt=0, le=100)]] = Field(
        default_factory=dict
    )
    """Evolution -> how soon it is tried beside the others; what is not given is as the program has it."""
    personas: dict[str, Persona] = Field(default_factory=dict)

    @field_validator("personas", mode="before")
    @classmethod
    def _short_personas(cls, value: Any) -> Any:
        """Read the short form `name: text`."""
        return (
            {name: {"text": item} if isinstance(item, str) else item for name, item in value.items()}
            if isinstance(value, dict)
            else value
        )
