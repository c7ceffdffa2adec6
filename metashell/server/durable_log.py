"""What the driver needs of a log beyond what the core does: to make it durable, from another thread."""

from __future__ import annotations

from typing import Any, Protocol

from metashell.raft.protocols import ReplicatedLog


class Work(Protocol):
    """Steps on the disk. `is_awaited`: nothing of the step that left it may be seen, and no other one be made, before it is done."""

    @property
    def is_awaited(self) -> bool: ...

    def carry_out(self) -> None:
        """Do it, in any thread. Errors: OSError."""


class DurableLog(ReplicatedLog, Protocol):
    """A log on disk. One flush at a time: begun and finished on the loop's thread, synced in another one, beside whatever happens."""

    def begin_flush(self) -> Any:
        """Note all that was appended so far."""

    def sync(self, token: Any) -> None:
        """Wait for the disk. Errors: OSError."""

    def finish_flush(self, token: Any) -> int:
        """What is durable now: less than was noted where some of it was cut off meanwhile. Errors: OSError."""

    def defer(self) -> None:
        """From now on what a call wants of the disk, beyond what the system's cache takes, waits to be taken as work."""

    def take_work(self) -> Work | None:
        """What the calls so far have left to be done, None for nothing. One thread does all that is taken, in order."""

    def delete_due(self, now_ms: int) -> int | None:
        """Remove files that are out of use for long enough, in the thread that does the work.

        Gives the time to call again, None where none wait. Errors: OSError.
        """

    def close(self) -> None:
        """Nothing follows."""
