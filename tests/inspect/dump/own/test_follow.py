"""--follow goes on with what is added, tells what is taken away, and moves on to the next segment."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metashell.inspect.dump.inputs import inputs_of
from metashell.inspect.dump.options import DumpOptions, Output
from metashell.inspect.dump.own_run import follow_input
from metashell.inspect.dump.own_session import Session
from tests.inspect.dump.making import batch, log, rows, topic, write

Step = Callable[[], object]


def follow_through(path: Path, *steps: Step, **options: Any) -> tuple[list[dict[str, Any]], str, int]:
    """Follow `path`, doing one step each time nothing is left to read, until all are done."""
    out, err = io.BytesIO(), io.StringIO()
    chosen = DumpOptions(files=(str(path),), cluster_metadata_decoder=True, follow=True, **options)
    run = Session(chosen, Output(out), err)
    left = list(steps)

    def wait() -> bool:
        if left:
            left.pop(0)()
            return True
        return False

    entries = list(inputs_of(str(path)))
    follow_input(run, entries[-1], None, wait)
    return rows(out.getvalue()), err.getvalue(), run.status


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_appended_is_printed(tmp_path: Path) -> None:
    path = write(tmp_path, log(3))
    found, err, _ = follow_through(path, lambda: append(path, batch([topic("x")], 3)), lambda: append(path, batch([topic("y")], 4)))
    assert [row["offset"] for row in found] == [0, 1, 2, 3, 4]
    assert err == ""


def test_a_batch_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path, log(3))
    data = batch([topic("x")], 3)
    found, err, status = follow_through(path, lambda: append(path, data[:30]), lambda: append(path, data[30:]))
    assert [row["offset"] for row in found] == [0, 1, 2, 3]
    assert (err, status) == ("", 0)


def test_space_that_is_kept_for_later_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path, log(3) + bytes(500))
    data = log(3) + batch([topic("x")], 3)
    found, _, status = follow_through(path, lambda: path.write_bytes(data + bytes(400)))
    assert [row["offset"] for row in found] == [0, 1, 2, 3]
    assert status == 0


def test_a_log_that_shrinks_has_a_line_and_goes_on(tmp_path: Path) -> None:
    first, second = log(3), batch([topic("lost")], 3)
    path = write(tmp_path, first + second)
    found, _, _ = follow_through(
        path, lambda: os.truncate(path, len(first)), lambda: append(path, batch([topic("kept")], 3, leader_epoch=4))
    )
    assert [row["kind"] for row in found] == ["record"] * 4 + ["truncated", "record"]
    shrink = found[4]
    assert (shrink["position"], shrink["size"]) == (len(first), len(second))
    assert found[5]["data"]["name"] == "kept"


def test_the_next_segment_of_a_directory_follows(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    path = write(directory, log(3))

    def roll() -> None:
        append(path, batch([topic("last")], 3))
        write(directory, batch([topic("next")], 4), "00000000000000000004.log")

    found, err, status = follow_through(directory, roll)
    assert [row["offset"] for row in found] == [0, 1, 2, 3, 4]
    assert found[-1]["file"].endswith("00000000000000000004.log")
    assert (err, status) == ("", 0)


def test_garbage_ends_it_with_a_fault(tmp_path: Path) -> None:
    path = write(tmp_path, log(3))
    found, err, status = follow_through(path, lambda: append(path, b"\xff" * 100), lambda: append(path, b"more"))
    assert [row["kind"] for row in found] == ["record"] * 3 + ["corrupt"]
    assert status == 1
    assert "batch length -1" in err
