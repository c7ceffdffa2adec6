"""What a task does first in the worker of Spark that runs it."""

from __future__ import annotations

import gc
import sys
from typing import Final

_TASKS_MAX: Final = 2
"""The first task brings our modules, the next one finds what they keep, such as compiled schemas."""
_tasks = 0


def begin_task() -> None:
    """Take what there is by now out of the sight of the garbage collector, in the first tasks of a worker.

    A worker collects garbage after each task, and looks at every object of all modules: two fifths of its time for tasks of 8 MiB.
    Nothing happens in a process that is no worker.
    """
    global _tasks
    if _tasks < _TASKS_MAX and "pyspark.worker" in sys.modules:
        _tasks += 1
        gc.freeze()
