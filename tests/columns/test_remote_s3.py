"""Logs in S3: the same answers as from files here, and a store that fails, refuses or loses files while it is read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from metashell.columns import ReadOptions, plan_splits, read_split
from metashell.columns.inputs.splits import Split
from metashell.demo import demo_directory
from metashell.errors import LogCorruptError, PathError
from metashell.reports.catalog import REPORTS
from metashell.reports.local import run_local
from tests.s3_faults import DROP, FaultyS3


def upload(uri: str, folder: str) -> str:
    from metashell.stores.file_systems import file_system

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
    from metashell.reports.today import judge

    shutil.copytree(demo_directory(), tmp_path / "node")
    here = judge([str(tmp_path / "node")])
    assert [today.cluster_id for today in here.clusters] == ["Z29sZGVuLW1haW4tY2x1cw"]
    there = upload(f"{s3}/dumps/node", str(tmp_path / "node"))
    log = "__cluster_metadata-0/00000000000000000251.log"
    for uri in (there, f"{there}/", f"{there}/__cluster_metadata-0", f"{s3}/dumps"):
        assert judge([uri]) == here
    alone = judge([str(tmp_path / "node" / log)])
    assert judge([f"{there}/{log}"]).trouble == alone.trouble.replace(str(tmp_path / "node"), there) != ""
    (tmp_path / "node" / "meta.properties").unlink()
    data = (tmp_path / "node" / log).read_bytes()
    (tmp_path / "node" / log).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    there = upload(f"{s3}/damaged/node", str(tmp_path / "node"))
    for on_error in ("fail", "skip"):
        local, remote = judge([str(tmp_path / "node")], on_error=on_error), judge([there], on_error=on_error)
        assert remote.trouble == local.trouble.replace(str(tmp_path / "node"), there)
        assert [today.cluster_id for today in remote.clusters] == [
            today.cluster_id.replace(str(tmp_path / "node"), there) for today in local.clusters
        ]
    assert str(judge([f"{s3}/none"]).trouble) == f"{s3}/none: No such file or directory"


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
    from metashell.stores.file_systems import file_system

    splits = plan_splits(uri, 1000)
    system, top = file_system(uri)
    system.delete_file(f"{top}/{lost}")
    return splits


def test_a_file_that_is_gone_when_it_is_read_is_one_line(s3: str) -> None:
    there = upload(f"{s3}/logs", demo_directory())
    name = "__cluster_metadata-0/00000000000000000251.log"
    with pytest.raises(PathError, match=f"^{there}/{name}: "):
        for split in plan_and_lose(there, name):
            list(read_split(split, ReadOptions(on_error="skip")))


def test_a_file_that_goes_while_it_is_read_is_a_fault(s3: str) -> None:
    from metashell.columns.inputs.remote import open_remote
    from metashell.stores.file_systems import file_system

    there = upload(f"{s3}/logs", demo_directory())
    place = f"{there}/__cluster_metadata-0/00000000000000000251.log"
    with open_remote(place) as file:
        assert len(file.read_at(0, 100)) == 100
        system, path = file_system(place)
        system.delete_file(path)
        assert (file.read_at(100, 100), bool(file.trouble)) == (b"", True)
        assert str(file.trouble) == f"{place}: it was removed while it was read"


def test_credentials_that_do_not_open_the_store_are_one_line(s3: str, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = upload(f"{s3}/logs", demo_directory())
    with FaultyS3(s3_server, lambda request: 403 if request.number > 6 else None) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        with pytest.raises((PathError, LogCorruptError), match=f"^{there}.*(ExpiredToken|ACCESS_DENIED)"):
            rows(there)
