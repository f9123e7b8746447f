"""The experiments: which runs there are, and what is written about them. The runs themselves take most of an hour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolscale.errors import UsageError
from training.checkpoint import write_config
from training.config import Config
from training.config_file import read_config
from training.experiments import COMPARED, CONFIG, KINDS, measure, measure_two_steps, train, variants
from training.results import CHAINED, WHOLE, interval, write_results

ROOT = Path(__file__).parents[2]
FORMED = Path("forms")


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(ROOT)
    read: Config = read_config(CONFIG)
    return read


def test_each_seed_has_two_whole_runs_and_a_shorter_one_for_each_reward(config: Config) -> None:
    found = variants(config, FORMED, 2)
    short = config.steps // COMPARED
    assert {name: (each.seed, each.data.seed, each.reward.kind, each.steps) for name, each in found.items()} == {
        **{f"{kind}-{seed}": (seed, seed, "absolute", config.steps) for kind in (WHOLE, CHAINED) for seed in (0, 1)},
        **{f"{kind}-{seed}": (seed, seed, kind, short) for seed in (0, 1) for kind in KINDS},
    }
    assert list(variants(config, FORMED, 2, compared_seeds=1)) == [
        *(f"{WHOLE}-{seed}" for seed in (0, 1)),
        *(f"{kind}-0" for kind in (CHAINED, *KINDS)),
    ]
    assert [found[f"{kind}-0"].data.two_step_share for kind in (WHOLE, CHAINED, KINDS[0])] == [0, 0.5, 0]
    assert [found[f"{kind}-0"].model.path for kind in (WHOLE, CHAINED)] == [config.model.path, str(FORMED)]
    assert found[f"{WHOLE}-0"] == config.model_copy(update={"processes": 1, "threads": 1})
    assert [name.partition("-")[0] for name in list(found)[:2]] == [WHOLE, WHOLE]


def test_a_run_of_another_configuration_is_not_taken_for_this_one(config: Config, tmp_path: Path) -> None:
    write_config(tmp_path, config)
    (tmp_path / "done.json").write_text("{}")
    train(config, tmp_path)
    with pytest.raises(
        UsageError,
        match=(
            f"holds a run with steps = {config.steps}, the configuration has 3; use the same configuration, or another"
        ),
    ):
        train(config.model_copy(update={"steps": 3}), tmp_path)


@pytest.mark.slow("tests/training/test_experiments.py")
def test_an_untrained_model_reaches_nothing_and_the_page_says_so(config: Config, tmp_path: Path) -> None:
    base = Path(config.model.path)
    measured = {
        name: measure_two_steps(each, base, count=48)
        if name.startswith(CHAINED)
        else measure(each, base, full=name.startswith(WHOLE), count=48)
        for name, each in variants(config, base, 2, compared_seeds=1).items()
    }
    findings = write_results(tmp_path, measured, config.steps, config.steps // COMPARED)
    assert [finding.reached for finding in findings][:2] == [False, False]
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {name: figures[name] for name in ("seeds", "steps", "compared_seeds", "compared_steps")} == {
        "seeds": 2,
        "steps": config.steps,
        "compared_seeds": 1,
        "compared_steps": config.steps // COMPARED,
    }
    assert list(figures["rewards"]) == list(KINDS) and figures["runs"].keys() == measured.keys()
    untrained = figures["tables"]["a"]["untrained"]
    assert untrained == {**figures["tables"]["a"]["trained"]}
    assert untrained["share"] == list(interval([measured[f"{WHOLE}-{seed}"]["a"][0]["share"] for seed in (0, 1)]))
    page = (tmp_path / "README.md").read_text()
    assert page.count("**Not reached**") == sum(not finding.reached for finding in findings)
    assert [(tmp_path / name).read_bytes()[:4] for name in ("policies.png", "frontier.png")] == [b"\x89PNG"] * 2
