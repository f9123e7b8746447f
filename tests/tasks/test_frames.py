"""Whole messages that writers give: what they are told, what is tried of each message, and what is made of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.records import Candidate
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.frames import matters_of, shape_of
from toolscale.verify.judge import Judge

PAID = "Could you take {amount_cents} off what I owe? And what is left of it then?"
RENEWED = "can you renew whichever of my open loans is due first? Which book is that, and when is it due now"
RETURNED = "All my open loans are back on your desk, please check them in. How many were they?"
FRAMES = (
    {"shape": "pay_some_fees", "say": PAID},
    {"shape": "renew_due_first", "say": RENEWED},
    {"shape": "return_all", "say": RETURNED},
)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return Path(shutil.copytree(discover()["mock"], tmp_path / "mock"))


@pytest.fixture
def framed(library: Path) -> Iterator[tuple[CandidateSource, Judge]]:
    """The library with a frame for three shapes."""
    assert main(["phrase", str(library), "--from", str(written(library, *FRAMES)), "--writer", "me"]) == 0
    environment = load_environment(library)
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    yield CandidateSource(environment, World(environment, rows)), judge
    judge.close()


def written(library: Path, *lines: dict[str, str]) -> Path:
    path = library.parent / "given.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_a_writer_is_told_the_shape_its_cases_and_what_is_asked_and_nothing_of_the_phrasings(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["phrase", str(library), "--brief", "--shape", "pay_some_fees"]) == 0
    told = capsys.readouterr().out
    assert "help desk of Branch library (A small library where members look after their loans and their fees)" in told
    title, meaning, does, case, *_, needed, asks, count = told[told.index("## pay_some_fees") :].splitlines()
    assert (title, meaning) == ("## pay_some_fees", "pay a part of the fees.")
    assert does.startswith("The desk does: pay_fees: ") and case.startswith('Case 1: {amount_cents} = "$')
    assert (needed, asks, count) == ("Needed: {amount_cents}.", "Asks to be told: fees still owed.", "Write 8.")
    assert "towards my fees" not in told


def test_a_writer_is_told_whose_each_fact_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight of eight writers asked for the day of the wrong test."""
    assert main(["phrase", "medicine", "--brief", "--shape", "two_values"]) == 0
    (asks,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Asks to be told: ")]
    assert asks.endswith("({other.test}); day of the test ({other.test}).") and "result ({lab.test});" in asks


def test_what_holds_is_kept_and_said_as_it_was_written(framed: tuple[CandidateSource, Judge]) -> None:
    source, judge = framed
    candidate = source.draw(0, source.number("pay_some_fees"))
    assert candidate is not None
    amount = candidate.request.removeprefix("Could you take ").partition(" off")[0]
    assert candidate.request.startswith(PAID.replace("{amount_cents}", amount))
    assert judge.judge(candidate).verdict.accepted
    head = (source.environment.folder / "frames.yaml").read_text(encoding="utf-8").splitlines()[:3]
    assert head == ["writers:", "  me:", "    model: hand"]


def test_a_message_stays_as_it_was_typed(framed: tuple[CandidateSource, Judge]) -> None:
    source, _ = framed
    candidate = source.draw(0, source.number("renew_due_first"))
    assert candidate is not None and candidate.request.startswith("can you renew whichever")


def test_in_a_dialogue_the_second_matter_has_a_message_of_its_own(framed: tuple[CandidateSource, Judge]) -> None:
    source, judge = framed
    number = source.number("pay_some_fees+evolved")
    candidate = source.draw_evolved(0, number, ("compose return_all",), "dialogue")
    assert candidate is not None
    assert candidate.request.startswith("Could you take $") and candidate.agenda == (RETURNED,)
    assert candidate.turns == "dialogue" and candidate.heard.endswith(f"\n{RETURNED}")
    assert judge.judge(candidate).verdict.accepted


@pytest.mark.parametrize(
    ("say", "finding"),
    [
        ("Take what I owe off. What is left?", "it has no place for amount_cents, or the shape has none of that name"),
        ("Take {amount_cents} and {tip} off. What is left?", "it has no place for tip, or the shape has none"),
        ("Take {amount_cents} off my fees.", "grounded: the request asks nothing, and the money "),
        ("Take about {amount_cents} off my fees. What is left?", "grounded: the request does not say amount_cents"),
        ("Take {amount_cents} of the $900 off my fees. What is left?", "grounded: the request says '$900'"),
        ("<b>Take</b> {amount_cents} off my fees. What is left?", "it has markup: write plain text"),
        ("Take {amount_cents} off\x07. What is left?", "it has control characters"),
        ("Take {amount_cents} off. What is left?" + " please" * 80, "it has 598 characters; write 1 to 400"),
    ],
)
def test_what_says_something_else_is_refused_with_the_line_and_nothing_is_written(
    library: Path, capsys: pytest.CaptureFixture[str], say: str, finding: str
) -> None:
    given = written(library, {"shape": "pay_some_fees", "say": say})
    assert main(["phrase", str(library), "--from", str(given)]) == 1
    assert capsys.readouterr().err.startswith(f"{given}: line 1: {finding}")
    assert not (library / "frames.yaml").exists()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: '{' is no frame; write an object with shape and say, or with shape and nobody"),
        ('{"shape": "pay_some_fees"}', 'line 2: \'{"shape": "pay_some_fees"}\' is no frame'),
        ('{"shape": "pay_nothing", "say": "x"}', "mock has no shape 'pay_nothing'; `toolscale phrase` lists them"),
    ],
)
def test_a_file_that_is_none_is_one_line(
    library: Path, capsys: pytest.CaptureFixture[str], line: str, problem: str
) -> None:
    given = library.parent / "given.jsonl"
    given.write_text(f"\n{line}\n", encoding="utf-8")
    assert main(["phrase", str(library), "--from", str(given)]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert problem in told


@pytest.mark.parametrize("line", ["{", "[" * 100_000, '{"message": "hi"}', '{"text": 3}'])
def test_a_file_of_voices_that_is_none_is_one_line(
    library: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    people = library.parent / "people.jsonl"
    people.write_text(f"{line}\n", encoding="utf-8")
    assert main(["phrase", str(library), "--brief", "--people", str(people)]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert f"{people}: line 1: {line[:120]!r} is no message; write JSON lines with `text`" in told


def test_admission_names_what_is_wrong_with_the_file(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (library / "frames.yaml").write_text(
        "writers: {me: {model: hand, prompt: 0123456789abcdef}}\n"
        "frames:\n"
        "  - {shape: pay_nothing, by: me, say: [x]}\n"
        "  - {shape: pay_some_fees, by: you, say: ['Pay it. What is left?']}\n"
        "  - {shape: return_all, by: me, say: [All are back., All are back.]}\n",
        encoding="utf-8",
    )
    assert main(["admit", str(library)]) == 2
    told = [line.removeprefix("toolscale: ") for line in capsys.readouterr().err.splitlines()]
    assert [line.strip() for line in told if "frames.yaml" in line] == [
        "frames.yaml: frames[0].shape: there is no shape 'pay_nothing': 'pay_nothing'; "
        "`toolscale phrase` lists the shapes",
        "frames.yaml: frames[1].by: unknown writer 'you'; name one of writers",
        "frames.yaml: frames[1].say[0]: 'Pay it. What is left?' lacks or cannot have amount_cents; "
        "write all places of the shape, and no others",
        "frames.yaml: frames[2].say[1]: 'All are back.' stands there twice; leave one out",
    ]


def test_how_a_row_is_called_and_what_is_refused_is_no_part_of_a_shape() -> None:
    intents = {intent.id: intent for intent in load_environment("finance").spec.intents.intents}
    assert shape_of(intents["pay_bill"], ("obscure bill:biller_due",)) == "pay_bill"
    assert shape_of(intents["pay_bill"], ("quiet", "constrain size")) == "pay_bill + quiet + constrain size"
    assert shape_of(intents["pay_bill"], ("refuse inactive_source",)) == "pay_bill + quiet"
    assert shape_of(intents["pay_bill"], ("compose freeze_card",)) is None
    chain = ("quiet", "compose freeze_card", "pry relative", "compose send_money quiet")
    found = matters_of("pay_bill", chain, lambda lines: intents["pay_bill"])
    assert [(matter.intent, matter.evolutions) for matter in found] == [
        ("pay_bill", ("quiet",)),
        ("freeze_card", ()),
        (None, ()),
        ("send_money", ("quiet",)),
    ]


def test_most_people_are_signed_in_and_the_desk_says_as_whom() -> None:
    environment = load_environment("finance")
    with World(environment, populate(environment)) as world:
        source = CandidateSource(environment, world)
        drawn = [source.draw(0, number, "mixed") for number in range(300)]
    candidates = [candidate for candidate in drawn if candidate is not None]
    signed_in = [candidate for candidate in candidates if candidate.context]
    assert 0.5 < len(signed_in) / len(candidates) < 0.85
    assert all(_is_nameless(candidate) for candidate in signed_in)


def _is_nameless(candidate: Candidate) -> bool:
    """Whether nobody says who they are whom the desk knows: `Signed in: full name Ana Diaz, date of birth ...`."""
    name = candidate.context.removeprefix("Signed in: full name ").partition(",")[0]
    assert candidate.opening == f"[{candidate.context}]\n\n{candidate.request}"
    return name not in candidate.spoken
