"""The same pages over s3://, served by a real S3 server on this machine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from moto.server import ThreadedMotoServer
from scheduled_runs import MONDAY, TUESDAY, reject, write_shard
from toolscale_ui.card import Cards
from toolscale_ui.data_folder import DataFolder
from toolscale_ui.nights import Nights
from toolscale_ui.query import Query
from toolscale_ui.rejects import Rejects

from toolscale.errors import StorageError


@pytest.fixture
def bucket(data: Path, mock_dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both runs in a bucket; Tuesday's has a dataset."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    fsspec.filesystem("s3").clear_instance_cache()
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    name = f"nightly-{secrets.token_hex(4)}"  # servers of one process share their buckets
    store.mkdir(name)
    store.put(str(data), f"{name}/toolscale", recursive=True)
    store.put(str(mock_dataset), f"{name}/toolscale/runs/tuesday/mock/dataset", recursive=True)
    yield f"s3://{name}/toolscale"
    server.stop()


def test_rejects_nights_and_cards_are_read_from_object_storage(bucket: str, tmp_path: Path) -> None:
    folder = DataFolder(bucket, listing_seconds=0)
    rejects = Rejects(folder)
    assert [row["number"] for row in rejects.page(Query()).rows] == [3, 4, 1, 2, 5]
    row = rejects.case(MONDAY, "finance", 5)
    assert row is not None and row["path"] == "runs/monday/finance/rejects/finance-001.parquet"
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    store.pipe(f"{bucket}/training/mine/trained_on.json", b'{"sha256": null}')
    store.pipe(f"{bucket}/runs/monday/finished.json", b'{"finished": "2026-11-16T02:30:05+00:00", "complete": false}')
    nights = Nights(folder).page(1)
    assert [(night.folder, night.state, night.made and night.made.tasks) for night in nights.nights] == [
        ("tuesday", "in progress", 10),
        ("monday", "ended", None),
    ]
    assert Cards(folder).card("tuesday", "mock")[0] == TUESDAY
    store.put(
        str(write_shard(tmp_path, "monday", MONDAY, 2, [reject(7, "novel")])),
        f"{bucket}/runs/monday/finance/rejects/finance-002.parquet",
    )
    store.pipe(f"{bucket}/runs/monday/finance/rejects/finance-001.parquet", b"PAR1 and no more")
    assert [row["number"] for row in rejects.page(Query()).rows] == [3, 4, 1, 2, 7]
    assert list(rejects.corrupt) == ["runs/monday/finance/rejects/finance-001.parquet"]


def test_a_store_that_does_not_answer_is_an_error_and_a_password_is_not_told(bucket: str) -> None:
    with pytest.raises(StorageError, match="no bucket"):
        Rejects(DataFolder("s3://nowhere/toolscale")).page(Query())
    with pytest.raises(StorageError) as caught:
        DataFolder("s3nosuch://me:secret@bucket/x")
    assert "secret" not in str(caught.value)
