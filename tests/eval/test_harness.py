"""Runs: what is written, what a run that was stopped goes on with, and what is no wrong answer."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_server import Answer, chat_server, said
from evaluated import TASKS, Play, timeless
from tiny_qwen import make_model

from eval.benchmark import Opened
from eval.harness import MOST_LOST, Harness, Progress
from eval.policies import Player, _load, checkpoint, endpoint, scripted
from eval.records import Line, Settings
from eval.report.tables import spent_row
from eval.storage import RESULTS, ROLLOUTS, read_results
from eval.summary import summarize
from toolscale.errors import BudgetError, ModelUnavailableError, UsageError
from toolscale.limits import RunLimits
from toolscale.models.chat import ChatModel
from toolscale.models.endpoint import EndpointExpert
from toolscale.models.purse import Purse
from toolscale.records import CATEGORIES, Effort, Endpoint, ExpertReply, ExpertSpec, Price
from training.config_file import read_config


def model(url: str, purse: Purse, deadline: float = 20.0, price: Price | None = None) -> Player:
    """A model behind a server of the test."""
    place = Endpoint(base_url=url, model="m", timeout_s=deadline, deadline_s=deadline)
    return endpoint(ChatModel(place, price, at_once=4), purse)


def content(folder: Path) -> tuple[bytes, bytes]:
    """Both files of a run."""
    return (folder / RESULTS).read_bytes(), (folder / ROLLOUTS).read_bytes()


def test_a_line_says_what_became_of_a_sample(play: Play, questions: Opened) -> None:
    header, lines = read_results(play(scripted("golden")))
    first, case = lines[0], questions.cases[0]
    assert (header.policy, header.benchmark, header.simulated) == ("golden", "questions", True)
    assert len(lines) == TASKS and case.task.question is not None
    assert first == Line(
        key=first.key,
        task=case.task.id,
        task_hash=case.hash,
        cluster=case.cluster,
        groups={"category": case.task.category},
        policy="golden",
        policy_hash=header.policy_hash,
        sample=0,
        status="scored",
        score=1.0,
        finding=f"the answer is {case.task.question.answer}",
        stop="answered",
        judge="rules",
        utility=case.task.preference.outcome,
        best=first.best,
        weights=(case.task.preference.outcome, case.task.preference.cost, case.task.preference.latency),
        cost_usd=0.0,
        latency_s=0.0,
        own_cost_usd=0.0,
        own_latency_s=0.0,
        input_tokens=0,
        output_tokens=0,
        turns=1,
        malformed=0,
        uses={},
    )
    assert first.best is not None and first.best <= first.utility


def test_doing_nothing_scores_nothing_and_the_reference_everything(play: Play) -> None:
    for name, score in (("idle", 0.0), ("golden", 1.0)):
        assert {line.score for line in read_results(play(scripted(name)))[1]} == {score}


def test_experts_are_booked_under_their_names(play: Play, questions: Opened) -> None:
    _, lines = read_results(play(scripted("strongest")))
    offered = {each.expert for case in questions.cases for each in case.task.experts}
    called = {name for line in lines for name in line.uses}
    assert called <= offered and called


def test_a_run_that_was_cut_anywhere_ends_with_the_same_bytes(play: Play, tmp_path: Path) -> None:
    done = play(scripted("random"))
    whole, rng = content(done), random.Random(0)
    for number in range(10):
        out = tmp_path / str(number)
        folder = Path(shutil.copytree(done, out / done.name))
        (folder / ROLLOUTS).write_bytes(whole[1][: rng.randrange(len(whole[1]))])
        (folder / RESULTS).write_bytes(whole[0][: rng.randrange(len(whole[0]))])
        play(scripted("random"), out=out)
        assert content(folder) == whole


def test_more_samples_are_added_to_those_that_are_there(play: Play, tmp_path: Path) -> None:
    at_once = content(play(scripted("random"), samples=3, out=tmp_path / "a"))
    folder = play(scripted("random"), samples=1, out=tmp_path / "b")
    play(scripted("random"), samples=3, out=tmp_path / "b", at_once=1)
    assert content(folder) == at_once


def test_results_of_another_policy_are_not_taken_for_these(play: Play, tmp_path: Path) -> None:
    play(scripted("random", seed=1))
    with pytest.raises(UsageError, match=r"random: holds results of random \w+ on questions, not of random \w+ on"):
        play(scripted("random", seed=2))


def test_results_of_other_tasks_are_not_taken_for_these(play: Play, questions: Opened, tmp_path: Path) -> None:
    folder = play(scripted("idle"))
    text = (folder / RESULTS).read_text()
    (folder / RESULTS).write_text(text.replace(questions.cases[0].hash, "0" * 16))
    with pytest.raises(
        UsageError, match=r"has the task .* as 0{16}, and it is \w+ now: another dataset, other experts"
    ):
        play(scripted("idle"))


def test_two_programs_do_not_write_one_folder(play: Play, questions: Opened, tmp_path: Path) -> None:
    from eval.storage import Results

    harness = Harness("questions", Settings(), questions, tmp_path)
    player = scripted("idle")
    with (
        Results.opened(harness.folder_of(player), harness.header_of(player)),
        pytest.raises(UsageError, match="another run is writing"),
    ):
        play(player)


def test_a_model_is_asked_once_for_each_message(play: Play, tmp_path: Path) -> None:
    with chat_server(said("I do not know.", usage={"prompt_tokens": 9, "completion_tokens": 4})) as server:
        purse = Purse(replies=tmp_path / "replies.sqlite")
        folder = play(model(server.base_url, purse))
        play(model(server.base_url, purse))
        lines = read_results(folder)[1]
        assert len(server.asked) == TASKS
        assert {(line.input_tokens, line.output_tokens, line.failure) for line in lines} == {(9, 4, "gave up")}
        # Somebody removes the results: the replies are still there.
        before = timeless(folder)
        for name in (RESULTS, ROLLOUTS):
            (folder / name).unlink()
        play(model(server.base_url, purse))
        assert len(server.asked) == TASKS
        assert timeless(folder) == before


def test_a_message_that_cannot_be_read_is_the_models_own_fault_and_counts(play: Play, tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        thoughts = "<think>Is it 7? No.</think>"
        return said(f"{thoughts}I do not know." if len(body["messages"]) > 2 else thoughts)

    with chat_server(reply=reply) as server:
        folder = play(model(server.base_url, Purse(replies=tmp_path / "replies.sqlite")))
    found = {(line.status, line.score, line.failure, line.turns, line.malformed) for line in read_results(folder)[1]}
    assert found == {("scored", 0.0, "gave up", 2, 1)}


def test_an_endpoint_that_dies_is_no_wrong_answer_and_the_run_goes_on_later(play: Play, tmp_path: Path) -> None:
    counted = threading.Lock()
    served = [0]

    def reply(body: dict[str, Any]) -> Answer:
        with counted:
            served[0] += 1
            return said("42") if served[0] <= 2 else Answer(b"gone", status=503)

    purse = Purse(replies=tmp_path / "replies.sqlite")
    with chat_server(reply=reply) as server, pytest.raises(ModelUnavailableError) as caught:
        play(model(server.base_url, purse, deadline=0.3), at_once=1)
    assert f"m: {MOST_LOST} rollouts in a row had no answer" in str(caught.value)
    assert "run the same command again to go on" in str(caught.value)
    lines = read_results(tmp_path / "m")[1]
    assert [line.status for line in lines].count("error") == MOST_LOST
    assert {line.score for line in lines if line.status == "error"} == {None}
    with chat_server(said("42")) as server:
        play(model(server.base_url, purse))
        assert len(server.asked) == TASKS - 2
    lines = read_results(tmp_path / "m")[1]
    assert [line.status for line in lines] == ["scored"] * TASKS


def test_a_server_that_answers_garbage_loses_rollouts_and_says_why(play: Play, tmp_path: Path) -> None:
    purse = Purse(replies=tmp_path / "replies.sqlite")
    with chat_server(Answer(b"<html>")) as server, pytest.raises(ModelUnavailableError, match="rollouts in a row"):
        play(model(server.base_url, purse, deadline=0.2))
    lines = read_results(tmp_path / "m")[1]
    assert {line.status for line in lines} == {"error"}
    assert "cannot be used" in lines[0].finding


def test_a_wrong_key_ends_the_run_at_once(play: Play, tmp_path: Path) -> None:
    purse = Purse(replies=tmp_path / "replies.sqlite")
    with (
        chat_server(Answer(json.dumps({"error": {"message": "no such key"}}).encode(), status=401)) as server,
        pytest.raises(UsageError, match="check the address, the key and the name of the model"),
    ):
        play(model(server.base_url, purse))
    assert not read_results(tmp_path / "m")[1]


def test_the_cap_on_dollars_is_not_passed_and_what_was_paid_for_is_kept(play: Play, tmp_path: Path) -> None:
    price = Price(input=10.0, output=10.0)
    with chat_server(said("42", usage={"prompt_tokens": 100, "completion_tokens": 3000})) as server:
        purse = Purse(RunLimits(max_cost=0.2), replies=tmp_path / "replies.sqlite")
        with pytest.raises(BudgetError, match=r"of \$0.2 are spent"):
            play(model(server.base_url, purse, price=price))
        assert 0 < purse.budget.spent <= 0.2
        first = len(server.asked)
        assert 0 < first < TASKS
        play(model(server.base_url, Purse(RunLimits(max_cost=5), replies=tmp_path / "replies.sqlite"), price=price))
        assert len(server.asked) == TASKS
    assert len(read_results(tmp_path / "m")[1]) == TASKS


def test_experts_are_paid_from_the_same_purse_and_do_not_pass_its_cap(tmp_path: Path) -> None:
    """By the count of the server, which it does not tell, each reply costs all that it can."""

    async def ask(purse: Purse, spec: ExpertSpec) -> list[ExpertReply | BaseException]:
        async with purse.paid(EndpointExpert(spec)) as expert:
            said_to = ([{"role": "user", "content": f"{number} + 7?"}] for number in range(9))
            asking = (
                expert.reply(each, (), key=None, category="arithmetic", draw="0:0:t", made=()) for each in said_to
            )
            return list(await asyncio.gather(*asking, return_exceptions=True))

    with chat_server(said("<think>Hm.</think>8")) as server:
        place, price = Endpoint(base_url=server.base_url, model="m"), Price(input=1, output=10)
        purse = Purse(RunLimits(max_cost=0.5), tmp_path / "replies.sqlite")
        spec = ExpertSpec(
            name="sage",
            title="Sage",
            price=price,
            skills=dict.fromkeys(CATEGORIES, 0.5),
            effort=dict.fromkeys(CATEGORIES, Effort(output_tokens=1, latency_s=1)),
            endpoint=place,
            source="made for a test",
        )
        replies = asyncio.run(ask(purse, spec))
        assert len(server.asked) == 3
    answered = [each.content for each in replies if isinstance(each, ExpertReply)]
    assert answered == ["8"] * 3 and sum(isinstance(each, BudgetError) for each in replies) == 6
    assert 3 * 0.16384 < purse.budget.spent <= 0.5
    assert purse.ledger.total().paid_usd == pytest.approx(purse.budget.spent)


def test_without_a_price_dollars_are_unknown_and_not_0(play: Play, tmp_path: Path) -> None:
    told: list[str] = []
    with chat_server(said("42", usage={"prompt_tokens": 100, "completion_tokens": 3000})) as server:
        header, lines = read_results(play(model(server.base_url, Purse(replies=tmp_path / "replies.sqlite"))))
    assert {(line.cost_usd, line.own_cost_usd, line.utility) for line in lines} == {(None, None, None)}
    found = summarize(header, lines)
    assert found.accuracy is not None and found.latency is not None
    assert (found.cost, found.cost_median, found.own_cost_share, found.per_right) == (None, None, None, None)
    assert spent_row(found)[1:5] == ("–", "–", "–", "–")
    progress = Progress("m", 2)
    for line in lines[:2]:
        progress.add(line)
        told.append(progress.told())
    assert {line.rpartition(", ")[2] for line in told} == {"no price"}


def test_progress_tells_accuracy_and_cost(questions: Opened, tmp_path: Path) -> None:
    told: list[str] = []
    harness = Harness("questions", Settings(), questions, tmp_path)
    asyncio.run(harness.run(scripted("golden"), 1, 4, lambda progress: told.append(progress.told())))
    assert told[0] == "golden: nothing scored, $0.0000"
    assert told[1:] == ["golden: 100.0% right, $0.0000"] * TASKS


def test_a_checkpoint_of_another_tokenizer_is_one_line(play: Play, tmp_path: Path) -> None:
    config = read_config(Path("training/configs/tiny_cpu.yaml"))
    other = make_model(tmp_path / "qwen")
    with pytest.raises(UsageError, match=r"the tokenizer does not have the word .*; model.codec: tiny needs"):
        play(checkpoint(other, "other", config))
    mixed = tmp_path / "mixed"
    shutil.copytree(other, mixed)
    for path in Path(config.model.path).glob("*token*.json"):
        shutil.copy(path, mixed)
    with pytest.raises(UsageError, match=r"mixed: the tokenizer has \d+ words and the model \d+; put the"):
        play(checkpoint(mixed, "mixed", config))
    (mixed / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(UsageError, match="mixed: the weights cannot be read"):
        play(checkpoint(mixed, "broken", config))


def test_a_tiny_checkpoint_plays_and_a_second_run_of_it_does_nothing(play: Play) -> None:
    config = read_config(Path("training/configs/tiny_cpu.yaml"))
    player = checkpoint(Path(config.model.path), "untrained", config)
    before = content(play(player))
    assert [line.turns for line in read_results(play(player))[1]] and content(play(player)) == before


def test_a_checkpoint_plays_in_the_type_of_its_configuration_and_the_results_are_kept_apart() -> None:
    config = read_config(Path("training/configs/tiny_cpu.yaml"))
    halved = config.model_copy(update={"model": config.model.model_copy(update={"dtype": "bfloat16"})})
    folder = Path(config.model.path)
    kinds = [_load(folder, each)[0].dtype for each in (config, halved)]
    assert kinds == [torch.float32, torch.bfloat16]
    assert checkpoint(folder, "a", config).identity != checkpoint(folder, "a", halved).identity
