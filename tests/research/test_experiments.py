"""The experiments: which runs there are, and what is written about them. The runs themselves take most of an hour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research.experiments import CONFIG, KINDS, measure, measure_reward, train, variants
from research.results import write_results
from research.spread import WHOLE, interval, kind_of
from toolscale.errors import UsageError
from training.checkpoint import write_config
from training.config import Config
from training.config_file import read_config

ROOT = Path(__file__).parents[2]


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.chdir(ROOT)
    read: Config = read_config(CONFIG)
    return read


def test_each_seed_has_a_whole_run_and_the_first_ones_others_with_other_rewards(config: Config) -> None:
    found = variants(config, 2)
    assert {name: (each.seed, each.data.seed, each.reward.kind) for name, each in found.items()} == {
        "whole-0": (0, 0, "absolute"),
        "whole-1": (1, 1, "absolute"),
        **{f"{kind}-0": (0, 0, kind) for kind in ("efficiency", "paper")},
    }
    assert {each.steps for each in found.values()} == {config.steps}
    assert list(variants(config, 2, compared_seeds=2)) == [
        f"{kind}-{seed}" for kind in (WHOLE, *KINDS) for seed in (0, 1)
    ]
    assert found["whole-0"] == config.model_copy(update={"processes": 1, "threads": 1})


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


@pytest.mark.slow("tests/research/test_experiments.py")
def test_an_untrained_model_reaches_nothing_and_the_page_says_so(config: Config, tmp_path: Path) -> None:
    base = Path(config.model.path)
    measured = {
        name: (measure if kind_of(name) == WHOLE else measure_reward)(each, base, count=48)
        for name, each in variants(config, 2).items()
    }
    tables = write_results(tmp_path, measured, config.steps)
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {name: figures[name] for name in ("seeds", "compared_seeds", "steps")} == {
        "seeds": 2,
        "compared_seeds": 1,
        "steps": config.steps,
    }
    assert figures["runs"].keys() == measured.keys()
    rewards = figures["rewards"]
    assert list(rewards) == ["absolute", *KINDS]
    assert rewards["absolute"] == rewards["paper"]
    assert rewards["paper"]["wording"]["share"] == [measured["paper-0"]["wording"][0]["share"], None]
    untrained = figures["tables"]["a"]["untrained"]
    assert untrained == {**figures["tables"]["a"]["trained"]}
    assert untrained["share"] == list(interval([measured[f"{WHOLE}-{seed}"]["a"][0]["share"] for seed in (0, 1)]))
    page = (tmp_path / "README.md").read_text()
    share, half = tables["wording"]["trained"]["share"]
    assert half is not None and f"| {100 * share:.1f} ± {100 * half:.1f} |" in page
    assert [(tmp_path / name).read_bytes()[:4] for name in ("policies.png", "frontier.png")] == [b"\x89PNG"] * 2
