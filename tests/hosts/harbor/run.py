"""Harbor: its own runner plays the tasks of the export, with its `oracle`, its `nop`, and agents of ours."""

import json
import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq
from harness import engine, image_of, make_image, play
from players import plays_of

from toolscale.exports.golden import golden_trajectories
from toolscale.exports.harbor import folder_of

EXPORT, SCRIPTS, WORK = Path(sys.argv[1]), Path(sys.argv[2]), Path("work").resolve()
CRITERIA = ["execution_correct", "faithful", "nothing_else", "operations_complete", "reward"]
PLANTED = "canary-7f3d90aa41"
"""What stands in each golden call of the dataset that is in the image."""
NAME = re.compile(r"[a-z]+_[a-z0-9]*\d[a-z0-9]*")
"""How a domain calls its rows: such as py_ppvi2xj6xg."""
KEPT = {"health": [200] * 3 + [405] * 3, "tools": [200] * 3 + [405] * 3, "grade": [405] * 3 + [401] * 3}
"""What the desk answers to who has no token: three times by GET, three by POST."""


def plant():
    """Write a canary into the golden calls of the dataset, where it can be read without unpacking anything."""
    for path in EXPORT.glob("dataset/*/*.parquet"):
        table = pq.read_table(path)
        if "golden_calls" in table.column_names and path.parent.parent.name == "dataset":
            rows = table.to_pylist()
            for call in (call for row in rows for call in row["golden_calls"]):
                call["arguments"] = json.dumps(json.loads(call["arguments"]) | {"canary": PLANTED})
            pq.write_table(type(table).from_pylist(rows, table.schema), path, compression="none")


def needles(golden):
    """What an agent that sees more than it should could find: the canaries, the token's name, the golden ids."""
    folder = EXPORT / folder_of(golden)
    told = (folder / "instruction.md").read_text()
    calls = json.dumps([[call.name, call.arguments, call.result] for call in golden.task.golden_calls])
    [canary] = set(re.findall("canary ([0-9a-f]{32})", "".join(path.read_text() for path in folder.glob("*/*.sh"))))
    return [PLANTED, canary, "TOOLSCALE_SERVE_TOKEN", *sorted(set(NAME.findall(calls)) - set(NAME.findall(told)))]


def seeker(golden):
    return {
        "import_path": "players:Seeker",
        "kwargs": {"needles": {each.task.id: needles(each) for each in golden}, "of_the_machine": [sys.base_prefix]},
    }


def check_control(golden, engine):
    """An agent that is root sees what is hidden from a user: so the looking works."""
    task = EXPORT / folder_of(golden)
    shutil.copytree(task, WORK / "control" / task.name)
    told = (task / "task.toml").read_text()
    assert 'user = "agent"' in told
    (WORK / "control" / task.name / "task.toml").write_text(told.replace('user = "agent"', 'user = "root"'))
    [trial] = play(WORK / "control", [seeker([golden])], WORK, engine)
    places = {each.rpartition(": ")[::2] for each in trial.said["found"]}
    kinds = {(re.sub(r"\d+", "N", place) if place.startswith("/proc") else place, needle) for place, needle in places}
    assert {("/proc/N/mem", PLANTED), ("/proc/N/environ", "TOOLSCALE_SERVE_TOKEN")} <= kinds, kinds
    assert any(place.startswith("/desk/dataset/") and needle == PLANTED for place, needle in places), places
    ids = needles(golden)[3:]
    assert ids and {("/proc/N/mem", each) for each in ids} <= kinds, (ids, kinds)


def main():
    scripts = json.loads(SCRIPTS.read_text())
    golden = list(golden_trajectories(EXPORT / "dataset"))
    ids = {f"toolscale/{folder_of(each)}": each.task.id for each in golden}
    plant()
    WORK.mkdir()
    where = engine()
    size = make_image(EXPORT, WORK, where)
    print(f"Harbor plays in {where.name}; image {image_of(EXPORT)} adds {size:.0f} MB to its base", file=sys.stderr)
    scripted = [
        {"import_path": "players:Scripted", "kwargs": {"scripts": str(SCRIPTS), "number": number}}
        for number in range(max(len(plays_of(each)) for each in scripts))
    ]
    trials = play(EXPORT, [{"name": "oracle"}, {"name": "nop"}, seeker(golden), *scripted], WORK, where)
    rewards = {"oracle": {}, "nop": {}, "seeker": {}}
    for trial in trials:
        assert sorted(trial.rewards) == CRITERIA and (trial.folder / "verifier" / "finding.txt").is_file(), trial
        if trial.agent == "scripted" and trial.said:
            print(json.dumps({"task": ids[trial.task], "kind": trial.said["kind"], "score": trial.rewards["reward"]}))
        elif trial.agent != "scripted":
            rewards[trial.agent][trial.task] = trial.rewards["reward"]
        if trial.agent == "seeker":
            assert trial.said["found"] == [], trial.said
            assert {path: trial.said["statuses"][path] for path in KEPT} == KEPT, trial.said["statuses"]
    assert rewards == {"oracle": dict.fromkeys(ids, 1), "nop": dict.fromkeys(ids, 0), "seeker": dict.fromkeys(ids, 0)}
    check_control(golden[0], where)
    print(json.dumps({"host": "harbor", "version": version("harbor"), "interleaved": interleaved(scripts, ids, where)}))


def interleaved(scripts, ids, where):
    """One task in two containers at once: one agent does it, one nothing."""
    changing = next(each["task"] for each in scripts if each["changes"])
    [name] = [name.partition("/")[2] for name, task in ids.items() if task == changing]
    shutil.copytree(EXPORT / name, WORK / "two" / name)
    right = {"scripts": str(SCRIPTS), "number": 0}
    trials = play(WORK / "two", [{"import_path": "players:Scripted", "kwargs": right}, {"name": "nop"}], WORK, where)
    return sorted((float(trial.rewards["reward"]) for trial in trials), reverse=True)


main()
