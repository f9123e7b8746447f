"""Generation in this process: the samples of a task share one pass over their prompt, tasks that begin alike one over
their policy and tools, and all conversations that wait go together.

A draw is made from one number of the request's own generator, which is seeded from the run, the step, the task, the
sample and the turn. So what a rollout writes does not depend on which others stand in the batch (but for the last bits
of its log-probabilities).
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from training.attention import read_rows
from training.packing import SHARED, Row, batch_rows, common_prefix, lay_out, pack_rows


@dataclass(frozen=True, slots=True)
class Request:
    """One turn to write: what stands before it, and how much may be written."""

    group: Hashable
    """Requests of one group begin alike: the task."""
    ids: tuple[int, ...]
    limit: int
    draws: random.Random
    sample: int = 0
    """Which of the group; batches are put in order by it, whatever came in first."""


@dataclass(slots=True)
class Completion:
    """What was written, the stop token included."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    """Of the distribution at the sampling temperature; under greedy decoding that of temperature 1."""
    finished: bool = False
    """A stop token was written; else the limit came first."""
    versions: tuple[str, ...] = ()
    """Of the weights that wrote it, where a server did."""


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How to sample. Temperature 0 takes the most likely token."""

    stop: frozenset[int]
    temperature: float = 1.0
    batch_tokens: int = 8192
    branched_tokens: int = 2048


ROOM = 64
"""Tokens for which there is room behind those of a cache when it grows."""


class RoomyLayer(DynamicLayer):
    """Keys and values with room behind them: one token more is written there. `DynamicLayer` makes a new tensor of all
    of them for each token, which takes longer than the model itself once rows are long."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add keys and values, (rows, heads, tokens, width) each; return all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._room: list[torch.Tensor] = []
        count = self.get_seq_length()
        ends = count + key_states.shape[-2]
        if not self._room or ends > self._room[0].shape[-2]:
            pairs = (key_states, self.keys), (value_states, self.values)
            self._room = [self._moved(states, old, ends + ROOM) for states, old in pairs]
        for room, states in zip(self._room, (key_states, value_states), strict=True):
            room[:, :, count:ends] = states
        self.keys, self.values = (room[:, :, :ends] for room in self._room)
        return self.keys, self.values

    @staticmethod
    def _moved(states: torch.Tensor, old: torch.Tensor, size: int) -> torch.Tensor:
        room = states.new_empty(*states.shape[:2], size, states.shape[-1])
        if old.numel():
            room[:, :, : old.shape[-2]] = old
        return room


def roomy_cache(config: Any) -> DynamicCache:
    """An empty cache for a model. Layers that keep the last tokens only stay as transformers makes them."""
    cache = DynamicCache(config=config)
    cache.layers = [RoomyLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer, (heads, tokens, width)."""


BEGINNING = 64
"""Tasks share one pass over what they begin with if they have at least so many first tokens in common."""


class Memory:
    """Keys and values of conversations that go on: the prompt that the samples of a task share, and of a sample that
    stands alone in its row all that went through the model. The next turn begins where that ends. Also what several
    tasks begin with: the policy and the tools.

    Where there is no room, what was used longest ago goes. Whoever changes the model's weights calls `forget` first.
    """

    def __init__(self, tokens: int = 200_000):
        self._tokens = tokens
        self._known: dict[Hashable, tuple[tuple[int, ...], Layers]] = {}

    def forget(self) -> None:
        """Drop everything."""
        self._known.clear()

    def find(self, keys: Sequence[Hashable], prefix: tuple[int, ...]) -> tuple[int, Layers]:
        """How many tokens at the beginning of a prefix are known under one of the keys, and their keys and values. The
        last token never counts: it has to go through the model, because its output gives the next one."""
        found = {key: common_prefix((self._known[key][0], prefix[:-1])) for key in keys if key in self._known}
        key = max(found, key=found.__getitem__, default=None)
        if key is None or not found[key]:
            return 0, []
        _, layers = self._known[key] = self._known.pop(key)  # used last
        return found[key], layers

    def knows(self, key: Hashable) -> bool:
        """Whether something is kept under a key."""
        return key in self._known

    def keep(
        self, key: Hashable, prefix: tuple[int, ...], cache: DynamicCache, row: int, known: int = 0, loaded: int = 0
    ) -> None:
        """Keep the prefix of a row that has just been through the model: its first `known` tokens were loaded, into the
        first `loaded` columns of the cache. A copy is kept: a view would keep the whole batch in memory."""
        if len(prefix) > self._tokens or (key in self._known and not self._begins(prefix, key)):
            return
        self._known.pop(key, None)
        while self._known and sum(len(tokens) for tokens, _ in self._known.values()) + len(prefix) > self._tokens:
            del self._known[next(iter(self._known))]
        ends = loaded + len(prefix) - known

        def part(states: torch.Tensor) -> torch.Tensor:
            return torch.cat([states[row, :, :known], states[row, :, loaded:ends]], dim=1)

        self._known[key] = prefix, [(part(layer.keys), part(layer.values)) for layer in cache.layers]

    def _begins(self, prefix: tuple[int, ...], key: Hashable) -> bool:
        tokens, _ = self._known[key]
        return prefix[: len(tokens)] == tokens


def load(parts: Sequence[Layers], known: Sequence[int], cache: DynamicCache) -> None:
    """Begin a cache with what is known of each row, padded on the right to the longest."""
    longest = max(known)
    for layer in range(len(parts[0])):
        states = (
            torch.stack(
                [
                    pad(part[layer][which][:, :count], (0, 0, 0, longest - count))
                    for part, count in zip(parts, known, strict=True)
                ]
            )
            for which in (0, 1)
        )
        cache.update(*states, layer)


@torch.no_grad()
def generate(
    model: Any, requests: Sequence[Request], settings: GenerationSettings, memory: Memory | None = None
) -> list[Completion]:
    """Write one turn for every request, in their order. `model` is a causal language model of transformers, whole on
    this device."""
    memory = memory or Memory(0)
    rows = pack_rows(
        [request.ids for request in requests], [request.group for request in requests], settings.branched_tokens
    )
    # Held here, because what one batch keeps may drive out what the next one goes on from.
    parts = {row.members: memory.find(_keys(row, requests), row.prefix) for row in rows}
    parts |= _read_beginnings(model, [row for row in rows if not parts[row.members][0]], memory)
    rows = [replace(row, known=parts[row.members][0]) for row in rows]
    completions = [Completion() for _ in requests]
    fresh, known = [row for row in rows if not row.known], [row for row in rows if row.known]
    for batch in (*batch_rows(fresh, settings.batch_tokens), *batch_rows(known, settings.batch_tokens)):
        _write(model, batch, [parts[row.members][1] for row in batch], requests, completions, settings, memory)
    return completions


def _read_beginnings(model: Any, rows: Sequence[Row], memory: Memory) -> dict[tuple[int, ...], tuple[int, Layers]]:
    """For rows of which nothing is known: pass what several of them begin with through the model once, or find it from
    an earlier call. Gives members of a row -> how many of its tokens are known, and their keys and values."""
    alike: dict[tuple[int, ...], list[Row]] = {}
    for row in rows:
        if len(row.prefix) > BEGINNING:
            alike.setdefault(row.prefix[:BEGINNING], []).append(row)
    found: dict[tuple[int, ...], tuple[int, Layers]] = {}
    for begin, those in alike.items():
        if not memory.knows(begin) and len(those) > 1:
            prefix = those[0].prefix[: common_prefix([row.prefix for row in those])]
            cache = roomy_cache(model.config)
            packed = lay_out([Row(prefix, ((),), (0,))]).to(next(model.parameters()).device)
            read_rows(model, packed, cache)
            memory.keep(begin, prefix, cache, 0)
            states = [(layer.keys[0], layer.values[0]) for layer in cache.layers]
            found |= {row.members: (common_prefix((prefix, row.prefix[:-1])), states) for row in those}
        else:
            found |= {row.members: memory.find((begin,), row.prefix) for row in those}
    return found


def _write(
    model: Any,
    rows: list[Row],
    parts: list[Layers],
    requests: Sequence[Request],
    completions: list[Completion],
    settings: GenerationSettings,
    memory: Memory,
) -> None:
    """Write the turns of one batch. Slot s of a row continues branch s; a row with fewer branches than the widest has
    idle slots."""
    device = next(model.parameters()).device
    packed = lay_out(rows).to(device)
    cache = roomy_cache(model.config)
    known = [row.known for row in rows]
    if loaded := max(known):
        load(parts, known, cache)
    hidden = read_rows(model, packed, cache, loaded)
    for line, row in enumerate(rows):
        shared, *alone = _keys(row, requests)
        if not memory.knows(shared):
            memory.keep(shared, row.prefix, cache, line, row.known, loaded)
        elif alone:
            memory.keep(alone[0], row.prefix, cache, line, row.known, loaded)
    slots = max(len(row.members) for row in rows)
    own = [list(row.members) + [None] * (slots - len(row.members)) for row in rows]
    lines = torch.arange(len(rows), device=device).unsqueeze(1)
    hidden = hidden[lines, torch.tensor([_ends(row, slots) for row in rows], device=device)]
    places = torch.tensor([_lengths(row, slots) for row in rows], device=device)
    numbers = torch.arange(1, slots + 1, device=device).view(1, slots, 1)
    seen = (packed.segments.unsqueeze(1) == SHARED) | (packed.segments.unsqueeze(1) == numbers)
    seen = torch.cat([packed.past(loaded).unsqueeze(1).expand(-1, slots, -1), seen], dim=2)
    itself = torch.eye(slots, dtype=torch.bool, device=device).expand(len(rows), slots, slots)
    while True:
        logits = model.get_output_embeddings()(hidden)
        chosen = _choose(logits, own, requests, completions, settings)
        if chosen is None:
            return
        seen = torch.cat([seen, itself], dim=2)
        hidden = _next(model, chosen, places, seen.unsqueeze(1), cache)
        places = places + 1


def _keys(row: Row, requests: Sequence[Request]) -> tuple[Hashable, ...]:
    """Under which keys something of a row may be kept: its task and, if the row has one sample alone, that sample."""
    first = requests[row.members[0]]
    return (first.group, (first.group, first.sample)) if len(row.members) == 1 else (first.group,)


def _next(
    model: Any, ids: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor, cache: DynamicCache
) -> torch.Tensor:
    """The last hidden states (rows, slots, width) of one more token of each slot."""
    output = model.base_model(
        input_ids=ids, position_ids=positions, attention_mask=mask, past_key_values=cache, use_cache=True
    )
    states: torch.Tensor = output.last_hidden_state
    return states


def _ends(row: Row, slots: int) -> list[int]:
    """The column of the last token of each branch."""
    ends = [row.column(number, len(row.prefix) + len(branch) - 1) for number, branch in enumerate(row.branches)]
    return ends + [0] * (slots - len(ends))


def _lengths(row: Row, slots: int) -> list[int]:
    lengths = [len(row.prefix) + len(branch) for branch in row.branches]
    return lengths + [0] * (slots - len(lengths))


def _choose(
    logits: torch.Tensor,
    own: list[list[int | None]],
    requests: Sequence[Request],
    completions: list[Completion],
    settings: GenerationSettings,
) -> torch.Tensor | None:
    """Draw the next token of every slot that still writes, and note it; None when none writes any more. logits: (rows,
    slots, vocabulary)."""
    active = [
        (line, slot, number)
        for line, members in enumerate(own)
        for slot, number in enumerate(members)
        if number is not None
        and not completions[number].finished
        and len(completions[number].ids) < requests[number].limit
    ]
    if not active:
        return None
    lines, slots = (
        torch.tensor(part, device=logits.device)
        for part in ([each[0] for each in active], [each[1] for each in active])
    )
    logprobs = (logits[lines, slots].float() / (settings.temperature or 1.0)).log_softmax(-1)
    if settings.temperature == 0:
        drawn = logprobs.argmax(-1)
    else:
        # the inverse of the distribution function, in double precision: float32 loses rare tokens of a large vocabulary
        mass = logprobs.double().exp().cumsum(-1)
        points = torch.tensor(
            [requests[number].draws.random() for *_, number in active], dtype=torch.float64, device=logits.device
        )
        drawn = (
            torch.searchsorted(mass, (points * mass[:, -1]).unsqueeze(-1), right=True)
            .squeeze(-1)
            .clamp(max=mass.shape[-1] - 1)
        )
    chances = logprobs.gather(-1, drawn.unsqueeze(-1)).squeeze(-1).tolist()
    chosen = torch.zeros(logits.shape[:2], dtype=torch.long, device=logits.device)
    chosen[lines, slots] = drawn
    for (*_, number), token, chance in zip(active, drawn.tolist(), chances, strict=True):
        completion = completions[number]
        completion.ids.append(token)
        completion.logprobs.append(chance)
        completion.finished = token in settings.stop
    going = any(
        not completions[number].finished and len(completions[number].ids) < requests[number].limit
        for *_, number in active
    )
    return chosen if going else None
