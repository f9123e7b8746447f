"""`toolscale propose`: a model that is scripted here proposes intents for a domain that exists, and may change nothing
else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import chat_server
from scripted_model import block, use
from scripted_proposer import COMPLAIN, FIRST, RENEW, RETURN, ScriptedProposer, changed, proposed_entries, wishes
from served_recording import served

from toolscale.cli import main
from toolscale.dataset.describing.reading import read_dataset
from toolscale.draft.appending import appended
from toolscale.draft.meaning import meaning_of
from toolscale.environment.environment import load_environment
from toolscale.environment.registry import discover
from toolscale.errors import UsageError

MOCK = discover()["mock"]
OLD = (MOCK / "intents.yaml").read_text(encoding="utf-8")
EXISTING = yaml.safe_load(OLD)["intents"]
CHANGED = ["environment.yaml", "intents.yaml"]
MADE = Path("var/proposals/mock")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ScriptedProposer]:
    monkeypatch.chdir(tmp_path)
    scripted = ScriptedProposer()
    with chat_server(reply=scripted) as running:
        use(monkeypatch, running.base_url)
        yield scripted


def propose(*more: str, domain: str = "mock") -> int:
    return main(["propose", domain, "--intents", "3", "--rounds", "3", *more])


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_intents_are_proposed_beside_those_that_exist_and_make_tasks_at_once(
    model: ScriptedProposer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert propose("--json", "--record", "run.jsonl.gz") == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["folder"], made["intents"]) == ("var/proposals/mock", ["return_titled", "renew_titled"])
    assert made["dropped"] == {
        "complain": "intents.yaml: intents[complain].do.moved.reason: 'complaint' has no cue; "
        "list words for it in language.yaml enum_cues"
    }
    assert (made["steps"][0]["rounds"], made["costs"][-1]["paid_usd"]) == (3, pytest.approx(len(model.prompts) * 0.006))
    assert {each["stream"]: each["share"] for each in made["streams"] if each["kind"] == "plain"} == {
        "return_titled": 1.0, "renew_titled": 1.0
    }  # fmt: skip

    new, old = texts(MADE), texts(MOCK)
    assert new["intents.yaml"].startswith(OLD) and new["environment.yaml"].startswith(old["environment.yaml"])
    assert sorted(name for name in new if new[name] != old[name]) == ["admission.json", *CHANGED]
    assert [(each["id"], each["proposed_by"]) for each in proposed_entries(new["intents.yaml"])] == [
        ("return_titled", "m"), ("renew_titled", "m")
    ]  # fmt: skip
    widened = load_environment(MADE)
    (origin,) = widened.spec.world.proposed
    assert (origin.base, origin.total.replies) == (load_environment(MOCK).hash, len(model.prompts))
    assert "## Answered" in Path("var/proposals/.work/mock/transcript.md").read_text(encoding="utf-8")
    assert "proposed_by" not in "".join(model.prompts)

    with served(tmp_path / "run.jsonl.gz") as address:
        use(monkeypatch, address)
        assert propose("--replies", "other.sqlite", "--out", "again/mock") == 0
    assert texts(Path("again/mock")) == new
    out = capsys.readouterr().out
    assert "  complain: intents.yaml: intents[complain]" in out and "again/mock has 2 intents more; read them" in out


@pytest.mark.slow("tests/draft/test_proposals.py")
def test_a_dataset_says_which_tasks_are_of_proposed_intents(
    model: ScriptedProposer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert propose() == 0
    assert main(["synthesize", str(MADE), "--tasks", "20", "--out", "made"]) == 0
    assert "2 of its intents were proposed by a model" in capsys.readouterr().out
    rows = read_dataset(Path("made")).rows.tasks
    new = {"return_titled", "renew_titled"}
    assert {"proposed_by" in json.loads(row["provenance"]["versions"]) for row in rows} == {True, False}
    for row in rows:
        joined = {line.split(" ")[1] for line in row["evolutions"] if line.startswith("compose ")}
        by = json.loads(row["provenance"]["versions"]).get("proposed_by")
        assert by == ("m" if new & {row["intent_id"], *joined} else None)
    card = " ".join(Path("made/README.md").read_text(encoding="utf-8").split())
    told = re.search(
        r"2 of its 6 intents were proposed by a model \(m; this is attested, not checked\) in 4 replies, for \$0.0240, "
        r"which is \$0.00\d+ for each task with one of them. (\d+) tasks have one of them",
        card,
    )
    assert told and int(told[1]) == sum("proposed_by" in row["provenance"]["versions"] for row in rows)
    assert "no model was called for its tasks" in card
    assert main(["verify", "made"]) == 0


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdef", "bcdefg", strict=True)
)
OVERSTEPPING = block("toolset.yaml", {"tools": [{"name": "wipe"}]}) + block(
    "intents.yaml",
    {
        "intents": [
            changed(EXISTING[2], title="mine"), changed(RETURN, id="other"), changed(RETURN, title="x" * 30_000), 1,
            RENEW,
        ],
        "remove": ["return_all"],
        "tools": [{"name": "wipe"}],
    },
)  # fmt: skip
BOMBED = block("intents.yaml", f"{BOMB}intents: []")


@pytest.mark.parametrize(
    ("first", "lines"),
    [
        (
            OVERSTEPPING,
            (
                "toolset.yaml is not asked for; write only intents.yaml",
                "intents.yaml: tools: it is no section here; write only `intents`",
                "intents.yaml: intents[return_all]: it exists and stays as it is; write new intents only",
                "intents.yaml: intents[other]: no wish has this id; write an intent under the id of its wish",
                "intents.yaml: intents[return_titled]: it has 30,534 characters; write at most 20,000",
                "intents.yaml: intents: an entry has no id; write it under that of its wish",
                "intents.yaml: remove: 'return_all' is no intent of yours, and stays as it is",
            ),
        ),
        (BOMBED, ("intents.yaml: its aliases stand for more than 200,000 values; write it as the schema says",)),
    ],
)
def test_what_a_reply_may_not_do_is_told_and_not_taken(
    first: str, lines: tuple[str, ...], model: ScriptedProposer
) -> None:
    model.first, model.again = first, block("intents.yaml", {"intents": [RETURN, RENEW]})
    assert propose() == 0
    told = [line.removeprefix("- ") for line in model.told()[0].splitlines() if line.startswith("- ")]
    assert tuple(told[: len(lines)]) == lines
    assert texts(MADE).keys() == texts(MOCK).keys() | {"admission.json"}
    environment = load_environment(MADE)
    assert [each.id for each in environment.spec.intents.intents] == [
        *(each["id"] for each in EXISTING), "return_titled", "renew_titled"
    ]  # fmt: skip
    assert environment.tools.keys() == load_environment(MOCK).tools.keys()
    assert (MADE / "intents.yaml").read_text(encoding="utf-8").startswith(OLD)


@pytest.mark.slow("tests/draft/test_proposals.py")
def test_wishes_that_exist_are_told_once(model: ScriptedProposer, capsys: pytest.CaptureFixture[str]) -> None:
    again = json.dumps(
        {"wishes": [{"id": each["id"], "kind": "do", "wish": f"{each['id']}."} for each in EXISTING[:2]]
         + [{"id": "other", "kind": "do", "wish": "Return all open loans."}]}
    )  # fmt: skip
    model.wishes = (again, wishes())
    assert propose() == 0
    assert "'renew_due_first' is there already; write one that differs" in model.prompts[1]
    assert "'other' is 'return_all' again; write one that differs" in model.prompts[1]
    model.wishes = (again,)
    shutil.rmtree(MADE)
    assert propose("--replies", "other.sqlite") == 1
    assert "wishes: the model 'm' wrote what cannot be used, twice: wishes: 'pay_some_fees' is there already" in (
        capsys.readouterr().err
    )
    assert not MADE.exists()


@pytest.mark.slow("tests/draft/test_proposals.py")
def test_an_intent_that_asks_for_what_another_asks_for_is_dropped(
    model: ScriptedProposer, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = {
        **changed(EXISTING[2], id="return_titled", title="bring everything back"),
        "requests": ["[Check in|Collect] {loan}[ today|]; what is the number?"],
    }
    model.first = model.again = block("intents.yaml", {"intents": [copied, RENEW]})
    assert propose("--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["intents"] == ["renew_titled"]
    assert made["dropped"] == {
        "return_titled": "intents.yaml: intents[return_titled]: it asks for what return_all asks for: the same rows, "
        "calls and facts; let it want something else, or remove it",
        "complain": "the model left it out",
    }


def test_a_model_that_never_writes_a_sound_intent_stops_and_nothing_is_left(
    model: ScriptedProposer, capsys: pytest.CaptureFixture[str]
) -> None:
    model.first = model.again = block("intents.yaml", {"intents": [COMPLAIN]})
    assert propose() == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1].startswith(
        "toolscale: mock: after 3 rounds none of 3 proposed intents is sound; the first: intents.yaml: "
        "intents[complain].do.moved.reason: 'complaint' has no cue"
    )
    assert "total" in captured.out and "the transcript is in var/proposals/.work/mock" in captured.err
    assert not MADE.exists()


@pytest.mark.slow("tests/draft/test_proposals.py")
def test_of_several_candidates_the_one_that_covers_most_is_kept(
    model: ScriptedProposer, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(body: dict[str, Any]) -> Any:
        model.first = FIRST if "seed" in body else block("intents.yaml", {"intents": [RETURN]})
        return model(body)

    with chat_server(reply=answer) as server, pytest.MonkeyPatch.context() as patch:
        use(patch, server.base_url)
        assert propose("--candidates", "2", "--json") == 0
    scores = json.loads(capsys.readouterr().out)["steps"][0]["candidates"]
    assert [(each["coverage"], each["findings"], each["kept"]) for each in scores] == [
        (0.6667, 0, False), (1.0, 3, True)
    ]  # fmt: skip


@pytest.mark.slow("tests/draft/test_proposals.py")
def test_a_folder_is_used_again_until_its_base_changes(
    model: ScriptedProposer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    base = Path(shutil.copytree(MOCK, tmp_path / "base" / "mock"))
    assert propose(domain=str(base)) == 0
    assert propose(domain=str(base)) == 2
    assert (
        "var/proposals/mock is there already; remove it, or name another folder with --out" in capsys.readouterr().err
    )
    asked, before = len(model.prompts), texts(MADE)
    assert propose("--if-missing", domain=str(base)) == 0
    assert len(model.prompts) == asked and texts(MADE) == before
    policy = base / "policy.md"
    policy.write_text(policy.read_text(encoding="utf-8") + "\nBe kind.\n", encoding="utf-8")
    assert propose("--if-missing", domain=str(base)) == 0
    assert len(model.prompts) > asked and "Be kind." in texts(MADE)["policy.md"]
    (kept,) = (each for each in MADE.parent.iterdir() if each.name.startswith("mock-"))
    assert texts(kept) == before
    assert propose("--out", "more/mock", domain=str(MADE)) == 1  # what it wrote is there already
    assert "is there already" in capsys.readouterr().err


def test_bad_input_is_one_line(
    model: ScriptedProposer, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Path(shutil.copytree(MOCK, tmp_path / "broken" / "mock"))
    rules = (broken / "rules.yaml").read_text(encoding="utf-8")
    (broken / "rules.yaml").write_text(rules.replace("guards: [pay_fees]", "guards: [pay_fee]"), encoding="utf-8")
    assert propose(domain="library") == 2
    assert propose(domain=str(broken)) == 2
    assert propose("--out", "var/mine") == 2
    assert propose("--max-cost", "0.001") == 1
    monkeypatch.delenv("TOOLSCALE_MODEL")
    assert propose("--replies", "other.sqlite") == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("toolscale: ")]
    assert lines[0].startswith("toolscale: unknown domain 'library'; known domains: ")
    assert lines[1].startswith("toolscale: mock is not admitted: rules.yaml: rules.desk_limit.guards")
    assert lines[1].endswith(f"; admit it first: toolscale admit {broken}")
    assert lines[2] == "toolscale: --out var/mine would be another domain; end it with its name: var/mine/mock"
    assert "the next request may cost $" in lines[3] and "of $0.001 are spent" in lines[3]
    assert lines[4].startswith("toolscale: no model is named: set TOOLSCALE_MODEL") and len(lines) == 5
    assert not MADE.exists() and not model.prompts


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("a: [1]  # one\nb:\n- x: 1  # two\n", "a: [1]  # one\nb:\n- x: 1  # two\n\n- {y: 2}\n"),
        ("b:\n    - x: 1\nc: 3  # last", "b:\n    - x: 1\n\n    - {y: 2}\nc: 3  # last"),
        ("# nothing\na: 1", "# nothing\na: 1\nb:\n- {y: 2}\n"),
    ],
)
def test_entries_are_put_after_what_stands_there_and_the_rest_stays(text: str, made: str) -> None:
    assert appended("x.yaml", text, "b", [{"y": 2}]) == made


def test_a_list_in_brackets_takes_no_entries() -> None:
    with pytest.raises(UsageError, match="nothing can be added to 'b'; write it as a list, each entry with a dash"):
        appended("x.yaml", "b: [{x: 1}]\n", "b", [{"y": 2}])


def test_what_an_intent_asks_for_does_not_depend_on_names_and_words() -> None:
    text = json.dumps(RENEW).replace("loan.", "copy.").replace('"loan":', '"copy":').replace("renewed", "again")
    renamed = json.loads(text)
    assert meaning_of({**renamed, "id": "x", "title": "y", "requests": ["{copy}"]}) == meaning_of(RENEW)
    assert len({meaning_of(each) for each in (*EXISTING, RETURN, RENEW, COMPLAIN)}) == len(EXISTING) + 3


def test_make_widens_a_domain_that_somebody_wrote_and_drafts_one_that_is_not_there() -> None:
    root = Path(__file__).parents[2]

    def told(domain: str) -> list[str]:
        command = ["make", "-n", "-o", "install", "dataset", "GENERATOR=model", f"DOMAIN={domain}"]
        lines = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
        return [" ".join(line.partition("toolscale ")[2].split()[:3]) for line in lines if "toolscale " in line]

    assert told("finance") == ["propose finance --if-missing", "synthesize var/proposals/finance --seed"]
    assert told("pet insurance") == ['draft "pet insurance"', "synthesize pet_insurance --seed"]
