"""Generation in this process, packing of rows, and batching of conversations that wait."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_qwen import make_model
from transformers import AutoModelForCausalLM

from training.attention import BRANCHED
from training.generation import Completion, GenerationSettings, Memory, Request, generate
from training.loss import Scorer, arrange
from training.packing import Row, batch_rows, lay_out, pack_rows
from training.sampler import Batcher

IDS = st.lists(st.integers(1, 5), min_size=1, max_size=8).map(tuple)


@pytest.fixture(scope="module", params=[BRANCHED, "sdpa"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = make_model(tmp_path_factory.mktemp("model"))
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation=request.param).eval()


def some_requests(seed: int = 0) -> list[Request]:
    rng = random.Random(seed)
    prompts = [[rng.randrange(300) for _ in range(rng.randrange(2, 30))] for _ in range(5)]
    endings = [[rng.randrange(300) for _ in range(rng.randrange(0, 6))] for _ in range(15)]
    return [
        Request(
            group,
            (*prompts[group], *endings[3 * group + sample]),
            rng.randrange(1, 7),
            random.Random(f"{group} {sample}"),
            sample,
        )
        for group in range(5)
        for sample in range(3)
    ]


def written_logprobs(model: Any, requests: Sequence[Request], completions: Sequence[Completion]) -> list[list[float]]:
    """What the trainer's forward says of each written token."""
    sequences = [(*request.ids, *completion.ids) for request, completion in zip(requests, completions, strict=True)]
    written = [range(len(request.ids), len(sequence)) for request, sequence in zip(requests, sequences, strict=True)]
    rows = pack_rows([sequence[:-1] for sequence in sequences], [request.group for request in requests], 2048)
    packed, wanted, owners = arrange(rows, sequences, written)
    with torch.no_grad():
        found = Scorer(model)(packed, wanted)[0].tolist()
    return [
        [value for value, owner in zip(found, owners, strict=True) if owner == number]
        for number in range(len(sequences))
    ]


@pytest.mark.parametrize(("branched", "budget"), [(2048, 8192), (2048, 60), (20, 100), (0, 1)])
def test_logprobs_of_the_sampler_are_those_of_the_trainer(branched: int, budget: int, model: Any) -> None:
    requests = some_requests()
    completions = generate(model, requests, GenerationSettings(frozenset({7, 8, 9}), 1.0, budget, branched))
    assert [len(each.ids) for each in completions] == [len(each.logprobs) for each in completions]
    found = [value for each in completions for value in each.logprobs]
    expected = [value for each in written_logprobs(model, requests, completions) for value in each]
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("branched", "budget"), [(2048, 8192), (2048, 60), (20, 100)])
def test_a_conversation_goes_on_from_its_prompt(branched: int, budget: int, model: Any) -> None:
    settings, memory = GenerationSettings(frozenset({7, 8, 9}), 1.0, budget, branched), Memory(60)
    asked = [replace(request, ids=request.ids[:2]) for request in some_requests()]
    first = generate(model, asked, settings, memory)
    again = [replace(one, ids=(*one.ids, *each.ids, 3, 4)) for one, each in zip(asked, first, strict=True)]
    assert any(memory.find((request.group,), request.ids)[0] for request in again)
    found = generate(model, again, settings, memory)
    expected = written_logprobs(model, again, found)
    assert [value for each in found for value in each.logprobs] == pytest.approx(
        [value for each in expected for value in each], abs=1e-5
    )
    memory.forget()
    assert not any(memory.find((request.group,), request.ids)[0] for request in again)


@pytest.mark.parametrize("room", [5000, 0])
@pytest.mark.parametrize("branched", [2048, 0])
def test_tasks_that_begin_alike_read_their_beginning_once(room: int, branched: int, model: Any) -> None:
    """Two domains, of which each has a policy of its own; with room for it, the policy is read for no later task."""
    settings, memory = GenerationSettings(frozenset({7, 8, 9}), 1.0, 8192, branched), Memory(room)
    policies = [tuple(range(100)), tuple(range(100, 300))]
    wanted = [replace(each, ids=policies[each.group % 2] + each.ids, limit=1) for each in some_requests()]
    rows = 5 if branched else 15
    counted: list[int] = []
    hook = model.get_input_embeddings().register_forward_hook(lambda _, read, __: counted.append(read[0].numel()))
    for group in (0, 5):
        again = [replace(each, group=each.group + group) for each in wanted]
        counted.clear()
        found = generate(model, again, settings, memory)
        assert sum(counted) <= (0 if room and group else 300) + 50 * rows
        expected = written_logprobs(model, again, found)
        assert [value for each in found for value in each.logprobs] == pytest.approx(
            [value for each in expected for value in each], abs=1e-5
        )
    hook.remove()


@pytest.mark.parametrize("room", [1000, 60, 20])
def test_a_sample_that_stands_alone_goes_on_from_its_last_turn(room: int, model: Any) -> None:
    """Also where what others keep drives out what a row of the same call goes on from."""
    settings, memory = GenerationSettings(frozenset({7, 8, 9}), 1.0, 30, 0), Memory(room)
    talks = [
        replace(request, ids=request.ids[: number % 3 + 1], group=number)
        for number, request in enumerate(some_requests())
    ]
    for _ in range(3):
        found = generate(model, talks, settings, memory)
        expected = written_logprobs(model, talks, found)
        assert [value for each in found for value in each.logprobs] == pytest.approx(
            [value for each in expected for value in each], abs=1e-5
        )
        known = [memory.find(((talk.group, talk.sample), talk.group), (*talk.ids, 0))[0] for talk in talks]
        assert sum(len(tokens) for tokens, _ in memory._known.values()) <= room
        if room == 1000:
            assert known == [len(talk.ids) for talk in talks]
        talks = [replace(talk, ids=(*talk.ids, *one.ids, 3, 4)) for talk, one in zip(talks, found, strict=True)]


def test_what_is_kept_is_as_large_as_what_is_counted(model: Any) -> None:
    memory = Memory(200)
    generate(model, some_requests(), GenerationSettings(frozenset()), memory)
    kept = [(len(prefix), tensor) for prefix, layers in memory._known.values() for layer in layers for tensor in layer]
    assert kept and all(tensor.shape[1] == length for length, tensor in kept)
    assert [tensor.untyped_storage().nbytes() for _, tensor in kept] == [tensor.nbytes for _, tensor in kept]


def test_what_is_written_does_not_depend_on_the_batch(model: Any) -> None:
    settings = GenerationSettings(frozenset({7, 8, 9}))
    together = generate(model, some_requests(), settings)
    alone = [generate(model, [request], settings)[0] for request in some_requests()]
    assert [each.ids for each in together] == [each.ids for each in alone]


def test_a_turn_ends_with_a_stop_token_or_at_its_limit(model: Any) -> None:
    stop = frozenset(range(0, 300, 4))
    requests = some_requests()
    for request, completion in zip(requests, generate(model, requests, GenerationSettings(stop)), strict=True):
        *before, last = completion.ids
        assert not stop & set(before)
        assert completion.finished == (last in stop)
        assert len(completion.ids) == request.limit or completion.finished


def test_greedy_is_what_transformers_writes(model: Any) -> None:
    request = Request(0, (5, 6, 7, 8), 6, random.Random(0))
    [completion] = generate(model, [request], GenerationSettings(frozenset({0}), temperature=0.0))
    expected = model.generate(
        torch.tensor([request.ids]), max_new_tokens=6, do_sample=False, eos_token_id=0, attention_mask=torch.ones(1, 4)
    )
    assert completion.ids == expected[0, 4:].tolist()


def test_draws_follow_the_distribution(model: Any) -> None:
    requests = [Request(0, (5, 6, 7), 1, random.Random(f"draw {number}"), number) for number in range(3000)]
    drawn = [
        each.ids[0]
        for each in generate(
            model, requests, GenerationSettings(frozenset(), batch_tokens=10**6, branched_tokens=10**6)
        )
    ]
    with torch.no_grad():
        mass = model(torch.tensor([[5, 6, 7]])).logits[0, -1].softmax(-1)
    low = [word for word in range(len(mass)) if word % 2]
    assert sum(word % 2 for word in drawn) / len(drawn) == pytest.approx(mass[low].sum().item(), abs=0.03)


@given(st.lists(st.tuples(IDS, st.integers(0, 3)), min_size=1, max_size=8), st.integers(0, 30), st.integers(1, 40))
def test_rows_hold_every_sequence_once(pairs: list[tuple[tuple[int, ...], int]], limit: int, budget: int) -> None:
    sequences, groups = [ids for ids, _ in pairs], [group for _, group in pairs]
    rows = pack_rows(sequences, groups, limit)
    found = {
        number: (*row.prefix, *branch) for row in rows for number, branch in zip(row.members, row.branches, strict=True)
    }
    assert [found[number] for number in range(len(sequences))] == sequences
    batches = batch_rows(rows, budget)
    assert sorted(number for batch in batches for row in batch for number in row.members) == list(range(len(sequences)))
    assert all(len(batch) == 1 or len(batch) * max(map(len, batch)) <= budget for batch in batches)


def test_a_token_sees_the_prefix_and_its_own_branch() -> None:
    packed = lay_out([Row((1, 2), ((3,), (4, 5)), (0, 1)), Row((1,), ((),), (2,))])
    assert packed.ids.tolist() == [[1, 2, 3, 4, 5], [1, 0, 0, 0, 0]]
    assert packed.positions.tolist() == [[0, 1, 2, 2, 3], [0, 0, 0, 0, 0]]
    mask = packed.mask()
    assert mask[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 1, 0, 1, 1],
    ]


def test_conversations_that_wait_are_written_together() -> None:
    batches: list[list[int]] = []

    def run(requests: Sequence[Request]) -> list[Completion]:
        batches.append([request.sample for request in requests])
        return [Completion(ids=[request.sample]) for request in requests]

    async def converse(batcher: Batcher, sample: int) -> list[int]:
        written: list[int] = []
        for turn in range(3):
            await asyncio.sleep(0.02 if (sample, turn) == (2, 1) else 0)  # a slow expert
            written += (await batcher.write(Request("task", (1,), 1, random.Random(0), sample))).ids
        batcher.closed()
        return written

    async def main() -> list[list[int]]:
        batcher = Batcher(run)
        for _ in range(3):
            batcher.opened()
        return await asyncio.gather(*(converse(batcher, sample) for sample in (2, 0, 1)))

    assert asyncio.run(main()) == [[2] * 3, [0] * 3, [1] * 3]
    assert batches == [[0, 1, 2]] * 3


def test_whoever_waits_learns_that_a_batch_failed() -> None:
    def run(requests: Sequence[Request]) -> list[Completion]:
        raise MemoryError("too long")

    async def main() -> list[Any]:
        batcher = Batcher(run, in_step=False)
        waiting = [batcher.write(Request("task", (1,), 1, random.Random(0), sample)) for sample in range(2)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert [repr(found) for found in asyncio.run(main())] == ["MemoryError('too long')"] * 2


def test_a_batch_that_nobody_waits_for_any_more_is_over_before_the_weights_change() -> None:
    done: list[str] = []

    def run(requests: Sequence[Request]) -> list[Completion]:
        time.sleep(0.3)
        done.append("written")
        return [Completion(ids=[1]) for _ in requests]

    async def main() -> list[str]:
        batcher = Batcher(run, in_step=False, forget=lambda: done.append("forgotten"))
        with pytest.raises(TimeoutError):  # its rollout has no time left
            await asyncio.wait_for(batcher.write(Request("task", (1,), 1, random.Random(0))), 0.1)
        await batcher.settle()
        return list(done)

    assert asyncio.run(main()) == ["written", "forgotten"]
