"""A small program that leaves the files of `python -m eval`, and takes no time.

run BENCHMARK --out OUT --policy NAME=FOLDER …    writes OUT/BENCHMARK, with done.json last
compare A B --json                                the verdict that a file `verdict` in the folder of A's model says
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def run(options: argparse.Namespace) -> None:
    out = Path(options.out) / options.benchmark
    out.mkdir(parents=True, exist_ok=True)
    figures = {}
    for policy in options.policy:
        name, _, folder = policy.partition("=")
        (out / name).mkdir(exist_ok=True)
        verdict = Path(folder) / "verdict" if folder else Path("none")
        (out / name / "verdict").write_text(verdict.read_text() if verdict.is_file() else "no difference shown")
        figures[name] = {"data": [Path(each).name for each in options.data], "tasks": options.tasks}
    (out / "report.html").write_text("<p>a report")
    (out / "done.json").write_text(json.dumps(figures))


def compare(options: argparse.Namespace) -> None:
    estimate = {"value": -0.1, "low": -0.2, "high": -0.05}
    verdict = (Path(options.a) / "verdict").read_text()
    print(json.dumps({"verdict": verdict, "tasks": 40, "accuracy": {"estimate": estimate}}))


def main() -> None:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True)
    first = verbs.add_parser("run")
    first.add_argument("benchmark")
    first.add_argument("--out", required=True)
    first.add_argument("--policy", action="append", default=[])
    first.add_argument("--data", action="append", default=[])
    first.add_argument("--config")
    first.add_argument("--tasks", type=int)
    first.set_defaults(act=run)
    second = verbs.add_parser("compare")
    second.add_argument("a")
    second.add_argument("b")
    second.add_argument("--json", action="store_true")
    second.set_defaults(act=compare)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
