"""Static rules of plans, over every branch, taken or not: what nobody said, nobody uses, or nobody could tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from toolscale.environment.environment import Environment
from toolscale.errors import SpecIssue
from toolscale.patterns import regex
from toolscale.tasks.names import Expression, columns_of, matter_of, parse_expression
from toolscale.tasks.plan import EachPlan, IfPlan, Plan, StepPlan, TellPlan

FILE = "intents.yaml"


def lint_plan(plan: Plan, environment: Environment) -> list[SpecIssue]:
    """Return every issue of a compiled intent."""
    place = f"intents[{plan.intent.id}]"
    rules = (
        _literals(plan, environment),
        _tests(plan),
        _unused(plan),
        _superlatives(plan),
        _directions(plan),
        _ways(plan),
        _labels(plan),
        _stale(plan),
        _twice(plan),
        _private(plan),
        _matters(plan),
        _namesakes(plan),
    )
    return [SpecIssue(FILE, f"{place}.{where}", problem, remedy) for rule in rules for where, problem, remedy in rule]


Found = Iterator[tuple[str, str, str]]
"""(place within the intent, problem, remedy)."""


def _literals(plan: Plan, environment: Environment) -> Found:
    """An argument or a fact may hold a literal only if it is an enum value, and that needs a cue."""
    cues = environment.spec.language.enum_cues
    for call in plan.calls():
        for name, expression in call.arguments.items():
            where = f"do.{call.name}.{name}"
            if expression.is_literal and expression.literal in call.tool.spec.parameters[name].get("enum", ()):
                if str(expression.literal) not in cues:
                    yield where, f"{expression.source} has no cue", "list words for it in language.yaml enum_cues"
            elif expression.literal is not None or _has_literal(expression):
                yield where, f"{expression.source} is a literal that nobody said", "use a slot, a role or policy.NAME"
    for number, tell in enumerate(plan.tells):
        if tell.tell.kind not in ("bool", "yes_no") and _has_literal(tell.value):
            yield (
                f"tell[{number}]",
                f"{tell.value.source} holds a literal that nobody said",
                "use a slot, a role or policy.NAME",
            )


def _has_literal(expression: Expression) -> bool:
    return parse_expression(expression.source, FILE, "").find(exp.Literal) is not None


def _tests(plan: Plan) -> Found:
    """A condition compares what was said, seen or laid down in the policy; 0 and 1 may stand for none and one."""
    for test in _conditions(plan.all_steps):
        numbers = [
            literal
            for literal in parse_expression(test.source, FILE, "").find_all(exp.Literal)
            if not literal.is_string
        ]
        if any(literal.this not in ("0", "1") for literal in numbers):
            yield "do.if", f"{test.source} compares with a number that nobody said", "use a slot or policy.NAME"


def _conditions(steps: tuple[StepPlan, ...]) -> Iterator[Expression]:
    for step in steps:
        if isinstance(step, IfPlan):
            yield step.test
            yield from _conditions(step.then + step.otherwise)
        elif isinstance(step, EachPlan):
            yield from _conditions(step.do)


def _unused(plan: Plan) -> Found:
    """Every look-up, role and slot must serve something."""
    used = used_names(plan)
    for call in plan.calls():
        if not call.tool.mutates_state and call.name not in used:
            yield f"do.{call.name}", "this look-up is never used", "use its result or leave it out"
    for name in plan.roles:
        if name not in used and not plan.intent.roles[name].only_said:
            yield f"roles.{name}", "this role is never used", "use it or leave it out"
    texts = [expression.source for expression in _expressions(plan)]
    texts += [text for role in plan.roles.values() for text in (role.role.where, role.first) if text]
    said = {column for text in texts for column in columns_of(text.replace("{all}", "x"), "say", FILE, "")}
    for name in plan.intent.slots:
        if name not in said:
            yield f"slots.{name}", "the request says it and nothing depends on it", "use it or leave it out"


def _superlatives(plan: Plan) -> Found:
    """A superlative, and a set, is in the words: it needs cues."""
    parents = {ancestor for role in plan.roles.values() for ancestor in role.ancestors[:1]}
    acted = {name for expression in _expressions(plan) for name in expression.names} | {
        tell.tell.each for tell in plan.tells
    }
    acted |= set(_each_roles(plan.all_steps))
    for name, role in plan.roles.items():
        cues = role.role.cues or (role.description.cues if role.description else ())
        if role.role.only_said:
            continue
        if role.first and not cues:
            yield f"roles.{name}", "it is the first of an order, and no word of the request says so", "give it cues"
        if role.role.take == "all" and not cues and (name in acted or name not in parents):
            yield (
                f"roles.{name}",
                "it means several rows, and no word of the request says so",
                "give it cues such as [all]",
            )


def _directions(plan: Plan) -> Found:
    """The superlative in the words and the order in the plan point the same way: `lowest` takes the lowest, `newest`
    the latest date."""
    for name, role in plan.roles.items():
        order = order_of(role.first) if role.first else None
        if order is None:
            continue
        column, ascending = order
        is_date = role.finder.columns.get(column) in ("date", "datetime", "time")
        for cue in role.role.cues or (role.description.cues if role.description else ()):
            for word in cue.lower().split():
                if (word in SIZES or (is_date and word in TIMES)) and {**SIZES, **TIMES}[word] != ascending:
                    problem = (
                        f"the words say {cue!r}, "
                        f"and {role.first} takes the {'lowest' if ascending else 'highest'} {column} first"
                    )
                    yield f"roles.{name}", problem, "turn the order round, or the words"
                    break


SIZES = dict.fromkeys(
    (
        "lowest", "smallest", "least", "fewest", "cheapest", "lower", "smaller", "shortest", "nearest", "closest",
        "lightest", "weakest", "coldest", "slowest",
    ),
    True,
)  # fmt: skip
SIZES |= dict.fromkeys(
    (
        "highest", "largest", "biggest", "most", "greatest", "higher", "larger", "bigger", "longest", "dearest",
        "furthest", "farthest", "heaviest", "strongest", "windiest", "warmest", "hottest", "wettest", "fastest",
    ),
    False,
)  # fmt: skip
"""Words of size -> whether the lowest value comes first."""

TIMES = dict.fromkeys(("earliest", "first", "oldest", "older", "earlier", "next", "soonest"), True)
TIMES |= dict.fromkeys(("latest", "last", "newest", "newer", "later", "youngest", "recent"), False)
"""Words of time -> whether the earliest date comes first; they speak of dates only (the oldest person has the highest
age)."""


_BETWEEN = ("days_between", "minutes_between")


def order_of(first: str) -> tuple[str, bool] | None:
    """Return (column, whether its lowest value comes first) for an order by one column, negated, taken from a number
    or as days to or from it; None for others (gate `unambiguous` compares those with their words on the rows)."""
    node, ascending = parse_expression(first, FILE, ""), True
    while isinstance(node, exp.Neg | exp.Paren) or (isinstance(node, exp.Sub) and isinstance(node.this, exp.Literal)):
        ascending ^= not isinstance(node, exp.Paren)
        node = node.expression if isinstance(node, exp.Sub) else node.this
    if isinstance(node, exp.Anonymous) and node.name.lower() in _BETWEEN and len(node.expressions) == 2:
        start, end = node.expressions
        if _is_of_row(start) == _is_of_row(end):
            return None
        ascending ^= _is_of_row(start)
        node = start if _is_of_row(start) else end
    return (node.name, ascending) if isinstance(node, exp.Column) else None


def _is_of_row(node: exp.Expr) -> bool:
    """Whether an expression reads a column of a row, and not only what the policy or the request says."""
    return any(column.table not in ("policy", "say") for column in node.find_all(exp.Column))


_INTO = regex(r"\b(?:to|into|onto)\]? \{(\w+)\}")


def _ways(plan: Plan) -> Found:
    """The row that the words name after `to` or `into` must not be the one that a call takes something from (parameter
    `from_…` beside `to_…`)."""
    for call in plan.calls():
        sides = {
            name.partition("_")[0]: e.direct[0]
            for name, e in call.arguments.items()
            if e.direct is not None and e.direct[0] in plan.roles
        }
        if not {"from", "to"} <= sides.keys() or sides["from"] == sides["to"]:
            continue
        for number, request in enumerate(plan.intent.requests):
            if sides["from"] in _INTO.findall(request.say) and sides["to"] not in _INTO.findall(request.say):
                yield (
                    f"requests[{number}]",
                    f"it says to {sides['from']}, and {call.name} goes from there",
                    "exchange the arguments, or the words",
                )


def _each_roles(steps: tuple[StepPlan, ...]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, EachPlan):
            yield step.role
            yield from _each_roles(step.do)
        elif isinstance(step, IfPlan):
            yield from _each_roles(step.then + step.otherwise)


_WHICH = (
    "give each an `about`: what it belongs to (bill.company), or a word that every right answer says beside it "
    "('fee'); those of a refusal stand in its rule"
)


def _labels(plan: Plan) -> Found:
    """Two facts of one kind need different labels, or an answer could exchange them."""
    tells: list[TellPlan] = [
        *(tell for part in plan.refusals if part.about is None for tell in part.rule.tells),
        *plan.tells,
    ]
    tells = [tell for tell in tells if tell.tell.kind != "bool" and not tell.tell.when and not tell.tell.withheld]
    counts = Counter((tell.tell.kind, tell.tell.about) for tell in tells)
    for (kind, about), count in sorted(counts.items(), key=str):
        if count > 1 and about is None:
            yield "tell", f"two facts of kind {kind} without `about`", _WHICH
        elif count > 1:
            yield "tell", f"two facts of kind {kind} about {about}", "give them different labels"


def _stale(plan: Plan) -> Found:
    """A told column that the plan writes must be read after the write, or be meant as it was before."""
    written = {column for call in plan.calls() for column in call.tool.writes}
    for number, tell in enumerate(plan.tells):
        for name, role in plan.roles.items():
            stale = sorted(
                column for column in columns_of(tell.value.source, name, FILE, "") if (role.table, column) in written
            )
            if stale and not tell.tell.before and not tell.tell.withheld:
                where = f"tell[{number}]"
                yield (
                    where,
                    f"{name}.{stale[0]} is told as it was before a call changes it",
                    "tell the result of the call, or write `before: true`",
                )


def _twice(plan: Plan) -> Found:
    """The same write twice in one plan is a slip of the author."""
    writes = [call for call in plan.calls() if call.tool.mutates_state]
    made = Counter(
        (call.tool.spec.name, tuple(sorted((name, e.source) for name, e in call.arguments.items()))) for call in writes
    )
    for (tool, _), count in made.items():
        if count > 1 and not _conditions_guard(plan.all_steps):
            yield "do", f"{tool} is called {count} times with the same arguments", "call it once"


def _private(plan: Plan) -> Found:
    """Rows that the request only mentions are used by nothing, and what is told of them, which no look-up may show,
    must be withheld."""
    mentioned = {name for name, role in plan.roles.items() if role.role.only_said}
    for number, tell in enumerate(plan.tells):
        hidden = sorted(tell.value.names & mentioned)
        if hidden and not tell.tell.withheld:
            yield (
                f"tell[{number}]",
                f"{hidden[0]} is only mentioned, and {tell.value.source} is to be told",
                "write `withheld: true`",
            )
        elif not hidden and tell.about is not None and tell.tell.kind != "bool" and tell.about.names & mentioned:
            yield (
                f"tell[{number}]",
                f"{tell.value.source} is labelled by what is only mentioned",
                "label it by what it is about",
            )
    uses = {f"do.{call.name}.{name}": e.names for call in plan.calls() for name, e in call.arguments.items()}
    uses |= {
        f"roles.{name}": role.needs | set(role.ancestors) for name, role in plan.roles.items() if name not in mentioned
    }
    for where, names in uses.items():
        for name in sorted(names & mentioned):
            yield where, f"it uses {name}, which is only mentioned", "use what is meant, or leave out `only_said`"


def _matters(plan: Plan) -> Found:
    """A call is made with what its own matter says and shows, and a fact is labelled by its own matter."""
    for call in plan.calls():
        for name, expression in call.arguments.items():
            for other in _owners(plan, expression):
                if matter_of(other) != matter_of(call.name):
                    yield (
                        f"do.{call.name}.{name}",
                        f"{other} belongs to another matter of the request",
                        "use what this one says",
                    )
    for number, tell in enumerate(plan.tells):
        values = {matter_of(name) for name in _owners(plan, tell.value)}
        labels = {matter_of(name) for name in _owners(plan, tell.about)} if tell.about is not None else set()
        if values and labels and values != labels:
            yield (
                f"tell[{number}]",
                f"{tell.value.source} is labelled by another matter of the request",
                "label it by its own",
            )


_UNITS = frozenset(("on", "at", "time", "cents", "minutes", "number", "id", "day", "days", "date"))
"""Parts of names that say of which kind a value is, and nothing of what it is for."""


def _namesakes(plan: Plan) -> Found:
    """A said value goes to the parameter that is named as it is. Where a request says two values of one kind, nothing
    reads which of them is for what: their names are what the author says of it."""
    slots = plan.intent.slots
    for call in plan.calls():
        for name, expression in call.arguments.items():
            owner, given = expression.direct or ("", "")
            if owner != "say" or given not in slots or _parts(given) & _parts(name):
                continue
            for other, slot in slots.items():
                alike = slot.kind == slots[given].kind and matter_of(other) == matter_of(given)
                if alike and _parts(other) & _parts(name):
                    problem = f"say.{given} is given here, and the request also says {other}, which is named like it"
                    yield f"do.{call.name}.{name}", problem, f"give it say.{other}, or rename the slots"


def _parts(name: str) -> frozenset[str]:
    return frozenset(part for part in name.split("_") if not part.isdigit()) - _UNITS


def _owners(plan: Plan, expression: Expression) -> set[str]:
    """The slots, steps and roles that an expression uses, without the person who asks, who is the same in all
    matters."""
    roots = {name for name, role in plan.roles.items() if not role.ancestors and not role.role.only_said}
    return {*columns_of(expression.source, "say", FILE, ""), *(expression.names - roots - {"say", "policy"})}


def _conditions_guard(steps: tuple[StepPlan, ...]) -> bool:
    """Whether the plan branches, so that equal calls may stand on different paths."""
    return any(True for _ in _conditions(steps))


def _expressions(plan: Plan) -> list[Expression]:
    found = [expression for call in plan.calls() for expression in call.arguments.values()]
    found += [e for tell in plan.tells for e in (tell.value, tell.about, tell.when) if e is not None]
    found += [part.about for part in plan.refusals if part.about is not None]
    return found + list(_conditions(plan.all_steps))


def used_names(plan: Plan) -> set[str]:
    """The roles and steps that some argument, condition or fact depends on."""
    used = {name for expression in _expressions(plan) for name in expression.names} | set(_each_roles(plan.all_steps))
    used |= {tell.tell.each for tell in plan.tells if tell.tell.each}
    for role in reversed(list(plan.roles.values())):
        if role.name in used:
            used |= role.needs | set(role.ancestors)
    return used
