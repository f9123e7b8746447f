"""Novelty and quotas: in the order of numbers, whatever order the candidates come in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dataset.made import candidate, judged, task
from toolscale.dataset.making.selection import Weights, apply_novelty, count_accepted, select, share_out, weights_of
from toolscale.environment.environment import load_environment
from toolscale.records import Judged, RowChange
from toolscale.tasks.binding import streams_of


def numbers(candidates: tuple[Judged, ...]) -> list[int]:
    return [item.candidate.number for item in candidates]


def even(names: Iterable[str]) -> Weights:
    return (dict.fromkeys(names, 1.0),)


def test_share_out_is_even_for_even_weights_and_passes_on_what_a_stream_cannot_use() -> None:
    assert share_out(10, even("abc"), {}) == {"a": 4, "b": 3, "c": 3}
    assert share_out(10, even("abc"), {"a": 1, "b": None, "c": 3}) == {"a": 1, "b": 6, "c": 3}
    assert share_out(10, even("ab"), {"a": 1, "b": 2}) == {"a": 1, "b": 2}


def test_share_out_follows_the_weights() -> None:
    weights = ({"plain": 0.3, "evolved": 0.6, "refused": 0.1, "none": 0.0},)
    assert share_out(100, weights, {}) == {"plain": 30, "evolved": 60, "refused": 10, "none": 0}


def test_many_small_streams_have_seats_together() -> None:
    done, refused = {f"done{number}": 0.45 for number in range(2)}, {f"refused{number}": 0.01 for number in range(10)}
    shares = share_out(20, (done, refused), {})
    assert sum(shares[name] for name in refused) == 2 and shares["refused0"] == shares["refused1"] == 1
    assert sum(share_out(20, (done | refused,), {})[name] for name in refused) == 0


def test_a_group_that_runs_dry_passes_its_seats_on() -> None:
    assert share_out(10, ({"a": 0.5}, {"b": 0.25, "c": 0.25}), {"b": 1, "c": 0}) == {"a": 9, "b": 1, "c": 0}
    assert share_out(10, ({"a": 0.5}, {"b": 0.25, "c": 0.25}), {"a": 2, "b": 1}) == {"a": 2, "b": 1, "c": 7}
    assert share_out(10, ({"a": 0.5}, {"b": 0.5}), {"a": 2, "b": 1}) == {"a": 2, "b": 1}


def test_each_kind_of_finance_has_its_seats_at_any_size() -> None:
    streams = streams_of(load_environment("finance"))
    shares = share_out(120, weights_of(streams, evolved=2 / 3), {})
    given = Counter((stream.kind == "plain", stream.outcome) for stream in streams for _ in range(shares[stream.name]))
    assert given == {
        (True, "fulfil"): 37, (True, "refuse"): 2, (True, "transfer"): 1,
        (False, "fulfil"): 73, (False, "refuse"): 6, (False, "transfer"): 1,
    }  # fmt: skip


def test_a_small_group_has_one_task_of_sixty() -> None:
    weights = ({"done": 0.92}, {"refused": 0.07}, {"handed_over": 0.01})
    assert share_out(60, weights, {}) == {"done": 55, "refused": 4, "handed_over": 1}
    assert share_out(29, weights, {}) == {"done": 27, "refused": 2, "handed_over": 0}


@given(st.integers(0, 200), st.dictionaries(st.text("abc", min_size=1), st.none() | st.integers(0, 30), min_size=1))
def test_share_out_gives_all_that_can_be_given_and_nobody_two_more_than_another_who_has_more(
    tasks: int, available: dict[str, int | None]
) -> None:
    shares = share_out(tasks, even(available), available)
    total = sum(most for most in available.values() if most is not None)
    assert sum(shares.values()) == (tasks if None in available.values() else min(tasks, total))
    open_shares = [shares[name] for name, most in available.items() if most is None or shares[name] < most]
    assert not open_shares or max(shares.values()) <= min(open_shares) + 1


def test_the_weights_of_streams_keep_the_shares_of_what_is_evolved_and_refused() -> None:
    streams = streams_of(load_environment("finance"))
    weights = weights_of(streams, evolved=0.6)
    kinds = {stream.name: (stream.kind == "plain", stream.outcome == "fulfil") for stream in streams}

    def share(plain: bool, fulfils: bool) -> float:
        return round(
            sum(weight for group in weights for name, weight in group.items() if kinds[name] == (plain, fulfils)), 9
        )

    assert (share(True, True), share(True, False)) == (0.368, 0.032)
    assert (share(False, True), share(False, False)) == (0.552, 0.048)


def test_select_takes_the_lowest_numbers_of_each_intent_and_cuts_after_the_last() -> None:
    candidates = [
        judged(0, "a"),
        judged(1, "b", failed="grounded"),
        judged(2, "a"),
        judged(3, "b"),
        judged(4, "a"),
        judged(5, "b", failed="replay"),
        judged(6, "a"),
        judged(7, "b"),
        judged(8, "a", failed="replay"),
    ]
    selection = select(apply_novelty(candidates), even("ab"), 4)
    assert numbers(selection.accepted) == [0, 2, 3, 7]
    assert numbers(selection.rejected) == [1, 5]
    assert [number for number, outcome in selection.outcomes if outcome == "over_quota"] == [4, 6]
    assert selection.outcomes[-1] == (8, "not_counted")


def test_the_order_in_which_candidates_were_judged_does_not_matter() -> None:
    candidates = [judged(number, "ab"[number % 2], skeleton="the same words") for number in range(12)]
    assert apply_novelty(reversed(candidates)) == apply_novelty(candidates)
    assert count_accepted(apply_novelty(candidates)) == {"a": 2, "b": 1}


def test_the_same_deed_in_other_words_is_not_novel() -> None:
    twin = judged(1).model_copy(
        update={
            "task": task(candidate(1)).model_copy(
                update={name: getattr(task(candidate(0)), name) for name in ("golden_calls", "communicate")}
            )
        }
    )
    first, second = apply_novelty([judged(0), twin])
    assert [gate.finding for gate in first.verdict.gates if gate.gate == "novel"] == ["unlike every task before it"]
    assert [gate.finding for gate in second.verdict.failed] == ["does and tells the same as candidate 0"]
    assert second.task and second.task.verdict["novel"] == "fail: does and tells the same as candidate 0"


@pytest.mark.parametrize("reordered", [True, False])
def test_the_same_changes_in_another_order_or_by_other_calls_are_not_novel(reordered: bool) -> None:
    def change(key: str) -> RowChange:
        return RowChange(table="bills", key=(key,), before={"status": "unpaid"}, after={"status": "paid"})

    first = task(candidate(0)).model_copy(update={"row_changes": (change("b_1"), change("b_2"))})
    other = first.golden_calls[::-1] if reordered else first.golden_calls[:1]
    second = first.model_copy(update={"row_changes": first.row_changes[::-1], "golden_calls": other})
    _, found = apply_novelty([judged(n).model_copy(update={"task": each}) for n, each in enumerate((first, second))])
    assert [gate.finding for gate in found.verdict.failed] == ["does and tells the same as candidate 0"]


def test_a_rejected_candidate_is_not_remembered() -> None:
    assert apply_novelty([judged(0, failed="replay", skeleton="the same words"), judged(1, skeleton="the same words")])[
        1
    ].verdict.accepted


def test_three_tasks_at_most_share_a_skeleton_and_their_calls() -> None:
    ranked = apply_novelty([judged(number, skeleton="Pay ▢, please.") for number in range(6)])
    assert [item.verdict.accepted for item in ranked] == [True] * 3 + [False] * 3


def test_a_long_run_of_words_is_used_once_unless_facts_break_it() -> None:
    words = [f"word{place}" for place in range(16)]
    long, broken = " ".join(words), " ".join([*words[:8], "▢", *words[8:]])
    first, second = apply_novelty([judged(0, skeleton=f"One {long}"), judged(1, skeleton=f"Two, {long.upper()}!")])
    assert first.verdict.accepted
    assert [gate.finding for gate in second.verdict.failed] == [
        f"shares 12 words, {' '.join(words[:12])!r}, with candidate 0, where they stand in {f'One {long}'!r}"
    ]
    assert all(
        item.verdict.accepted
        for item in apply_novelty([judged(0, skeleton=f"One {broken}"), judged(1, skeleton=f"Two {broken}")])
    )


def test_words_of_a_benchmark_are_refused() -> None:
    text = "Never mind. It may be more than 24 hours after booking"
    (found,) = apply_novelty([judged(0, request=text).model_copy(update={"task": task(candidate(0, request=text))})])
    assert [gate.finding for gate in found.verdict.failed] == [
        "shares the words 'it may be more than 24 hours after' with a text of a benchmark"
    ]
