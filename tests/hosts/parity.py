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
    """Return the table as Markdown: a row a host. A cell says how many were played, and if not all got their score, how
    many did."""
    notes = [json.loads(path.read_text()) for path in sorted(NOTES.glob("*.json"))]
    if not notes:
        return "No host has been tried here.\n"
    kinds = list(dict.fromkeys(kind for each in notes for kind in each["kinds"]))
    lines = ["| | tasks | " + " | ".join(kind.replace("_", " ") for kind in kinds) + " | all |"]
    lines.append("|---|" + "--:|" * (len(kinds) + 2))
    for each in notes:
        total = {name: sum(one[name] for one in each["kinds"].values()) for name in ("n", "agreed")}
        cells = [_cell(each["kinds"].get(kind)) for kind in kinds]
        told = [f"{each['host']} {each['version']}, {each['answer']}s", str(each["tasks"]), *cells, _cell(total)]
        lines.append(f"| {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


def _cell(counted: dict[str, int] | None) -> str:
    if not counted or not counted["n"]:
        return "–"
    agreed, played = counted["agreed"], counted["n"]
    return str(played) if agreed == played else f"**{agreed} of {played}**"


def main() -> None:
    told = table()
    print(told)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + told + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
