"""What `make engines` installs is what its lock names. Fast, so that every run of the tests says where the engines are
missing."""

from __future__ import annotations

from importlib.metadata import distributions

from engines import ROOT, VENV, needs_engines


@needs_engines
def test_the_engines_are_those_of_the_lock() -> None:
    lock = (ROOT / "tests" / "engines" / "requirements.txt").read_text()
    wanted = dict(line.split("==") for line in lock.splitlines())
    [packages] = (VENV / "lib").glob("python*/site-packages")
    found = {each.name: each.version.removesuffix("+cpu") for each in distributions(path=[str(packages)])}
    assert {name: found.get(name) for name in wanted} == wanted
