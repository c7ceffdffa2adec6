"""State of the active controller that is in no record and ends with its leadership: heartbeats and mutation quotas.

`Heartbeats` has contact times and metadata offsets of brokers. `MutationQuotas` bounds how many partitions a client may create and delete:
a bucket of tokens for each user and client that has a quota.

Source: org.apache.kafka.controller.BrokerHeartbeatManager, BrokerHeartbeatTracker;
org.apache.kafka.server.quota.ControllerMutationQuotaManager, org.apache.kafka.common.metrics.stats.TokenBucket."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from math import isfinite
from typing import Final

from metashell.codec.error_codes import THROTTLING_QUOTA_EXCEEDED
from metashell.metadata.image import ClientQuotasImage, QuotaEntity
from metashell.quorum.controller.decision import ApiError, Request
from metashell.quorum.controller.settings import Settings


@dataclass(slots=True)
class Beat:
    """One broker as its heartbeats show it.

    Shape: offsets are -1 while unknown; a broker shuts down from the offset at which its leaderships had moved away.
    """

    fenced: bool
    metadata_offset: int = -1
    shutdown_offset: int = -1

    @property
    def is_shutting_down(self) -> bool:
        return self.shutdown_offset >= 0

    @property
    def is_active(self) -> bool:
        return not self.fenced and not self.is_shutting_down


class Heartbeats:
    """The volatile state of all brokers, and who was heard of when.

    Contact times are kept by (id, epoch), so that a former incarnation that still sends does not extend the lease of the next one.
    """

    def __init__(self, session_timeout_ms: int) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._beats: dict[int, Beat] = {}
        self._contacts: OrderedDict[tuple[int, int], int] = OrderedDict()

    def contact(self, broker_id: int, epoch: int, now_ms: int) -> None:
        """Note that a broker was heard of."""
        key = broker_id, epoch
        known = self._contacts.get(key)
        if known is None or known < now_ms:
            self._contacts[key] = now_ms
            self._contacts.move_to_end(key)

    def contacted_ms(self, broker_id: int, epoch: int) -> int | None:
        """Return the time of the last heartbeat of this incarnation; None without one, or after its session."""
        return self._contacts.get((broker_id, epoch))

    def has_session(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        """Whether exactly this life of a broker was heard of within the session timeout."""
        at = self._contacts.get((broker_id, epoch))
        return at is not None and at + self._session_timeout_ms >= now_ms

    def expired(self, now_ms: int) -> tuple[int, int] | None:
        """The (id, epoch) that was silent the longest; None if nobody's session is over."""
        # Contacts are kept in the order of their times, so the first one is the oldest.
        for key, at in self._contacts.items():
            return None if at + self._session_timeout_ms >= now_ms else key
        return None

    def forget(self, broker_id: int, epoch: int) -> None:
        """Forget the session of that incarnation of a broker."""
        self._contacts.pop((broker_id, epoch), None)

    def prolong(self, held_ms: int, now_ms: int) -> None:
        """Prolong every session by the time in which this process read nothing, up to a full session from now."""
        for key, at in self._contacts.items():
            self._contacts[key] = min(at + held_ms, now_ms)

    def register(self, broker_id: int, fenced: bool) -> None:
        """Take a broker as its registration says; where only its fencing changed, its metadata offset stays."""
        beat = self._beats.get(broker_id)
        if beat is None:
            beat = self._beats[broker_id] = Beat(fenced)
        offset = -1 if beat.fenced == fenced else beat.metadata_offset
        self.touch(broker_id, fenced, offset)

    def forget_offset(self, broker_id: int) -> None:
        """A registration changed in something else than fencing: how far the broker has read is unknown until its next heartbeat."""
        beat = self._beats.get(broker_id)
        if beat is not None:
            beat.metadata_offset = -1

    def touch(self, broker_id: int, fenced: bool, metadata_offset: int) -> None:
        beat = self._beats.get(broker_id)
        if beat is None:
            return
        beat.fenced = fenced
        beat.metadata_offset = metadata_offset
        if fenced:
            beat.shutdown_offset = -1

    def remove(self, broker_id: int) -> None:
        self._beats.pop(broker_id, None)

    def fence(self, broker_id: int) -> None:
        """Mark a broker as fenced: its session is over."""
        beat = self._beats.get(broker_id)
        if beat is not None:
            beat.fenced = True
            beat.shutdown_offset = -1

    def begin_shutdown(self, broker_id: int, offset: int) -> None:
        """From `offset` on the broker leads nothing; only the first time counts."""
        beat = self._beats.get(broker_id)
        if beat is not None and beat.shutdown_offset < 0:
            beat.shutdown_offset = offset

    def beat(self, broker_id: int) -> Beat | None:
        return self._beats.get(broker_id)

    def is_shutting_down(self, broker_id: int) -> bool:
        beat = self._beats.get(broker_id)
        return beat is not None and beat.is_shutting_down

    def lowest_active_offset(self) -> int | None:
        """The lowest metadata offset of an active broker; None without one."""
        return min((beat.metadata_offset for beat in self._beats.values() if beat.is_active), default=None)

    def usable(self) -> list[tuple[int, bool]]:
        """(id, fenced) of every broker that replicas may be placed on, as far as heartbeats go."""
        return [(broker_id, beat.fenced) for broker_id, beat in self._beats.items() if not beat.is_shutting_down]


# Mutation quotas


QUOTA_KEY: Final = "controller_mutation_rate"
BUCKETS_KEPT: Final = 10_000
THROTTLE_MAX_MS: Final = (1 << 31) - 1
_Key = tuple[str | None, str | None]


@dataclass(slots=True)
class _Bucket:
    tokens: float
    rate: float
    filled_ms: int


class MutationQuotas:
    """The buckets of all clients; they die with the process, as in Kafka."""

    def __init__(self, settings: Settings) -> None:
        self._windows_s = settings.number("controller.quota.window.num") * settings.number("controller.quota.window.size.seconds")
        self._buckets: dict[_Key, _Bucket] = {}
        self._count_max = BUCKETS_KEPT

    def charge(self, quotas: ClientQuotasImage, request: Request, count: int, now_ms: int, *, is_strict: bool) -> None:
        """Take `count` tokens for a request.

        Errors: ApiError THROTTLING_QUOTA_EXCEEDED where a strict client has overdrawn already; nothing is taken then.
        """
        found = _quota_of(quotas, request)
        if found is None:
            return
        key, rate = found
        bucket = self._buckets.get(key)
        burst = rate * self._windows_s
        if bucket is None:
            self._drop_full(now_ms)
            bucket = self._buckets[key] = _Bucket(burst, rate, now_ms)
        bucket.rate = rate
        bucket.tokens = min(burst, bucket.tokens + rate * (now_ms - bucket.filled_ms) / 1000)
        bucket.filled_ms = now_ms
        # A request is refused for the debt of earlier ones, never for its own size: a large one passes once and is paid for afterwards.
        if is_strict and bucket.tokens < 0:
            raise ApiError(THROTTLING_QUOTA_EXCEEDED)
        bucket.tokens -= count

    def _drop_full(self, now_ms: int) -> None:
        """Forget clients whose buckets are as new again, once there are many: their names are of their own making."""
        if len(self._buckets) < self._count_max:
            return
        self._buckets = {
            key: bucket
            for key, bucket in self._buckets.items()
            if bucket.tokens + bucket.rate * (now_ms - bucket.filled_ms) / 1000 < bucket.rate * self._windows_s
        }
        self._count_max = max(BUCKETS_KEPT, 2 * len(self._buckets))

    def throttle_time_ms(self, quotas: ClientQuotasImage, request: Request) -> int:
        """Return how long a client should wait before it asks again: until its bucket is no longer overdrawn."""
        found = _quota_of(quotas, request)
        bucket = None if found is None else self._buckets.get(found[0])
        if found is None or bucket is None or bucket.tokens >= 0:
            return 0
        debt, rate = -bucket.tokens, found[1]
        # With a rate of 0, which older releases let pass, or a tiny one, the time is longer than the answer can say.
        return round(min(debt / rate * 1000, THROTTLE_MAX_MS)) if rate > 0 else THROTTLE_MAX_MS


def _quota_of(quotas: ClientQuotasImage, request: Request) -> tuple[_Key, float] | None:
    """The rate that applies to a request and whom it is counted for, the most specific one first."""
    user, client = request.principal.partition(":")[2], request.client_id
    for user_name in (user, None):
        for entity, key in (
            ((("client-id", client), ("user", user_name)), (user, client)),
            ((("client-id", None), ("user", user_name)), (user, client)),
            ((("user", user_name),), (user, None)),
        ):
            rate = _rate(quotas, entity)
            if rate is not None:
                return key, rate
    for client_name in (client, None):
        rate = _rate(quotas, (("client-id", client_name),))
        if rate is not None:
            return (None, client), rate
    return None


def _rate(quotas: ClientQuotasImage, entity: QuotaEntity) -> float | None:
    """The rate of an entity; one that is no finite number, which every check lets pass, limits nothing."""
    values = quotas.get(entity)
    rate = None if values is None else values.get(QUOTA_KEY)
    return rate if rate is not None and isfinite(rate) else None
