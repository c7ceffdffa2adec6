"""What the driver needs of a log beyond what the core does: to make it durable, from another thread."""

from __future__ import annotations

from typing import Any, Protocol

from metashell.raft.protocols import ReplicatedLog


class DurableLog(ReplicatedLog, Protocol):
    """A log on disk. One flush at a time: begun and finished on the loop's thread, synced in another one, beside whatever happens."""

    def begin_flush(self) -> Any:
        """Note all that was appended so far."""

    def sync(self, token: Any) -> None:
        """Wait for the disk. Errors: OSError."""

    def finish_flush(self, token: Any) -> int:
        """What is durable now: less than was noted where some of it was cut off meanwhile. Errors: OSError."""

    def delete_due(self, now_ms: int) -> int | None:
        """Remove files that are out of use for long enough; when to call again, None where none wait. Errors: OSError."""

    def close(self) -> None:
        """Nothing follows."""
