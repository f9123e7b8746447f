"""What a model is told in each step of a draft: what it needs, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import Answer, ChatServer, chat_server, said
from scripted_model import BRIEF, TEXTS, block, reply, use

from toolscale.cli import main
from toolscale.draft.authoring_parts import parts_of
from toolscale.draft.brief import Brief
from toolscale.draft.fields import fields_of
from toolscale.draft.outline import INTENTS, STEPS
from toolscale.draft.step_requests import Correction, StepRequests
from toolscale.environment.registry import FILES
from toolscale.environment.scaffold import read_tables, scaffold_texts
from toolscale.errors import UsageError
from toolscale.models.chat import ChatRequest
from toolscale.pipeline.drafting import authoring_page

Model = Callable[[dict[str, Any]], Answer]
ALL_STEPS = (*STEPS, INTENTS)
TABLES = "patron, author, title by author, loan of title by patron, fine by patron, room_booking by patron"
HALF = {"schema": 2_980, "population": 3_581, "words": 4_544, "tools": 4_920, "policy": 4_139, "intents": 5_577}
"""Step -> half the words that its first request had for a domain of eight tables when it was shown everything."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder in which all steps are done."""
    folder = tmp_path / "library"
    folder.mkdir()
    for file, text in scaffold_texts("library", read_tables(TABLES)).items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def requests(folder: Path) -> StepRequests:
    entities = read_tables(TABLES)
    subjects = [{"table": each.name, "columns": "what is known of one"} for each in entities]
    brief = Brief.model_validate({**BRIEF, "tables": TABLES, "subjects": subjects})
    return StepRequests("library", brief, folder, authoring_page(), "2026-03-16")


def told(request: ChatRequest) -> str:
    return "\n".join(str(message["content"]) for message in request.messages)


@pytest.mark.parametrize("step", ALL_STEPS, ids=lambda step: step.name)
def test_a_request_has_half_the_words(library: Path, step: Any) -> None:
    assert len(told(requests(library).first(step, ())).split()) < HALF[step.name]


@pytest.mark.parametrize("step", ALL_STEPS, ids=lambda step: step.name)
def test_every_request_of_a_step_begins_with_the_same(library: Path, step: Any) -> None:
    made = requests(library)
    correction = Correction(["toolset.yaml: tools: wrong; mend it"], step.files)
    assert made.first(step, ()).messages[0] == made.again(step, correction).messages[0]


def test_a_sample_has_each_kind_of_entry_once(library: Path) -> None:
    """Three things belong to the person; the sample is about one of them."""
    prompt = told(requests(library).first(INTENTS, ()))
    assert re.findall(r"^  - id: (\w+)$", prompt[prompt.index("A simpler domain") :], re.MULTILINE) == [
        "close_last_loan", "close_overdue_loans", "postpone_loan", "ask_next_loan", "postpone_loan_too_long",
    ]  # fmt: skip


def test_what_earlier_steps_wrote_is_told_in_short(library: Path) -> None:
    prompt = told(requests(library).first(INTENTS, ()))
    assert "- loans: loan_id key, title_id -> titles.title_id, patron_id -> patrons.patron_id, due_on date" in prompt
    assert "\n- postpone_loan(loan_id, days?: integer): " in prompt
    assert "\n  only if :found.status = 'open'\n  gives one row `loan` (loan_id, " in prompt
    assert "\n- most_days_of_loan (guards postpone_loan): breaks call.days > policy.most_days; tells " in prompt
    assert "UPDATE loans SET" not in prompt


def test_derived_descriptions_are_listed_with_their_words(library: Path) -> None:
    prompt = told(requests(library).first(INTENTS, ()))
    words = "due_first (*due first*), due_last (*due last*), highest_fee (*highest fee*), lowest_fee (*lowest fee*)"
    assert f"\n- loans: {words}\n" in prompt


def test_a_correction_has_the_intents_that_are_found_wrong_and_the_names_of_the_others(library: Path) -> None:
    finding = "intents.yaml: intents[postpone_loan].do.later: wrong; mend it"
    prompt = told(requests(library).again(INTENTS, Correction([finding], ["intents.yaml"])))
    written = yaml.safe_load(re.findall(r"```yaml intents.yaml\n(.*?)```", prompt, re.DOTALL)[-1])
    assert [each["id"] for each in written["intents"]] == ["postpone_loan"]
    assert "Other intents, which stay as they are: close_last_loan, close_overdue_loans, ask_next_loan, " in prompt
    assert re.findall(r"^- (\w+) \(\w+\): They want", prompt, re.MULTILINE) == ["postpone_loan", "complain"]


def test_to_plant_rows_what_is_drawn_now_will_do(library: Path) -> None:
    finding = "rules.yaml: rules.most_days_of_loan.case: no row fulfils it; plant rows that do"
    allowed = ["policy.md", "population.yaml", "rules.yaml"]
    prompt = told(requests(library).again(STEPS[-1], Correction([finding], allowed)))
    assert "`population.yaml` in short:" in prompt and "```yaml population.yaml" not in prompt
    assert "```yaml rules.yaml" in prompt and "you may change policy.md, population.yaml, rules.yaml" in prompt
    finding = "population.yaml: tables[loans]: wrong; mend it"
    assert "```yaml population.yaml" in told(requests(library).again(STEPS[-1], Correction([finding], allowed)))


def test_what_strangers_stumbled_over_stands_in_the_prompts(library: Path) -> None:
    made = requests(library)
    steps = {step.name: " ".join(told(made.first(step, ())).split()) for step in ALL_STEPS}
    assert "has no LIMIT" in steps["tools"] and "has no LIMIT" in steps["policy"]
    assert "a read that gives rows is a relation of its name" in steps["policy"]
    assert "A question ends with a question mark" in steps["intents"]


def test_the_page_has_every_part_that_a_step_is_shown() -> None:
    for step in ALL_STEPS:
        assert parts_of(authoring_page(), step.pages).count("\n## ") == len(step.pages) - 1
    with pytest.raises(UsageError, match="has no part 'Weather', and a model needs it"):
        parts_of(authoring_page(), ("SQL", "Weather"))


@pytest.mark.parametrize("file", FILES)
def test_the_fields_of_a_file_are_those_of_its_schema(file: str) -> None:
    schema = FILES[file].model_json_schema()
    lines = fields_of(file)
    assert re.findall(r"(?:: |, )(\w+)\??:", re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", lines[0])) == list(
        schema["properties"]
    )
    records = {line.partition(":")[0].partition(" ")[0] for line in lines[1:]}
    assert records >= set(schema.get("$defs", {})) - {"Refused"}
    assert "proposed_by" not in "".join(lines)


def test_only_some_sections_and_what_they_need() -> None:
    assert fields_of("language.yaml", ("acts", "enum_cues")) == [
        "`language.yaml`: acts?:{name:text} (Tool -> how a person asks for a call of it: an imperative clause over "
        "`{parameter}`), enum_cues?:{name:[text]} (Enum value -> words of which one must stand in the request "
        "that uses it)"
    ]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., ChatServer]]:
    monkeypatch.chdir(tmp_path)
    running: list[Any] = []

    def start(model: Model, rounds: int = 3) -> ChatServer:
        server = chat_server(reply=model)
        running.append(server)
        opened = server.__enter__()
        use(monkeypatch, opened.base_url)
        main(["draft", "Library!", "--intents", "6", "--rounds", str(rounds), "--no-phrase", "--in", "made"])
        return opened

    yield start
    for server in running:
        server.__exit__(None, None, None)


def test_the_grammar_of_tables_is_told_and_a_wrong_brief_is_shown_back_whole(ask: Callable[..., ChatServer]) -> None:
    wrong = {**BRIEF, "tables": "patron, loan (patron)", "rules": [*BRIEF["rules"], "No. " * 3_000]}

    def model(body: dict[str, Any]) -> Answer:
        first = str(body["messages"][0]["content"])
        if "Plan the domain" in first and len(body["messages"]) == 1:
            return said(json.dumps(wrong))
        return said(json.dumps(BRIEF)) if "Plan the domain" in first else said("nothing")

    server = ask(model, rounds=1)
    assert "`patron,\nloan by patron`" in str(server.asked[0]["messages"][0]["content"])
    assert server.asked[1]["messages"][1] == {"role": "assistant", "content": json.dumps(wrong)}
    assert "tables: 'loan (patron)' is no table; write it as: " in str(server.asked[1]["messages"][2]["content"])


def test_a_reply_that_cannot_be_taken_is_shown_back_whole_and_findings_are_printed(
    ask: Callable[..., ChatServer], capsys: pytest.CaptureFixture[str]
) -> None:
    broken = "```yaml schema.yaml\ntables:\n  patrons: [unclosed\n```\n"

    def model(body: dict[str, Any]) -> Answer:
        prompt = str(body["messages"][-1]["content"])
        if "Plan the domain" in prompt:
            return reply(body)
        return said(broken if "Write `schema.yaml`" in prompt else "nothing")

    again = str(ask(model, rounds=2).asked[-1]["messages"][-1]["content"])
    assert f"A reply of yours that could not be taken whole:\n\n~~~~\n{broken.strip()}\n~~~~\n" in again
    err = capsys.readouterr().err
    assert re.search(r"^schema: round 1, 1 findings\n  schema.yaml: .*not YAML", err, re.MULTILINE), err
    assert max(map(len, err.splitlines())) < 200


def test_advice_that_cannot_be_followed_costs_no_domain(
    ask: Callable[..., ChatServer], capsys: pytest.CaptureFixture[str]
) -> None:
    """The library hands over to nobody, and is told so once; what comes back then is nonsense."""
    sound = yaml.safe_load(TEXTS["intents.yaml"])["intents"]
    advised: list[str] = []

    def model(body: dict[str, Any]) -> Answer:
        prompt = str(body["messages"][-1]["content"])
        if "Write in `intents.yaml`" in prompt:
            return said(block("intents.yaml", {"intents": sound}))
        if "no task has the outcome 'transfer'" in prompt or advised:
            advised.append(prompt)
            return said(block("intents.yaml", {"intents": [{"id": "postpone_loan", "roles": 7}]}))
        return reply(body)

    ask(model, rounds=2)
    assert "- complain (transfer): They want to complain." in advised[0]
    assert "what was sound before is kept\n" in capsys.readouterr().err
    made = yaml.safe_load(Path("made/library/intents.yaml").read_text(encoding="utf-8"))["intents"]
    assert [each["id"] for each in made] == [each["id"] for each in sound]
