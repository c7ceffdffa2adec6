"""The state of clusters whose logs lie in a store: found there by listing, one group of copies a cluster."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError, PathError
from metashell.demo import demo_directory
from metashell.tables.state.clusters import NoMetadataError, copies_by_cluster, read_state
from tests.golden_cases import SUBSET_ROOT
from tests.tables.lake.lakes import SEGMENT, node, topics
from tests.tables.test_remote_s3 import upload

OTHER = SUBSET_ROOT / "3.9.2/main/data/stopped/node-1"


def test_copies_in_a_store_are_put_together_by_cluster_and_each_can_be_read_by_itself(s3: str, tmp_path: Path) -> None:
    shutil.copytree(demo_directory(), tmp_path / "dumps" / "a")
    shutil.copytree(OTHER, tmp_path / "dumps" / "b")
    for number, log in enumerate(sorted((tmp_path / "dumps").rglob("__cluster_metadata-0"))):
        (log.parent / "meta.properties").write_text(f"version=1\ncluster.id=cluster-{number}\nnode.id=1\n")
    here = str(tmp_path / "dumps")
    there = upload(f"{s3}/dumps", here)
    groups = copies_by_cluster([there])
    assert sorted(map(len, groups)) == sorted(map(len, copies_by_cluster([here]))) and len(groups) > 1
    assert all(uri.startswith(f"{there}/") for group in groups for uri in group)
    expected = {cluster.cluster_id: (cluster.image.provenance.end_offset, cluster.path) for cluster in read_state([here])}
    found = {cluster.cluster_id: cluster for group in groups for cluster in read_state(group)}
    assert {name: (cluster.image.provenance.end_offset, cluster.path.replace(there, here)) for name, cluster in found.items()} == expected
    # A log that is given twice is read once, and one from here may be among them.
    assert sorted(map(len, copies_by_cluster([there, f"{there}/a"]))) == sorted(map(len, groups))
    assert len(copies_by_cluster([f"{there}/a", str(tmp_path / "dumps" / "b")])) == len(groups)


QUERIES = ("?endpoint_override=http://{}", "?endpoint_override={}&scheme=http", "/?endpoint_override={}&scheme=http")


@pytest.mark.parametrize("query", QUERIES)
def test_a_uri_with_a_query_is_named_as_it_can_be_opened(
    s3: str, s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    query = query.format(s3_server.removeprefix("http://"))
    shutil.copytree(demo_directory(), tmp_path / "node-1" / "a b")
    there = upload(f"{s3}/dumps{query}", str(tmp_path))
    place = f"{s3}/dumps/node-1/a%20b/__cluster_metadata-0"
    ((listed,),) = copies_by_cluster([there])
    (cluster,) = read_state([there])
    assert cluster.path == listed == place + query.lstrip("/")
    (again,) = read_state([cluster.path])
    assert again[:2] == cluster[:2]
    # A cluster that is called by its folder, and an error.
    (tmp_path / "node-1" / "a b" / "meta.properties").unlink()
    bare = upload(f"{s3}/bare{query}", str(tmp_path))
    (cluster,) = read_state([bare])
    assert cluster.cluster_id == f"{s3}/bare/node-1/a%20b/__cluster_metadata-0"
    (tmp_path / "node-1" / "a b").rename(tmp_path / "node-1" / "d")
    segment = sorted((tmp_path / "node-1" / "d" / "__cluster_metadata-0").glob("*.log"))[-1]
    data = segment.read_bytes()
    segment.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    broken = upload(f"{s3}/broken{query}", str(tmp_path))
    with pytest.raises(MetashellError) as raised:
        read_state([broken])
    assert str(raised.value).startswith(f"{s3}/broken/node-1/d/__cluster_metadata-0/{segment.name}{query.lstrip('/')}: ")


def test_clusters_of_one_id_in_a_store_are_told_apart_by_their_uris(s3: str, tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        (node(tmp_path / "two" / name, cluster="c") / SEGMENT).write_bytes(topics(100 * number, 2))
    there = upload(f"{s3}/two", str(tmp_path / "two"))
    assert [found.cluster_id for found in read_state([there], on_error="skip")] == [
        f"c ({there}/{name}/__cluster_metadata-0)" for name in "ab"
    ]
    assert [found.cluster_id for found in read_state([f"{there}/a"])] == ["c"]


def test_where_a_store_does_not_tell_clusters_apart_all_copies_are_read_together(s3: str) -> None:
    log = Path(demo_directory()) / "__cluster_metadata-0"
    there = upload(f"{s3}/log", str(log))
    file = f"{there}/{sorted(path.name for path in log.glob('*.log'))[-1]}"
    assert copies_by_cluster([there, file]) == [[there, file]]


def test_a_store_without_metadata_logs_and_one_without_the_place_are_refused(s3: str, tmp_path: Path) -> None:
    with pytest.raises(PathError, match="No such file or directory"):
        copies_by_cluster([f"{s3}/none"])
    (tmp_path / "notes.txt").write_text("nothing")
    upload(f"{s3}/empty", str(tmp_path))
    with pytest.raises(NoMetadataError, match=r"empty: no metadata log here, which the tables of the state are made from$"):
        copies_by_cluster([f"{s3}/empty"])
