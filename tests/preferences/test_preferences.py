"""Instructions say what their weights are, and can be read back."""

from __future__ import annotations

import asyncio
import itertools
import json

import pytest

from toolscale.preferences.drawing import preference, preferences
from toolscale.preferences.grammar import LEVELS, SLOTS, VOCABULARY, WISH_KINDS, WORDINGS, words
from toolscale.preferences.wording import WordingCounts, worded_by_model, wording_prompt
from toolscale.records import Preference, Split

ALIASES, BASIC = ("expert-1", "expert-2", "expert-3", "expert-13"), ("python", "local_search", "web_search")


def test_the_same_words_never_stand_for_other_weights() -> None:
    meant: dict[str, Preference] = {}
    for number, words_of in itertools.product(range(1500), WORDINGS):
        one = preference(number, 2, "train", ALIASES, BASIC, words=words_of)
        assert meant.setdefault(one.instruction, one) == one
    for split, number in itertools.product(("train", "test"), range(4000)):
        one = preference(number, 1, split, ALIASES, BASIC)  # type: ignore[arg-type]
        assert meant.setdefault(one.instruction, one) == one
    assert len(meant) > 7000


def test_plain_words_are_few_and_those_of_the_test_split_are_known() -> None:
    train, test = (
        {word for number in range(3000) for word in words(plain(number, split).instruction)}
        for split in ("train", "test")
    )
    assert len(VOCABULARY) <= 120
    assert test <= train <= VOCABULARY
    assert {word for word in VOCABULARY if not (word.islower() or word in ".,:")} == set()


def plain(number: int, split: Split) -> Preference:
    return preference(number, 0, split, (), BASIC, words="plain")


def test_a_frame_is_in_one_split_only_and_says_six_levels_apart() -> None:
    frames = {
        split: {(frame.first, frame.some, frame.degrees) for frame in WORDINGS[split].frames} for split in WORDINGS
    }
    assert not frames["train"] & frames["test"]
    for wording in WORDINGS.values():
        assert len(wording.frames) >= 4 and min(map(len, wording.nouns.values())) >= 3
        for frame in wording.frames:
            assert len(set(frame.degrees)) == len(LEVELS) and "{degree}" in frame.some and "{nouns}" in frame.some
            assert "{nouns}" in frame.none


def test_a_sentence_about_tools_is_in_one_split_only_and_has_its_slots() -> None:
    slots = {"like": ["names"], "avoid": ["names"], "rather": ["name", "other"], "private": ["others", "own"]}
    for kind in WISH_KINDS:
        assert not set(WORDINGS["train"].tools[kind]) & set(WORDINGS["test"].tools[kind])
        for wording in WORDINGS.values():
            sentences = wording.tools[kind]
            assert len(set(sentences)) == len(sentences) == len(wording.tools["like"]) >= 3
            assert all(sorted(SLOTS.findall(sentence)) == slots[kind] for sentence in sentences)
            assert all(sentence.islower() and "." not in sentence for sentence in sentences)


def test_who_states_weights_in_his_own_words_speaks_of_tools_in_them_too() -> None:
    def drawn(own: float) -> list[Preference]:
        return [
            preference(number, 4, "train", ALIASES, BASIC, wish_share=1, words="plain", own_words_share=own)
            for number in range(200)
        ]

    def strange(users: list[Preference]) -> list[set[str]]:
        """Of each user, the words of his first sentence, and of the last, that are not plain."""
        plainly = VOCABULARY | set(words(" ".join(ALIASES)))
        sentences = [(user.instruction.split(". ")[0], user.instruction.split(". ")[-1]) for user in users]
        return [{word for user in users for word in words(user)} - plainly for users in zip(*sentences, strict=True)]

    assert strange(drawn(0.0)) == [set(), set()]
    weights, tools = strange(drawn(1.0))
    assert weights and tools


def test_splits_share_neither_words_nor_weights() -> None:
    train, test = (
        list(itertools.islice(preferences(split, seed, ALIASES, BASIC), 3000))
        for split, seed in (("train", 0), ("test", 0))
    )
    assert not {one.instruction for one in train} & {one.instruction for one in test}
    plainly = {split: {plain(number, split).instruction for number in range(3000)} for split in ("train", "test")}
    assert not plainly["train"] & plainly["test"]
    assert not {(one.outcome, one.cost, one.latency) for one in train} & {
        (one.outcome, one.cost, one.latency) for one in test
    }


def test_a_preference_is_drawn_by_its_number() -> None:
    drawn = list(itertools.islice(preferences("train", 5, ALIASES, BASIC), 20))
    assert [preference(number, 5, "train", ALIASES, BASIC) for number in range(20)] == drawn
    assert [preference(number, 6, "train", ALIASES, BASIC) for number in range(20)] != drawn


def test_so_many_users_are_generous_and_weights_stay_those_of_their_split() -> None:
    def drawn(share: float, split: Split = "train") -> list[Preference]:
        return [preference(number, 3, split, wish_share=0, generous_share=share) for number in range(2000)]

    def generous(users: list[Preference]) -> float:
        return sum(max(user.cost, user.latency) <= 0.2 for user in users) / len(users)

    by_chance = generous(drawn(0.0))
    assert generous(drawn(1.0)) == 1
    assert generous(drawn(0.35)) == pytest.approx(0.35 + 0.65 * by_chance, abs=0.03)
    weights = {
        split: {(user.outcome, user.cost, user.latency) for user in drawn(1.0, split)} for split in ("train", "test")
    }
    assert weights["test"].isdisjoint(weights["train"])


def test_tools_of_a_domain_are_no_matter_of_preference() -> None:
    drawn = list(itertools.islice(preferences("train", 0, ("expert-1",), ("get_account", "transfer_money")), 300))
    assert {name for one in drawn for name in one.tools} == {"expert-1"}
    assert all(not one.tools for one in itertools.islice(preferences("train", 0, (), ("get_account",)), 100))


def test_a_models_words_are_kept_only_if_they_are_read_as_meant() -> None:
    drafts = [
        Preference(instruction="", outcome=1.0, cost=cost, latency=0.2, tools={"python": 1.0})
        for cost in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]
    written = iter(
        ["  Be right,\nand spend what it takes. ", "Spend little.", "x" * 601, None, "Save money.", "Be thrifty."]
    )
    read = iter(
        [
            json.dumps({"outcome": 0.9, "cost": 0.2, "latency": 0.2, "tools": {"your own interpreter": 1}}),
            "Here you are: " + json.dumps({"outcome": 1, "cost": 0.6, "latency": 0.2, "tools": {"python": 1}}),
            "I cannot say.",
            json.dumps({"outcome": 1, "cost": 1, "latency": 0, "tools": {}}),
        ]
    )
    asked: list[str] = []

    async def write(prompt: str) -> str | None:
        asked.append(prompt)
        return next(written)

    async def reads(prompt: str) -> str | None:
        return next(read)

    assert asyncio.run(worded_by_model(drafts, ALIASES, BASIC, write, reads)) == (
        [drafts[0].model_copy(update={"instruction": "Be right, and spend what it takes."})],
        WordingCounts(asked=6, silent=2, unreadable=1, mismatched=2, kept=1),
    )
    assert asked == [wording_prompt(draft) for draft in drafts]


@pytest.mark.parametrize(
    "reply",
    [
        "[1]",
        '{"outcome": 2, "cost": 0, "latency": 0}',
        '{"outcome": true, "cost": 0, "latency": 0}',
        '{"outcome": NaN, "cost": 0, "latency": 0}',
        '{"outcome": 1, "cost": 0}',
        '{"outcome": 1, "cost": 0, "latency": 0, "tools": {"hammer": 1}}',
        '{"outcome": 1, "cost": 0, "latency": 0, "tools": 3}',
        "{" * 9999 + "}",
    ],
)
def test_a_reading_that_is_none_is_counted(reply: str) -> None:
    async def answer(prompt: str) -> str:
        return reply

    draft = Preference(instruction="", outcome=1.0)
    assert asyncio.run(worded_by_model([draft], ALIASES, BASIC, answer, answer))[1] in (
        WordingCounts(asked=1, unreadable=1),
        WordingCounts(asked=1, silent=1),
    )


def test_so_many_other_users_speak_in_their_own_words_and_come_as_they_do() -> None:
    def drawn(**shares: float) -> list[Preference]:
        return [preference(number, 3, "train", wish_share=0, words="plain", **shares) for number in range(2000)]

    def is_plain(user: Preference) -> bool:
        return set(words(user.instruction)) <= VOCABULARY

    assert all(is_plain(user) for user in drawn(generous_share=0.35))
    users = drawn(generous_share=0.35, own_words_share=0.25)
    own = [user for user in users if not is_plain(user)]
    assert len(own) / len(users) == pytest.approx(0.25, abs=0.03)
    mean = sum(user.cost for user in own) / len(own)
    by_chance = drawn()
    assert mean == pytest.approx(sum(user.cost for user in by_chance) / len(by_chance), abs=0.05)
    # Who is generous, and what he says, does not depend on how many others there are.
    generous = [(user, one) for user, one in zip(users, drawn(generous_share=0.35), strict=True) if is_plain(user)]
    assert sum(user == one for user, one in generous) > 0.35 * len(users)
