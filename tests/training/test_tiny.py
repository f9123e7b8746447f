"""The tiny model: its words, its codec, the base model that is committed, and the exact ground on which it is
measured."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from toolscale.basic_tools import open_basic_tools
from toolscale.basic_tools.settings import BasicToolSettings, LocalSearchSettings
from toolscale.preferences import VOCABULARY as WISHES
from toolscale.preferences import preference
from toolscale.preferences import words as wish_words
from toolscale.questions import TEMPLATES as QUESTIONS
from toolscale.questions import question, write_corpus
from toolscale.questions.grade import grade_answer
from toolscale.questions.phrasings import Split
from toolscale.records import Price
from toolscale.reward import absolute_reward, figures_of
from toolscale.rollout import Turn, run_rollouts
from toolscale.rollout.actions import WAYS
from toolscale.rollout.prompt import expert_tool, first_messages
from training.config_file import read_config
from training.data import open_work
from training.evaluate import THRIFTY, Ground, check, load, question_ground
from training.sampler import local_policy
from training.scoring import task_references
from training.tiny.base import Packer, examine, make_model, take_over, words_of
from training.experiments import WISHES as WISHING
from training.results import pairs_of
from training.tiny.board import CALLS, one_hot, read_right
from training.tiny.codec import TinyCodec, answering_sentence
from training.tiny.exact import next_words, own_figures, prompt_ids
from training.tiny.probes import Texts, draw_sheet, drop_words
from training.tiny.tokenizer import make_tokenizer
from training.tiny.words import ALIASES, END, fact, vocabulary

ROOT = Path(__file__).parents[2]
BASE = ROOT / "training" / "tiny" / "base"
EXPERT_TOOL = {
    "type": "function",
    "function": {
        "name": "call_expert",
        "description": f"Ask an expert.\nExperts:\n{fact('expert-1', 'mathematics', 7)} {fact('expert-1', 'price', 3)}",
        "parameters": {"type": "object", "properties": {"expert": {}, "question": {}, "final": {}}},
    },
}
PYTHON_TOOL = {"type": "function", "function": {"name": "python", "description": "", "parameters": {}}}
ASKED = [
    {"role": "system", "content": "not read"},
    {"role": "user", "content": "What is `17 * 23`?\n\nI care above all about cost."},
]


@pytest.fixture(scope="module")
def codec() -> TinyCodec:
    return TinyCodec(make_tokenizer())


@pytest.fixture(scope="module")
def ground() -> Ground:
    return question_ground(tiny(), 256)


def tiny():
    return read_config(ROOT / "training" / "configs" / "tiny_cpu.yaml")


def words(codec: TinyCodec, ids: list[int]) -> str:
    return " ".join(make_tokenizer().convert_ids_to_tokens(ids))


def ids(*said: str) -> list[int]:
    return [make_tokenizer().get_vocab()[word] for word in said]


def test_a_prompt_is_facts_tools_and_the_user_s_words(codec: TinyCodec) -> None:
    assert words(codec, codec.first(ASKED, [EXPERT_TOOL, PYTHON_TOOL])) == (
        "<begin> expert-1.mathematics=7 expert-1.price=3 python <user> what is <code> ? "
        "i care above all about cost . <assistant>"
    )


def test_what_a_tool_said_is_only_whether_it_was_an_error(codec: TinyCodec) -> None:
    assert words(codec, codec.next([{"role": "tool", "content": "391"}])) == "<tool> result <assistant>"
    assert words(codec, codec.next([{"role": "tool", "content": '{"error":"down"}'}])) == "<tool> error <assistant>"


def test_one_word_stands_for_a_call_of_an_expert(codec: TinyCodec) -> None:
    message, malformed = codec.read(ids("expert-1"), ASKED, [EXPERT_TOOL])
    assert malformed is None
    assert message["tool_calls"][0]["function"]["name"] == "call_expert"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {
        "expert": "expert-1",
        "question": "What is `17 * 23`?",
        "final": True,
    }


@pytest.mark.parametrize("denied", [(), ("expert-2", "python")])
@pytest.mark.parametrize("category", [*QUESTIONS, "several paragraphs"])
def test_an_expert_is_asked_the_whole_question_and_nothing_else(
    codec: TinyCodec, ground: Ground, category: str, denied: tuple[str, ...]
) -> None:
    task = ground.board.tasks[0]
    for number in range(200):
        asked = question(
            number, 3, "test" if number % 2 else "train", None if category not in QUESTIONS else (category,)
        )
        if category not in QUESTIONS:
            asked = asked.model_copy(
                update={
                    "text": f"{asked.text}\n\nA) this\n\n\nB) that\n\n```python\nx = 1\n\nprint(x)\n```\n\nWhich one?\n"
                }
            )
        wish = preference(number, 3, "train", ("expert-1", "expert-2"), ("python", "local_search"))
        limits = task.limits.model_copy(update={"denied": denied})
        one = task.model_copy(
            update={"question": asked, "category": asked.category, "preference": wish, "limits": limits}
        )
        message, malformed = codec.read(ids("expert-1"), first_messages(one, None), [expert_tool(one)])
        assert malformed is None
        assert json.loads(message["tool_calls"][0]["function"]["arguments"])["question"] == asked.text


def test_in_an_environment_an_expert_takes_over_and_is_asked_nothing(codec: TinyCodec) -> None:
    tool = {
        "type": "function",
        "function": {"name": "call_expert", "description": "", "parameters": {"properties": {"expert": {}}}},
    }
    message, _ = codec.read(ids("expert-2"), ASKED, [tool])
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"expert": "expert-2"}


def test_the_interpreter_gets_the_code_and_its_result_is_the_answer(codec: TinyCodec) -> None:
    message, malformed = codec.read(ids("python"), ASKED, [PYTHON_TOOL])
    assert (json.loads(message["tool_calls"][0]["function"]["arguments"]), malformed) == ({"code": "17 * 23"}, None)
    answer, malformed = codec.read(ids("<last>"), [*ASKED, {"role": "tool", "content": "391\n"}], [PYTHON_TOOL])
    assert (answer, malformed) == ({"role": "assistant", "content": "391"}, None)


@pytest.mark.parametrize("said", [("local_search",), ("cost",), ("expert-1", "expert-1"), ()])
def test_what_cannot_be_used_is_malformed(codec: TinyCodec, said: tuple[str, ...]) -> None:
    message, malformed = codec.read(ids(*said), ASKED, [EXPERT_TOOL])
    assert message == {"role": "assistant", "content": " ".join(said)}
    assert malformed is not None


def test_where_no_tool_gave_a_result_the_answer_is_that_it_does_not_know(codec: TinyCodec) -> None:
    not_known = ({"role": "assistant", "content": "I do not know."}, None)
    assert codec.read(ids("<last>"), ASKED, [EXPERT_TOOL]) == not_known
    assert (
        codec.read(ids("<last>"), [*ASKED, {"role": "tool", "content": '{"error":"down"}'}], [EXPERT_TOOL]) == not_known
    )


@pytest.mark.parametrize("said", ["expert-3", "python", "local_search"])
def test_what_is_read_is_written_the_same(codec: TinyCodec, said: str) -> None:
    asked = [{"role": "user", "content": 'Look up `1` in "Felimford".'}]
    message, _ = codec.read(ids(said), asked, [EXPERT_TOOL])
    assert codec.write(message) == ids(said, "<end>")


@pytest.mark.parametrize(("split", "least"), [("train", 1.0), ("test", 0.95)])
def test_the_answer_is_read_out_of_what_search_found_as_often_as_the_board_says(
    tmp_path: Path, split: Split, least: float
) -> None:
    write_corpus(tmp_path)
    asked = [question(number, 7, split, ("lookup",)) for number in range(240)]
    with open_basic_tools(
        BasicToolSettings(python=None, local_search=LocalSearchSettings(corpus=str(tmp_path)))
    ) as tools:
        found = [asyncio.run(tools["local_search"].call({"query": one.lookup})).content for one in asked]
    right = [grade_answer(one, answering_sentence(one.text, said))[0] for one, said in zip(asked, found, strict=True)]
    assert right == [read_right("local_search", one) == 1.0 for one in asked]
    assert sum(right) >= least * len(right)


def test_a_word_that_is_dropped_is_unknown_and_unknown_words_are_one() -> None:
    said = ["what", "is", "<number>", "plus", "<code>", "please"]
    assert drop_words(random.Random(0), said, 0.0) == said
    assert drop_words(random.Random(0), said, 1.0) == ["<unk>", "<number>", "<code>", "<unk>"]


@pytest.mark.parametrize("two_steps", [False, True])
def test_the_form_of_two_calls_is_shown_only_where_it_is_wanted(two_steps: bool) -> None:
    tokenizer = make_tokenizer()
    texts = Texts(lambda text: words_of(tokenizer, text), "train", 60, 1, two_steps=two_steps)
    rng = random.Random(2)
    probes = [probe for _ in range(60) for probe in draw_sheet(rng, texts, {"act": 1.0}, 0.1, 8).probes]
    shown = [[word for _, word in probe.targets if word != END] for probe in probes]
    chained = [words for words in shown if words[:2] == ["local_search", "python"]]
    assert bool(chained) == two_steps
    assert all(words == ["local_search", "python", "<last>"] for words in chained)
    assert all("<code>" in probe.words for probe in probes if probe.words.count("result") == 2)


def test_the_committed_tokenizer_is_the_one_that_is_made() -> None:
    assert json.loads((BASE / "tokenizer.json").read_text())["model"]["vocab"] == {
        word: place for place, word in enumerate(vocabulary())
    }
    assert TinyCodec.load(str(BASE)).first(ASKED, [EXPERT_TOOL]) == TinyCodec(make_tokenizer()).first(
        ASKED, [EXPERT_TOOL]
    )


def test_the_base_model_is_small_and_reads() -> None:
    assert (BASE / "model.safetensors").stat().st_size < 2_000_000
    tokenizer = make_tokenizer()
    texts = Texts(lambda text: words_of(tokenizer, text), "train", 400, 12345)
    found = examine(load(BASE), Packer(tokenizer.get_vocab()), texts, 1, sheets=100)
    assert found.pop("read") >= 0.7  # the one probe that is not at 95 % (docs/decisions/0015)
    assert min(found.values()) >= 0.93, found


def test_a_base_model_goes_on_from_one_that_knows_other_words() -> None:
    before = load(BASE)
    known = {word: place for place, word in enumerate(["a new word", *vocabulary()[:500]])}
    model = make_model(len(known), before.config.num_hidden_layers, before.config.hidden_size, seed=3)
    take_over(model, known, BASE)
    words_now, words_then = model.model.embed_tokens.weight, before.model.embed_tokens.weight
    assert torch.equal(words_now[1:], words_then[:500])
    assert not torch.equal(words_now[0], words_then[0])
    layers = before.model.layers.state_dict()
    assert all(torch.equal(value, layers[name]) for name, value in model.model.layers.state_dict().items())


def test_the_base_model_prefers_nothing(ground: Ground) -> None:
    untrained = ground.play(load(BASE), "untrained", temperature=1.0)
    table = ground.baselines()
    assert abs(untrained.utility.mean() - table["random"].utility.mean()) < 0.1


def test_the_check_is_failed_by_who_does_not_weigh(ground: Ground) -> None:
    untrained, thrifty = ground.play(load(BASE), "untrained"), ground.wishing(THRIFTY)
    before, table, saving = thrifty.play(load(BASE), "untrained"), ground.baselines(), thrifty.baselines()
    passed = {name: check(untrained, table[name], before, saving[name]).passed for name in table}
    assert passed == {name: name == "optimum" for name in table}
    assert not check(untrained, untrained, before, before).passed


def test_wishes_stay_in_plain_words_where_questions_are_in_those_of_the_test() -> None:
    known: dict[str, set[str]] = {"plain": set(), "test": set()}
    for whose, found in known.items():
        for task in question_ground(tiny(), 60, wording="test", wish_words=whose).board.tasks:
            assert task.question is not None and task.question.id.startswith(f"{task.category}-test-")
            found |= set(wish_words(task.preference.instruction))
    assert tiny().data.wish_words == "plain"
    assert known["plain"] <= WISHES
    assert not known["test"] <= WISHES


def test_what_is_asked_adds_up_and_a_rule_asks_what_it_says(ground: Ground) -> None:
    table = ground.baselines()
    for result in table.values():
        assert result.calls.sum(axis=1) == pytest.approx(np.ones(len(ground.board.tasks)))
        assert list(result.sorts()) == list(CALLS)
    rule = table["tools, else cheapest"].sorts()
    # The rule takes who is cheapest as a rule; who is for this question, and this length of it, may be another one.
    assert rule["interpreter"] + rule["local search"] + rule["cheapest expert"] > 0.97
    assert table["always cheapest"].sorts()["cheapest expert"] > 0.97
    strongest = table["always strongest"].sorts()
    assert strongest["strongest expert"] + strongest["cheapest expert"] > 0.97


def test_the_best_choice_for_who_saves_never_spends_more(ground: Ground) -> None:
    free = replace(ground, price=Price(input=0, output=0), seconds_per_token=0.0)
    wishing = {name: free.wishing(weights).baselines() for name, weights in WISHING.items()}
    pairs = pairs_of({name: {**results, "trained": results["always dearest"]} for name, results in wishing.items()})
    assert pairs["optimum"]["cents"]["more"] == pairs["optimum"]["seconds"]["more"] == 0
    assert min(pairs["optimum"]["cents"]["less"], pairs["optimum"]["seconds"]["less"]) > 0.3
    same = {"less": 0.0, "as much": 1.0, "more": 0.0}
    assert pairs["trained"] == {"cents": same, "seconds": same}


def test_a_ground_is_the_same_twice() -> None:
    one, other = question_ground(tiny(), 20), question_ground(tiny(), 20)
    assert one.board.tasks == other.board.tasks
    assert (one.board.costs == other.board.costs).all()


class Told:
    """A policy that writes the words of the action it is told for each task, and then `<last>`, as the tiny model
    would."""

    name = "told"

    def __init__(self, ground: Ground, chosen: dict[str, str]) -> None:
        self.ground, self.chosen, self.price = ground, chosen, ground.price

    def session(self, task: Any, messages: list, tools: list, sample: int) -> ToldSession:
        return ToldSession(self, task, messages, tools)


class ToldSession:
    def __init__(self, policy: Told, task: Any, messages: list, tools: list) -> None:
        self.policy, self.task, self.conversation, self.tools = policy, task, list(messages), tools
        self.read = len(policy.ground.codec.first(messages, tools)) - 5
        chosen = policy.chosen[task.id]
        self.words = iter(WAYS.get(chosen, () if chosen == "give_up" else (chosen,)))

    async def turn(self, observations: Any) -> Turn:
        self.conversation += observations
        self.read += 5
        word = next(self.words, "<last>")
        message, malformed = self.policy.ground.codec.read(ids(word), self.conversation, self.tools)
        return Turn(message, malformed, self.read, 1, self.policy.ground.seconds_per_token)

    def trace(self) -> None:
        return None


@pytest.mark.parametrize("two_step_share", [0.0, 1.0])
def test_the_board_says_what_the_rollout_loop_finds(two_step_share: float) -> None:
    """The best choices, carried out by the real loop with the real tools, are worth what was expected, within four
    standard errors."""
    ground = question_ground(tiny(), 256, two_step_share=two_step_share)
    tasks, actions = ground.board.tasks, ground.board.actions
    best = one_hot(ground.board, ground.board.utilities(*ground.own())).argmax(axis=1)
    policy = Told(ground, {task.id: actions[place] for task, place in zip(tasks, best, strict=True)})
    settings = tiny().data
    work = open_work(settings.model_copy(update={"mixture": {"arithmetic": 1.0}}))

    async def run() -> list:
        with work.held:
            async with work.bench:
                return await run_rollouts(tasks, policy, work.bench, 8)

    groups = asyncio.run(run())
    stopped = [rollout for group in groups for rollout in group if rollout.stop != "answered"]
    assert [rollout.messages for rollout in stopped] == []
    found = np.array(
        [
            np.mean(
                [
                    absolute_reward(figures_of(each), task.preference, task_references(task, work.experts))
                    for each in group
                ]
            )
            for task, group in zip(tasks, groups, strict=True)
        ]
    )
    optimum = ground.baselines()["optimum"]
    assert (optimum.sorts()["search, then interpreter"] > 0) == (two_step_share > 0)
    apart = found - optimum.utility
    assert abs(apart.mean()) < 4 * apart.std() / np.sqrt(len(apart))


def test_invented_experts_are_trained_with_and_not_measured_with(ground: Ground) -> None:
    data = tiny().data.model_copy(update={"mixture": {"mathematics": 1.0}, "invented_share": 1.0, "invented": 20})
    work = open_work(data)

    async def run() -> list:
        with work.held:
            async with work.bench:
                return await run_rollouts(tasks, policy, work.bench, 16)

    tasks = [work.tasks[number] for number in range(24)]
    offered = [work.experts[task.experts[0].expert] for task in tasks]
    policy = Told(ground, {task.id: task.experts[0].alias for task in tasks})
    assert all(spec.name.startswith("invented-") for spec in offered)
    right = [np.mean([rollout.right for rollout in group]) for group in asyncio.run(run())]
    assert np.mean(right) == pytest.approx(np.mean([spec.skills["mathematics"] for spec in offered]), abs=0.1)
    measured = question_ground(tiny().model_copy(update={"data": data}), 64).board.tasks
    assert not [each for task in measured for each in task.experts if each.expert.startswith("invented-")]


def test_a_turn_is_one_written_word_and_its_end_is_given(ground: Ground) -> None:
    config = tiny()
    policy = local_policy(load(BASE), ground.codec, config.rollout)
    work = open_work(config.data.model_copy(update={"mixture": {"arithmetic": 1.0}}))

    async def run() -> list:
        with work.held:
            async with work.bench:
                return await run_rollouts([work.tasks[number] for number in range(8)], policy, work.bench, 4)

    end = ground.codec.vocabulary()[END]
    for rollout in (each for group in asyncio.run(run()) for each in group):
        places = [place for place, written in enumerate(rollout.trace.written) if written]
        assert [rollout.trace.ids[place + 1] for place in places] == [end] * len(places)
        assert [charge.output_tokens for charge in rollout.ledger if charge.kind == "orchestrator"] == [1] * len(places)
    assert policy.take_cut() == 0


def test_a_number_that_was_found_is_computed_with(codec: TinyCodec) -> None:
    asked = [{"role": "user", "content": 'What is `n // 7`, with n the weight of the "Felamat 312"?'}]
    found = {"role": "tool", "content": "[1] Felamat 312\nThe Felamat 312 is a radio. It weighs 1234 grams.\n\n[2] …"}
    codes = []
    for conversation in (asked, [*asked, found], [*asked, {"role": "tool", "content": "Nothing found."}]):
        message, malformed = codec.read(ids("python"), conversation, [PYTHON_TOOL])
        assert malformed is None
        codes.append(json.loads(message["tool_calls"][0]["function"]["arguments"])["code"])
    assert codes == ["n // 7", "n = 1234\nn // 7", "n // 7"]


def test_every_second_question_to_look_up_goes_on_if_half_of_them_should() -> None:
    found = [task.question for task in question_ground(tiny(), 600, two_step_share=0.5).board.tasks]
    lookups = [one for one in found if one is not None and one.category == "lookup"]
    assert sum(one.fact is not None for one in lookups) / len(lookups) == pytest.approx(0.5, abs=0.15)
    assert all(one.fact is None for one in found if one is not None and one.category != "lookup")


def test_a_model_is_scored_by_all_the_words_of_a_way(ground: Ground) -> None:
    board = question_ground(tiny(), 40, mixture={"lookup": 1.0}, two_step_share=1.0, basic_share=1.0).board
    model, codec = load(BASE), ground.codec
    played = replace(ground, board=board).play(model, "untrained", temperature=1.0)
    way, known = CALLS.index("search, then interpreter"), codec.vocabulary()
    for row, task in enumerate(board.tasks[:3]):
        text, likely = prompt_ids(codec, task), 1.0
        for word in ("local_search", "python", "<last>"):
            likely *= next_words(model, [text], [known[word]], 1.0)[0, 0]
            text = [*text, known[word], codec.end, *codec.next([{"role": "tool", "content": ""}])]
        assert played.calls[row, way] == pytest.approx(likely, rel=1e-4, abs=1e-4)


def test_own_tokens_are_charged_for_each_turn(ground: Ground) -> None:
    lengths = np.array([len(prompt_ids(ground.codec, task)) for task in ground.board.tasks])
    cost, seconds = own_figures(ground.board, lengths, replace(ground).price, 0.01)
    python, expert = ground.board.actions.index("python"), ground.board.actions.index(ALIASES[0])
    assert cost[0, expert] == pytest.approx((lengths[0] + 1) * 0.2 / 1e6)
    assert cost[0, python] == pytest.approx((2 * lengths[0] + 5 + 2) * 0.2 / 1e6)
    assert (seconds[0, expert], seconds[0, python]) == (0.01, 0.02)
    chain = ground.board.actions.index("search_then_python")
    assert (cost[0, chain], seconds[0, chain]) == pytest.approx(((3 * lengths[0] + 15 + 3) * 0.2 / 1e6, 0.03))
