"""What is too much for one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from tests.tables.lake.lakes import DAY, SEGMENT, left_over, node, rows, run, topics


@pytest.mark.parametrize("days", [1, 9])
def test_more_files_than_a_commit_takes_are_refused_as_soon_as_that_is_known(
    tmp_path: Path, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More clusters than files: before anything is written. More days: once one task, or several, have made too many."""
    monkeypatch.setattr("metashell.tables.lake.layout.FILES_MAX", 4)
    out, clusters = tmp_path / "lake", 5 if days == 1 else 2
    for number in range(clusters):
        (node(tmp_path / f"{number}", cluster=f"cluster-{number}") / SEGMENT).write_bytes(topics(0, days, step=DAY))
    paths = [tmp_path / f"{number}" for number in range(clusters)]
    if days == 1:
        monkeypatch.setattr("metashell.tables.lake.append._write", lambda *_: pytest.fail("was written"))
    said = rf"^{out}: what is new needs more than 4 files, .*: give fewer logs at a time \(the next export adds the rest\), or begin"
    for target_bytes in (1, 1 << 20):
        with pytest.raises(UsageError, match=said):
            run(out, *paths, tables=("topic",), target_bytes=target_bytes)
        assert left_over(out) == [] and not list(tmp_path.glob("lake/**/*.parquet"))
    if days == 1:
        monkeypatch.undo()
        for path in paths:
            run(out, path, tables=("topic",))
        assert len(rows(out)) == 5
