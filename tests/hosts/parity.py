"""The parity table: in each host, how many solutions of known score were played, and how many got another one.

Each host's test notes what it saw in `.venv-hosts/parity/`; this prints the table and writes it into docs/use/hosts.md.
"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTES = ROOT / ".venv-hosts" / "parity"
PAGE = ROOT / "docs" / "use" / "hosts.md"
BEGIN, END = "<!-- parity -->\n", "<!-- /parity -->\n"

Scores = dict[str, dict[str, list[float]]]
"""Kind -> task -> scores."""


def note(host: str, version: str, answer: str, wanted: Scores, got: Scores) -> None:
    """Keep what a host made of the scripts of each kind."""
    kinds = {}
    for kind, tasks in wanted.items():
        pairs = [
            pair
            for task, scores in tasks.items()
            for pair in zip(scores, [*got[kind].get(task, []), *[-1.0] * len(scores)][: len(scores)], strict=True)
        ]
        kinds[kind] = {"n": len(pairs), "agreed": sum(one == other for one, other in pairs)}
    told = {"host": host, "version": version, "answer": answer, "tasks": len(wanted["golden"]), "kinds": kinds}
    NOTES.mkdir(parents=True, exist_ok=True)
    (NOTES / f"{host}-{answer}.json").write_text(json.dumps(told, indent=1) + "\n")


def table() -> str:
    """Return the table as Markdown: a column a host; a cell says how many agreed, and how many differed if any did."""
    notes = [json.loads(path.read_text()) for path in sorted(NOTES.glob("*.json"))]
    if not notes:
        return "No host has been tried here.\n"
    lines = ["| |" + "".join(f" {each['host']} {each['version']}, {each['answer']}s |" for each in notes)]
    lines += ["|---|" + "--:|" * len(notes), "| tasks |" + "".join(f" {each['tasks']} |" for each in notes)]
    for kind in dict.fromkeys(kind for each in notes for kind in each["kinds"]):
        lines.append(f"| {kind.replace('_', ' ')} |" + "".join(_cell(each["kinds"].get(kind)) for each in notes))
    totals = [{name: sum(one[name] for one in each["kinds"].values()) for name in ("n", "agreed")} for each in notes]
    lines.append("| **all** |" + "".join(_cell(total) for total in totals))
    return "\n".join(lines) + "\n"


def _cell(counted: dict[str, int] | None) -> str:
    if not counted or not counted["n"]:
        return " – |"
    differed = counted["n"] - counted["agreed"]
    return f" {counted['agreed']} of {counted['n']}" + (f", **{differed} differed** |" if differed else " |")


def main() -> None:
    told = table()
    print(told)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + told + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
