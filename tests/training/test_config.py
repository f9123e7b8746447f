"""Configurations are read strictly; every one that is shipped can be read; bad input ends a command with one line and
status 2."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from toy import make_toy

from toolscale.errors import DatasetError, SpecError, UsageError
from toolscale.models.judging import JudgeSettings
from toolscale.rollout.offering import generated as draw_question
from training.checkpoint import check_folder, write_config
from training.config import Config, DataSettings, OptimizerSettings, SftConfig
from training.config_file import read_any, read_config
from training.data import open_domains, question_source
from training.engine import read_deepspeed
from training.judged import shared

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "training" / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_is_shipped_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config = read_any(path)
    assert isinstance(config, SftConfig) == ("sft" in path.name)
    assert read_deepspeed(config)["zero_optimization"]["stage"] in (2, 3)
    if isinstance(config, Config) and config.data.mixture.get("lookup"):
        assert config.data.basic_tools.local_search is not None  # nobody knows the answers without searching


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"stepps": 3},
            "stepps: is not a key of this section (value 3); remove it, or use one of: alarms, checkpoint, "
            "collective_timeout_s, data,",
        ),
        (
            {"loss": {"clip": 0.1}},
            "loss.clip: is not a key of this section (value 0.1); remove it, or use one of: batch_tokens, clip_high,",
        ),
        (
            {"reward": {"kind": "nice"}},
            "reward.kind: input should be 'paper', 'absolute', 'outcome' or 'efficiency', not 'nice'; correct it;",
        ),
        (
            {"rollout": {"samples": 1}},
            "rollout.samples: input should be greater than or equal to 2, not 1; correct it;",
        ),
        ({"steps": None}, "steps: input should be a valid integer, not None; correct it;"),
        (
            {"model": {"path": "x", "attention": "flash_attention_2"}, "rollout": {"branched_tokens": 0}},
            "model.attention: flash_attention_2 takes no mask of ours; set rollout.branched_tokens: 0 and",
        ),
        ({"vllm": {}}, "vllm.base_url: is missing; add it"),
        (
            {"vllm": {"base_url": "http://me:s3cret@host"}},
            "vllm: base_url holds a user, a password or a query; leave only the address, and",
        ),
        ({"data": None}, "data: input should be a valid dictionary or instance of DataSettings, not None; correct it;"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(change: dict[str, object], told: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"steps": 1, "model": {"path": "m"}, "data": {"mixture": {"code": 1}}} | change))
    with pytest.raises(SpecError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: {told}")
    assert "\n" not in str(error.value) and "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [("a: [", "line 2, column 1: not YAML: "), ("- 1", "has no keys; "), (None, "the file is missing")],
)
def test_a_file_that_is_no_configuration_is_told(text: str | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SpecError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: {told}")


def test_a_bad_configuration_ends_the_command_with_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from training.grpo import command
    from training.starting import run_command

    path = tmp_path / "config.yaml"
    path.write_text("steps: 1\nlr: 3\n")
    assert run_command(command, "grpo", [str(path), "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"training: {path}: model: is missing; add it",
        f"training: {path}: data: is missing; add it",
        f"training: {path}: lr: is not a key of this section (value 3); remove it, or use one of: "
        "alarms, checkpoint, collective_timeout_s, data, deepspeed, judge, loss, metrics, model, must_learn, "
        "optimizer, processes, reward, rollout, seed, steps, threads, vllm",
    ]
    assert run_command(command, "grpo", [str(path)]) == 2


def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    from training.engine import load_model

    config = read_config(make_toy(tmp_path))
    with pytest.raises(UsageError, match=r"model.path: .*: no model can be loaded"):
        load_model(config.model.model_copy(update={"path": str(tmp_path / "none")}))


@pytest.mark.parametrize("codec", ["chat", "tiny"])
@pytest.mark.parametrize("program", ["grpo", "sft"])
def test_a_path_without_a_model_ends_the_command_with_status_2(
    program: str, codec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from training.starting import run_command

    rest = (
        {"steps": 1, "data": {"mixture": {"knowledge": 1}}}
        if program == "grpo"
        else {"conversations": ["written.jsonl"]}
    )
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"model": {"path": str(tmp_path / "none"), "codec": codec}, **rest}))
    command = importlib.import_module(f"training.{program}").command
    assert run_command(command, program, [str(path), "--out", str(tmp_path / "out")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"training: model.path: {tmp_path / 'none'}: no tokenizer can be loaded (")
    assert line.endswith("; name a folder or a model of the Hub")


def test_deepspeed_may_not_decide_what_the_run_decides(tmp_path: Path) -> None:
    path = tmp_path / "ds.json"
    path.write_text(json.dumps({"gradient_clipping": 2.0}))
    config = read_config(make_toy(tmp_path, deepspeed=str(path)))
    with pytest.raises(UsageError, match=r"'gradient_clipping' is decided by the configuration of the run; remove it"):
        read_deepspeed(config)


def test_a_stage_that_sums_gradients_in_bfloat16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ds.json"
    path.write_text(json.dumps({"zero_optimization": {"stage": 1}}))
    with pytest.raises(UsageError, match=r"zero_optimization.stage is 1, .* name one of training/deepspeed"):
        read_deepspeed(read_config(make_toy(tmp_path, deepspeed=str(path))))


def test_a_dataset_without_its_environment_is_refused(mock_dataset: Path, tmp_path: Path) -> None:
    import shutil

    tasks, domains = open_domains([str(mock_dataset)])
    assert (len(tasks) > 3, list(domains)) == (True, ["mock"])
    for domain in domains.values():
        domain.close()
    shutil.copytree(mock_dataset, tmp_path / "bare")
    shutil.rmtree(tmp_path / "bare" / "environments")
    with pytest.raises(
        Exception, match=r"data.datasets: .* has tasks of 'mock' without their environment .* make or pull it whole"
    ):
        open_domains([str(tmp_path / "bare")])


def test_questions_of_parquet_files_come_in_their_share(tmp_path: Path) -> None:
    rows = [
        {"question": f"How many are {number} and {number}?", "reference_answer": str(2 * number)}
        for number in range(100)
    ]
    path = tmp_path / "thoughts.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    draw = question_source(DataSettings(mixture={}, questions=(str(path),), questions_share=0.5))
    drawn = {split: [draw("mathematics", split, 0, number) for number in range(400)] for split in ("train", "test")}  # type: ignore[arg-type]
    loaded = {split: {one.text for one in found if one.source == path.name} for split, found in drawn.items()}
    assert 150 < sum(one.source == path.name for one in drawn["train"]) < 250
    assert loaded["train"] and loaded["test"] and not loaded["train"] & loaded["test"]
    assert draw("code", "train", 0, 7) == draw_question("code", "train", 0, 7)  # the file has none of this category
    assert drawn["train"][7] == question_source(DataSettings(mixture={}, questions=(str(path),)))(
        "mathematics", "train", 0, 7
    )
    pq.write_table(
        pa.Table.from_pylist([{"question": "Prove it.", "reference_answer": "Let x be a number. Then so is x + 1."}]),
        path,
    )
    with pytest.raises(UsageError, match=r"data\.questions: none of 1 rows can be checked"):
        question_source(DataSettings(mixture={}, questions=(str(path),)))
    with pytest.raises(DatasetError, match=r"none\.parquet: row 0: not a readable Parquet file"):
        question_source(DataSettings(mixture={}, questions=(str(tmp_path / "none.parquet"),)))


def test_what_does_nothing_is_said_to_do_nothing(tmp_path: Path) -> None:
    set_all = {"clip_low": 0.1, "clip_high": 0.3, "ratio_cap": 3.0, "importance_cap": 2.0, "kl_kind": "mse"}
    config = read_config(make_toy(tmp_path, loss=set_all))
    assert [told.partition(" with")[0] for told in config.idle()] == [
        "loss.clip_low does nothing",
        "loss.clip_high does nothing",
        "loss.ratio_cap does nothing",
        "loss.importance_cap does nothing",
        "loss.kl_kind does nothing",
    ]
    at_work = {**set_all, "epochs": 2, "kl": 0.1}
    assert read_config(make_toy(tmp_path, loss=at_work, vllm={"base_url": "http://a:8000"})).idle() == []
    silent = {"mixture": {"knowledge": 1}, "generous_share": 0.3, "own_words_share": 0.1, "wishes": False}
    assert read_config(make_toy(tmp_path, data=silent)).idle() == [
        "data.generous_share does nothing where our grammar draws no wishes",
        "data.own_words_share does nothing where our grammar draws no wishes",
    ]
    shipped = [(path.name, read_any(path)) for path in SHIPPED]
    assert [name for name, config in shipped if isinstance(config, Config) and config.idle()] == []


def test_more_users_than_there_are_are_refused(tmp_path: Path) -> None:
    data = {"mixture": {"knowledge": 1}, "generous_share": 0.7, "own_words_share": 0.5}
    with pytest.raises(
        SpecError, match=r"data: generous_share and own_words_share are 1.2 together; make them 1 at most"
    ):
        read_config(make_toy(tmp_path, data=data))


def test_where_a_server_is_and_how_long_one_waits_is_not_what_a_run_is(tmp_path: Path) -> None:
    # A run that was stopped is taken up with a server elsewhere, and by one that waits longer.
    write_config(tmp_path / "out", read_config(make_toy(tmp_path, vllm={"base_url": "http://a:8000"})))
    moved = {"base_url": "http://b:8000", "group_address": "10.0.0.1", "timeout_s": 60.0}
    check_folder(tmp_path / "out", read_config(make_toy(tmp_path, vllm=moved, collective_timeout_s=60.0)))
    with pytest.raises(UsageError, match=r"holds a run with vllm.update = 'folder', the configuration has 'none'"):
        check_folder(tmp_path / "out", read_config(make_toy(tmp_path, vllm=moved | {"update": "none"})))


def test_the_learning_rate_rises_and_falls_in_straight_lines() -> None:
    settings = OptimizerSettings(lr=1.0, final_lr=0.0, warmup_steps=2)
    assert [settings.lr_at(step, 5) for step in range(5)] == [0.5, 1.0, 1.0, 0.5, 0.0]
    assert OptimizerSettings(lr=1.0).lr_at(7, 9) == 1.0


def test_messages_that_nobody_can_grade_end_a_run_at_its_start(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from training.grpo import command
    from training.starting import run_command

    data = {"mixture": {"tools": 1}, "datasets": [str(mock_dataset)]}
    model = {"path": "training/tiny/base", "codec": "tiny"}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"model": model, "steps": 1, "data": data}))
    assert run_command(command, "grpo", [str(path), "--out", str(tmp_path / "out")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("training: data.datasets: ") and "make them with --answer form, or name a judge" in line

    judge = {"endpoint": "http://h/v1", "model": "judge-1", "max_cost": 1}
    path.write_text(yaml.safe_dump({"model": model, "steps": 1, "data": data, "judge": judge}))
    assert run_command(command, "grpo", [str(path), "--out", str(tmp_path / "out")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("training: --judge-max-cost needs a price: set TOOLSCALE_JUDGE_PRICE")


def test_who_judges_makes_a_run_another_one_and_where_the_judge_is_does_not(tmp_path: Path) -> None:
    plain = read_config(make_toy(tmp_path))
    here, there, other = (
        plain.model_copy(update={"judge": JudgeSettings(endpoint=f"http://{host}/v1", model=name)}).digest()
        for host, name in (("a", "judge-1"), ("b", "judge-1"), ("a", "judge-2"))
    )
    assert here == there and len({here, other, plain.digest()}) == 3 and "judge" not in plain.identity()


def test_processes_that_train_together_share_the_cap_of_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = JudgeSettings(endpoint="http://h/v1", model="judge-1", max_cost=3.0, price="1/1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert shared(judge) == judge.model_copy(update={"max_cost": 1.5}) and shared(None) is None
