"""The package as others install it: what the wheel holds and asks for, and that it works where there is no checkout."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from toolscale.cli import commands
from toolscale.cli.extras import NAMES, what_to_install
from toolscale.config import VERSION

pytestmark = pytest.mark.xdist_group("package")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MOST_BYTES = 3_000_000
MOST_IMPORT_SECONDS = 0.1
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
PARTS = {
    "basic_tools/web_search.py": "models",
    "cli/serving.py": "mcp",
    "dataset/checking/signing.py": "hub",
    "dataset/describing/charts.py": "dataset",
    "dataset/describing/drawing.py": "dataset",
    "dataset/describing/embedding.py": "quality",
    "dataset/describing/variety.py": "dataset",
    "dataset/places.py": "scale",
    "models/": "models",
    "publish/": "hub",
    "serving/": "mcp",
}
"""File or folder of the package -> the extra without which it does not work. All others work with the core alone."""


def distributions(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


CORE = distributions(PROJECT["dependencies"])
EXTRAS = {extra: distributions(lines) for extra, lines in PROJECT["optional-dependencies"].items()}


def run(command: list[str | Path], folder: Path) -> tuple[int, str, str]:
    """Status, output and complaints of a program that knows nothing of this checkout."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"}
    )
    return done.returncode, done.stdout, done.stderr


def build(kind: str, source: Path, out: Path) -> Path:
    """Build as `make wheel` does, with the setuptools of this environment."""
    subprocess.run([sys.executable, "-c", BUILD, f"build_{kind}", out], cwd=source, check=True, capture_output=True)
    (made,) = (path for path in out.iterdir() if path.name.endswith({"wheel": ".whl", "sdist": ".gz"}[kind]))
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the sdist, made from a checkout in which work left traces."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "checkout"
    for name in ("toolscale", "environments", "docs", "tests/publish"):
        shutil.copytree(ROOT / name, source / name)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    for left in (
        "var/datasets/a.json", "environments/mock/.admission.json.12", "environments/mock/__pycache__/a.pyc",
        "environments/mock/notes.txt", "environments/.mock-x/mock/environment.yaml", "toolscale/cli/__pycache__/b.pyc",
        "toolscale/sandbox/core.123", "build/lib/toolscale/old.py",
    ):  # fmt: skip
        (source / left).parent.mkdir(parents=True, exist_ok=True)
        (source / left).write_text("left")
    with tarfile.open(build("sdist", source, folder)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11 has it from 3.11.4 on
        archive.extractall(folder / "unpacked")
    return build("wheel", next((folder / "unpacked").iterdir()), folder)


def environment_with(lines: list[str], folder: Path) -> tuple[Path, Path]:
    """An environment that has what these requirements ask for, and nothing else: links to what is installed here.
    Return its interpreter and the folder of its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in required(lines):
        files = distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (packages / top).exists():  # parts of a namespace come in several distributions
                (packages / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return folder / "bin" / "python", packages


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel and what its core asks for."""
    python, packages = environment_with(PROJECT["dependencies"], tmp_path_factory.mktemp("core"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    return python


def required(lines: list[str]) -> set[str]:
    """The distributions that requirements ask for, and those that these ask for."""
    found: set[str] = set()
    todo = [(Requirement(line), "") for line in lines]
    done: set[tuple[str, str]] = set()
    while todo:
        one, of = todo.pop()
        name = canonicalize_name(one.name)
        if one.marker is not None and not one.marker.evaluate({"extra": of}):
            continue
        for extra in {"", *one.extras}:
            if (name, extra) not in done:
                done.add((name, extra))
                found.add(name)
                todo += [(Requirement(line), extra) for line in distribution(name).requires or ()]
    return found


def toolscale(python: Path, line: str, folder: Path) -> tuple[int, str, str]:
    return run([python, "-m", "toolscale", *line.split()], folder)


def shipped() -> Iterator[str]:
    """Where the wheel has what lies beside the package here."""
    yield "environments/README.md"
    for path in ROOT.glob("docs/domains/*.md"):
        yield path.relative_to(ROOT).as_posix()
    for path in ROOT.glob("environments/*/*"):
        if path.suffix in {".yaml", ".json", ".jsonl", ".md"} and not path.name.startswith("."):
            yield path.relative_to(ROOT).as_posix()


def test_the_wheel_holds_the_package_and_the_environments_and_nothing_besides(wheel: Path) -> None:
    kinds = {".py", ".jinja", ".yaml", ".txt", ".typed"}
    code = {path for path in (ROOT / "toolscale").rglob("*") if path.suffix in kinds or path.name == "py.typed"}
    about = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt"}
    with zipfile.ZipFile(wheel) as archive:
        assert sorted(archive.namelist()) == sorted(
            {path.relative_to(ROOT).as_posix() for path in code}
            | {f"toolscale/shipped/{name}" for name in shipped()}
            | {f"toolscale-{VERSION}.dist-info/{name}" for name in about}
        )
        assert {name: archive.read(f"toolscale/shipped/{name}") for name in shipped()} == {
            name: (ROOT / name).read_bytes() for name in shipped()
        }
    assert wheel.stat().st_size < MOST_BYTES


def test_the_metadata_say_what_pyproject_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        told = Parser().parsestr(archive.read(f"toolscale-{VERSION}.dist-info/METADATA").decode())
        licence = archive.read(f"toolscale-{VERSION}.dist-info/licenses/LICENSE")
    assert {name: told[name] for name in ("Name", "Version", "Requires-Python", "License-Expression", "Summary")} == {
        "Name": "toolscale",
        "Version": VERSION,
        "Requires-Python": ">=3.11",
        "License-Expression": "Apache-2.0",
        "Summary": PROJECT["description"],
    }
    assert told.get_payload() == (ROOT / "README.md").read_text()
    assert sorted(told.get_all("Provides-Extra", [])) == sorted(EXTRAS)
    assert licence == (ROOT / "LICENSE").read_bytes() and b"Version 2.0, January 2004" in licence


def imports() -> Iterator[tuple[str, str]]:
    """Every package of others that a module imports when it runs, inside functions too: (file, distribution)."""
    for path in sorted((ROOT / "toolscale").rglob("*.py")):
        if path.parts[-2:] == ("tau2", "driver.py"):  # runs under a Python of tau2's
            continue
        todo: list[ast.AST] = [ast.parse(path.read_text())]
        while todo:
            node = todo.pop()
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            todo += ast.iter_child_nodes(node)
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"toolscale"}:
                yield path.relative_to(ROOT / "toolscale").as_posix(), canonicalize_name(NAMES.get(top, top))


def test_whatever_is_imported_is_asked_for_and_the_other_way_round() -> None:
    used: dict[str, set[str]] = {"": set()}
    for path, name in imports():
        part = "" if name in CORE else next((extra for start, extra in PARTS.items() if path.startswith(start)), path)
        used.setdefault(part, set()).add(name)
    # Of what machines of a cluster need, the package itself imports one.
    assert used.pop("scale") <= EXTRAS["scale"]
    assert used == {"": CORE} | {extra: EXTRAS[extra] for extra in ("dataset", "hub", "mcp", "models", "quality")}


@pytest.mark.parametrize("name", ["", "quality", "scale", "train"])
def test_what_the_application_is_pinned_to_lies_in_the_ranges(name: str) -> None:
    lines = (ROOT / (f"requirements-{name}.txt" if name else "requirements.txt")).read_text().splitlines()
    pins = {Requirement(line).name: line.partition("==")[2] for line in lines if not line.startswith("-r ")}
    parts = [name] if name else ["dataset", "hub", "mcp", "models", "airflow", "scale"]
    asked = [line for part in parts for line in PROJECT["optional-dependencies"][part]]
    asked += PROJECT["dependencies"] if not name else []
    ranges = {canonicalize_name(one.name): one.specifier for one in map(Requirement, asked)}
    assert {pin: ranges[pin].contains(version) for pin, version in pins.items()} == dict.fromkeys(pins, True)


def test_what_to_install_is_read_from_the_metadata() -> None:
    lines = ["pyyaml<7,>=6", 'huggingface-hub>=2; extra == "hub"', "httpx2>=2; python_version > '3' and extra == 'hub'",
             'httpx2>=2; extra == "models"', 'celery[redis]>=5; extra == "scale"']  # fmt: skip
    modules = ("yaml", "huggingface_hub", "huggingface_hub.errors", "httpx2", "celery", "numpy")
    assert {module: what_to_install(module, lines) for module in modules} == {
        "yaml": '"toolscale"',
        "huggingface_hub": '"toolscale[hub]"',
        "huggingface_hub.errors": '"toolscale[hub]"',
        "httpx2": '"toolscale[hub]" or "toolscale[models]"',
        "celery": '"toolscale[scale]"',
        "numpy": None,
    }


@pytest.mark.parametrize(
    ("line", "missing", "extra"),
    [
        ("publish {dataset} me/tasks", "cryptography", "hub"),
        ("serve {dataset}", "anyio", "mcp"),
        *(
            pytest.param(*case, marks=pytest.mark.slow("tests/test_package.py"))
            for case in (
                ("report {dataset} --out page.html", "sacrebleu", "dataset"),
                ("stats {dataset} --quality", "sacrebleu", "dataset"),
                ("pull me/tasks --out pulled", "cryptography", "hub"),
                ("serve {dataset} --http", "uvicorn", "mcp"),
                ("draft shop", "httpx2", 'models]" or "toolscale[hub]" or "toolscale[mcp'),
                (
                    "grade {dataset} - --judge-endpoint http://127.0.0.1:1/v1 --judge-model m",
                    "httpx2",
                    'models]" or "toolscale[hub]" or "toolscale[mcp',
                ),
                ("diff s3://bucket/tasks {dataset}", "upath", "scale"),
            )
        ),
    ],
)
def test_a_verb_that_needs_more_says_in_one_line_what_to_install(
    line: str, missing: str, extra: str, core: Path, mock_dataset: Path, tmp_path: Path
) -> None:
    verb = line.split()[0]
    assert toolscale(core, line.format(dataset=mock_dataset), tmp_path) == (
        2,
        "",
        f'toolscale: {verb} needs {missing}; pip install "toolscale[{extra}]"\n',
    )
    assert not list(tmp_path.iterdir())


VERBS = re.findall(
    r"^\| (?:none|`\[(\w+)\]`) \| (.*?) \|", (ROOT / "docs" / "start" / "installing.md").read_text(), re.MULTILINE
)
EXTRA_OF = {
    verb: extra for extra, told in VERBS for verb in re.findall(r"`([a-z]+)`", told) if verb in commands.commands
}
APART = {"measure", "_judged"}
"""Functions behind an option that the table names apart: `stats --quality`, `grade --judge-model`."""


def modules_of(verb: str) -> set[str]:
    """The modules that the function of a verb imports, and those that the functions of the command line import which
    it calls."""
    found, done, todo = set[str](), set[str](), [commands.commands[verb].callback]
    while todo:
        function = inspect.unwrap(todo.pop())
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolscale."):
                found.add(node.module or "")
            elif isinstance(node, ast.Name) and node.id not in done | APART:
                done.add(node.id)
                other = function.__globals__.get(node.id)
                if inspect.isfunction(other) and other.__module__.startswith("toolscale.cli"):
                    todo.append(other)
    return found


def test_the_table_of_extras_names_every_verb() -> None:
    assert EXTRA_OF.keys() | {"evaluate", "compare"} == commands.commands.keys()


@pytest.mark.parametrize("extra", sorted(set(EXTRA_OF.values())))
def test_a_verb_imports_nothing_that_its_extra_does_not_bring(extra: str, tmp_path: Path) -> None:
    lines = PROJECT["dependencies"] + (PROJECT["optional-dependencies"][extra] if extra else [])
    python, packages = environment_with(lines, tmp_path / "environment")
    (packages / "toolscale").symlink_to(ROOT / "toolscale")
    modules = sorted(set[str]().union(*(modules_of(verb) for verb in EXTRA_OF if EXTRA_OF[verb] == extra)))
    assert modules
    code = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    assert run([python, "-c", code, *modules], tmp_path) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "status"), [("evaluate --list", 0), ("evaluate heldout --data x", 2), ("compare a b", 2)]
)
def test_evaluation_lists_or_says_what_to_install_where_only_the_pipeline_is_installed(
    arguments: str, status: int, tmp_path: Path
) -> None:
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line]
    python, packages = environment_with(lines, tmp_path / "environment")
    (packages / "toolscale.pth").write_text(str(ROOT))
    found = toolscale(python, arguments, tmp_path)
    if status == 0:
        assert (found[0], found[2]) == (0, "") and found[1].startswith("familiar: ")
    else:
        told = "eval: scipy is not installed; `make .venv/train.stamp` installs what evaluation needs\n"
        assert found == (2, "", told)


@pytest.mark.slow("tests/test_package.py")
def test_the_core_verifies_and_plays(core: Path, mock_dataset: Path, tmp_path: Path) -> None:
    status, said, told = toolscale(core, f"verify {mock_dataset}", tmp_path)
    assert (status, told) == (
        0,
        'toolscale: pictures were not drawn again; for that: pip install "toolscale[dataset]"\n',
    )
    assert re.fullmatch(r".*: 10 tasks, .* drawn and judged again; everything holds\n", said)
    status, ids, told = toolscale(core, f"play {mock_dataset} --list", tmp_path)
    assert (status, len(ids.split()), told) == (0, 10, "")
    task = ids.split()[0]
    status, said, told = toolscale(core, f"play {mock_dataset} {task} --session s --answer Done. --json", tmp_path)
    assert status in (0, 1) and '"score"' in said and told == ""
    solution = (tmp_path / "s" / "solution.json").read_text()
    (tmp_path / "solutions.jsonl").write_text(solution if solution.endswith("\n") else f"{solution}\n")
    status, said, told = toolscale(core, f"grade {mock_dataset} solutions.jsonl", tmp_path)
    assert status in (0, 1) and said and told == ""


@pytest.mark.slow("tests/test_package.py")
def test_own_domains_lie_in_the_working_folder_and_the_package_stays_as_it_is(core: Path, tmp_path: Path) -> None:
    (shipped_to,) = core.parent.parent.glob("lib/python*/site-packages/toolscale/shipped")
    before = {path: path.stat().st_mtime_ns for path in shipped_to.rglob("*")}
    listed = run([core, "-m", "toolscale", "domains"], tmp_path)
    assert [line.split()[0] for line in listed[1].splitlines()] == sorted(
        path.parent.name for path in ROOT.glob("environments/*/environment.yaml")
    )
    made = run([core, "-m", "toolscale", "new", "library", "--tables", "patron, loan by patron"], tmp_path)
    assert made[0] == 0 and (tmp_path / "environments" / "library" / "toolset.yaml").is_file()
    assert "library" in {line.split()[0] for line in toolscale(core, "domains", tmp_path)[1].splitlines()}
    status, _, told = toolscale(core, "admit mock --candidates 0 --write", tmp_path)
    assert (status, told) == (
        2,
        f"toolscale: --write: {shipped_to / 'environments' / 'mock'} belongs to the installed package; "
        "copy it to environments/mock\n",
    )
    assert {path: path.stat().st_mtime_ns for path in shipped_to.rglob("*")} == before


def test_importing_the_package_takes_no_time(core: Path, tmp_path: Path) -> None:
    code = "import time; start = time.perf_counter(); import toolscale; print(time.perf_counter() - start)"
    assert min(float(run([core, "-c", code], tmp_path)[1]) for _ in range(3)) < MOST_IMPORT_SECONDS


def test_the_change_log_names_this_version_and_those_of_the_formats() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    told = re.findall(r"`([A-Z]+_VERSION)` \((\d+)\), in `(\S+)`", text)
    stand = {
        (name, number, path.relative_to(ROOT).as_posix())
        for path in (ROOT / "toolscale").rglob("*.py")
        for name, number in re.findall(r"^([A-Z]+_VERSION) = (\d+)$", path.read_text(), re.MULTILINE)
        if name != "LEAST_VERSION"  # of the kernel
    }
    assert set(told) == stand
    assert re.findall(r"^## (\S+)", text, re.MULTILINE)[0] == VERSION


@pytest.mark.slow("tests/test_package.py")
def test_pip_installs_it_anywhere(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python, folder = tmp_path / "venv" / "bin" / "python", tmp_path / "work"
    folder.mkdir()
    # With PYTHONPATH pip would find the checkout, and take the package for installed.
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{wheel}[dataset]"], check=True, env=settings)
    assert run([python, "-m", "pip", "check"], folder)[0] == 0
    made = toolscale(python, "synthesize mock --tasks 10", folder)
    assert (made[0], made[2]) == (0, "")
    verified = toolscale(python, "verify var/datasets/mock", folder)
    assert (verified[0], verified[2]) == (0, "") and verified[1].endswith("everything holds\n")
    assert len(toolscale(python, "play var/datasets/mock --list", folder)[1].split()) == 10
