"""Ids of clusters and names of logs that mean harm: their rows are in a lake as they are, and no path is made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.tables.lake.appends import read_state
from metashell.tables.stores import open_store
from tests.tables.lake.lakes import SEGMENT, commits, node, rows, run, topics

CLUSTERS = (
    "..",
    ".",
    "a/b",
    "/etc",
    "../../up",
    "a\nb",
    "a\0b",
    "%2F",
    "__HIVE_DEFAULT_PARTITION__",
    "é 東",
    "a=b:*?[e]{f}'\"#\\",
    "x" * 300,
)
FOLDERS = ("..%2F..%2Fup-0", "a=b-0", "a\nb-0", "month=2026-01", "'\"*?-0", "é-0", "z" * 250 + "-0")


def quoted(text: str) -> str:
    """A value of a properties file."""
    return "".join(letter if letter.isalnum() and letter.isascii() else f"\\u{ord(letter):04x}" for letter in text)


@pytest.mark.parametrize("is_local", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_hostile_names_have_their_rows_and_no_path_of_their_own(tmp_path: Path, request: pytest.FixtureRequest, is_local: bool) -> None:
    out = str(tmp_path / "a" / "lake") if is_local else f"{request.getfixturevalue('s3')}/a/lake"
    metadata = [node(tmp_path / "in" / str(number), cluster=quoted(cluster)) for number, cluster in enumerate(CLUSTERS)]
    offsets = [tmp_path / "in" / "offsets" / name for name in FOLDERS]
    for log in metadata:
        (log / SEGMENT).write_bytes(topics(0, 2))
    for log in offsets:
        log.mkdir(parents=True)
        (log / SEGMENT).write_bytes(commits(0, 2))
    (tmp_path / "in" / "offsets" / "meta.properties").write_text("version=1\ncluster.id=offsets\nnode.id=1\n", "utf-8")
    for count in (2, 0):
        assert run(out, *metadata).rows.get("topic", 0) == count * len(CLUSTERS)
        assert run(out, *offsets, log="offsets").rows.get("offset_commit", 0) == count * len(FOLDERS)
    assert sorted(row["cluster_id"] for row in rows(out)) == sorted(CLUSTERS * 2)
    assert sorted(row["log"] for row in rows(out, "offset_commit")) == sorted(FOLDERS * 2)
    store = open_store(out)
    assert {key.cluster for key in read_state(store).logs} == {*CLUSTERS, "offsets"}
    # All paths are of tables, of months and of parts of ours.
    assert {file.name.split("/")[0] for file in store.files()} == {"appends", "batches", "offset_commit", "topic"}
    assert all(part.isascii() and len(part) < 80 for file in store.files() for part in file.name.split("/"))
    above = open_store(out.rpartition("/a/")[0]).files()
    assert {file.name.partition("/")[0] for file in above} == ({"a", "in"} if is_local else {"a"})
