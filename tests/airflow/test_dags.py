"""Every DAG file keeps the house rules, and every rule finds a file that breaks it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dag_rules import LONGEST, broken_rules, facts_of
from homes import ROOT, AirflowHome

from toolscale.dataset.making.shards import airflow_task
from toolscale.environment.references import domain_problem

DAGS = ROOT / "dags"
DAG_FILES = sorted(path.name for path in DAGS.glob("*.py"))

GOOD = '''"""What the DAG is for."""

from __future__ import annotations

import os
import random
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule, dag, task

POLICY = ExceptionRetryPolicy([RetryRule("toolscale.errors.PermanentError", RetryAction.FAIL)])
DOMAINS = sorted(path.name for path in Path(ENVIRONMENTS).iterdir())


@dag("ID", schedule=None, catchup=False, max_active_runs=1, tags=["trial"], doc_md=__doc__,
     default_args={"owner": "data", "retries": 2, "retry_policy": POLICY, "retry_delay": timedelta(seconds=5)})
def trial():
    @task
    def count(domains: list[str]) -> int:
        from toolscale.canonical import canonical_json

        return len(canonical_json(domains))

    @task(pool="judging")
    def each(domain: str) -> str:
        return os.fspath(domain)

    count(DOMAINS)
    each.expand(domain=DOMAINS)


trial()
'''
TOP = "\nPOLICY ="
BAD = {
    "name": ("trial.py", "", "", "is neither named *_dag.py"),
    "long": ("long_dag.py", "trial()\n", "trial()\n" + "\n" * 80, f"has 113 lines, more than {LONGEST}"),
    "syntax": ("syntax_dag.py", "trial()\n", "trial(\n", "cannot be imported: SyntaxError: '(' was never closed"),
    "import": (
        "import_dag.py", TOP, f"\nimport no_such_module{TOP}",
        "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "foreign": ("foreign_dag.py", TOP, f"\nif True:\n    import pydantic\n{TOP}", "imports pydantic at top level"),
    "models": (
        "models_dag.py", TOP, f"\nfrom airflow.models import DagModel{TOP}",
        "imports airflow.models at top level",
    ),
    "toolscale": ("toolscale_dag.py", TOP, f"\nimport toolscale.errors{TOP}", "imports toolscale.errors at top level"),
    "body": (
        "body_dag.py", "    @task\n", "    import toolscale.canonical\n\n    @task\n",
        "at import: import toolscale.canonical",
    ),
    "none": ("none_dag.py", "\n\ntrial()\n", "\n", "holds no DAG"),
    "tags": ("tags_dag.py", 'tags=["trial"], ', "", "tags has no tags"),
    "doc": ("doc_dag.py", "doc_md=__doc__,", "", "doc has no doc_md"),
    "catchup": ("catchup_dag.py", "catchup=False", "catchup=True", "catchup catches up"),
    "runs": ("runs_dag.py", "max_active_runs=1, ", "", "runs has max_active_runs=16, more than 12"),
    "owner": ("owner_dag.py", '"owner": "data", ', "", "owner.each has no owner of ours"),
    "pool": (
        "pool_dag.py", 'pool="judging"', 'pool="judgign"',
        "pool.each wants the pool judgign, which is not in pools.json",
    ),
    "retries": ("retries_dag.py", '"retries": 2, ', "", "retries.each has no retry policy"),
    "policy": ("policy_dag.py", '"retry_policy": POLICY, ', "", "policy.count has no retry policy"),
    "clock": (
        "clock_dag.py", "schedule=None", "start_date=datetime.now()",
        "differs at each import: Code: dag('clock', start_date=datetime.now()",
    ),
    "chance": (
        "chance_dag.py", '"retries": 2', '"retries": random.randint(1, 3)',
        "differs at each import: Code: dag('chance', ",
    ),
    "write": ("write_dag.py", TOP, f"\nPath('trace').write_text('here'){TOP}", "at import: open 'trace' for writing"),
    "read": ("read_dag.py", TOP, f"\nPath('/etc/hostname').read_text(){TOP}", "at import: open '/etc/hostname'"),
    "list": ("list_dag.py", TOP, f"\nos.listdir('/etc'){TOP}", "at import: os.listdir '/etc'"),
    "caught": (
        "caught_dag.py", TOP, f"\ntry:\n    os.mkdir('/proc/no')\nexcept Exception:\n    pass\n{TOP}",
        "at import: os.mkdir ('/proc/no', 511)",
    ),
    "socket": ("socket_dag.py", TOP, f"\nimport socket\nsocket.socket().close(){TOP}", "at import: socket.__new__"),
    "process": (
        "process_dag.py", TOP, f"\nimport subprocess\nsubprocess.run(['true']){TOP}",
        "at import: subprocess.Popen ('true', ['true'])",
    ),
    "shell": ("shell_dag.py", TOP, f"\nos.system('true'){TOP}", "at import: os.system (b'true',)"),
    "database": (
        "database_dag.py", TOP, f"\nimport sqlite3\nsqlite3.connect(':memory:').close(){TOP}",
        "at import: sqlite3.connect (':memory:',)",
    ),
}  # fmt: skip
"""What is wrong with a copy of GOOD: its file name, what is replaced by what, and how the rule says it."""


def written(folder: Path, dag_id: str, name: str, old: str = "", new: str = "") -> None:
    """A DAG file made from GOOD."""
    text = GOOD.replace('"ID"', f'"{dag_id}"').replace("ENVIRONMENTS", repr(str(ROOT / "environments")))
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))


@pytest.fixture(scope="module")
def ours(airflow_home: AirflowHome) -> dict[str, list[str]]:
    return broken_rules(ROOT / "dags", airflow_home)


@pytest.fixture(scope="module")
def spoiled(airflow_home: AirflowHome, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("spoiled")
    written(folder, "good", "good_dag.py")
    for dag_id, (name, old, new, _) in BAD.items():
        written(folder, dag_id, name, old, new)
    written(folder, "twice", "twice_a_dag.py")
    written(folder, "twice", "twice_b_dag.py")
    return broken_rules(folder, airflow_home)


ONCE = {"order", "choose", "collect", "close", "prune"}
OF_DOMAIN = {"build", "plan", "judge", "plan_more", "top_up", "assemble", "consult", "quality_gate"}
"""The tasks of synthesize_dataset: those of a run, and those of each domain."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The DAG of a checkout where each task is also the name of a domain, and where other folders lie about."""
    root = tmp_path_factory.mktemp("checkout")
    kept = shutil.ignore_patterns(*(path.name for path in DAGS.glob("*_dag.py") if "synthesize" not in path.name))
    shutil.copytree(DAGS, root / "dags", ignore=kept)
    shutil.copytree(ROOT / "training" / "configs", root / "training" / "configs")
    for name in (*ONCE, *OF_DOMAIN, "gym", "gym.bak", "gym (copy)", "Gym", "g" * 201):
        (root / "environments" / name).mkdir(parents=True)
        (root / "environments" / name / "environment.yaml").touch()
    return root


def test_a_domain_may_be_called_like_a_task_and_a_folder_like_no_domain(
    checkout: Path, airflow_home: AirflowHome
) -> None:
    facts = facts_of(checkout / "dags", airflow_home.with_settings(TOOLSCALE_SCHEDULE="0 2 * * *"))
    domains = {*ONCE, *OF_DOMAIN, "gym"}
    assert facts["errors"] == {}
    [dag] = facts["dags"]
    tasks = {task["task_id"] for task in dag["tasks"]}
    assert tasks == ONCE | {f"domain_{domain}.{task}" for domain in domains for task in OF_DOMAIN}
    assert {airflow_task("close", task) for task in OF_DOMAIN} < tasks
    folders = (path.name for path in (checkout / "environments").iterdir())
    assert {name for name in folders if domain_problem(name) is None} == domains


def test_to_run_a_task_only_its_domain_is_read(checkout: Path, airflow_home: AirflowHome) -> None:
    told = {
        "_AIRFLOW_PARSING_CONTEXT_DAG_ID": "synthesize_dataset",
        "_AIRFLOW_PARSING_CONTEXT_TASK_ID": "domain_gym.judge",
    }
    [dag] = facts_of(checkout / "dags", airflow_home.with_settings(**told))["dags"]
    assert {task["task_id"] for task in dag["tasks"]} == ONCE | {f"domain_gym.{task}" for task in OF_DOMAIN}


@pytest.mark.parametrize("name", DAG_FILES)
def test_dag_file_keeps_the_rules(name: str, ours: dict[str, list[str]]) -> None:
    assert ours.get(name, []) == []


def test_all_dags_are_there(ours: dict[str, list[str]]) -> None:
    dags = {
        "draft_domain_dag.py",
        "evaluate_orchestrator_dag.py",
        "publish_dataset_dag.py",
        "synthesize_dataset_dag.py",
        "train_orchestrator_dag.py",
    }
    assert dags <= set(DAG_FILES) and not ours


def test_a_good_file_breaks_no_rule(spoiled: dict[str, list[str]]) -> None:
    assert "good_dag.py" not in spoiled


@pytest.mark.parametrize("what", BAD)
def test_each_rule_finds_a_file_that_breaks_it(what: str, spoiled: dict[str, list[str]]) -> None:
    name, _, _, finding = BAD[what]
    assert [line for line in spoiled.get(name, []) if line.startswith(finding)], spoiled.get(name)


def test_one_dag_id_in_two_files_is_found(spoiled: dict[str, list[str]]) -> None:
    assert [
        name for name in ("twice_a_dag.py", "twice_b_dag.py") if "DuplicatedId" in " ".join(spoiled.get(name, []))
    ] == ["twice_b_dag.py"]
