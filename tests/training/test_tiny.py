"""The tiny model: its words, its codec, and the base model that is committed."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest
import torch
from tiny_router import BASE, ids, tiny

from toolscale.basic_tools import open_basic_tools
from toolscale.basic_tools.settings import BasicToolSettings, LocalSearchSettings
from toolscale.preferences.drawing import preference
from toolscale.questions.corpus import write_corpus
from toolscale.questions.generate import TEMPLATES as QUESTIONS
from toolscale.questions.generate import question
from toolscale.questions.grade import grade_answer
from toolscale.records import Split
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.prompt import expert_tool, first_messages
from training.data import open_work
from training.evaluate import Ground, load, question_ground
from training.sampler import local_policy
from training.tiny.base import Packer, examine, make_model, take_over, words_of
from training.tiny.board import read_right
from training.tiny.codec import TinyCodec, answering_sentence
from training.tiny.probes import Texts, draw_sheet, drop_words
from training.tiny.tokenizer import make_tokenizer
from training.tiny.words import END, fact, vocabulary

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


def words(codec: TinyCodec, ids: list[int]) -> str:
    return " ".join(make_tokenizer().convert_ids_to_tokens(ids))


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
