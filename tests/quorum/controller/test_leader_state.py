"""What clients may create and delete, and what is kept of them."""

from __future__ import annotations

import pytest

from metashell.codec.error_codes import THROTTLING_QUOTA_EXCEEDED
from metashell.metadata.image import ClientQuotasImage
from metashell.quorum.controller import leader_state
from metashell.quorum.controller.decision import ApiError, Request
from metashell.quorum.controller.leader_state import MutationQuotas
from metashell.quorum.controller.settings import Settings

QUOTAS: ClientQuotasImage = ClientQuotasImage({(("client-id", None),): {"controller_mutation_rate": 1.0}})


def asked(client: str) -> Request:
    return Request(19, 7, None, client_id=client)


def test_who_has_overdrawn_waits_until_the_bucket_is_filled_again() -> None:
    quotas = MutationQuotas(Settings({}, "c", 1))
    quotas.charge(QUOTAS, asked("a"), 20, 0, is_strict=True)

    assert quotas.throttle_time_ms(QUOTAS, asked("a")) == 9000
    with pytest.raises(ApiError) as raised:
        quotas.charge(QUOTAS, asked("a"), 1, 1000, is_strict=True)
    assert raised.value.code == THROTTLING_QUOTA_EXCEEDED
    quotas.charge(QUOTAS, asked("b"), 1, 1000, is_strict=True)
    quotas.charge(QUOTAS, asked("a"), 1, 10_000, is_strict=True)


def test_clients_without_debts_are_forgotten_once_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_state, "BUCKETS_KEPT", 10)
    quotas = MutationQuotas(Settings({}, "c", 1))
    quotas.charge(QUOTAS, asked("a"), 1000, 0, is_strict=True)
    for number in range(100):
        quotas.charge(QUOTAS, asked(str(number)), 1, number * 60_000 // 100, is_strict=True)

    assert len(quotas._buckets) < 50
    with pytest.raises(ApiError):
        quotas.charge(QUOTAS, asked("a"), 1, 60_000, is_strict=True)
