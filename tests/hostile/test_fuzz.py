"""Files of every format, changed at random: whoever reads them returns something or raises an error of ours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dataset.test_recheck import TRAIN
from toolscale.dataset.arrow import OUTCOME_SCHEMA, REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import check_reject, check_task
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.manifest import MANIFEST, read_manifest
from toolscale.dataset.parquet import encode_rows, read_shard
from toolscale.dataset.world import read_rows
from toolscale.environment.environment import load_environment
from toolscale.environment.registry import FILES, OPTIONAL
from toolscale.environment.spec_files import read_folder
from toolscale.errors import ToolScaleError
from toolscale.models.catalogue import load_catalogue
from toolscale.yaml_files import read_yaml
from training.config_file import read_config

bytewise = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

Edit = tuple[float, int, bytes]
edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12)), min_size=1, max_size=6)
"""Where (as a share of the length), how many bytes go, and what comes instead."""


def edited(content: bytes, changes: list[Edit]) -> bytes:
    for where, gone, new in changes:
        start = int(where * len(content))
        content = content[:start] + new + content[start + gone :]
    return content


def survives(read: Callable[[], object]) -> None:
    """Read, and let pass what is named."""
    try:
        read()
    except ToolScaleError as error:
        assert str(error)


@bytewise
@given(edits, st.sampled_from(sorted(FILES.keys() - OPTIONAL)))
def test_files_of_a_domain(tmp_path: Path, changes: list[Edit], name: str) -> None:
    source = Path("environments/mock")
    folder = tmp_path / "mock"
    shutil.copytree(source, folder, dirs_exist_ok=True)
    (folder / name).write_bytes(edited((source / name).read_bytes(), changes))
    found = read_folder(folder)
    assert all(str(issue).isprintable() for issue in found.issues)
    survives(lambda: load_environment(folder))


@bytewise
@given(st.text())
def test_any_text_as_yaml(tmp_path: Path, text: str) -> None:
    (tmp_path / "any.yaml").write_text(text, errors="surrogatepass")
    data, issues = read_yaml(tmp_path / "any.yaml")
    json.dumps(data, allow_nan=False)
    assert issues or data is None or data == data


@bytewise
@given(edits)
def test_a_manifest(mock_dataset: Path, tmp_path: Path, changes: list[Edit]) -> None:
    (tmp_path / MANIFEST).write_bytes(edited((mock_dataset / MANIFEST).read_bytes(), changes))
    survives(lambda: read_manifest(tmp_path))


@bytewise
@given(edits, st.sampled_from([TRAIN, "rejects/mock/rejected-00000-of-00001.parquet", "outcomes/mock.parquet"]))
def test_a_parquet_file(mock_dataset: Path, tmp_path: Path, changes: list[Edit], name: str) -> None:
    schema = {"mock": TASK_SCHEMA, "rejects": REJECT_SCHEMA, "outcomes": OUTCOME_SCHEMA}[name.split("/")[0]]
    (tmp_path / "rows.parquet").write_bytes(edited((mock_dataset / name).read_bytes(), changes))
    survives(lambda: read_shard(tmp_path / "rows.parquet", schema))


@bytewise
@given(edits, st.data())
def test_cells_of_tasks_and_rejects(mock_dataset: Path, changes: list[Edit], data: st.DataObject) -> None:
    reading = read_dataset(mock_dataset)
    for rows, check in ((reading.rows.tasks, check_task), (reading.rows.rejects, check_reject)):
        row = dict(data.draw(st.sampled_from(list(rows))))
        column = data.draw(st.sampled_from([name for name, value in row.items() if isinstance(value, str)]))
        row[column] = edited(row[column].encode(), changes).decode(errors="replace")
        survives(lambda row=row, check=check: check(row))  # type: ignore[misc]


@bytewise
@given(edits)
def test_a_database(mock_dataset: Path, tmp_path: Path, changes: list[Edit]) -> None:
    environment = load_environment(mock_dataset / "environments" / "mock")
    (tmp_path / "database.sqlite").write_bytes(edited((environment.folder / "database.sqlite").read_bytes(), changes))
    survives(lambda: read_rows(environment, tmp_path))


@bytewise
@given(
    edits, st.sampled_from([("experts/paper.yaml", load_catalogue), ("training/configs/tiny_cpu.yaml", read_config)])
)
def test_a_catalogue_and_a_config(
    tmp_path: Path, changes: list[Edit], source: tuple[str, Callable[[Path], object]]
) -> None:
    path, read = source
    (tmp_path / "file.yaml").write_bytes(edited(Path(path).read_bytes(), changes))
    survives(lambda: read(tmp_path / "file.yaml"))


@pytest.mark.parametrize("schema", [TASK_SCHEMA, REJECT_SCHEMA, OUTCOME_SCHEMA])
def test_a_file_without_rows_is_a_file(tmp_path: Path, schema: object) -> None:
    (tmp_path / "rows.parquet").write_bytes(encode_rows([], schema))  # type: ignore[arg-type]
    assert read_shard(tmp_path / "rows.parquet", schema) == []  # type: ignore[arg-type]
