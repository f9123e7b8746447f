"""Harbor: golden conversations, word by word, as `oracle` makes them by `solve.sh`. The person of a dialogue is spoken
to by a tool."""

import json
import sys
from pathlib import Path

from harness import engine, make_image, play

from toolscale.exports.golden import golden_trajectories

EXPORT, WORK = Path(sys.argv[1]), Path("work").resolve()
WORK.mkdir()
where = engine()
make_image(EXPORT, WORK, where)
golden = {each.task.id: each for each in golden_trajectories(EXPORT / "dataset")}
for trial in play(EXPORT, [{"name": "oracle"}], WORK, where):
    known = golden[trial.task.rpartition("-")[2]]
    said = [json.loads(line) for line in (trial.folder / "agent" / "oracle.txt").read_text().splitlines()]
    _, *later = known.messages[len(known.prompt) - 1 :]
    wanted = [
        json.loads(each["content"]) if each["role"] == "tool" else {"heard": each["content"]}
        for each in later
        if each["role"] != "assistant"
    ]
    about = {"turns": known.task.turns, "answer": known.task.answer, "score": float(trial.rewards["reward"])}
    print(json.dumps(about | {"same": said == [*wanted, {"taken": True}]}))
