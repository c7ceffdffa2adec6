"""What goes wrong with a quorum that runs inside this process."""

from __future__ import annotations

from metashell.codec.error_codes import error_text
from metashell.errors import MetashellError


class QuorumError(MetashellError):
    """The quorum cannot do what was asked: it is stopped, a controller of it failed, or what was waited for did not come."""


class RefusedError(QuorumError):
    """A controller answered with an error. `code` is Kafka's number, `reason` the message that came with it, if any."""

    def __init__(self, what: str, code: int, reason: str | None) -> None:
        super().__init__(f"{what}: {error_text(code)}{f': {reason}' if reason else ''}")
        self.code = code
        self.reason = reason or ""


def nobody(what: str, timeout_s: float) -> QuorumError:
    """The error of a wait that was too long."""
    return QuorumError(f"{what}: not within {timeout_s:g} s")
