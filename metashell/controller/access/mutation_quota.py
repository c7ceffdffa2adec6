"""How many partitions a client may create and delete: a bucket of tokens for each user and client that has a quota.

Source: org.apache.kafka.server.quota.ControllerMutationQuotaManager, org.apache.kafka.common.metrics.stats.TokenBucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Final

from metashell.codec.error_codes import THROTTLING_QUOTA_EXCEEDED
from metashell.controller.decision import ApiError
from metashell.controller.request import Request
from metashell.controller.settings import Settings
from metashell.image import ClientQuotasImage, QuotaEntity

QUOTA_KEY: Final = "controller_mutation_rate"
BUCKETS_KEPT: Final = 10_000
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
        """How long a client should wait before it asks again: until its bucket is no longer overdrawn."""
        found = _quota_of(quotas, request)
        bucket = None if found is None else self._buckets.get(found[0])
        if found is None or bucket is None or bucket.tokens >= 0:
            return 0
        return round(-bucket.tokens / found[1] * 1000)


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
