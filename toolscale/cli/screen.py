"""Tasks, rejects and figures on a screen, for people to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from toolscale.cli.output import say
from toolscale.dataset.columns import Row, candidate_of, reject_row, task_row
from toolscale.dataset.comparing.comparison import changed_groups, environment_words
from toolscale.dataset.describing.cells import Pairs, Parts, Rows, Shown, cell_text, change_kind, laid_out, money_text
from toolscale.dataset.describing.figures import Figures
from toolscale.environment import Environment
from toolscale.records import ComparedFigure, ComparedTasks, Comparison, Judged
from toolscale.text_files import visible

if TYPE_CHECKING:
    from toolscale.models.chat import Ledger
    from toolscale.session import View
    from toolscale.verify.selftest import SelfTest
    from toolscale.verify.weakened import WeakenedResult
    from toolscale.verify.yields import Yield

GAP = 2  # spaces between two columns
SIGNS = {"pass": ("✓", "green"), "fail": ("✗", "bold red"), "not_run": ("·", "dim"), "attested": ("~", "dim")}


def print_task(row: Row, split: str) -> None:
    """Print a task: what was asked, what was done, what changed, what must be told, and what the gates found."""
    console = _console()
    difficulty = row["difficulty"]
    console.rule(Text.assemble((row["id"], "bold"), f"  {row['intent_id']}"), align="left")
    counts = [
        f"{difficulty[name]} {name[:-1] if difficulty[name] == 1 else name}" for name in ("reads", "writes", "hops")
    ]
    console.print(Text(" · ".join([split, row["outcome"], difficulty["tier"], *counts]), style="dim"))
    console.print(Panel(Text(row["request"]), title="request", title_align="left", border_style="cyan"))
    if held := [Text(reply.says) for reply in candidate_of(row).held]:
        console.print(_section("told only when asked", held))
    for number, call in enumerate(row["golden_calls"], 1):
        console.print(_call(number, call))
    console.print(
        _section("changes", list(_changes(json.loads(row["row_changes"]))) or [Text("no row changes", style="dim")])
    )
    told, withheld = (
        [_fact(fact) for fact in row["communicate"] if fact["withheld"] is kept] for kept in (False, True)
    )
    console.print(_section("to tell", told or [Text("nothing", style="dim")]))
    if withheld:
        console.print(_section("not to tell", withheld))
    console.print(_section(f"verdict ({row['mutants_killed']} wrong trajectories caught)", [_verdict(row["verdict"])]))
    console.print()


def print_view(view: View, *, brief: bool) -> None:
    """Print what a solver sees of a task: policy, tools, request, and the calls made so far."""
    console = _console()
    if not brief:
        console.print(Panel(Text(view.policy), title="policy", title_align="left"))
        for tool in view.tools:
            function = tool["function"]
            console.print(Text.assemble((function["name"], "bold"), f": {function['description']}"))
            required = function["parameters"].get("required", [])
            for name, schema in function["parameters"]["properties"].items():
                optional = "" if name in required else " (optional)"
                console.print(
                    Padding(Text(f"{name}{optional}: {json.dumps(schema, ensure_ascii=False)}"), (0, 0, 0, 4))
                )
    console.rule(Text(f"task {view.task}", style="bold"), align="left")
    console.print(Panel(Text(view.request), title="request", title_align="left", border_style="cyan"))
    if view.talk is not None:
        console.print(Text("The person answers questions: --say sends a message.", style="dim"))
    for number in range(len(view.calls) + 1):
        for turn in (turn for turn in view.talk or () if turn["after"] == number):
            say(f"you: {turn['said']}\nthe person: {turn['heard']}")
        for made in view.calls[number : number + 1]:
            console.print(Text(f"{made['name']} {json.dumps(made['arguments'], ensure_ascii=False)}", style="dim"))
            print_result({"value": made.get("value"), "error": made.get("error")})


def print_result(result: Mapping[str, Any]) -> None:
    """Print what a call gave, as an agent reads it: JSON, or the error."""
    say(f"error: {result['error']}" if result["error"] is not None else json.dumps(result["value"], ensure_ascii=False))


def print_reject(row: Row) -> None:
    """Print a rejected candidate and why it was rejected."""
    console = _console()
    console.rule(Text.assemble((f"candidate {row['number']}", "bold"), f"  {row['intent_id']}"), align="left")
    console.print(Text(row["request"]))
    for failed in row["failed"]:
        console.print(Text.assemble(("✗ ", "bold red"), (failed["gate"], "bold"), f": {failed['finding']}"))
    console.print(Text(row["reproduce"], style="dim"))
    console.print()


def print_judged(judged: Judged, environment: Environment) -> None:
    """Print a candidate that was just judged."""
    if judged.task is not None and judged.verdict.accepted:
        return print_task(task_row(judged, "", ""), "not in a dataset")
    print_reject(reject_row(judged, environment.hash))


def print_figures(figures: Figures) -> None:
    """Print the figures of a dataset."""
    console, counts = _console(), figures.counts
    splits = ", ".join(f"{rows} {split}" for split, rows in counts["splits"].items())
    console.print(
        f"[bold]{counts['accepted']}[/] tasks ({splits}) of {counts['candidates']} candidates; "
        f"{counts['rejected']} rejected, {counts['over_quota']} more than their stream's share, "
        f"{counts['no_case']} numbers without a case"
    )
    gates = [
        (gate, *(statuses.get(name, 0) for name in SIGNS), _percent(figures.pass_rates.get(gate)))
        for gate, statuses in figures.gates.items()
    ]
    console.print(_table(("gate", "pass", "fail", "not run", "attested", "did not fail"), gates))
    if figures.reasons:
        reasons = [
            (gate, reason["rejects"], reason["alone"], reason["finding"]) for gate, reason in figures.reasons.items()
        ]
        console.print(_table(("rejected by", "rejects", "by it alone", "for example"), reasons))
    intents = [
        (intent, row["split"] or "", row["accepted"], row["rejected"]) for intent, row in counts["intents"].items()
    ]
    console.print(_table(("intent", "split", "accepted", "rejected"), intents))
    lines: dict[str, Mapping[Any, float]] = {
        "golden calls": figures.calls,
        "tiers": figures.tiers,
        "outcomes": figures.outcomes,
        "mutants killed": figures.mutants,
        "evolutions": figures.evolutions,
        "shape": figures.shape,
    }
    for title, values in lines.items():
        console.print(
            Text.assemble((title, "bold"), ": ", ", ".join(f"{name} {count:g}" for name, count in values.items()))
        )
    console.print(_table(("tool", "golden calls"), list(figures.tools.items())))


def print_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under names."""
    _console().print(_table(names, rows))


def print_wide_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under names, as several tables below each other where the screen is too narrow for all columns; each
    begins with the first column."""
    console = _console()
    widths = [max(len(names[place]), *(len(row[place]) for row in rows)) + GAP for place in range(len(names))]
    groups: list[list[int]] = [[0]]
    for place in range(1, len(names)):
        if len(groups[-1]) > 1 and sum(widths[each] for each in (*groups[-1], place)) > console.width:
            groups.append([0])
        groups[-1].append(place)
    for number, group in enumerate(groups):
        if number:
            console.print()
        console.print(_table([names[place] for place in group], [[row[place] for place in group] for row in rows]))


def print_comparison(comparison: Comparison) -> None:
    """Print how one dataset differs from another, domain by domain."""
    console = _console()
    console.print(Text.assemble(comparison.before, " -> ", (comparison.after, "bold")))
    if comparison.grading_before != comparison.grading_after:
        graded = (
            f"graded under version {comparison.grading_before}, now {comparison.grading_after}: "
            "figures are not comparable"
        )
        console.print(Text(graded, style="bold red"))
    for domain, found in comparison.domains.items():
        changes = found.changes
        console.rule(Text(domain, style="bold"), align="left")
        tasks = (
            f"{changes.added} added, {changes.removed} removed, "
            f"{changes.changed} changed, {changes.unchanged} unchanged"
        )
        console.print(Text(f"tasks: {tasks}"))
        if changes.columns:
            console.print(
                Text(
                    f"changed tasks differ in {', '.join(f'{name} {count}' for name, count in changes.columns.items())}"
                )
            )
        console.print(Text(environment_words(changes)))
        for title, groups in (("intent", found.intents), ("outcome", found.outcomes)):
            console.print(_groups(title, groups))
        for title, figures in (("candidates", found.counts), ("failed gate", found.gates), ("quality", found.quality)):
            if figures:
                console.print(
                    _table(
                        (title, "before", "after", "difference"),
                        [_compared(name, figure) for name, figure in figures.items()],
                    )
                )


def print_selftest(found: SelfTest) -> None:
    """Print how many defects of each kind were found, and by which gates; then what was let pass, and which good
    candidates were rejected."""
    console = _console()
    kinds = [
        (
            row.kind,
            row.level,
            row.planted,
            row.rejected,
            _percent(row.share) or "no place",
            row.not_applicable,
            ", ".join(f"{gate} {count}" for gate, count in row.gates.items()),
        )
        for row in found.kinds
    ]
    console.print(
        _table(("defect", "planted in the", "planted", "rejected", "share", "not applicable", "by the gates"), kinds)
    )
    share = found.rejected / found.planted if found.planted else None
    console.print(f"[bold]{found.rejected}[/] of {found.planted} planted defects rejected ({_percent(share)})")
    for row in found.kinds:
        if row.open and row.planted:
            console.print(
                Text.assemble(
                    ("○ open ", "bold yellow"), f"{row.kind}: {row.rejected} of {row.planted} rejected; {row.open}"
                )
            )
    for row in found.kinds:
        for outcome in row.outcomes:
            if not outcome.findings and not row.open:
                console.print(
                    Text.assemble(
                        ("✗ let pass ", "bold red"), f"{row.kind} in candidate {outcome.number}: {outcome.what}"
                    )
                )
    collided, wrongly = len(found.collided), len(found.wrongly)
    console.print(
        f"[bold]{found.good}[/] good candidates judged, {found.evolved} of them evolved: {wrongly} rejected, "
        f"{collided} because their matters collide, "
        f"and {len(found.good_rejected) - wrongly - collided} for another reason that they had by nature"
    )
    for outcome in found.good_rejected:
        if outcome.findings.keys() != {"novel"}:
            style = "bold red" if outcome in found.wrongly else "dim"
            findings = "; ".join(f"{gate}: {finding}" for gate, finding in outcome.findings.items())
            console.print(Text.assemble((f"  {outcome.number} {outcome.what} ", style), findings))
    repeated = sum(outcome.findings.keys() == {"novel"} for outcome in found.good_rejected)
    console.print(f"  {repeated} only because another of the draw was like them (--json lists them)", style="dim")


def print_yields(yields: Sequence[Yield], domain: str, *, with_requests: bool = False) -> None:
    """Print what each stream of a domain yields, then in full what is found in those of which more than one in ten is
    rejected, and the intents that cannot be evolved."""
    console = _console()
    names = ("stream", "judged", "accepted", "share", "alike", "commonest finding")
    rows = [
        (
            item.stream,
            item.judged,
            item.accepted,
            _percent(item.share),
            item.alike or "",
            shorten(item.commonest, 80, placeholder=" …"),
        )
        for item in yields
    ]
    console.print(_table(names, rows))
    judged, accepted = sum(item.judged for item in yields), sum(item.accepted for item in yields)
    console.print(
        f"[bold]{accepted}[/] of {judged} candidates of {len(yields)} streams accepted "
        f"({_percent(accepted / judged if judged else None)}); "
        f"look at one: toolscale judge {escape(domain)} --intent STREAM NUMBER"
    )
    for item in (item for item in yields if not item.is_barren and item.share < 0.9):
        mark = ("! yields little ", "bold yellow") if item.is_poor else ("", "")
        told = f"{item.stream}: {item.accepted} of {item.judged} accepted; {item.commonest}"
        console.print(Text.assemble(mark, told))
    for item in (item for item in yields if item.is_monotonous):
        told = f"{item.stream}: {item.alike} of {item.accepted} accepted are no new task: {item.repeated}"
        console.print(Text.assemble(("! repeats itself ", "bold yellow"), told))
    evolved = {item.intent for item in yields if item.kind == "evolved"}
    if plain := [item.intent for item in yields if item.kind == "plain" and item.intent not in evolved]:
        console.print(Text(f"no evolution applies to: {', '.join(plain)}"))
    for item in yields if with_requests else ():
        console.print(Text(f"\n{item.stream}", style="bold"))
        for request in item.requests:
            console.print(Padding(Text(visible(request)), (0, 0, 0, 2)))


def print_costs(ledger: Ledger, is_priced: bool) -> None:
    """Print what was asked of models and what it cost, by stage and model."""
    names = (
        "stage",
        "model",
        "replies",
        "on disk",
        "failures",
        "tokens in",
        "tokens out",
        "seconds",
        "paid now",
        "worth",
    )
    rows = [
        (
            line.stage, line.model, line.replies, line.kept, line.failures, f"{line.input_tokens:,}",
            f"{line.output_tokens:,}", f"{line.seconds:.1f}",
            f"${line.paid_usd:.4f}" if is_priced else "no price", f"${line.worth_usd:.4f}" if is_priced else "no price",
        )
        for line in ledger.rows()
    ]  # fmt: skip
    _console().print(_table(names, rows))


def print_weakened(results: Sequence[WeakenedResult]) -> None:
    """Print what slips through without each check of the verifier."""
    if results:
        shares = [
            (r.name, r.what, _percent(r.wrong_killed), _percent(r.idle_killed), _percent(r.right_accepted))
            for r in results
        ]
        console, draw = _console(), results[0]
        console.print(
            _table(("verifier", "what it compares", "wrong killed", "idle agents killed", "right accepted"), shares)
        )
        console.print(
            f"[bold]{draw.wrong}[/] wrong trajectories, {draw.idle} of them idle agents, and {draw.right} right ones"
        )


class _Screen(Console):
    """A console that shows control characters as text, so that the terminal does not obey them: data may come from
    anywhere."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render, every text of it visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def _console() -> Console:
    console = _Screen(highlight=False)
    if not console.is_terminal:
        console.width = 140  # a file or a pipe has no width of its own
    return console


def _section(title: str, lines: Sequence[RenderableType]) -> RenderableType:
    return Group(Text(title, style="bold"), Padding(Group(*lines), (0, 0, 0, 2)))


def _call(number: int, call: Row) -> RenderableType:
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in json.loads(call["arguments"]).items()
    )
    head = Text.assemble((f"{number}. ", "dim"), (call["name"], "bold blue"), f"({arguments})")
    return Group(head, Padding(_shown(laid_out(json.loads(call["result"]))), (0, 0, 0, 3)))


def _shown(shown: Shown) -> RenderableType:
    if isinstance(shown, Parts):
        return Group(*(_part(name, part) for name, part in shown.parts))
    if isinstance(shown, Rows):
        return _table(shown.columns, shown.rows)
    if isinstance(shown, Pairs):
        return Text("  ".join(f"{name} {text}" for name, text in shown.pairs))
    return Text(shown.text)


def _part(name: str, part: Shown) -> RenderableType:
    return Group(Text(f"{name}:", style="dim"), Padding(_shown(part), (0, 0, 0, 2))) if name else _shown(part)


def _changes(changes: Sequence[Row]) -> Iterator[RenderableType]:
    for change in changes:
        before, after = change["before"] or {}, change["after"] or {}
        kind = change_kind(change["before"], change["after"])
        yield Text.assemble((f"{change['table']} {', '.join(str(part) for part in change['key'])}", "bold"), f" {kind}")
        for name in before | after:
            old, new = before.get(name), after.get(name)
            if old == new:
                continue
            if before:
                yield Text(f"  - {name}: {cell_text(name, old)}", style="red")
            if after:
                yield Text(f"  + {name}: {cell_text(name, new)}", style="green")


def _fact(fact: Row) -> RenderableType:
    value = fact["value"]
    if fact["kind"] == "money":
        value = money_text(int(value))
    elif fact["kind"] == "bool":
        value = "yes" if value == "1" else "no"
    about = f" of {fact['about']}" if fact["about"] else ""
    return Text.assemble((fact["kind"], "dim"), about, ": ", (value, "bold"))


def _groups(title: str, groups: Mapping[str, ComparedTasks]) -> RenderableType:
    """Show the groups in which something changed, and how many others there are."""
    changed, others = changed_groups(groups)
    shown = [(name, tasks.added, tasks.removed, tasks.changed, tasks.unchanged) for name, tasks in changed.items()]
    rest = (
        [Text(f"tasks of {others} {'other ' if shown else ''}{title}{'s' * (others != 1)} as before", style="dim")]
        if others
        else []
    )
    return Group(*([_table((title, "added", "removed", "changed", "unchanged"), shown)] if shown else []), *rest)


def _compared(name: str, figure: ComparedFigure) -> tuple[str, str, str, str]:
    before, after = ("" if value is None else f"{value:g}" for value in (figure.before, figure.after))
    return (
        name,
        before,
        after,
        "" if figure.difference is None else f"{figure.difference:+g}" if figure.difference else "=",
    )


def _verdict(gates: Sequence[Row]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for gate in gates:
        sign, style = SIGNS[gate["status"]]
        table.add_row(Text(sign, style=style), Text(gate["gate"]), Text(gate["finding"], style="dim"))
    return table


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, GAP, 0, 0))
    for place, name in enumerate(names):
        numeric = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table
