"""What is too much for one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from tests.tables.lake.lakes import DAY, SEGMENT, left_over, names, node, run, topics


@pytest.mark.parametrize("target_bytes", [1, 1 << 20])
def test_more_files_than_a_commit_takes_are_refused_as_soon_as_that_is_known(
    tmp_path: Path, target_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once one task, or several, have made too many."""
    out = tmp_path / "lake"
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 9, step=32 * DAY))
    said = rf"^{out}: what is new needs more than 4 files, .*: give fewer logs at a time \(the next export adds the rest\), or begin"
    with monkeypatch.context() as patch:
        patch.setattr("metashell.tables.lake.write_tasks.FILES_MAX", 4)
        with pytest.raises(UsageError, match=said):
            run(out, tmp_path / "node", tables=("topic", "batches"), target_bytes=target_bytes)
    assert left_over(out) == []
    run(out, tmp_path / "node", tables=("topic", "batches"))
    assert len(names(out)) == 9
