"""Agents without a model: one that follows scripts, by MCP, and one that looks for the answer."""

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

HERE = Path(__file__).parent


class Player(BaseAgent):
    """What both have in common: a script of ours that runs in the container."""

    program = ""
    capabilities = AgentCapabilities(mcp_servers=True)

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        await environment.upload_file(HERE / self.program, f"/tmp/{self.program}")

    async def run_there(self, environment: BaseEnvironment, *arguments: str) -> Any:
        [server] = tomllib.loads((environment.environment_dir.parent / "task.toml").read_text())["environment"][
            "mcp_servers"
        ]
        url = server["url"] if self.program == "play.py" else server["url"].removesuffix("/mcp")
        done = await environment.exec(shlex.join(["python3", f"/tmp/{self.program}", url, *arguments]))
        assert done.return_code == 0, done.stderr
        return json.loads(done.stdout or "")


def id_of(environment: BaseEnvironment) -> str:
    return tomllib.loads((environment.environment_dir.parent / "task.toml").read_text())["metadata"]["id"]


def plays_of(task: dict[str, Any]) -> list[tuple[str, Any]]:
    """What is played on a task: (kind, script), the golden one first."""
    return [(kind, script) for kind, played in task.items() if isinstance(played, list) for script in played]


class Scripted(Player):
    """Makes the calls of one script of those that a task has; where it has fewer, none."""

    program = "play.py"

    def __init__(self, *args: Any, scripts: str, number: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.plays = {each["task"]: plays_of(each) for each in json.loads(Path(scripts).read_text())}
        self.number = number

    @staticmethod
    def name() -> str:
        return "scripted"

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        for kind, script in self.plays[id_of(environment)][self.number : self.number + 1]:
            results = await self.run_there(environment, json.dumps(script["calls"]))
            context.metadata = {"kind": kind, "results": results}


class Seeker(Player):
    """Looks for texts, and makes no call."""

    program = "seek.py"

    def __init__(self, *args: Any, needles: dict[str, list[str]], of_the_machine: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.needles, self.of_the_machine = needles, of_the_machine

    @staticmethod
    def name() -> str:
        return "seeker"

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        reversed_ = [needle[::-1] for needle in self.needles[id_of(environment)]]
        context.metadata = await self.run_there(environment, json.dumps(reversed_), *self.of_the_machine)
