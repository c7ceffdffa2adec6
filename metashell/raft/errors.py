"""What calls of the own application raise; nothing that a peer sends ever raises."""

from __future__ import annotations

from metashell.errors import MetashellError


class RaftError(MetashellError):
    """What every error of a call into a replica is."""


class NotLeaderError(RaftError):
    """The replica does not lead, or not in the epoch that the caller named."""


class RecordBatchTooLargeError(RaftError):
    """The values of one atomic append do not fit in a batch; nothing was appended."""


class BufferAllocationError(RaftError):
    """Too much was prepared and not yet written; nothing was appended. Try again after the next step."""


class InvalidUpdateVersionError(RaftError):
    """A level of kraft.version that cannot be finalized; nothing was appended."""
