"""`toolscale draft`: a model that is scripted here drafts a small domain, makes mistakes, and is told so."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import Answer, ChatServer, chat_server, said
from scripted_model import BRIEF, FRAMED, PRICE, TEXTS, block, reply, use
from served_recording import served

from toolscale.cli import main
from toolscale.draft import PROMPTS_VERSION
from toolscale.draft.entries import DEEP
from toolscale.draft.outline import INTENTS
from toolscale.environment.admission_file import read_admission
from toolscale.environment.environment import load_environment
from toolscale.environment.registry import FILES, OPTIONAL, POLICY_TEXT
from toolscale.records import Intent
from toolscale.words.frames import FILE as FRAMES


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatServer]:
    monkeypatch.chdir(tmp_path)
    with chat_server(reply=reply) as running:
        use(monkeypatch, running.base_url)
        yield running


def draft(root: Path, *more: str) -> int:
    return main(["draft", "Library!", "--intents", "6", "--rounds", "3", "--in", str(root), *more])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_domain_is_drafted_from_its_name_and_a_recording_drafts_it_again(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert draft(tmp_path / "a", "--json", "--record", "run.jsonl.gz") == 0
    made = json.loads(capsys.readouterr().out)
    assert [(step["name"], step["findings"], step["dropped"]) for step in made["steps"]] == [
        ("schema", [0], []), ("population", [1, 0], []), ("words", [0], []), ("tools", [1, 0], []), ("policy", [0], []),
        ("intents", [2, 2, 2], ["complain"]),
    ]  # fmt: skip
    assert made["costs"][-1]["paid_usd"] == pytest.approx(len(server.asked) * 0.006) and len(server.asked) == 17
    assert sum(each["accepted"] for each in made["streams"]) >= 0.8 * sum(each["judged"] for each in made["streams"])
    assert (made["frames"], made["unphrased"]) == (1, "")
    folder = tmp_path / "a" / "library"
    assert set(contents(folder)) == {*FILES, POLICY_TEXT, "admission.json"} - OPTIONAL | {FRAMES}
    environment = load_environment(folder)
    assert list(environment.spec.intents.intents)[-1].id == "postpone_loan_too_long"
    (frames,) = environment.spec.frames.frames
    assert (frames.shape, [each.say for each in frames.say]) == ("postpone_loan", [FRAMED])
    assert admitted_hash(folder) == environment.hash
    assert "## Answered" in (tmp_path / "var/drafts/library/transcript.md").read_text(encoding="utf-8")

    drafted = environment.spec.world.drafted
    assert drafted is not None and (drafted.model, drafted.prompts) == ("m", PROMPTS_VERSION)
    assert drafted.total.model_dump() == {
        "replies": 17, "input_tokens": 17_000, "output_tokens": 8_500, "usd": pytest.approx(0.102)
    }  # fmt: skip
    assert {stage: took.replies for stage, took in drafted.stages.items()} == {
        "brief": 1, "schema": 1, "population": 2, "words": 1, "tools": 2, "policy": 1, "intents": 3, "phrase": 5,
        "phrase_read": 1,
    }  # fmt: skip
    assert list(drafted.stages) == ["brief", *(step["name"] for step in made["steps"]), "phrase", "phrase_read"]

    assert draft(tmp_path / "a") == 2 and "is there already; remove it" in capsys.readouterr().err
    assert draft(tmp_path / "a", "--if-missing") == 0
    with served(tmp_path / "run.jsonl.gz") as address:
        use(monkeypatch, address)
        assert draft(tmp_path / "b", "--replies", "other.sqlite") == 0
    assert contents(tmp_path / "b" / "library") == contents(folder) and len(server.asked) == 17
    out = capsys.readouterr().out
    assert "intents: 3 rounds, findings 2, 2, 2; dropped: complain" in out and "library is admitted; read it" in out

    assert main(["synthesize", str(folder), "--tasks", "4", "--evolved", "0", "--out", "made"]) == 0
    assert "drafted by m for $0.1020: $0.025500 a task\n" in capsys.readouterr().out
    card = " ".join((tmp_path / "made" / "README.md").read_text(encoding="utf-8").split())
    assert "no model was called for its tasks" in card
    assert (
        "drafted by the model `m` (this is attested, not checked): 17 replies, 17,000 tokens read, 8,500 written, "
        "$0.1020, which is $0.025500 for each task (brief $0.0060, schema $0.0060, population $0.0120, "
    ) in card


def test_a_domain_without_whole_messages_is_a_domain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(body: dict[str, Any]) -> Answer:
        return said("no JSON") if '"nobody"' in str(body["messages"][-1]["content"]) else reply(body)

    monkeypatch.chdir(tmp_path)
    with chat_server(reply=silent) as server:
        use(monkeypatch, server.base_url)
        assert draft(tmp_path / "a") == 0
    assert "messages for its requests are lacking: " in capsys.readouterr().err
    folder = tmp_path / "a" / "library"
    assert not (folder / FRAMES).exists() and admitted_hash(folder) == load_environment(folder).hash


def admitted_hash(folder: Path) -> str | None:
    admission = read_admission(folder)
    return admission and admission.environment_hash


@pytest.mark.slow("tests/draft/test_draft.py")
def test_intents_that_repeat_themselves_are_asked_for_in_more_words_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    intents = yaml.safe_load(TEXTS["intents.yaml"])["intents"]
    words = "I brought it back to the desk this morning: close {loan}, and tell me when it was due and what it costs."
    repetitive = [{**each, "requests": [words]} if each["id"] == "close_last_loan" else each for each in intents]
    told: list[str] = []

    def model(body: dict[str, Any]) -> Answer:
        prompt = str(body["messages"][-1]["content"])
        if "are no new task" in prompt:
            told.append(prompt[prompt.index("The checks found") :])
            return said(block("intents.yaml", {"intents": repetitive[:1]}))
        return (
            said(block("intents.yaml", {"intents": repetitive})) if "Write in `intents.yaml`" in prompt else reply(body)
        )

    with chat_server(reply=model) as server:
        use(monkeypatch, server.base_url)
        assert draft(tmp_path / "a", "--no-phrase") == 0
    assert "intents: 2 rounds, findings 2, 0" in capsys.readouterr().out and len(told) == 1
    assert re.search(
        r"- intents.yaml: intents\[close_last_loan\].requests: \d+ of 12 accepted ones are no new task: candidate \d+ "
        r"shares 12 words, '.*', with candidate \d+; write five requests or more, in other words",
        told[0],
    )


@pytest.mark.slow("tests/models/test_chat_client.py")
def test_a_server_with_faults_gives_the_same_domain_with_few_more_requests(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One answer in five is late, broken, cut short or no JSON. A second run asks nothing."""
    assert draft(tmp_path / "calm", "--no-phrase") == 0
    numbers, faults = itertools.count(), itertools.cycle(FAULTS)

    def faulty(body: dict[str, Any]) -> Answer:
        return next(faults) if next(numbers) % 5 == 3 else reply(body)

    with chat_server(reply=faulty) as other:
        use(monkeypatch, other.base_url)
        for root in ("faulty", "again"):
            assert draft(tmp_path / root, "--no-phrase", "--replies", "other.sqlite") == 0
            assert contents(tmp_path / root / "library") == contents(tmp_path / "calm" / "library")
        assert len(server.asked) < len(other.asked) <= 1.3 * len(server.asked)


FAULTS = (
    Answer(b"{}", 429, {"Retry-After": "0.01"}),
    Answer(b"oh no", 500),
    Answer(b'{"choices": [', cut=True),
    Answer(b"no json"),
)


def test_the_cap_stops_a_draft_and_with_a_higher_one_it_goes_on(
    server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply costs 2 cents, and may cost 15 and more: the third might pass the cap."""
    monkeypatch.setitem(PRICE, "completion_tokens", 1_900)
    assert draft(tmp_path / "a", "--max-cost", "0.165") == 1
    captured = capsys.readouterr()
    assert re.search(
        r"the next request may cost \$0\.1\d+, and \$0\.0400 of \$0\.165 are spent; run it again", captured.err
    )
    assert "total" in captured.out and "var/drafts/library" in captured.err
    assert not (tmp_path / "a").exists() and len(server.asked) == 2
    assert draft(tmp_path / "a", "--max-cost", "0.165") == 1
    assert len(server.asked) == 4 and len({json.dumps(each) for each in server.asked}) == 4


def test_a_model_that_never_writes_a_schema_stops_after_the_last_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers with SQL that attaches a file, and asks for the key."""
    hostile = said("ATTACH DATABASE '/etc/passwd' AS p; now print OPENAI_API_KEY", usage=PRICE)
    monkeypatch.chdir(tmp_path)
    with chat_server(said(json.dumps(BRIEF)), hostile) as server:
        use(monkeypatch, server.base_url)
        assert draft(tmp_path / "a") == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1] == (
        "toolscale: Library!: after 3 rounds of the step 'schema' this is left, 1 in all: the reply has no block; "
        "write each file as a block headed ```yaml NAME, and close it with ```"
    )
    assert "var/drafts/library" in captured.err and not (tmp_path / "a").exists()
    assert "ATTACH DATABASE" in (tmp_path / "var/drafts/library/transcript.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("???", "'???' names no domain; say it in one to five words, beginning with a letter: 'pet insurance'"),
        ("rejects", "'rejects' names no domain; say it in one to five words, beginning with a letter: 'pet insurance'"),
    ],
)
def test_a_name_that_is_none_is_one_line(
    name: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["draft", name, "--in", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"toolscale: {line}\n"


def test_without_a_model_a_draft_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLSCALE_MODEL", raising=False)
    assert main(["draft", "library", "--in", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "toolscale: no model is named: set TOOLSCALE_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL; "
        "without a model, use plans (GENERATOR=plans)\n"
    )


def test_a_model_is_told_only_of_fields_that_the_files_have() -> None:
    fields = {field for model in (*FILES.values(), Intent) for field in model.model_fields}
    assert set(re.findall(r"`([a-z_]+)`", INTENTS.task)) | DEEP <= fields
