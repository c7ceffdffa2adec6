"""What goes wrong with a quorum that runs inside this process."""

from __future__ import annotations

from metashell.errors import MetashellError


class QuorumError(MetashellError):
    """The quorum cannot do what was asked: it is stopped, a controller of it failed, or what was waited for did not come."""


class RefusedError(QuorumError):
    """A controller answered with an error. `code` is Kafka's number, `name` its name, `reason` the message that came with it, if any."""

    def __init__(self, what: str, code: int, name: str, reason: str | None) -> None:
        super().__init__(f"{what}: {name}{f': {reason}' if reason else ''}")
        self.code = code
        self.name = name
        self.reason = reason or ""
