"""What a task does first: only in a worker, and only in its first tasks."""

from __future__ import annotations

import gc
import sys

import pytest

from spark_reports import source

pytestmark = pytest.mark.slow


def test_the_first_tasks_of_a_worker_freeze_what_there_is_and_no_other_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(source, "_tasks", 0)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    monkeypatch.delitem(sys.modules, "pyspark.worker", raising=False)
    source.begin_task()
    assert not frozen
    monkeypatch.setitem(sys.modules, "pyspark.worker", sys)
    for _ in range(5):
        source.begin_task()
    assert len(frozen) == 2
