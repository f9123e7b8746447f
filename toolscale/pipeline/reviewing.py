"""A drafted domain as a scheduler makes it: drafted where runs are kept, shown to a person, and put among the domains.

What is drafted lies under the data root, in `drafts/DOMAIN`: `environment/` with the files, `transcript.md`, and the
replies that were paid for, so that a task that is called again, on whatever machine, goes on from them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.canonical import content_hash
from toolscale.dataset.describing.cells import money_text
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.places import local_copy, look_anew, open_place, url_of
from toolscale.dataset.storage import read_file, write_file
from toolscale.draft.sources import Source, read_source
from toolscale.environment.environment import load_environment
from toolscale.environment.registry import APPROVED
from toolscale.errors import DatasetError, UsageError
from toolscale.limits import RunLimits
from toolscale.models.chat import ChatModel, Ledger
from toolscale.pipeline.drafting import Drafted, DraftSettings, domain_of, draft_domain, drafted_files, put_folder
from toolscale.pipeline.stages import synthesize
from toolscale.temporary_folders import temporary_folder
from toolscale.text_files import printable

log = logging.getLogger(__name__)

SHOWN = 20
"""Tasks that a person is shown."""

_REPLIES, _TRANSCRIPT = "replies.sqlite", "transcript.md"


def draft_settings(given: Mapping[str, Any], database: str | None = None) -> DraftSettings:
    """Return what a draft may take, as a run was given it: `source`, `only`, `policy`, `budget`, `intents`, `rounds`,
    `phrase`. `database` is the URL of a database instead of `source`. UsageError if they cannot be read, or both are
    given."""
    if database and given["source"]:
        raise UsageError("the run was given a source and a connection; give one of them")
    policy = Path(given["policy"]) if given["policy"] else None
    source = read_source(database or given["source"] or None, tuple(given["only"] or ()), policy)
    for line in source.notes if source else ():
        log.info("%s", line)
    return DraftSettings(
        limits=RunLimits.of(given),
        source=source,
        wishes=given["intents"],
        rounds=given["rounds"],
        phrase=given["phrase"],
    )


def prepare_draft(
    root: str, name: str, model: ChatModel, settings: DraftSettings, *, domains: str | Path | None = None
) -> dict[str, Any]:
    """Draft the domain that a name stands for and return its `domain`, `folder`, `hash`, and `body`: what a person
    should see before it is taken, as Markdown.

    Of `settings`, the paths do not count. UsageError if there is such a domain already; what `draft_domain` raises.
    """
    domain = domain_of(name)
    if (Path(domains or APPROVED) / domain).exists():
        raise UsageError(f"there is a domain {domain!r} already; choose another name, or remove its folder")
    place = look_anew(open_place(root)) / "drafts" / domain
    ledger = Ledger()
    with temporary_folder("draft") as local:
        if (place / _REPLIES).exists():
            write_file(local / _REPLIES, read_file(place / _REPLIES))
        where = DraftSettings(
            root=local / "made", work=local / "work", replies=local / _REPLIES,
            limits=settings.limits, source=settings.source, wishes=settings.wishes, rounds=settings.rounds,
            phrase=settings.phrase,
        )  # fmt: skip
        try:
            made = draft_domain(name, model, where, log.info, ledger)
        finally:
            for file, found in ((_REPLIES, local / _REPLIES), (_TRANSCRIPT, where.work / domain / _TRANSCRIPT)):
                if found.exists():
                    write_file(place / file, found.read_bytes())
        for file in drafted_files(made.folder):
            write_file(place / "environment" / file, (made.folder / file).read_bytes())
        body = _body(domain, made, _tasks(made.folder, local / "tasks"), settings.source)
        return {"domain": domain, "folder": url_of(place / "environment"), "hash": _hash(made.folder), "body": body}


def place_draft(folder: str, domain: str, expected: str, *, domains: str | Path | None = None) -> str:
    """Put the folder of a draft that a person has approved among the domains, and return its path.

    DatasetError if it is not the one that was shown; UsageError if another domain of that name has come up. A folder
    that is there already and is the same one stays. `domains`: their folder, that of the project unless given.
    """
    root = Path(domains or APPROVED)
    with local_copy(look_anew(open_place(folder))) as copy:
        if _hash(copy) != expected:
            raise DatasetError(f"{folder}: the draft is not the one that was approved; trigger draft_domain anew")
        target = root / domain
        if target.exists():
            if _hash(target) == expected:
                return str(target)
            raise UsageError(f"{target} is there already, and is another domain; remove it, or choose another name")
        put_folder(copy, target)
    return str(target)


def _hash(folder: Path) -> str:
    return content_hash({file: (folder / file).read_text(encoding="utf-8") for file in drafted_files(folder)})


def _tasks(folder: Path, out: Path) -> list[Mapping[str, Any]]:
    """Return some tasks of a domain, over its intents."""
    synthesize(str(folder), out, tasks=SHOWN, seed=0)
    reading = read_dataset(out)
    return sorted((row for rows in reading.rows.splits.values() for row in rows), key=lambda row: str(row["id"]))


def _body(domain: str, made: Drafted, tasks: Sequence[Mapping[str, Any]], source: Source | None) -> str:
    spec = load_environment(made.folder).spec
    drafted = spec.world.drafted
    assert drafted is not None
    judged, accepted = sum(each.judged for each in made.yields), sum(each.accepted for each in made.yields)
    total = drafted.total
    each = None if total.usd is None else total.usd / max(1, accepted)
    cost = "at a price that is not known" if each is None else f"${total.usd:.4f} (${each:.6f} for each that passed)"
    lines = [
        f"**{_plain(spec.world.title)}** (`{domain}`): {_plain(spec.world.description)}",
        "",
        f"Tables: {len(spec.schema_.tables)}, tools: {len(spec.toolset.tools)}, rules: {len(spec.policy.rules)}, "
        f"intents: {len(spec.intents.intents)}. {accepted} of {judged} candidates pass every gate.",
        f"Drafted by `{drafted.model}`"
        + (f" from {_plain(source.name)}" if source else "")
        + f": {total.replies} replies, {total.input_tokens:,} tokens read, {total.output_tokens:,} written, {cost}.",
        "",
        "| step | rounds | findings of each | dropped | dollars |",
        "|---|--:|---|---|--:|",
    ]
    for step in made.steps:
        stage = drafted.stages.get(step.name)
        dollars = f"{stage.usd:.4f}" if stage and stage.usd is not None else "no price"
        found, dropped = ", ".join(map(str, step.findings)), ", ".join(step.dropped)
        lines.append(f"| {step.name} | {step.rounds} | {found} | {dropped} | {dollars} |")
    lines += ["", "### The policy", "", *(f"> {_plain(line)}  " for line in spec.policy_text.splitlines()), ""]
    lines += [f"### {len(tasks)} of its tasks", ""]
    for number, task in enumerate(tasks, 1):
        lines += [f"**{number}. {task['intent_id']}**", ""]
        lines += [f"> {_plain(line)}" for line in str(task["request"]).splitlines()]
        lines += ["", *(f"- `{_call(call)}`" for call in task["golden_calls"]), *_told(task), ""]
    return "\n".join(lines)


def _call(call: Mapping[str, Any]) -> str:
    return printable(f"{call['name']}({call['arguments']})".replace("`", "'"), 400)


def _told(task: Mapping[str, Any]) -> list[str]:
    facts = [_fact(fact["kind"], str(fact["value"])) for fact in task["communicate"] or ()]
    return [f"- to be told: {', '.join(facts)}"] if facts else []


def _fact(kind: str, value: str) -> str:
    return money_text(int(value)) if kind == "money" else f"{kind} {_plain(value)}"


def _plain(text: str) -> str:
    """Return text that a model wrote so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~&])", r"\\\1", printable(text, 2_000))
