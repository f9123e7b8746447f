"""Whom a benchmark is given to: a checkpoint, a model behind an endpoint, or a policy without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.benchmark import Opened
from toolscale.canonical import canonical_json
from toolscale.dataset.storage import file_hash
from toolscale.errors import UsageError
from toolscale.models.chat import ChatModel
from toolscale.models.purse import Purse
from toolscale.records import Price, RolloutTask, TokenTrace
from toolscale.rollout.actions import GIVE_UP
from toolscale.rollout.bench import Bench
from toolscale.rollout.chat_policy import ChatPolicy
from toolscale.rollout.grading import answer_key_of
from toolscale.rollout.policy import Message, Policy, Tool, Turn
from toolscale.rollout.scripted import FREE, Choose, ScriptedPolicy, at_random, best, cheapest, strongest, tools_first
from training.config import Config
from training.loading import loading

FRAME = ("idle", "golden")
"""Stand in every table: what doing nothing gets, and what the reference solution gets."""

BASELINES = ("random", "strongest", "cheapest", "tools", "oracle")

MODEL = "model"
"""The model that the environment names."""

DONE = "Done."
"""What the reference solution says where nothing was asked and its message is empty: a rollout needs a last one."""

STAGE = "evaluate"


@dataclass(frozen=True)
class Player:
    """A policy that is not open yet. `opened` gives it for as long as it is needed."""

    name: str
    identity: Mapping[str, Any]
    """What makes it what it is: its results are kept under the hash of this."""
    opened: Callable[[Opened], Any]
    """An async context manager."""
    at_once: int | None = None
    """Rollouts at one time; none: as many as the run says."""


@dataclass(frozen=True)
class GoldenPolicy:
    """Recites the reference solution: what it does not get right, nobody can. Its price is nothing."""

    bench: Bench
    name: str = "golden"
    price: Price = FREE

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> GoldenSession:
        """Begin a conversation."""
        return GoldenSession(self.bench, task)


class GoldenSession:
    """One recital: all calls in one message, so that no limit of turns is in the way, then the answer."""

    def __init__(self, bench: Bench, task: RolloutTask) -> None:
        script = answer_key_of(task, bench.domain_of(task)).right
        calls = [_call(call.name, call.arguments, place) for place, call in enumerate(script.calls, start=1)]
        acting = [{"role": "assistant", "content": None, "tool_calls": calls}] if calls else []
        self._messages: list[Message] = [*acting, {"role": "assistant", "content": script.answer or DONE}]
        self._turns = 0

    async def turn(self, observations: Any) -> Turn:
        """Say the next message; whatever came back is as it was when the task was recorded."""
        self._turns += 1
        return Turn(self._messages[min(self._turns, len(self._messages)) - 1])

    def trace(self) -> TokenTrace | None:
        """None: there is no model."""
        return None


def scripted(name: str, seed: int = 0) -> Player:
    """Return a policy without a model. UsageError if there is none of that name."""
    if name not in (*FRAME, *BASELINES):
        raise UsageError(
            f"there is no policy {name!r}: give {', '.join((*FRAME, *BASELINES))}, {MODEL} for the model that "
            "TOOLSCALE_MODEL names, untrained, or the folder of a checkpoint"
        )

    @asynccontextmanager
    async def opened(benchmark: Opened) -> AsyncIterator[Policy]:
        if name == "golden":
            yield GoldenPolicy(benchmark.ground.bench)
            return
        yield ScriptedPolicy(name, _choice(name, benchmark, seed))

    return Player(name, {"kind": "scripted", "name": name, "seed": seed}, opened)


def checkpoint(folder: Path, name: str, config: Config, temperature: float = 0.0) -> Player:
    """Return a model in this process, as its configuration has it; greedy unless a temperature is given. UsageError if
    the folder holds none."""
    if not (folder / "config.json").is_file():
        raise UsageError(f"{folder}: holds no model (config.json is missing); give the folder `model` of a training")
    files = sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".json", ".jinja"))
    rollout = config.rollout.model_dump(mode="json", exclude={"prompts", "samples", "concurrency", "batch_tokens"})
    identity = {
        "kind": "checkpoint",
        "files": {path.name: file_hash(path) for path in files},
        "codec": config.model.codec,
        "rollout": {**rollout, "temperature": temperature},
        **({"dtype": config.model.dtype} if config.model.dtype != "float32" else {}),
    }

    @asynccontextmanager
    async def opened(benchmark: Opened) -> AsyncIterator[Policy]:
        from training.sampler import local_policy  # torch takes seconds to load: only where a model is played

        model, codec = _load(folder, config)
        yield local_policy(model, codec, config.rollout, name, temperature)

    return Player(name, identity, opened)


def endpoint(model: ChatModel, purse: Purse, temperature: float = 0.0) -> Player:
    """Return a model behind an OpenAI-compatible endpoint. Each reply is kept: what was asked once is not asked
    again."""
    name = model.endpoint.model
    identity = {
        "kind": "endpoint",
        "model": name,
        "temperature": temperature,
        "price": model.price.model_dump() if model.price is not None else None,
        **({"most_tokens": model.most_tokens} if model.most_tokens is not None else {}),
    }

    @asynccontextmanager
    async def opened(benchmark: Opened) -> AsyncIterator[Policy]:
        async with purse.client(model) as client:
            yield ChatPolicy(client, STAGE, temperature=temperature)

    return Player(name, identity, opened, at_once=model.at_once)


def _load(folder: Path, config: Config) -> tuple[Any, Any]:
    """Return the model of a folder, and its codec, in the type of the configuration, on a GPU where there is one.
    UsageError if they cannot be loaded, or do not belong together."""
    import torch  # takes seconds to load: only where a model is played
    from safetensors import SafetensorError
    from transformers import AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    from training.codecs import load_codec
    from training.evaluate import load

    disable_progress_bar()
    codec = load_codec(config.model.model_copy(update={"path": str(folder)}))
    try:
        with loading("model", str(folder)):
            model = load(folder, config.model.dtype, "cuda" if torch.cuda.is_available() else "cpu")
    except SafetensorError as error:
        raise UsageError(f"{folder}: the weights cannot be read ({error}); copy the model again") from error
    words, rows = len(AutoTokenizer.from_pretrained(folder)), model.get_input_embeddings().num_embeddings
    if words > rows:
        raise UsageError(
            f"{folder}: the tokenizer has {words} words and the model {rows}; "
            "put the tokenizer there that the model was trained with"
        )
    return model, codec


def _choice(name: str, benchmark: Opened, seed: int) -> Choose:
    """Return what a policy without a model does. `oracle` knows what every choice is worth where that is known, which
    is for questions; with environment tasks it asks the strongest."""
    catalogue = benchmark.ground.catalogue
    if name == "idle":
        return lambda task, sample: GIVE_UP
    if name == "random":
        return at_random(seed)
    if name == "tools":
        return tools_first(cheapest(catalogue))
    if name == "oracle":
        return best(catalogue, benchmark.worth.utility, strongest(catalogue))
    return strongest(catalogue) if name == "strongest" else cheapest(catalogue)


def _call(name: str, arguments: Mapping[str, Any], place: int) -> Message:
    function = {"name": name, "arguments": canonical_json(dict(arguments))}
    return {"id": f"call_{place}", "type": "function", "function": function}
