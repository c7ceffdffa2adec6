"""A decision of the controller: the request, the records that must be committed before the answer is sent, and the steps that lead to it.

Records are written at the versions that the cluster's metadata.version asks for; only here.

`Steps` is a generator that yields where it may rest and returns what it came to. The driver decides how long it runs before it rests: a
piece between two yields takes at most a few milliseconds, so the driver runs pieces until its slice of time is over.

`Purgatory` keeps the answers that wait until what they say is committed. `Chance` is the randomness that the controller is handed: ids, and
the numbers that placement draws.

Source: org.apache.kafka.server.common.MetadataVersion, org.apache.kafka.controller.ControllerResult."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from metashell.codec import messages
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_answers import error_answer
from metashell.codec.error_codes import POLICY_VIOLATION
from metashell.codec.releases import ELR_FEATURE, KRAFT_VERSION, METADATA_VERSION, NEWEST_RELEASE, record_versions, supported_features
from metashell.common.errors import MetashellError
from metashell.common.values import uuid_text
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.provenance import VersionedRecord

RECORDS_MAX: Final = 10_000
"""The records of one batch, of one atomic decision, and of one user's request."""


class Decision(NamedTuple):
    """Records for the log, in order, and what to answer once they are committed and stable.

    Shape: `answer` is the response object of the request's API, None for a periodic task, and where raft answers. With `atomic`, the
    records are one batch or none. `leaving_broker` is a broker whose controlled shutdown counts from the last offset of this decision,
    -1 for none.
    `kraft_version` asks raft for that level of kraft.version, None for no change. `asked` is the request that an envelope held, with its
    own answer; None where there was no envelope.
    """

    answer: Any = None
    records: Sequence[VersionedRecord] = ()
    atomic: bool = True
    leaving_broker: int = -1
    kraft_version: int | None = None
    asked: tuple[Request, Any] | None = None

    def batches(self) -> Iterator[Sequence[VersionedRecord]]:
        """The records as the batches that they are appended in; none for a decision without records."""
        assert not self.atomic or len(self.records) <= RECORDS_MAX, "an atomic decision fits one batch"
        for start in range(0, len(self.records), RECORDS_MAX):
            yield self.records[start : start + RECORDS_MAX]


TaskResult = tuple[Decision, bool]
"""What a run of a periodic task writes, and whether there may be more to do."""


class ApiError(MetashellError):
    """The refusal of a request, or of one item of it: an error code and the message that a client shows."""

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


ANONYMOUS: Final = "User:ANONYMOUS"


class Request(NamedTuple):
    """One request of a client.

    Shape: `body` is the request object of codec; `principal` is `Type:Name`. A forwarded request is one that a broker handed on in
    an envelope, with its own client's principal. Units: `received_ms` is when it arrived, on the clock that decisions are given.
    """

    api_key: int
    version: int
    body: Any
    principal: str = ANONYMOUS
    client_id: str = ""
    host: str = "127.0.0.1"
    received_ms: int = 0
    is_forwarded: bool = False
    is_token_authenticated: bool = False
    security_protocol: int = 0
    listener: str = "CONTROLLER"

    def is_late(self, timeout_ms: int, now_ms: int) -> bool:
        """Whether the client no longer waits; a timeout of 0 is over at once."""
        return self.received_ms + timeout_ms <= now_ms


def refusal(request: Request, code: int, message: str | None = None) -> Any:
    """Return the answer that refuses a whole request. Errors: KeyError for an unknown API."""
    return error_answer(REQUESTS[request.api_key].removesuffix("Request"), request.body, request.version, code, message)


# Levels and records


TRANSACTIONS_LEVEL: Final = 13
LEADER_EPOCH_KEPT_LEVEL: Final = 12
"""From here on a smaller ISR no longer needs a new leader epoch."""
_JAVA_ORDER: Final = (
    "group.version",
    KRAFT_VERSION,
    METADATA_VERSION,
    "share.version",
    "streams.version",
    "transaction.version",
    ELR_FEATURE,
)
SUPPORTED_FEATURES: Final = {name: supported_features()[name] for name in _JAVA_ORDER}
"""What a controller of ours supports, in the order in which Kafka's says so."""

FENCE: Final = 1
UNFENCE: Final = -1

MIN_ISR: Final = "min.insync.replicas"
UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"


def partition_version(level: int) -> int:
    """The version of PartitionRecord and PartitionChangeRecord."""
    return record_versions(level).partition


def fencing_record(broker_id: int, epoch: int, fenced: int) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=fenced), 0


def shutdown_record(broker_id: int, epoch: int) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, in_controlled_shutdown=1), 1


def remaining_directories_record(broker_id: int, epoch: int, directories: tuple[bytes, ...]) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, log_dirs=directories), 2


def cordoned_directories_record(broker_id: int, epoch: int, directories: tuple[bytes, ...]) -> VersionedRecord:
    return messages.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, cordoned_log_dirs=directories), 3


def feature_level_record(name: str, level: int) -> VersionedRecord:
    return messages.FeatureLevelRecord(name=name, feature_level=level), 0


def config_record(resource_type: int, resource_name: str, name: str, value: str | None) -> VersionedRecord:
    return messages.ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value), 0


def clear_elr_record(topic: str) -> VersionedRecord:
    return messages.ClearElrRecord(topic_name=topic), 0


def metadata_level_of(image: MetadataImage) -> int:
    """The metadata.version of an image; before the bootstrap records it is the oldest that a controller takes."""
    return image.features.metadata_version or NEWEST_RELEASE.oldest_level


def elr_enabled(image: MetadataImage) -> bool:
    """Whether eligible leader replicas are on."""
    return image.features.levels.get(ELR_FEATURE, 0) > 0


def finalized_features(image: MetadataImage) -> dict[str, int]:
    """Every feature with its level, metadata.version and kraft.version among them."""
    levels: dict[str, int] = dict(image.features.levels.items())
    levels[METADATA_VERSION] = metadata_level_of(image)
    levels[KRAFT_VERSION] = image.features.kraft_version
    return levels


def is_config_of(record: Any, name: str) -> bool:
    return isinstance(record, messages.ConfigRecord) and record.name == name


# Work in steps


Made = TypeVar("Made")
Item = TypeVar("Item")

Steps = Generator[None, None, Made]
"""Work that may rest at each yield."""

PIECE: Final = 64
"""Small things, of some microseconds each, that are done in one piece."""


def finish_steps(work: Steps[Made]) -> Made:
    """Run steps to their end without a rest, and return their result."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def gather_steps(items: Iterable[Item | None], into: list[Item]) -> Steps[None]:
    """Take items into a list; None among them is a place to rest."""
    for item in items:
        if item is None:
            yield
        else:
            into.append(item)


def with_rests(items: Iterable[Item]) -> Iterator[Item | None]:
    """The items, with None among them now and then as a place to rest."""
    for number, item in enumerate(items, 1):
        yield item
        if not number % PIECE:
            yield None


Waiter = TypeVar("Waiter")


class Purgatory(Generic[Waiter]):
    """Waiting answers by the offset that has to be stable first; offsets never go down from one to the next."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Waiter]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, offset: int, waiter: Waiter) -> None:
        """Let `waiter` wait for `offset`, or, where that is lower, for the highest offset that another waits for."""
        if self._waiting:
            # Also an answer without records may rest on what others wrote and the quorum has not committed.
            offset = max(offset, self._waiting[-1][0])
        self._waiting.append((offset, waiter))

    def complete_to(self, stable_offset: int) -> list[Waiter]:
        """The waiters that need not wait any longer, in order."""
        done = []
        while self._waiting and self._waiting[0][0] <= stable_offset:
            done.append(self._waiting.popleft()[1])
        return done

    def take_all(self) -> list[Waiter]:
        """Everybody who waits, for a leader that is deposed: they are answered NOT_CONTROLLER."""
        waiting = [waiter for _, waiter in self._waiting]
        self._waiting.clear()
        return waiting


class Chance(Protocol):
    """The part of `random.Random` and `random.SystemRandom` that the controller uses."""

    def getrandbits(self, k: int, /) -> int: ...

    def randrange(self, stop: int, /) -> int: ...

    def shuffle(self, x: list[Any], /) -> None: ...


def new_uuid(chance: Chance) -> bytes:
    """A random id of Kafka's kind: version 4, never a reserved one, its text never begins with a dash.

    Source: org.apache.kafka.common.Uuid.randomUuid.
    """
    while True:
        number = chance.getrandbits(128)
        number = number & ~(0xF << 76) | 4 << 76
        number = number & ~(3 << 62) | 2 << 62
        raw = number.to_bytes(16, "big")
        if not uuid_text(raw).startswith("-"):
            return raw
