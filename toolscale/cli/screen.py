"""Tasks, rejects and sessions on a screen, for people to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from toolscale.cli.output import print_result, say
from toolscale.cli.terminal import SIGNS, WideTable, open_console
from toolscale.dataset.columns import Row, candidate_of, reject_row, task_row
from toolscale.dataset.describing.cells import Pairs, Parts, Rows, Shown, cell_text, change_kind, laid_out, money_text
from toolscale.environment.environment import Environment
from toolscale.records import Judged

if TYPE_CHECKING:
    from toolscale.session.transcript import View


def print_task(row: Row, split: str) -> None:
    """Print a task: what was asked, what was done, what changed, what must be told, and what the gates found."""
    console = open_console()
    difficulty = row["difficulty"]
    console.rule(Text.assemble((row["id"], "bold"), f"  {row['intent_id']}"), align="left")
    counts = [
        f"{difficulty[name]} {name[:-1] if difficulty[name] == 1 else name}" for name in ("reads", "writes", "hops")
    ]
    console.print(Text(" · ".join([split, row["outcome"], difficulty["tier"], *counts]), style="dim"))
    candidate = candidate_of(row)
    console.print(Panel(Text(candidate.opening), title="request", title_align="left", border_style="cyan"))
    if held := [Text(reply.says) for reply in candidate.held]:
        console.print(_section("told only when asked", held))
    if candidate.agenda:
        console.print(_section("told later", [Text(each) for each in candidate.agenda]))
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
    """Print what a solver sees of a task: policy, tools, request, and the calls made so far. `brief`: the form, whose
    fields differ from task to task, and how the other tools are called."""
    console = open_console()
    if brief:
        called = [_signature(tool["function"]) for tool in view.tools if tool not in view.own_tools]
        console.print(Text(f"tools: {'; '.join(called)}", style="dim"))
        console.print(Text("without --brief: what they do, and the policy", style="dim"))
    else:
        console.print(Panel(Text(view.policy), title="policy", title_align="left"))
    for tool in view.own_tools if brief else view.tools:
        function = tool["function"]
        console.print(Text.assemble((function["name"], "bold"), f": {function['description']}"))
        required = function["parameters"].get("required", [])
        for name, schema in function["parameters"]["properties"].items():
            optional = "" if name in required else " (optional)"
            console.print(Padding(Text(f"{name}{optional}: {json.dumps(schema, ensure_ascii=False)}"), (0, 0, 0, 4)))
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


def _signature(function: Mapping[str, Any]) -> str:
    required = function["parameters"].get("required", [])
    names = [name if name in required else f"{name}?" for name in function["parameters"]["properties"]]
    return f"{function['name']}({', '.join(names)})"


def print_reject(row: Row) -> None:
    """Print a rejected candidate and why it was rejected."""
    console = open_console()
    console.rule(Text.assemble((f"candidate {row['number']}", "bold"), f"  {row['intent_id']}"), align="left")
    console.print(Text(row["request"]))
    for failed in row["failed"]:
        console.print(Text.assemble(("✗ ", "bold red"), (failed["gate"], "bold"), f": {failed['finding']}"))
    console.print(Text(row["reproduce"], style="dim"))
    console.print()


def print_judged(judged: Judged, environment: Environment, scale: int = 1) -> None:
    """Print a candidate that was just judged, on a database of that scale."""
    if judged.task is not None and judged.verdict.accepted:
        return print_task(task_row(judged, "", "[]"), "not in a dataset")
    print_reject(reject_row(judged, environment.hash, scale))


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
        return WideTable(shown.columns, shown.rows)
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
    elif fact["kind"] in ("bool", "yes_no"):
        value = "yes" if value == "1" else "no"
    about = f" of {fact['about']}" if fact["about"] else ""
    return Text.assemble((fact["kind"], "dim"), about, ": ", (value, "bold"))


def _verdict(gates: Sequence[Row]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for gate in gates:
        sign, style = SIGNS[gate["status"]]
        table.add_row(Text(sign, style=style), Text(gate["gate"]), Text(gate["finding"], style="dim"))
    return table
