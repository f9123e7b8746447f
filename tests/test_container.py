"""The Containerfile: a linter finds nothing, what it copies exists and reaches the builder, and its versions are those
of the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Containerfile").read_text()
STEPS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", "", TEXT).splitlines()
    if line and not line.startswith("#")
]
"""Instruction and arguments of each step, continued lines joined."""
COPIED = [word for name, words in STEPS if name == "COPY" for word in words.split()[:-1]]
SECRET = re.compile(r"secret|token|passw|_key|credential", re.IGNORECASE)


def installs() -> list[str]:
    """The arguments of each call of pip, in order."""
    return [words.split("pip install ")[1] for name, words in STEPS if name == "RUN" and "pip install" in words]


def allowed(ignore: str) -> list[str]:
    """What an ignore file lets through, after a line that lets nothing through."""
    lines = [line for line in (ROOT / ignore).read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def test_the_linter_finds_nothing() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([hadolint, "--no-color", ROOT / "Containerfile"], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_there_are_two_images_and_the_second_is_the_first_with_more() -> None:
    assert [words for name, words in STEPS if name == "FROM"] == [
        "python:3.11.14-slim-bookworm AS pipeline",
        "pipeline AS training",
    ]


def test_the_python_is_the_one_that_the_repository_is_checked_with() -> None:
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["python_version"]
    assert re.findall(r"^FROM python:(\d+\.\d+)\.\d+-", TEXT, re.MULTILINE) == [checked]


def test_everything_is_installed_with_the_constraints_of_the_repository_and_as_the_makefile_does() -> None:
    *ours, train = installs()
    assert ours == ["--constraint constraints.txt --requirement requirements-kubernetes.txt", "--no-deps --editable ."]
    assert train == "--use-pep517 --constraint constraints.txt --requirement requirements-train.txt"
    recipe = " ".join((ROOT / "Makefile").read_text().replace("\\\n", " ").split())
    assert f"--no-deps {installs()[1].split(maxsplit=1)[1]}" in recipe
    assert (
        " ".join(train.split()[1:]) in recipe
        and re.search(r"DS_BUILD_OPS=0 \S+python -m pip", recipe)
        and "DS_BUILD_OPS=0 pip install" in TEXT
    )


@pytest.mark.parametrize("name", sorted(path.name for path in ROOT.glob("requirements*.txt")))
def test_every_requirement_is_pinned_to_the_version_of_the_constraints(name: str) -> None:
    def normal(package: str) -> str:
        return re.sub(r"\[.*?\]", "", package).lower().replace("_", "-")

    pins = {
        normal(package): version
        for package, version in re.findall(r"^(\S+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    }
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("-r ")]
    assert {line: pins.get(normal(line.partition("==")[0])) for line in lines} == {
        line: line.partition("==")[2] for line in lines
    }


@pytest.mark.parametrize("path", COPIED)
def test_what_is_copied_is_there_and_reaches_the_builder(path: str) -> None:
    assert (ROOT / path).exists()
    assert path in allowed(".containerignore")


def test_nothing_else_reaches_the_builder_whichever_it_is() -> None:
    assert sorted(allowed(".containerignore")) == sorted(COPIED)
    assert allowed(".dockerignore") == allowed(".containerignore")


def test_all_parts_of_the_checkout_that_airflow_reads_are_inside() -> None:
    read = {"airflow.cfg", "dags", "environments", "eval", "plugins", "pools.json", "scripts", "toolscale", "training"}
    assert read <= set(COPIED)
    assert os.access(ROOT / "deploy" / "entrypoint", os.X_OK)


def test_no_image_runs_as_root_or_holds_a_secret() -> None:
    assert [words for name, words in STEPS if name == "USER"] == ["50000", "0", "50000"]
    assert not [words for name, words in STEPS if name in ("ENV", "ARG") and SECRET.search(words)]


def test_user_and_home_are_those_of_the_helm_values() -> None:
    values = yaml.safe_load((ROOT / "deploy" / "helm" / "values.yaml").read_text())
    assert f"useradd --uid {values['uid']} --gid {values['gid']} " in TEXT
    assert (
        f"AIRFLOW_HOME={values['airflowHome']} " in dict(STEPS)["ENV"]
        and dict(STEPS)["WORKDIR"] == values["airflowHome"]
    )
