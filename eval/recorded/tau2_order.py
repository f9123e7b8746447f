"""What tau2 is asked to run: tasks, trials, agent and user simulator, as arguments and as an environment.

The key of a server stands in the environment alone: arguments are seen by all on the machine, and tau2 writes them into
its results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.records import HASH
from toolscale.canonical import content_hash
from toolscale.errors import UsageError
from toolscale.models.chat import ChatModel, model_from
from toolscale.models.chat.settings import KEY, MODEL, OPENAI, PRICE, URL
from toolscale.models.transport import check_address
from toolscale.tau2.checkout import Checkout, bare
from toolscale.tau2.files import Tau2Task

USER, USER_URL = "TOOLSCALE_USER", "TOOLSCALE_USER_URL"
"""The model that plays the user, and its server (that of the policy without it)."""

JUDGE, JUDGE_URL = "gpt-4.1-2025-04-14", "TOOLSCALE_JUDGE_URL"
"""Judges what tau2 wants told in words. The name is fixed in tau2."""

USER_TEMPERATURE = 0.0
"""As tau2 has it."""

_NETWORK = frozenset({"REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"})


@dataclass(frozen=True)
class Voices:
    """The models that a conversation takes."""

    agent: ChatModel
    user: ChatModel
    judge_url: str
    key: str
    """Of all servers; empty: none wants one."""


@dataclass(frozen=True)
class Order:
    """One run. `whole`: the tasks of the set, of which `tasks` are run."""

    checkout: Checkout
    data: Path
    domain: str
    split: str
    whole: tuple[Tau2Task, ...]
    tasks: tuple[Tau2Task, ...]
    trials: int
    seed: int
    at_once: int
    temperature: float
    voices: Voices

    @property
    def name(self) -> str:
        """What its results are kept under: another agent, user or set, and tasks that have changed, have another one.
        More tasks or trials add to what is there."""
        agent = self.voices.agent
        identity = {
            "tau2": self.checkout.version,
            "domain": self.domain,
            "split": self.split,
            "tasks": content_hash([task.raw for task in self.whole]),
            "agent": agent.endpoint.model,
            "price": agent.price.model_dump() if agent.price is not None else None,
            "temperature": self.temperature,
            "user": self.voices.user.endpoint.model,
            "seed": self.seed,
        }
        return content_hash(identity)[:HASH]

    def arguments(self, results: Path) -> list[str]:
        """Return the arguments of `tau2 run`, which then writes `results`; a path that is absolute is taken as it
        is."""
        agent, user = self.voices.agent, self.voices.user
        return [
            "run",
            *("--domain", self.domain),
            *("--task-split-name", self.split),
            *("--num-trials", str(self.trials)),
            *("--seed", str(self.seed)),
            *("--max-concurrency", str(self.at_once)),
            *("--agent", "llm_agent"),
            *("--agent-llm", f"openai/{agent.endpoint.model}"),
            *("--agent-llm-args", json.dumps(_asked(agent, self.temperature))),
            *("--user", "user_simulator"),
            *("--user-llm", f"openai/{user.endpoint.model}"),
            *("--user-llm-args", json.dumps(_asked(user, USER_TEMPERATURE))),
            *("--save-to", str(results.parent.absolute())),
            "--auto-resume",
            *("--task-ids", *(task.id for task in self.tasks)),
        ]

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the process that plays: the key, the way to the servers, and where tau2's own judge
        is asked."""
        judge = dict.fromkeys((URL, "OPENAI_API_BASE"), self.voices.judge_url)
        way = {name: environ[name] for name in environ if name in _NETWORK or name.upper().endswith("_PROXY")}
        return {**bare(environ, self.data), **way, KEY: self.voices.key or "none", **judge}


def voices_from(environ: Mapping[str, str], tasks: Sequence[Tau2Task]) -> Voices:
    """Return the models that the environment names. UsageError, in one line, if it does not name the agent or the user,
    or if nothing says where tau2's judge is and one of the tasks takes it."""
    if not environ.get(MODEL):
        raise UsageError(f"no model is named: set {MODEL}, and {KEY} or {URL}")
    if not environ.get(USER):
        raise UsageError(
            f"no user simulator is named: set {USER} to the model that plays the user, and {USER_URL} if it has a "
            "server of its own"
        )
    for name in (USER_URL, JUDGE_URL):
        if environ.get(name):
            check_address(environ[name], name)
    agent = model_from(environ)
    address = environ.get(USER_URL) or environ.get(URL, "")
    user = model_from({**environ, MODEL: environ[USER], URL: address, PRICE: ""})
    judged = sum(task.is_judged for task in tasks)
    judge_url = environ.get(JUDGE_URL) or agent.endpoint.base_url
    if judged and not environ.get(JUDGE_URL) and judge_url != OPENAI:
        raise UsageError(
            f"tau2 has {judged} of {len(tasks)} tasks judged by {JUDGE}: set {JUDGE_URL} to a server that has it"
        )
    return Voices(agent, user, judge_url, environ.get(KEY, ""))


def _asked(model: ChatModel, temperature: float) -> dict[str, Any]:
    """Return the arguments of its requests, as LiteLLM takes them."""
    endpoint, price = model.endpoint, model.price
    asked: dict[str, Any] = {
        "temperature": temperature,
        "api_base": endpoint.base_url,
        "timeout": endpoint.timeout_s,
    }
    if price is not None:
        asked |= {"input_cost_per_token": price.input / 1e6, "output_cost_per_token": price.output / 1e6}
    return asked
