"""What a tiny model would do in each task of a board, without drawing: its first word decides, and after each tool its
next one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from toolscale.records import Price, RolloutTask
from toolscale.rollout.actions import BASIC_FIGURES, WAYS, turns_of
from toolscale.rollout.prompt import first_messages, offered_tools
from training.tiny.board import Board, Result, chosen
from training.tiny.codec import TinyCodec
from training.tiny.words import LAST

_BASIC = {
    name: {"type": "function", "function": {"name": name, "description": "", "parameters": {}}}
    for name in BASIC_FIGURES
}
_RARE = 1e-4
"""What is less likely counts as never done."""


def prompt_ids(codec: TinyCodec, task: RolloutTask) -> list[int]:
    """Return the prompt of a question task as the rollout loop gives it to the model."""
    return codec.first(first_messages(task, None), offered_tools(task, _BASIC, ()))


@torch.no_grad()
def next_words(
    model: torch.nn.Module, prompts: Sequence[Sequence[int]], words: Sequence[int], temperature: float, batch: int = 512
) -> np.ndarray:
    """Return (prompts, words): the probability of each word as the next one, over the whole vocabulary. Temperature 0:
    all on the likeliest."""
    order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
    found = np.zeros((len(prompts), len(words)))
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        width = max(len(prompts[place]) for place in part)
        ids = torch.zeros(len(part), width, dtype=torch.long)
        for row, place in enumerate(part):
            ids[row, : len(prompts[place])] = torch.tensor(prompts[place])
        ends = torch.tensor([len(prompts[place]) - 1 for place in part])
        states = model.model(input_ids=ids).last_hidden_state[torch.arange(len(part)), ends]
        logits = model.lm_head(states).float()
        shares = (
            torch.softmax(logits / temperature, dim=1)
            if temperature
            else torch.nn.functional.one_hot(logits.argmax(1), logits.shape[1])
        )
        found[part] = shares[:, list(words)].double().numpy()
    return found


def play(
    model: torch.nn.Module,
    codec: TinyCodec,
    board: Board,
    name: str,
    *,
    price: Price,
    seconds_per_token: float,
    temperature: float = 0.0,
) -> Result:
    """Return what the model gets on a board. Turns that lead nowhere count as giving up; what they cost on the way is
    not counted."""
    ids = codec.vocabulary()
    # Whatever else it writes, `<last>` above all, is no answer: giving up.
    first = [action for action in board.actions[:-1] if action in ids]
    prompts = [prompt_ids(codec, task) for task in board.tasks]
    begun = dict(zip(first, next_words(model, prompts, [ids[word] for word in first], temperature).T, strict=True))
    denied = sum(begun[word] * [word in task.limits.denied for task in board.tasks] for word in first)
    shares = np.zeros_like(board.right)
    for column, action in enumerate(board.actions[:-1]):
        tools = WAYS.get(action, ())
        shares[:, column] = begun[tools[0] if tools else action] * board.open[:, column]
        texts = list(prompts)
        for tool, word in pairwise((*tools, LAST) if tools else ()):
            rows = np.flatnonzero(shares[:, column] > _RARE)
            for row in rows:
                texts[row] = [*texts[row], ids[tool], codec.end, *codec.next([{"role": "tool", "content": ""}])]
            if len(rows):
                likely = next_words(model, [texts[row] for row in rows], [ids[word]], temperature)
                shares[rows, column] *= likely[:, 0]
    shares[:, -1] = np.clip(1 - shares[:, :-1].sum(axis=1), 0, 1)
    return chosen(
        board,
        name,
        shares,
        *own_figures(board, np.array([len(prompt) for prompt in prompts]), price, seconds_per_token),
        denied=np.asarray(denied),
    )


def own_figures(
    board: Board, lengths: np.ndarray, price: Price, seconds_per_token: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (tasks, actions): dollars and seconds of the orchestrator's own tokens. A turn is one word; after each
    tool there is one more turn, which reads five words more."""
    turns = np.array([turns_of(action) for action in board.actions])
    read = lengths[:, None] * turns + 5 * turns * (turns - 1) // 2
    written = np.broadcast_to(turns, read.shape)
    return (read * price.input + written * price.output) / 1e6, written * seconds_per_token
