"""Counts, shares and costs on a screen, for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from toolscale.cli.output import echo_json, say, say_cents
from toolscale.cli.terminal import SIGNS, open_console, percent, table_of
from toolscale.dataset.comparing.comparison import changed_groups, environment_words
from toolscale.dataset.describing.figures import Figures
from toolscale.errors import ToolScaleError
from toolscale.records import ComparedFigure, ComparedTasks, Comparison
from toolscale.text_files import visible

if TYPE_CHECKING:
    from toolscale.models.chat import Ledger
    from toolscale.verify.selftest import SelfTest
    from toolscale.verify.weakened import WeakenedResult
    from toolscale.verify.yields import Yield


def print_figures(figures: Figures) -> None:
    """Print the figures of a dataset."""
    console, counts = open_console(), figures.counts
    splits = ", ".join(f"{rows} {split}" for split, rows in counts["splits"].items())
    console.print(f"[bold]{counts['accepted']}[/] tasks ({splits}). {judged_text(counts)}.")
    gates = [
        (gate, *(statuses.get(name, 0) for name in SIGNS), percent(figures.pass_rates.get(gate)))
        for gate, statuses in figures.gates.items()
    ]
    console.print(table_of(("gate", "pass", "fail", "not run", "attested", "did not fail"), gates))
    console.print(Text(_gates_text(counts), style="dim"))
    if figures.reasons:
        reasons = [
            (gate, reason["rejects"], reason["alone"], reason["finding"]) for gate, reason in figures.reasons.items()
        ]
        console.print(table_of(("rejected by", "rejects", "by it alone", "for example"), reasons))
        say_cents(reason["finding"] for reason in figures.reasons.values())
    intents = [
        (intent, row["split"] or "", row["accepted"], row["rejected"]) for intent, row in counts["intents"].items()
    ]
    console.print(table_of(("intent", "split", "accepted", "rejected"), intents))
    lines: dict[str, tuple[str, Mapping[Any, float]]] = {
        "golden calls": (
            "how many, in how many tasks",
            {f"{calls} in": tasks for calls, tasks in figures.calls.items()},
        ),
        "tiers": ("how hard tasks are", figures.tiers),
        "outcomes": ("tasks", figures.outcomes),
        "mutants killed": ("wrong trajectories that score 0; fewest and median of a task", figures.mutants),
        "evolutions": ("tasks; one may have several", figures.evolutions),
        "shape": ("means, and shares of all tasks", figures.shape),
    }
    for title, (meaning, values) in lines.items():
        told = ", ".join(f"{name} {count:g}" for name, count in values.items())
        console.print(Text.assemble((title, "bold"), f" ({meaning}): {told}"))
    console.print(table_of(("tool", "golden calls"), list(figures.tools.items())))


def judged_text(counts: Mapping[str, Any]) -> str:
    """Say what became of all candidates that were judged, so that the numbers add up."""
    told = (
        f"{counts['candidates']} candidates judged: {counts['accepted']} became tasks, "
        f"{counts['rejected']} rejected, {counts['over_quota']} right but not needed"
    )
    return told + (f"; {counts['no_case']} more numbers had no case in the database" if counts["no_case"] else "")


def _gates_text(counts: Mapping[str, Any]) -> str:
    """Say what the columns of the gates count."""
    kept = counts["accepted"] + counts["rejected"]
    return (
        f"The columns count the {kept} tasks and rejected candidates; the last is a share of all "
        f"{counts['candidates']} that were judged. not run: the candidate failed before, or no model was asked "
        "(solvable). attested: shown on other tasks and at admission. "
        "docs/understand/gates.md says what each gate asks."
    )


def print_comparison(comparison: Comparison) -> None:
    """Print how one dataset differs from another, domain by domain."""
    console = open_console()
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
                    table_of(
                        (title, "before", "after", "difference"),
                        [_compared(name, figure) for name, figure in figures.items()],
                    )
                )


def print_selftest(found: SelfTest) -> None:
    """Print how many defects of each kind were found, and by which gates; then what was let pass, and which good
    candidates were rejected."""
    console = open_console()
    kinds = [
        (
            row.kind,
            row.level,
            row.planted,
            row.rejected,
            percent(row.share) or "no place",
            row.not_applicable,
            ", ".join(f"{gate} {count}" for gate, count in row.gates.items()),
        )
        for row in found.kinds
    ]
    console.print(
        table_of(("defect", "planted in the", "planted", "rejected", "share", "not applicable", "by the gates"), kinds)
    )
    share = found.rejected / found.planted if found.planted else None
    console.print(f"[bold]{found.rejected}[/] of {found.planted} planted defects rejected ({percent(share)})")
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


def print_weakened(results: Sequence[WeakenedResult]) -> None:
    """Print what slips through without each check of the verifier."""
    if results:
        shares = [
            (r.name, r.what, percent(r.wrong_killed), percent(r.idle_killed), percent(r.right_accepted))
            for r in results
        ]
        console, draw = open_console(), results[0]
        console.print(
            table_of(("verifier", "what it compares", "wrong killed", "idle agents killed", "right accepted"), shares)
        )
        console.print(
            f"[bold]{draw.wrong}[/] wrong trajectories, {draw.idle} of them idle agents, and {draw.right} right ones"
        )


def print_yields(yields: Sequence[Yield], domain: str, *, with_requests: bool = False) -> None:
    """Print what each stream of a domain yields, then in full what is found in those of which more than one in ten is
    rejected, and the intents that cannot be evolved."""
    console = open_console()
    names = ("stream", "judged", "accepted", "share", "alike", "commonest finding")
    rows = [
        (
            item.stream,
            item.judged,
            item.accepted,
            percent(item.share),
            item.alike or "",
            shorten(item.commonest, 80, placeholder=" …"),
        )
        for item in yields
    ]
    console.print(table_of(names, rows))
    judged, accepted = sum(item.judged for item in yields), sum(item.accepted for item in yields)
    console.print(
        f"[bold]{accepted}[/] of {judged} candidates of {len(yields)} streams accepted "
        f"({percent(accepted / judged if judged else None)}); "
        f"look at one: toolscale judge {escape(domain)} --intent STREAM NUMBER --turns single (or dialogue)"
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


def costs_told(ledger: Ledger) -> list[dict[str, Any]]:
    """Return what was asked of models and what it cost, for machines; dollars that are not known are None."""
    return [asdict(line) for line in ledger.rows()]


@contextmanager
def telling_costs(ledger: Ledger, *, json_: bool, rest: str = "") -> Iterator[None]:
    """Say what models cost if what is done here fails. `rest`: what else is said then."""
    try:
        yield
    except (ToolScaleError, KeyboardInterrupt) as error:
        if ledger.stages and json_:
            told = str(error) or "interrupted; what was paid for is kept"
            echo_json({"error": told, "costs": costs_told(ledger)})
        elif ledger.stages:
            print_costs(ledger)
            if rest:
                say(rest, err=True)
        raise


def print_costs(ledger: Ledger) -> None:
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
            *("no price" if dollars is None else f"${dollars:.4f}" for dollars in (line.paid_usd, line.worth_usd)),
        )
        for line in ledger.rows()
    ]  # fmt: skip
    open_console().print(table_of(names, rows))


def _groups(title: str, groups: Mapping[str, ComparedTasks]) -> RenderableType:
    """Show the groups in which something changed, and how many others there are."""
    changed, others = changed_groups(groups)
    shown = [(name, tasks.added, tasks.removed, tasks.changed, tasks.unchanged) for name, tasks in changed.items()]
    rest = (
        [Text(f"tasks of {others} {'other ' if shown else ''}{title}{'s' * (others != 1)} as before", style="dim")]
        if others
        else []
    )
    return Group(*([table_of((title, "added", "removed", "changed", "unchanged"), shown)] if shown else []), *rest)


def _compared(name: str, figure: ComparedFigure) -> tuple[str, str, str, str]:
    before, after = ("" if value is None else f"{value:g}" for value in (figure.before, figure.after))
    return (
        name,
        before,
        after,
        "" if figure.difference is None else f"{figure.difference:+g}" if figure.difference else "=",
    )
