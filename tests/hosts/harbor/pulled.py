"""Harbor on what was published: its `oracle` and its `nop` play the tasks of a folder, and those of a git repo."""

import json
import sys
from pathlib import Path

from harness import engine, make_image, play

EXPORT, REPO, WORK = Path(sys.argv[1]), sys.argv[2], Path("work").resolve()


def main():
    WORK.mkdir()
    where = engine()
    make_image(EXPORT, WORK, where)
    for source in ({"path": str(EXPORT)}, {"repo": REPO, "path": "exports/harbor"}):
        trials = play(EXPORT, [{"name": "oracle"}, {"name": "nop"}], WORK, where, datasets=[source])
        rewards = {name: [t.rewards["reward"] for t in trials if t.agent == name] for name in ("oracle", "nop")}
        print(json.dumps(rewards))


main()
