"""Logs in S3: the same answers as from files here, and a store that fails, refuses or loses files while it is read."""

from __future__ import annotations

import gzip
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import MetashellError, PathError
from metashell.demo import demo_directory
from metashell.disk.names import OFFSETS
from metashell.tables import ReadOptions, plan_splits, read_split
from metashell.tables.reports.catalog import REPORTS
from metashell.tables.reports.local import run_local
from metashell.tables.splits import Split
from metashell.tables.sql.query import query
from metashell.tables.stores import open_store
from tests.s3 import KEY, REGION
from tests.s3_faults import DROP, FaultyS3
from tests.tables.lake.lakes import run, topics


def upload(uri: str, folder: str) -> str:
    from metashell.tables.stores.file_systems import file_system

    system, top = file_system(uri)
    for below, _, names in os.walk(folder):
        for name in names:
            path = Path(below, name)
            with system.open_output_stream(f"{top}/{path.relative_to(folder)}") as file:
                file.write(path.read_bytes())
    return uri


def rows(*paths: str) -> dict[str, list[dict[str, Any]]]:
    """All rows by table, without the columns that name the place."""
    found: dict[str, list[dict[str, Any]]] = {}
    for split in plan_splits(paths, every_checkpoint=True):
        for table, batch in read_split(split, ReadOptions()):
            found.setdefault(table, []).extend(batch.drop_columns(["file"]).to_pylist())
    return found


def test_every_report_answers_as_from_files_here(s3: str) -> None:
    here = demo_directory()
    there = upload(f"{s3}/a b".replace(" ", "%20"), here)
    wanted = [REPORTS["metadata_growth"], REPORTS["broker_sessions"]]
    answers = run_local(wanted, [here]).tables
    assert {row["source"] for row in answers["metadata_growth"].to_pylist()} == {"log", "snapshot"}
    for uri in (there, f"{there}/", there.replace("s3:", "s3a:")):
        assert run_local(wanted, [uri]).tables == answers


def test_the_state_at_the_end_is_judged_as_from_files_here(s3: str, tmp_path: Path) -> None:
    from metashell.tables.reports.page import Judged, judge_clusters

    def said(judged: Judged) -> list[Any]:
        told = [
            (one.cluster_id, one.as_of, [(finding.check.id, finding.count, names) for finding, names in one.findings])
            for one in judged.clusters
        ]
        return [judged.trouble, *told]

    shutil.copytree(demo_directory(), tmp_path / "node")
    here = judge_clusters([str(tmp_path / "node")])
    assert [today.cluster_id for today in here.clusters] == ["Z29sZGVuLW1haW4tY2x1cw"]
    there = upload(f"{s3}/dumps/node", str(tmp_path / "node"))
    log = "__cluster_metadata-0/00000000000000000251.log"
    for uri in (there, f"{there}/", f"{there}/__cluster_metadata-0", f"{s3}/dumps"):
        assert said(judge_clusters([uri])) == said(here)
    alone = judge_clusters([str(tmp_path / "node" / log)])
    assert judge_clusters([f"{there}/{log}"]).trouble == alone.trouble.replace(str(tmp_path / "node"), there) != ""
    (tmp_path / "node" / "meta.properties").unlink()
    data = (tmp_path / "node" / log).read_bytes()
    (tmp_path / "node" / log).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    there = upload(f"{s3}/damaged/node", str(tmp_path / "node"))
    for on_error in ("fail", "skip"):
        local, remote = judge_clusters([str(tmp_path / "node")], on_error=on_error), judge_clusters([there], on_error=on_error)
        assert remote.trouble == local.trouble.replace(str(tmp_path / "node"), there)
        assert [today.cluster_id for today in remote.clusters] == [
            today.cluster_id.replace(str(tmp_path / "node"), there) for today in local.clusters
        ]
    assert str(judge_clusters([f"{s3}/none"]).trouble) == f"{s3}/none: No such file or directory"


@pytest.mark.parametrize("status", [503, DROP])
def test_a_store_that_fails_every_tenth_request_is_read_whole(
    s3: str, s3_server: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = upload(f"{s3}/logs", demo_directory())
    with FaultyS3(s3_server, lambda request: status if request.number % 10 == 3 else None) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        found = rows(there)
        assert len(faulty.seen) > 20
    assert found == rows(demo_directory())


def plan_and_lose(uri: str, lost: str) -> list[Split]:
    from metashell.tables.stores.file_systems import file_system

    splits = plan_splits(uri, 1000)
    system, top = file_system(uri)
    system.delete_file(f"{top}/{lost}")
    return splits


def test_a_file_that_is_gone_when_it_is_read_is_one_line(s3: str) -> None:
    there = upload(f"{s3}/logs", demo_directory())
    name = "__cluster_metadata-0/00000000000000000251.log"
    with pytest.raises(PathError, match=f"^{there}/{name}: No such file or directory$"):
        for split in plan_and_lose(there, name):
            list(read_split(split, ReadOptions(on_error="skip")))


def test_a_file_that_goes_while_it_is_read_is_a_fault(s3: str) -> None:
    from metashell.tables.remote_files import open_remote
    from metashell.tables.stores.file_systems import file_system

    open_store(s3).put("logs/long.log", b"x" * 200_000)
    place = f"{s3}/logs/long.log"
    with open_remote(place) as file:
        assert len(file.read_at(0, 100)) == 100
        system, path = file_system(place)
        system.delete_file(path)
        # What was read with its beginning is there yet.
        assert (file.read_at(100, 100), file.trouble) == (b"x" * 100, None)
        assert (file.read_at(100_000, 100), bool(file.trouble)) == (b"", True)
        assert str(file.trouble) == f"{place}: it was removed while it was read"


def test_credentials_that_do_not_open_the_store_are_one_line(s3: str, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = upload(f"{s3}/logs", demo_directory())
    with FaultyS3(s3_server, lambda request: 403 if request.number > 6 else None) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        with pytest.raises(MetashellError, match=f"^{there}.*: the credentials have expired "):
            rows(there)


def test_no_error_of_a_library_says_what_opens_the_store(s3: str, s3_server: str, tmp_path: Path) -> None:
    """Commands cut keys from whatever they print, but Spark writes down what it catches, and so may others."""
    secret = "wJalr/XUtnFEMI+K7MDENG"
    store = open_store(s3)
    data = write_batch(0, [Record(0, 1, b"k", b"v")], leader_epoch=1)
    for name, content in {
        "other/orders-0/00000000000000000000.log": data,
        "other/orders-0/00000000000000000000.log.gz": gzip.compress(data),
        "empty/__cluster_metadata-0/00000000000000000000.log": b"",
        "spoilt/__cluster_metadata-0/00000000000000000005-0000000001.checkpoint": b"junk",
        "good/__cluster_metadata-0/00000000000000000000.log": topics(0, 4),
        "none/readme.txt": b"",
        "again/__cluster_metadata-0/00000000000000000000.log": topics(0, 4, name="other"),
    }.items():
        store.put(name, content)
        store.put(f"{name.partition('/')[0]}/meta.properties", b"version=1\ncluster.id=quokka\nnode.id=1\n")
    more = urlencode({"endpoint_override": s3_server, "region": REGION})
    uri = f"s3://{KEY}:{quote(secret, safe='')}@{s3.removeprefix('s3://')}/{{}}?{more}"
    run(tmp_path / "lake", uri.format("good"))
    seen = 0
    for name in (
        "none",
        "other",
        "other/orders-0/00000000000000000000.log",
        "other/orders-0/00000000000000000000.log.gz",
        "empty",
        "spoilt",
    ):
        path = uri.format(name)
        for log in (None, OFFSETS):
            asked: list[Callable[[], Any]] = [
                lambda path=path, log=log: [list(read_split(split, ReadOptions())) for split in plan_splits(path, log=log)],
                lambda path=path, log=log: list(query("select * from records", [path], log=log).rows),
                lambda path=path, log=log: run(tmp_path / "new", path, log=log),
                lambda: run(tmp_path / "lake", uri.format("again")),
            ]
            for ask in asked:
                try:
                    ask()
                except MetashellError as error:
                    seen += 1
                    said = f"{error} {vars(error)} {pickle.loads(pickle.dumps(error))}"
                    assert secret not in said and quote(secret, safe="") not in said, said
    assert seen > 30
