"""The list of benchmarks, files that others publish, and answers against a reference."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from chat_server import chat_server, said
from tiny_qwen import make_model

from eval.answers import compare_answers, final_answer, normalized, stated_confidence
from eval.benchmark import Opened, about, names, open_benchmark, title_of
from eval.ground import open_ground
from eval.policies import endpoint, scripted
from eval.records import Settings
from eval.running import Wanted, players_of, run_benchmark
from eval.storage import read_results
from toolscale.dataset.describing.reading import read_dataset
from toolscale.errors import UsageError
from toolscale.models.chat import ChatModel
from toolscale.models.judging import JudgeSettings, judge_settings
from toolscale.models.purse import Purse
from toolscale.pipeline import synthesize
from toolscale.records import Answer, Endpoint, Preference
from toolscale.reward.kinds import TOOL_WEIGHT
from toolscale.rollout.prompt import first_messages, offered_tools

ROWS = (
    {"id": "q0", "question": "Which year did it end?", "answer": "1945"},
    {"id": "q1", "question": "Who wrote it?", "answer": "Jane Ballou"},
    {"id": "q2", "question": "On which day?", "answer": "4 March 1921"},
)
"""Made up, in the form of FRAMES."""

EXAM = {
    "id": "made-up-1",
    "question": "How many sides has a triangle?",
    "image": "",
    "answer": "3",
    "answer_type": "exactMatch",
    "category": "Math",
    "author_name": "nobody",
    "rationale": "",
    "raw_subject": "Geometry",
}
"""Made up, in the columns of HLE: none of its questions may stand here."""


def lines_of(path: Path, *rows: Any) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def closing(opened: Opened) -> Opened:
    """Close a benchmark that was only opened to look at."""
    asyncio.run(opened.close())
    return opened


def test_every_file_is_a_benchmark_and_the_list_tells_of_it() -> None:
    assert names() == sorted(path.stem for path in Path("eval/benchmarks").glob("[a-z]*.py"))
    for name in names():
        found = about(name)
        assert all((found.title, found.size, found.licence, found.data, found.judged_by))
    with pytest.raises(UsageError, match="there is no benchmark 'gsm8k'; there are: familiar, frames, heldout"):
        about("gsm8k")


def test_a_setting_is_part_of_the_name_and_never_another_one() -> None:
    assert title_of("frames", about("frames"), Settings()) == "frames (closed book)"
    assert title_of("questions", about("questions"), Settings()) == "questions"
    with pytest.raises(UsageError, match="frames has no setting 'open'; it has: closed book, oracle articles"):
        open_benchmark("frames", Settings(setting="open"))


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("heldout", {}, "heldout needs a dataset: --data var/datasets/finance"),
        ("heldout", {"data": ("nowhere",)}, "nowhere"),
        ("familiar", {}, "familiar needs a dataset: --data FOLDER, made with a seed that was not trained on"),
        ("frames", {}, "frames needs one file of questions: --data FILE"),
        ("frames", {"data": ("nowhere.tsv",)}, "nowhere.tsv: is missing; google/frames-benchmark on the Hub"),
        ("frames", {"data": ("x",), "setting": "local search"}, "--corpus goes with --setting 'local search'"),
        ("hle", {}, r"hle \(text-only\) needs 1 file: --data FILE; gated: accept the conditions of cais/hle"),
        ("hle", {"setting": "verified gold"}, r"hle \(verified gold\) needs 2 files"),
        ("questions", {"data": ("nowhere.parquet",)}, "nowhere.parquet: row 0: not a readable Parquet file"),
        ("questions", {"config": "nowhere.yaml"}, "nowhere.yaml"),
    ],
)
def test_what_is_missing_is_one_line(kind: str, settings: dict[str, Any], said: str) -> None:
    from toolscale.errors import ToolScaleError

    with pytest.raises(ToolScaleError, match=said) as caught:
        open_benchmark(kind, Settings(**settings))
    assert "\n" not in str(caught.value) and caught.value.exit_status == 2


def test_frames_is_read_in_every_form_of_file(tmp_path: Path) -> None:
    from eval.benchmarks.frames import read_rows

    published = [{"": str(place), "Prompt": row["question"], "Answer": row["answer"]} for place, row in enumerate(ROWS)]
    tsv = tmp_path / "test.tsv"
    tsv.write_text("\tPrompt\tAnswer\n" + "".join("\t".join(row.values()) + "\n" for row in published))
    pq.write_table(pa.Table.from_pylist(list(ROWS)), tmp_path / "test.parquet")
    forms = [list(read_rows(path)) for path in (lines_of(tmp_path / "a.jsonl", *ROWS), tmp_path / "test.parquet", tsv)]
    assert forms[0] == forms[1]
    assert [(row.question, row.answer) for row in forms[2]] == [(row["question"], row["answer"]) for row in ROWS]
    assert [row.id for row in forms[2]] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": "1", "question": "What?"}\n', "row 0: has no answer; it needs answer or Answer"),
        ('{"question": "What?", "answer": "x"}\n{"question"', "row 1: cannot be read"),
        ("[1]\n", r"row 0: cannot be read \(it is no object\)"),
        ("[" * 3_000, r"row 0: cannot be read \(lists and objects are nested more than 64 levels deep\)"),
    ],
)
def test_a_wrong_row_is_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "frames.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        open_benchmark("frames", Settings(data=(str(path),)))


def test_a_closed_book_has_no_search(tmp_path: Path) -> None:
    opened = closing(open_benchmark("frames", Settings(data=(str(lines_of(tmp_path / "f.jsonl", *ROWS)),))))
    assert {name for case in opened.cases for name in case.task.basic_tools} <= {"python"}
    assert opened.notes == ("Setting: closed book", "3 of the 824 questions")
    assert [case.cluster for case in opened.cases] == ["q0", "q1", "q2"]


def test_the_sets_of_hle_are_not_mixed(tmp_path: Path) -> None:
    with_image = {**EXAM, "id": "made-up-2", "image": "data:image/png;base64,AAAA"}
    path = str(lines_of(tmp_path / "hle.jsonl", EXAM, with_image))
    ids = tmp_path / "ids.txt"
    ids.write_text("made-up-2\n")

    def found(setting: str, *data: str) -> tuple[list[str], tuple[str, ...]]:
        opened = closing(open_benchmark("hle", Settings(data=(path, *data), setting=setting)))
        return [case.cluster for case in opened.cases], opened.notes

    assert found("text-only") == (["made-up-1"], ("Set: text-only", "1 of its 2,158 questions"))
    assert found("static") == (
        ["made-up-1", "made-up-2"],
        ("Set: static", "2 of its 2,500 questions", "1 questions are about an image that is not shown"),
    )
    assert found("verified gold", str(ids))[0] == ["made-up-2"]
    assert found("rolling")[0] == ["made-up-1"]


@pytest.mark.parametrize(
    ("reference", "answer", "verdict"),
    [
        ("37th", "37th", True),
        ("Jane Ballou", "The answer:\nAnswer: jane  ballou.", True),
        ("87", "87.0", True),
        ("87", "88", False),
        ("1,234", "1234", True),
        ("-5", "5", False),
        ("3.14159", "3.14", None),
        ("4 March 1921", "March 4, 1921", True),
        ("4 March 1921", "1921-03-05", False),
        ("Paris", "It is Paris, I think.", None),
        ("C#", "C", None),
        ("Co", "CO", None),
        ("The Beatles", "beatles", True),
        ("café", "Cafe", True),
        ("0.5", "50%", None),
        ("42", r"So it is \boxed{42}", True),
        ("February 30, 2001", "2001-03-02", None),
    ],
)
def test_equality_number_and_date_decide_where_they_do_not_err(
    reference: str, answer: str, verdict: bool | None
) -> None:
    assert compare_answers(reference, answer) is verdict


def test_what_an_answer_states() -> None:
    text = "Explanation: …\nAnswer: 12\nConfidence: 85 %"
    assert (final_answer(text), stated_confidence(text), stated_confidence("12")) == ("12", 0.85, 1.0)
    assert normalized("“The  vitamin A,” ") == "vitamin A"


def judged(question: dict[str, Any]) -> Any:
    """A judge that holds every answer with a 'Ballou' in it for right."""
    asked = question["messages"][-1]["content"].partition("Response:")[2]
    verdict = "yes" if "Ballou" in asked.partition("Reference")[0] else "no"
    return said(json.dumps({"final_answer": "…", "explanation": "as the reference", "correct": verdict}))


def test_a_judge_decides_what_rules_leave_open_and_without_one_it_is_unscored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = lines_of(tmp_path / "f.jsonl", *ROWS)
    settings = Settings(data=(str(data),), catalogue="experts/paper.yaml")

    def evaluated(judge: JudgeSettings | None, url: str, out: str) -> list[tuple[Any, ...]]:
        wanted = Wanted(
            kind="frames",
            settings=settings,
            out=tmp_path / out,
            policies=(("m", "model"),),
            environ={"TOOLSCALE_MODEL": "m", "OPENAI_BASE_URL": url},
            judge=judge,
            replies=tmp_path / "replies.sqlite",
            baselines=False,
        )
        asyncio.run(run_benchmark(wanted))
        lines = read_results(tmp_path / out / "frames-closed-book" / "m")[1]
        return [(line.status, line.score, line.judge) for line in lines]

    with chat_server(said("I believe that it was Miss Ballou.")) as policy, chat_server(reply=judged) as judge:
        assert evaluated(None, policy.base_url, "alone") == [("unscored", None, "none")] * 3
        found = evaluated(JudgeSettings(model="judge-1", endpoint=judge.base_url), policy.base_url, "judged")
        assert found == [("scored", 1.0, "judge-1")] * 3
        assert (len(policy.asked), len(judge.asked)) == (3, 6)  # idle is judged too; golden is equal
        assert all("reference is right" in asked["messages"][0]["content"].replace("\n", " ") for asked in judge.asked)


def test_the_judge_must_be_somewhere() -> None:
    assert judge_settings({}) is None
    with pytest.raises(UsageError, match="'judge-1' has no address: give --judge-endpoint too, or set"):
        judge_settings({"TOOLSCALE_JUDGE_MODEL": "judge-1"})
    beside = judge_settings({"TOOLSCALE_JUDGE_MODEL": "judge-1", "OPENAI_API_KEY": "k"})
    assert beside == JudgeSettings(model="judge-1", endpoint="https://api.openai.com/v1", key_env="OPENAI_API_KEY")


def test_unseen_experts_are_none_of_training() -> None:
    opened = closing(open_benchmark("unseen", Settings(), 6))
    trained = {spec.name for spec in closing(open_benchmark("questions", Settings(), 1)).ground.catalogue.experts}
    assert not {each.expert for case in opened.cases for each in case.task.experts} & trained


@pytest.mark.parametrize("key", ["generous_share", "own_words_share"])
def test_users_of_training_come_no_oftener_than_by_chance_where_it_is_measured(tmp_path: Path, key: str) -> None:
    settings = yaml.safe_load(Path(Settings().config).read_text(encoding="utf-8"))
    settings["data"] |= {"generous_share": 0.0, "own_words_share": 0.0}
    wishes = []
    for share in (0.0, 1.0):
        settings["data"][key] = share
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        ground = open_ground(Settings(config=str(tmp_path / "config.yaml")), {"arithmetic": 1.0})
        with ground.held:
            wishes.append([ground.source[number].preference for number in range(20)])
    assert wishes[0] == wishes[1]


def test_preferences_are_pairs_of_one_question() -> None:
    opened = closing(open_benchmark("preferences", Settings(), 8))
    assert [case.groups["wish"] for case in opened.cases] == ["accurate", "thrifty", "hasty", "balanced"] * 2
    first = opened.cases[:4]
    assert len({case.cluster for case in first}) == 1 and len({case.hash for case in first}) == 4
    assert len({case.task.experts for case in first}) == 1
    worth = [opened.worth.best(case.task) for case in first]
    most = [case.task.preference.outcome for case in first]
    assert all(each is not None and each <= bound for each, bound in zip(worth, most, strict=True))


def test_the_best_choice_heeds_wishes_about_single_tools() -> None:
    opened = closing(open_benchmark("questions", Settings(), 1))
    task = opened.cases[0].task.model_copy(update={"basic_tools": ()})

    def worth(name: str, weight: float | None) -> float | None:
        tools = {} if weight is None else {each.alias: weight for each in task.experts}
        preference = Preference(instruction="", tools=tools)
        return opened.worth.best(task.model_copy(update={"id": name, "preference": preference}))

    free = worth("no wish", None)
    assert free is not None and free > TOOL_WEIGHT
    assert (worth("liked", 1.0), worth("left alone", 0.0)) == (free + TOOL_WEIGHT, pytest.approx(free - TOOL_WEIGHT))


def test_policies_that_are_none_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no policy 'best': give idle, golden, random"):
        scripted("best")
    place = Endpoint(base_url="http://127.0.0.1:1/v1", model="m")
    assert endpoint(ChatModel(place), Purse()).name == "m"


@pytest.mark.parametrize("answer", ["message", "form"])
def test_a_model_of_sft_reads_in_a_rollout_what_it_learned_from(
    mock_dataset: Path, tmp_path: Path, answer: Answer
) -> None:
    folder = mock_dataset
    if answer == "form":
        folder = tmp_path / "mock"
        synthesize("mock", folder, tasks=10, turns="single", answer=answer)
    rows = read_dataset(folder).domains["mock"].splits
    for kind, split in (("familiar", "train"), ("heldout", "test")):
        opened = open_benchmark(kind, Settings(data=(str(folder),), config="training/configs/smollm2_grpo.yaml"), None)
        bench, read = opened.ground.bench, {}
        for case in opened.cases:
            assert case.task.task is not None
            domain = bench.domain_of(case.task)
            tools = offered_tools(case.task, {}, domain.tools_of(case.task.task))
            # As text: parameters in another order are another thing to read.
            read[case.task.task.id] = (first_messages(case.task, domain.system_of(case.task.task)), json.dumps(tools))
        closing(opened)
        assert read == {row["id"]: (row["prompt"], json.dumps(json.loads(row["tools"]))) for row in rows[split]}


def test_a_model_of_sft_is_played_as_the_named_configuration_says(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    content = {"model": {"path": "nowhere"}, "datasets": ["nowhere"]}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content))
    wanted = Wanted("questions", Settings(), tmp_path / "out", (("sft", str(model)),), baselines=False)
    [player, *_] = players_of(wanted, Purse(replies=tmp_path / "replies"))
    assert (player.name, player.identity["codec"]) == ("sft", "chat")  # tiny is that of the configuration
