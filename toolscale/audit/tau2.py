"""A domain of tau2-bench, executed by tau2 itself (`toolscale.tau2`) and read as examined tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.audit.examined import Examined, Made, Run
from toolscale.audit.found import EXECUTED, Undecided, bad_input
from toolscale.errors import ProgramError
from toolscale.patterns import regex
from toolscale.tau2.checkout import check_domain
from toolscale.tau2.files import read_json
from toolscale.text_files import printable

_REFUSED = regex(r"\s*(?:error\s*:|failed to\b|\{\s*\"error\"\s*:\s*\")", re.IGNORECASE)
"""How a result begins that says that the call was not done."""


@dataclass
class Driven:
    """What the driver has said: the tasks, the databases, and what could not be told."""

    version: str = ""
    tasks: list[Examined] = field(default_factory=list)
    databases: dict[str, Any] = field(default_factory=dict)
    broken: list[Undecided] = field(default_factory=list)

    @property
    def broken_tasks(self) -> set[str]:
        """The tasks that tau2 itself could not run."""
        return {task for each in self.broken for task in each.tasks}


def check_data(checkout: Path, domain: str) -> None:
    """UsageError if a folder is no checkout of tau2-bench, or has no such domain, or a file of it cannot be read."""
    check_domain(checkout, domain)
    data = checkout / "data" / "tau2" / "domains" / domain
    if not data.is_dir():
        raise bad_input(data, "", "the folder is missing", "get the data of the checkout too")
    for name in ("tasks", "db"):
        # telecom keeps its database as TOML: whoever wants to know whether it can be read asks tau2
        path = data / f"{name}.json"
        if path.is_file():
            read_json(path)
        elif not path.with_suffix(".toml").is_file():
            raise bad_input(path, "", "the file is missing", "get the file again: git checkout -- data")


def read_driver(lines: Iterable[Mapping[str, Any]]) -> Driven:
    """Return what the lines of the driver say. ProgramError if they are not what it writes."""
    driven = Driven()
    heard: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        try:
            kind = line["kind"]
            if kind == "domain":
                driven.version, driven.databases = str(line["tau2"]), dict(line["databases"])
                heard = (str(line["policy"]), json.dumps(line["tools"], ensure_ascii=False))
            elif kind == "task":
                driven.tasks.append(_examined(line, heard, driven.databases))
            elif kind == "broken":
                driven.broken += _broken(str(line["id"]), printable(str(line["error"])))
            else:
                raise ValueError(f"a kind {kind!r}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProgramError(f"the driver of tau2 wrote what it should not in line {number}: {error!r}") from error
    return driven


def _broken(task: str, error: str) -> list[Undecided]:
    reason = f"tau2 raises on it: {error}"
    return [Undecided(kind, (task,), reason) for kind in EXECUTED]


def _begun(databases: Mapping[str, Any], differences: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the databases as a task begins with them: those of the domain, with what is another there."""
    for each in differences:
        databases = _put(databases, each["path"], each)
    return databases


def _put(value: Mapping[str, Any], path: Sequence[str], difference: Mapping[str, Any]) -> dict[str, Any]:
    name, *rest = path
    if rest:
        return {**value, name: _put(value[name], rest, difference)}
    if "value" in difference:
        return {**value, name: difference["value"]}
    return {key: part for key, part in value.items() if key != name}


def _examined(line: Mapping[str, Any], heard: tuple[str, ...], databases: Mapping[str, Any]) -> Examined:
    basis = tuple(map(str, line["basis"]))
    needles = tuple(map(str, line["needles"]))
    assertions = [*map(str, line["nl_assertions"]), *(json.dumps(each) for each in line["env_assertions"])]
    if "ACTION" in basis:
        assertions += map(_compared, line["calls"])
    if line["setting"]:
        assertions.append(f"initial state {line['setting']}")
    criteria = {
        "COMMUNICATE": (needles, "communicate_info"),
        "NL_ASSERTION": (line["nl_assertions"], "nl_assertions"),
        "ENV_ASSERTION": (line["env_assertions"], "env_assertions"),
        "ACTION": (line["calls"], "actions"),
    }
    ungraded = [
        f"{name} ({len(found)}): the reward is of {', '.join(basis)}"
        for part, (found, name) in criteria.items()
        if found and basis and part not in basis and part != "ACTION"  # DB counts what the actions lead to
    ]
    hollow = [
        f"{part} counts, and {name} is empty: always met"
        for part, (found, name) in criteria.items()
        # nothing to say is a usual task; a model that judges nothing, or no call to make, is not
        if part in basis and not found and part != "COMMUNICATE"
    ]
    said = [text for text in (line.get("ticket"), _texts(line.get("history"))) if text]
    return Examined(
        id=str(line["id"]),
        told=(_texts(line["scenario"]), *map(str, said)),
        heard=heard,
        calls=tuple(_made(call) for call in line["calls"]),
        needles=needles,
        assertions=tuple(assertions),
        basis=basis if line["has_criteria"] else (),
        ungraded=tuple(ungraded),
        hollow=tuple(hollow),
        start=str(line["start"]),
        goal=str(line["goal"]),
        databases=_begun(databases, line["differences"]),
        idle=_run(line["idle"]),
        words=_run(line["words"] or line["idle"]),  # with nothing to say, there are no words that could win
        golden=_run(line["golden"]),
    )


def _compared(call: Mapping[str, Any]) -> str:
    """Return what is compared of a golden call where the reward counts calls: some of its arguments, or all of them."""
    wanted = call["arguments"] if call["compared"] is None else call["compared"]
    arguments = {name: call["arguments"].get(name) for name in wanted}
    return f"call {json.dumps([call['name'], arguments], sort_keys=True)}"


def _made(call: Mapping[str, Any]) -> Made:
    result, error = call.get("result"), call.get("error")
    if result is not None and _REFUSED.match(str(result)):  # some tools say what is wrong where others raise it
        result, error = None, str(result)
    if error is not None:
        error = f"{printable(str(error))} ({'the call writes' if call['writes'] else 'a look-up'})"
    told = None if result is None else _plain(str(result))
    return Made(str(call["name"]), dict(call["arguments"]), told, error, bool(call["writes"]), bool(call["changed"]))


def _plain(text: str) -> str:
    """Return JSON with its letters as they are read: tau2 writes those of other alphabets as numbers."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _run(found: Mapping[str, Any]) -> Run:
    if "error" in found:
        return Run(str(found["said"]), None, {}, f"tau2's own evaluator raises: {printable(str(found['error']))}")
    parts = {str(name): float(value) for name, value in found["parts"].items()}
    reward = 1.0
    for value in parts.values():
        reward *= value
    if found["judged"] and reward:
        return Run(str(found["said"]), None, parts, "all else is met, and a model judges nl_assertions")
    return Run(str(found["said"]), reward, parts)


def _texts(value: Any) -> str:
    """Return all strings and numbers of a value, a line each."""
    if isinstance(value, Mapping):
        return "\n".join(filter(None, map(_texts, value.values())))
    if isinstance(value, list):
        return "\n".join(filter(None, map(_texts, value)))
    return "" if value is None or isinstance(value, bool) else str(value)
