"""What the controller decides: an answer, and the records that have to be committed before it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from metashell.codec.error_codes import POLICY_VIOLATION
from metashell.errors import MetashellError
from metashell.image.loss import VersionedRecord

RECORDS_MAX: Final = 10_000
"""The records of one batch, of one atomic decision, and of one user's request."""


class Decision(NamedTuple):
    """Records for the log, in order, and what to answer once they are committed and stable.

    Shape: `answer` is the response object of the request's API, None for a periodic task, and where raft answers. With `atomic`, the
    records are one batch or none. `leaving_broker` is a broker whose controlled shutdown counts from the last offset of this decision,
    -1 for none.
    `kraft_version` asks raft for that level of kraft.version, None for no change.
    """

    answer: Any = None
    records: Sequence[VersionedRecord] = ()
    atomic: bool = True
    leaving_broker: int = -1
    kraft_version: int | None = None

    def batches(self) -> Iterator[Sequence[VersionedRecord]]:
        """The records as the batches that they are appended in; none for a decision without records."""
        assert not self.atomic or len(self.records) <= RECORDS_MAX, "an atomic decision fits one batch"
        for start in range(0, len(self.records), RECORDS_MAX):
            yield self.records[start : start + RECORDS_MAX]


TaskResult = tuple[Decision, bool]
"""What a run of a periodic task writes, and whether there may be more to do."""


class ApiError(MetashellError):
    """Why a request, or one item of it, is refused: an error code and the message that a client shows."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or "")
        self.code = code
        self.message = message


class BoundedRecords(list[VersionedRecord]):
    """The records of one user's request.

    Errors: ApiError POLICY_VIOLATION for more than `RECORDS_MAX`; the whole request fails then.
    """

    def append(self, record: VersionedRecord) -> None:
        if len(self) >= RECORDS_MAX:
            raise ApiError(POLICY_VIOLATION, TOO_LARGE)
        super().append(record)

    def extend(self, records: Iterable[VersionedRecord]) -> None:
        for record in records:
            self.append(record)


TOO_LARGE: Final = "Unable to perform excessively large batch operation."
