"""Nights as the pipeline leaves them, made of one real manifest with other figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from scheduled_runs import DAG_ID

from toolscale.dataset.runs import run_name

FIRST = datetime(2026, 10, 1, 2, tzinfo=UTC)
USUAL = {"novel": 24, "unambiguous": 12, "mutants_killed": 3, "replay": 2, "case_agrees": 1}
"""Gate -> candidates that it rejects in a usual night."""
REPORT = {
    "questions": {
        "policies": [
            {"policy": "untrained", "best": 0.2, "share": 0.0},
            {"policy": "trained", "best": 0.819, "share": 0.956},
        ]
    },
    "check": {"passed": True},
}


def manifest_with(
    manifest: Path, *, accepted: int, failed: Mapping[str, int], tasks: int = 396, domain: str = "mock"
) -> bytes:
    """Return a real manifest with other figures."""
    about = json.loads(manifest.read_text())
    (part,) = about["domains"].values()
    rejected = sum(failed.values())
    part["tasks"] = tasks
    part["counts"] |= {"asked": tasks, "accepted": accepted, "rejected": rejected, "candidates": accepted + rejected}
    part["gates"] = {
        gate: {"fail": failed.get(gate, 0), "pass": accepted + rejected - failed.get(gate, 0)} for gate in USUAL
    }
    about["domains"] = {domain: part}
    return json.dumps(about).encode()


def write_night(
    data: Path,
    manifest: Path,
    day: int,
    *,
    accepted: int = 396,
    failed: Mapping[str, int] = USUAL,
    kill_rate: float = 1.0,
    by_hand: bool = False,
    minutes: int | None = 31,
    tasks: int = 396,
) -> Path:
    """Write a finished night of the mock domain and return its folder."""
    night = FIRST + timedelta(days=day)
    run_id = f"{'manual' if by_hand else 'scheduled'}__{night.isoformat()}"
    home = data / "runs" / run_name(run_id)
    about: dict[str, Any] = {
        "dag_id": DAG_ID,
        "run_id": run_id,
        "started": (night + timedelta(seconds=4)).isoformat(),
        "logical_date": night.isoformat(),
        "domains": ["mock"],
        "tasks": tasks,
        "seed": day,
        "params": {},
        "night": None if by_hand else night.isoformat(),
    }
    content = manifest_with(manifest, accepted=accepted, failed=failed, tasks=tasks)
    accepted_share = round(accepted / (accepted + sum(count for gate, count in failed.items() if gate != "novel")), 4)
    write(home / "run.json", about)
    for folder in (home / "mock" / "dataset", home / "dataset"):
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_bytes(content)
    write(
        home / "mock" / "quality.json",
        {
            "passed": accepted_share > 0.5,
            "figures": {"accepted_share": accepted_share, "kill_rate": kill_rate},
            "thresholds": {},
            "reasons": [] if accepted_share > 0.5 else ["accepted_share is too low"],
        },
    )
    if minutes is not None:
        write(
            home / "finished.json",
            {"finished": (night + timedelta(minutes=minutes, seconds=4)).isoformat(), "complete": True},
        )
    return home


def write_push(home: Path, repo: str = "me/nights", **changes: Any) -> Path:
    """Write the record of a push of a night."""
    digest = sha256((home / "dataset/manifest.json").read_bytes()).hexdigest()
    record = {
        "repo": repo,
        "url": f"https://huggingface.co/datasets/{repo}",
        "tag": f"v1.0.0-{digest[:8]}",
        "commit": digest[:40],
        "sha256": digest,
        "dataset": "dataset",
    }
    path = home / "published" / f"{run_name(repo)}.json"
    write(path, record | changes)
    return path


def write_training(data: Path, home: Path, name: str, report: Any = REPORT) -> Path:
    """Write a finished training on a night."""
    digest = sha256((home / "dataset/manifest.json").read_bytes()).hexdigest()
    folder = data / "training" / name
    write(folder / "trained_on.json", {"dataset": str(home / "dataset"), "sha256": digest})
    write(folder / "report.json", report)
    write(folder / "done.json", {"steps": 4})
    return folder


def write_forty_nights(data: Path, manifest: Path) -> list[Path]:
    """Write forty nights, oldest first: figures that go up and down a little, and one night on which they do not."""
    homes = []
    for day in range(40):
        odd = day == 37
        failed = {**USUAL, "novel": 22 + day * 7 % 5, "unambiguous": 60 if odd else 11 + day % 4}
        accepted = 371 if odd else 396
        homes.append(
            write_night(
                data,
                manifest,
                day,
                accepted=accepted,
                failed=failed,
                kill_rate=0.9991 if day % 3 else 1.0,
                minutes=28 + day % 6,
            )
        )
    return homes


def write(path: Path, content: Any) -> None:
    """Write JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
