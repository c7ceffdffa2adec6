"""How tests are shared out to the processes of pytest-xdist: what needs one large thing, such as a JVM, stays in one process.

Two processes would each start a Spark, and each make it warm. So the tests of a folder of `TOGETHER` are the first that their process runs,
one folder in each; the rest is shared out, and stolen, as `--dist worksteal` does.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdist.scheduler import WorkStealingScheduling

TOGETHER = ("tests/spark_reports/", "tests/interop/")


def shared_out(tests: Sequence[str], processes: int) -> list[int]:
    """The numbers of the tests so that each process, which takes its even share from the front, begins with the folders that it keeps."""
    kept: list[list[int]] = [[] for _ in range(processes)]
    rest: list[int] = []
    for number, test in enumerate(tests):
        folder = next((place for place, prefix in enumerate(TOGETHER) if test.startswith(prefix)), None)
        (rest if folder is None else kept[folder % processes]).append(number)
    order: list[int] = []
    for process, own in enumerate(kept):
        share = (len(tests) - len(order)) // (processes - process)
        more = max(share - len(own), 0)
        order += own + rest[:more]
        del rest[:more]
    return order + rest


class TogetherScheduling(WorkStealingScheduling):  # type: ignore[misc]
    """Shares out by `shared_out` what has not begun."""

    def check_schedule(self) -> None:
        if self.collection is not None and len(self.pending) == len(self.collection):
            self.pending[:] = shared_out(self.collection, len(self.nodes))
        super().check_schedule()
