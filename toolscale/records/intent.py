"""`rules.yaml` and `intents.yaml`: what is allowed, and what people want.

Expressions (`where`, `when`, `first`, `is`, `if`, arguments) are SQL expressions over *names*: `role.column`,
`step.column`, `say.slot`, `policy.constant`, `:now`, `:today`; a role that means several rows, and the `rows` of a
step, are relations that a sub-select may read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
)

from toolscale.records.base import Record

FactKind = Literal["money", "date", "time", "duration", "number", "text", "bool", "yes_no", "digits", "id"]
"""`time`: of day, `HH:MM`; `duration`: whole minutes."""
Tense = Literal["past", "future"]


class Tell(Record):
    """A fact that the final answer must contain."""

    kind: FactKind
    is_: str = Field(alias="is")
    """The expression whose value is told."""
    about: str | None = None
    """An expression whose value (a nickname, say) tells this fact from others of its kind."""
    each: str | None = None
    """A role that means several rows: one fact for each of them."""
    when: str | None = None
    """Told only if this holds."""
    before: bool = False
    """It is told as it was before the calls of the plan, which change it."""
    withheld: bool = False
    """It is private: the final answer must not contain it."""
    what: str | None = None
    """What the form of the task calls it, in a few words (`left in the account`); made from `is` where nothing is
    said."""


class Rule(Record):
    """A rule of the policy, as a predicate over the arguments of a call (`call.argument`) and what look-ups show."""

    text: str
    guards: tuple[str, ...]
    """The tools whose calls it guards."""
    reads: dict[str, dict[str, dict[str, str]]] = Field(default_factory=dict)
    """Named look-ups `{name: {tool: {parameter: expression}}}`, in order; later ones may use earlier ones."""
    applies: str | None = None
    """The rule is evaluated only for calls for which this holds (over `call` alone, before any read)."""
    breaks: str
    """True if the call would break the rule."""
    tell: tuple[Tell, ...] = ()
    """What a person who is refused must be told besides the no: the limit, the date, the status."""
    case: str | None = None
    """The same predicate on the database, over `call.argument`: it picks cases that break the rule for refusals, and
    cases that do not for all others. `auto` derives it from `breaks` where all reads are derived look-ups. Without it,
    no request is turned into a refusal by this rule."""
    draws: dict[str, tuple[int | str, ...]] = Field(default_factory=dict)
    """Argument -> values that a slot is drawn from where the rule is to be broken (cents, ISO dates, or whole days from
    today)."""
    lifts: tuple[str, ...] = ()
    """Conjuncts of roles (`status = 'active'`) that a request which breaks the rule does not keep."""


class Invariant(Record):
    """What holds for every row of a table, before and after every call."""

    text: str
    table: str
    holds: str
    """An SQL condition over the row (columns written bare or as `table.column`); sub-selects on other tables need an
    equality on a key."""


class PolicySpec(Record):
    """`rules.yaml`."""

    constants: dict[str, int | str] = Field(default_factory=dict)
    """Numbers and words of the policy, named once; read as `policy.name`."""
    rules: dict[str, Rule] = Field(default_factory=dict)
    invariants: dict[str, Invariant] = Field(default_factory=dict)


class Slot(Record):
    """What the user invents: an amount, a date, a category."""

    kind: FactKind
    from_: tuple[int | str, ...] = Field(default=(), alias="from")
    """The values to draw from: cents for money, ISO dates or whole days from today for dates, `HH:MM` for times,
    minutes for durations."""
    sql: str | None = None
    """Or a SELECT of one column on the database, which may use the roles bound so far."""
    tense: Tense | None = None
    vague: str | None = None
    """What a person says who leaves it open at first: *some money*. Where it is given, part of the dialogues begin
    without the value, and tell it when asked."""


class Role(Record):
    """An entity of the request."""

    is_: str = Field(alias="is")
    """The table."""
    of: str | None = None
    """The parent role, joined by the foreign key."""
    by: str | None = None
    """The description (of `language.yaml`) with which the request names it."""
    where: str | None = None
    """What the request means by it, stated or enforced by the tools."""
    first: str | None = None
    """A superlative: the row that is first by this expression; a tie is ambiguous."""
    take: Literal["one", "all", "any"] = "one"
    same: tuple[str, ...] = ()
    """With `any`: columns in which interchangeable rows agree."""
    text: str | None = None
    """How it is said, if not by a description."""
    cues: tuple[str, ...] = ()
    only_said: bool = False
    """The request mentions it and no call is about it: it is somebody else's."""


class CallStep(Record):
    """`name: {tool: {parameter: expression}}`."""

    name: str
    tool: str
    arguments: dict[str, str]


class IfStep(Record):
    """A branch."""

    if_: str = Field(alias="if")
    rule: str | None = None
    """The rule that keeps `then` from being done where the condition, which look-ups decide, does not hold. Cases of
    both sides are then looked for by the `case` of that rule."""
    then: tuple[PlanStep, ...]
    else_: tuple[PlanStep, ...] = Field(default=(), alias="else")


class EachStep(Record):
    """The steps, once for every row of a role that means several."""

    each: str
    do: tuple[PlanStep, ...]


class FindStep(Record):
    """Look a role up now: what is asked about it is asked before the steps that follow."""

    find: str


def _plan_step_kind(value: Any) -> str:
    keys = value if isinstance(value, dict) else type(value).model_fields
    return "if" if "if" in keys or "if_" in keys else "each" if "each" in keys else "find" if "find" in keys else "call"


def _call_step(value: Any) -> Any:
    """Read the short form `{name: {tool: {parameter: expression}}}`."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, call),) = value.items()
        if isinstance(call, dict) and len(call) == 1:
            ((tool, arguments),) = call.items()
            return {
                "name": name,
                "tool": tool,
                "arguments": {key: str(item) for key, item in (arguments or {}).items()},
            }
    return value


PlanStep = Annotated[
    Annotated[CallStep, BeforeValidator(_call_step), Tag("call")]
    | Annotated[IfStep, Tag("if")]
    | Annotated[EachStep, Tag("each")]
    | Annotated[FindStep, Tag("find")],
    Discriminator(_plan_step_kind),
]


class Request(Record):
    """A body of a request, without greeting.

    `{role}`, `{role^}` (capitalised), `{role~it}` (pronoun), `{slot|form}`; `[Pay|Settle|]` picks one of the
    alternatives, an empty one included.
    """

    say: str
    persona: str | None = None
    """Who would say it like this (a name of `personas`); None: anybody."""


def _request(value: Any) -> Any:
    """Read the short forms `body` and `{persona: body}`."""
    if isinstance(value, str):
        return {"say": value}
    if isinstance(value, dict) and len(value) == 1 and "say" not in value:
        ((persona, say),) = value.items()
        return {"say": say, "persona": persona}
    return value


Spoken = Annotated[Request, BeforeValidator(_request)]
"""A request as files write it."""


class Refused(Record):
    """A part of a request that a rule forbids: what it asks for, which is never executed."""

    rule: str
    do: tuple[PlanStep, ...]
    about: str | None = None
    """An expression whose value names this part where others are granted."""


class Intent(Record):
    """A plan over roles that yields tasks. Nothing in it sees the database but `when` and `sql` of slots, which only
    pick an interesting case."""

    id: str
    title: str = ""
    outcome: Literal["fulfil", "refuse", "transfer"] = "fulfil"
    rule: str | None = None
    """Refusals: the rule that `do`, which is never executed, would break."""
    object: str | None = None
    slots: dict[str, Slot] = Field(default_factory=dict)
    roles: dict[str, Role]
    when: Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)] = ()
    """Why the case is interesting: predicates over roles, slots and database tables, all of which hold; never part of
    the meaning."""
    do: tuple[PlanStep, ...] = ()
    tell: tuple[Tell, ...] = ()
    refused: tuple[Refused, ...] = ()
    """Parts of a composed request that are refused while the rest is done."""
    requests: tuple[Spoken, ...]
    asks: tuple[Spoken, ...] = ()
    """Questions apart from the deed, each for all that is told. Where there are any, `requests` ask nothing, and about
    half of the candidates are quiet: they ask nothing, and none of `tell` is demanded of them."""
    proposed_by: Annotated[str, Field(max_length=200, pattern=r"^[!-~]*$")] = ""
    """The model that proposed it; empty where people wrote it. `toolscale propose` writes it, and it is not checked."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out who proposed it where people wrote it: such an intent looks as it did before there were others."""
        return {name: value for name, value in write(self).items() if value or name != "proposed_by"}


class IntentsSpec(Record):
    """`intents.yaml`."""

    intents: tuple[Intent, ...]


class AdmissionCall(Record):
    """A call that admission makes, after others, and what it must give."""

    title: str
    before: tuple[dict[str, dict[str, Any]], ...] = ()
    """Calls `{tool: {parameter: value}}` made first; each must succeed."""
    call: dict[str, dict[str, Any]]
    error: str | None = None
    """The exact error text; None: it must succeed."""


class VerifierCase(Record):
    """A rollout of a task of this environment and what it must be graded."""

    title: str
    kind: Literal["full_reward", "zero_reward", "malformed", "determinism", "another_path"]
    intent: str
    calls: Literal["golden", "writes", "none"] | tuple[dict[str, dict[str, Any]], ...] = "golden"
    """`golden`, only its `writes`, `none`, or calls `{tool: {parameter: value}}` after the golden ones."""
    answer: str = "{golden}"
    """The final message; `{golden}` stands for the golden answer."""


class CasesSpec(Record):
    """`cases.yaml`."""

    calls: tuple[AdmissionCall, ...] = ()
    verifier: tuple[VerifierCase, ...]
