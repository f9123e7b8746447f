"""The pointer model: what it reads, what it writes, and that the Verifier takes what it recites."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import UsageError
from toolscale.records import TokenTrace
from training.batch import Sample
from training.chat import Codec
from training.codecs import load_codec
from training.config import ModelSettings, SftConfig
from training.config_file import read_config
from training.conversations import Conversation, encode_conversation, golden_conversations
from training.pointer.base import make_base, make_model
from training.pointer.codec import PointerCodec
from training.pointer.turns import CALL, read_form, read_prompt, write_message
from training.pointer.units import MOST_SAID, ROW, SAID, read_json, read_text, write_json
from training.pointer.vocabulary import make_tokenizer, pointer_of, vocabulary_of
from training.sft import run, with_other_pointers, with_repeats
from training.tiny.tokenizer import make_tokenizer as make_other

pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit.script:DeprecationWarning", "ignore:.torch.distributed:FutureWarning"
)

MONDAY = date(2026, 3, 16)
"""The clock of the mock domain's neighbours; what "March 18" means."""


def words(units: Iterator[Any]) -> str:
    return " ".join(unit.word for unit in units)


def test_dates_amounts_and_numbers_in_words_are_read_as_tools_show_them() -> None:
    said = (
        "Hi! I'm John O'Neill (card 00694). Book Body Pump on March 18th, or 3/20, if it's $7.25 or less; "
        "add two visits."
    )
    assert words(read_text(said, MONDAY)) == (
        "hi ! i'm john o'neill ( card 00694 ) . book body pump on 2026-03-18 , or 2026-03-20 , if it's "
        "725 ~132 or less ; add 2 visits ."
    )
    assert words(read_text("may i come at 18:15 on May 2?", MONDAY)) == "may i come at 18:15 on 2026-05-02 ?"
    assert words(read_text("March 18", None)) == "march 18"


def test_what_a_row_is_called_comes_first_and_its_ids_last_and_large_numbers_have_a_size() -> None:
    row = {"class_id": "c_7", "day_on": "2026-03-18", "free_count": 3, "monthly_cents": 1975, "title": "Body Pump"}
    assert words(read_json({"classes": [row], "note": None})) == (
        ".note <null> "
        ".classes [ <row> .title body pump .day_on 2026-03-18 .free_count 3 .monthly_cents 1975 ~152 .class_id c_7 ]"
    )


BOOKINGS = [
    {"booking_id": "b_1", "day_on": "2026-03-18", "title": "Body Pump", "status": "booked", "visits": 3},
    {"booking_id": "b_2", "day_on": "2026-03-18", "title": "Spin", "status": "booked", "visits": 40},
    {"booking_id": "b_3", "day_on": "2026-03-20", "title": "Pump", "status": "open", "visits": 40},
    {"booking_id": "b_4", "day_on": "2026-03-21", "title": "Barre", "status": "open", "visits": 12},
]  # fmt: skip


def test_rows_are_marked_by_what_was_said_of_them() -> None:
    said = [unit.word for unit in read_text("my booked Body Pump on March 18, or the 40 of b_4", MONDAY)]
    units = words(read_json(BOOKINGS, said)).split()
    assert [word for word in units if word.startswith("<row")] == [MOST_SAID, MOST_SAID, SAID, ROW]
    assert words(read_json([BOOKINGS[0]] * 2, said)).count(ROW) == 2, "what tells no rows apart marks none"
    assert words(write_json(["spin"])) == "[ <row> spin ]"


def test_the_least_and_the_largest_number_of_a_list_are_marked() -> None:
    units = words(read_json(BOOKINGS)).split()
    places = [place for place, word in enumerate(units) if word == ".visits"]
    assert [units[place + 1 : place + 4] for place in places] == [
        ["3", "<least>", ".booking_id"], ["40", "~74", "<most>"], ["40", "~74", "<most>"], ["12", ".booking_id", "b_4"],
    ]  # fmt: skip
    assert "<most>" not in words(read_json(BOOKINGS[1:3]))


def test_a_form_is_filled_in_as_it_stands_in_the_prompt() -> None:
    properties = {"done": {"type": "string"}, "reasons": {"type": "array"}, "left_in_the_account_cents": {}}
    tool = {"function": {"name": FINAL_ANSWER, "parameters": {"properties": properties}}}
    assert words(read_form([tool])) == ("<form> done .1 <form> left in the account cents .2 <form> reasons <many> .3")
    filled = {"name": FINAL_ANSWER, "arguments": {"reasons": [3], "done": "part"}}
    assert words(write_message({"tool_calls": [{"function": filled}]}, properties)) == (
        "@final_answer <form> done .1 part <form> reasons <many> .3 [ <row> 3 ] <end>"
    )


def test_arguments_that_are_none_are_words_and_read_back_as_no_call(codec: PointerCodec) -> None:
    call = {"function": {"name": FINAL_ANSWER, "arguments": "Yes, done."}}
    assert words(write_message({"tool_calls": [call]})) == "@final_answer yes , done . <end>"
    _, fault = codec.read(codec.write({"tool_calls": [call]})[:-1])
    assert fault is not None and "stands where a name is wanted" in fault


def test_a_word_that_no_tool_shows_or_takes_is_a_word_and_a_name_is_a_pointer() -> None:
    find = {"function": {"name": "find", "arguments": {"full_name": "Xenia Quaxly"}}}
    talk = {
        "messages": [
            {"role": "system", "content": "It is 2026-03-16."},
            {"role": "user", "content": "Howdy, Xenia Quaxly here, for the 2 visits of 450 each."},
            {"role": "assistant", "tool_calls": [find]},
            {"role": "tool", "content": '{"full_name": "Xenia Quaxly", "member_id": "m_77"}'},
        ],
        "tools": [],
    }
    known = vocabulary_of([talk] * 5, Path("environments/mock"))
    assert {"howdy", "here", "2", "@find", ".full_name", ".member_id"} < set(known)
    assert not {"xenia", "quaxly", "m_77", "450"} & set(known)
    assert "howdy" not in vocabulary_of([talk] * 4, Path("environments/mock"))


def test_a_number_that_calls_give_though_nobody_showed_it_is_a_word_if_it_is_common() -> None:
    wait = {"function": {"name": "wait", "arguments": {"minutes": 1440, "cents": 450}}}
    messages = [{"role": "user", "content": "All 450 of it."}, {"role": "assistant", "tool_calls": [wait]}]
    talk, other = {"messages": messages, "tools": []}, {"messages": messages[:1], "tools": []}
    assert {"1440", "450"} & set(vocabulary_of([talk] * 5, Path("environments/mock"))) == {"1440"}
    assert "1440" not in vocabulary_of([talk] * 5 + [other] * 2000, Path("environments/mock"))


def test_a_date_that_is_none_is_a_word_and_dates_that_are_years_apart_do_not_fill_the_vocabulary() -> None:
    said = [{"role": "user", "content": "2026-13-45 or 0001-01-01 or 9999-12-31"}]
    talks = [{"messages": [{"role": "system", "content": "It is 2026-13-45."}, *said], "tools": []}] * 5
    known = vocabulary_of(talks, Path("environments/mock"))
    assert [word for word in known if word.count("-") == 2] == ["0001-01-01", "9999-12-31", "2026-13-45"]


@pytest.fixture(scope="module")
def conversations(mock_dataset: Path) -> list[Conversation]:
    return list(golden_conversations(mock_dataset))


@pytest.fixture(scope="module")
def codec(conversations: list[Conversation]) -> PointerCodec:
    return PointerCodec(make_tokenizer(vocabulary_of(conversations, Path("environments/mock"))))


def calls_of(message: Any) -> list[tuple[str, Any]]:
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    return [(each["name"], json.loads(each["arguments"])) for each in functions]


def test_golden_calls_are_read_back_as_they_were_written(conversations: list[Conversation], codec: Codec) -> None:
    turns = 0
    for talk in conversations:
        heard: list[Any] = []
        for message in talk["messages"]:
            if message["role"] != "assistant" or not message.get("tool_calls"):
                heard.append(message)
                continue
            read, fault = codec.read(codec.write(message, talk["tools"])[:-1], heard, talk["tools"])
            assert fault is None
            assert calls_of(read) == calls_of(message)
            turns += 1
    assert turns > len(conversations)


def test_a_conversation_in_parts_is_the_conversation_in_one(
    conversations: list[Conversation], codec: PointerCodec
) -> None:
    for talk in conversations[:20]:
        ids = tuple(codec._vocabulary.id_of(unit) for unit in read_prompt(talk["messages"], talk["tools"]))
        assert encode_conversation(codec, talk).ids == ids


PAIR = {"of": {"type": "string"}, "value": {"type": "integer"}}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": ["integer", "null"]},
        "share": {"type": "number"},
        "kind": {"type": "string", "enum": ["All", "part"]},
        "reasons": {"type": "array", "items": {"type": ["string", "integer"]}},
        "each": {"type": "array", "items": {"type": "object", "properties": PAIR}},
        "place": {"type": "object", "properties": {"town": {"type": "string"}}},
        "sure": {"type": "boolean"},
    },
}  # fmt: skip
SEARCH = {"properties": {"full_name": {"type": "string"}}}

TOOL_OF_ONE_FIELD = {"function": {"name": FINAL_ANSWER, "parameters": {"properties": {"done": {"type": "string"}}}}}

names = st.text(st.characters(categories=["Lu"], max_codepoint=90), min_size=1, max_size=6).map(str.title)
whole = st.integers(-(10**9), 10**9).filter(lambda number: number >= 0)
values = {
    "name": names,
    "count": st.none() | whole,
    "share": st.sampled_from([0.5, 12.25, 3]),
    "kind": st.sampled_from(["All", "part"]),
    "reasons": st.lists(names | whole, max_size=3),
    "each": st.lists(st.fixed_dictionaries({"of": names, "value": whole}), max_size=2),
    "place": st.fixed_dictionaries({"town": names}),
    "sure": st.booleans(),
}
calls = st.tuples(st.sampled_from(["keep", FINAL_ANSWER]), st.fixed_dictionaries({}, optional=values))


@given(calls)
def test_whatever_a_schema_takes_is_written_and_read_back(codec: PointerCodec, call: tuple[str, Any]) -> None:
    name, taken = call
    shown = {"role": "tool", "content": json.dumps(taken)}
    tool = {"type": "function", "function": {"name": name, "parameters": SCHEMA}}
    message = {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": taken}}]}
    units = {unit.word for unit in write_json(taken)} | {CALL + name}
    read, fault = codec.read(codec.write(message, [tool])[:-1], [shown], [tool])
    if len({pointer_of(word) for word in units}) == len(units):  # no two words share a pointer
        assert fault is None
        assert calls_of(read) == [call]


def test_a_name_that_was_written_small_begins_with_a_capital(codec: PointerCodec) -> None:
    asked = {"role": "user", "content": "its xenia quaxly"}
    call = {"function": {"name": "find", "arguments": {"full_name": "xenia quaxly"}}}
    read, _ = codec.read(
        codec.write({"tool_calls": [call]})[:-1], [asked], [{"function": {"name": "find", "parameters": SEARCH}}]
    )
    assert calls_of(read) == [("find", {"full_name": "Xenia Quaxly"})]


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("", "A turn begins with no tool"),
        ("<user>", "A turn begins with no tool"),
        ("<say>", "Nothing is said"),
        ("@final_answer .1", "A value is missing"),
        ("@final_answer .1 <row>", "<row> stands where a value is wanted"),
        ("@final_answer .1 all .1 all", ".1 stands twice"),
        ("@final_answer all", "all stands where a name is wanted"),
        ("@final_answer .1 [ <row> 3", "] is missing"),
        ("@final_answer .1 all .7 3", "The form has no field 7"),
    ],
)
def test_a_turn_that_is_no_call_says_what_is_wrong(written: str, fault: str) -> None:
    vocabulary = ["@final_answer", ".1", ".7", "all", "3"]
    codec = PointerCodec(make_tokenizer([*vocabulary_of([], Path("environments/mock")), *vocabulary]))
    ids = codec._vocabulary.ids  # the words themselves, as a model writes them
    message, told = codec.read([ids[word] for word in written.split()], (), [TOOL_OF_ONE_FIELD])
    assert told is not None and told.startswith(f"{fault}. Write @tool")
    assert message == {"role": "assistant", "content": written}


def test_a_tokenizer_without_pointers_is_refused() -> None:
    with pytest.raises(UsageError, match=r"does not have the word .*training.pointer.base"):
        PointerCodec(make_other())


def test_it_learns_in_as_many_steps_as_are_wanted_and_its_model_and_codec_are_loaded_again(
    conversations: list[Conversation], tmp_path: Path
) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps(talk) + "\n" for talk in conversations[:8]), encoding="utf-8")
    assert make_base(path, "mock", tmp_path / "base", layers=2, width=32) > 4096
    config = read_config(Path("training/configs/pointer_sft.yaml"), SftConfig)
    model = config.model.model_copy(update={"path": str(tmp_path / "base")})
    known = {"model": model, "datasets": (), "conversations": (str(path),), "steps": 12, "batch": 4, "processes": 1}
    done = run(config.model_copy(update=known), tmp_path / "run")
    assert done["conversations"] == 8
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert len(losses) == 12 and losses[-1] < losses[0]
    codec = load_codec(ModelSettings(path=str(tmp_path / "run" / "model"), codec="pointer"))
    assert encode_conversation(codec, conversations[0]).ids


def test_a_conversation_that_is_read_again_has_other_pointers_and_what_stands_nowhere_is_not_learned() -> None:
    trace = TokenTrace(ids=(1, 10, 20, 10, 2, 21), written=(False, False, False, True, True, True), logprobs=(0.0,) * 6)
    sample = Sample(trace, 1.0, "a")
    made = with_other_pointers(sample, (range(10, 14), range(20, 24)), random.Random(0)).trace
    one, other, fresh = made.ids[1], made.ids[2], made.ids[5]
    assert made.ids == (1, one, other, one, 2, fresh)
    assert one in range(10, 14) and {other, fresh} < set(range(20, 24)) and other != fresh
    assert made.written == (False, False, False, True, True, False)
    assert {with_other_pointers(sample, (range(10, 14),), random.Random(seed)).trace.ids[1] for seed in range(30)} == {
        10, 11, 12, 13,
    }  # fmt: skip


def test_what_messages_repeat_after_the_first_turn_is_learned_too() -> None:
    ids = (1, 7, 7, 9, 5, 7, 6, 5, 9)
    written = (False, False, False, True, False, False, False, True, False)
    trace = TokenTrace(ids=ids, written=written, logprobs=(0.0,) * len(ids))
    learned = with_repeats(Sample(trace, 1.0, "a")).trace.written
    assert [number for number, own in zip(ids, learned, strict=True) if own] == [9, 7, 5, 9]


def test_a_seed_is_a_model() -> None:
    one, same, other = (make_model(50, 2, 16, seed).get_input_embeddings().weight for seed in (0, 0, 1))
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_before_training_it_writes_what_came_after_a_word_the_last_time() -> None:
    words, length = 5000, 60
    said = torch.randint(words, (4, length), generator=torch.Generator().manual_seed(0))
    again = torch.cat([said, said], dim=1)
    with torch.no_grad():
        written = make_model(words, 4, 128, 0).eval()(again).logits.argmax(-1)
    assert (written[:, length:-1] == again[:, length + 1 :]).float().mean() > 0.9
