"""A store that the query of a URI names: what is there is judged as from files here, whether the query has slashes or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import MetashellError
from metashell.tables import plan_splits
from metashell.tables.reports.catalog import REPORTS
from metashell.tables.reports.local import run_local
from metashell.tables.stores import open_store
from tests.tables.lake.lakes import commits, names, node, run, segment, topics
from tests.tables.lake.test_lake import checkpoint

CHECKPOINT = "00000000000000000030-0000000001.checkpoint"


@pytest.fixture(params=["slashes", "words"])
def query(request: pytest.FixtureRequest, s3: str, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What follows the address of a bucket in a URI."""
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    place = s3_server.removeprefix("http://")
    return f"?endpoint_override=http://{place}" if request.param == "slashes" else f"?endpoint_override={place}&scheme=http"


def put(folder: Path, uri: str) -> str:
    store = open_store(uri)
    for path in folder.rglob("*"):
        if path.is_file():
            store.put(str(path.relative_to(folder)), path.read_bytes())
    return uri


def test_a_checkpoint_beside_a_log_says_where_that_begins(s3: str, query: str, tmp_path: Path) -> None:
    log = node(tmp_path / "late")
    (log / segment(20)).write_bytes(topics(20, 20))
    (log / CHECKPOINT).write_bytes(checkpoint(8))
    uri = put(tmp_path / "late", f"{s3}/late{query}")
    begins = {piece.begins_by for split in plan_splits([uri]) for piece in split.pieces if not piece.checkpoint}
    assert (
        begins
        == {piece.begins_by for split in plan_splits([str(tmp_path / "late")]) for piece in split.pieces if not piece.checkpoint}
        == {30}
    )
    assert run(tmp_path / "lake", uri).rows["topic"] == 28  # type: ignore[arg-type]


def test_a_segment_that_is_missing_is_missed(s3: str, query: str, tmp_path: Path) -> None:
    log, out = node(tmp_path / "grow"), tmp_path / "lake"
    (log / segment(0)).write_bytes(topics(0, 10))
    run(out, put(tmp_path / "grow", f"{s3}/grow{query}"))  # type: ignore[arg-type]
    (log / segment(20)).write_bytes(topics(20, 10))
    with pytest.raises(MetashellError, match="offsets 10 to 19 are missing"):
        run(out, put(tmp_path / "grow", f"{s3}/grow{query}"))  # type: ignore[arg-type]
    (log / segment(10)).write_bytes(topics(10, 10))
    run(out, put(tmp_path / "grow", f"{s3}/grow{query}"))  # type: ignore[arg-type]
    assert len(names(out)) == 30


def test_partitions_with_equal_offsets_are_logs_of_their_own(s3: str, query: str, tmp_path: Path) -> None:
    for number in (2, 3):
        (tmp_path / "node" / f"__consumer_offsets-{number}").mkdir(parents=True)
        (tmp_path / "node" / f"__consumer_offsets-{number}" / segment(0)).write_bytes(commits(0, 6))
    node(tmp_path / "node")
    uri = put(tmp_path / "node", f"{s3}/node{query}")
    for name in ("group_commits", "group_expiring", "group_rebalances"):
        here, there = (run_local([REPORTS[name]], [place]).tables[name].to_pylist() for place in (str(tmp_path / "node"), uri))
        assert there == here
    assert sum(row["commits"] for row in run_local([REPORTS["group_commits"]], [uri]).tables["group_commits"].to_pylist()) == 12
