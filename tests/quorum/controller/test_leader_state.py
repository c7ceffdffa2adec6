"""What clients may create and delete, what is kept of them, and sessions of brokers."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_REQUEST, NONE, THROTTLING_QUOTA_EXCEEDED
from metashell.codec.registry import message_type
from metashell.metadata.image import ClientQuotasImage
from metashell.quorum.controller import leader_state
from metashell.quorum.controller.decision import ApiError, Request
from metashell.quorum.controller.leader_state import Heartbeats, MutationQuotas
from metashell.quorum.controller.settings import Settings
from tests.quorum.controller.cluster import Cluster


def quotas_of(rate: float) -> ClientQuotasImage:
    return ClientQuotasImage({(("client-id", None),): {"controller_mutation_rate": rate}})


QUOTAS = quotas_of(1.0)


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


def test_a_rate_is_taken_up_to_the_burst_and_no_further() -> None:
    """Ten windows of a second and one that runs: eleven tokens, and never more, however long nobody asks."""
    quotas = MutationQuotas(Settings({}, "c", 1))
    quotas.charge(QUOTAS, asked("a"), 0, 0, is_strict=True)
    quotas.charge(QUOTAS, asked("a"), 11, 3_600_000, is_strict=True)

    assert quotas.throttle_time_ms(QUOTAS, asked("a")) == 0
    quotas.charge(QUOTAS, asked("a"), 1, 3_600_000, is_strict=True)
    assert quotas.throttle_time_ms(QUOTAS, asked("a")) == 1000
    with pytest.raises(ApiError):
        quotas.charge(QUOTAS, asked("a"), 0, 3_600_999, is_strict=True)
    quotas.charge(QUOTAS, asked("a"), 0, 3_601_001, is_strict=True)


@pytest.mark.parametrize("rate", [0.0, 1e-300, 1e-9])
def test_a_wait_without_end_is_answered_with_the_longest_that_an_answer_can_say(rate: float) -> None:
    quotas = MutationQuotas(Settings({}, "c", 1))
    quotas.charge(quotas_of(rate), asked("a"), 5, 0, is_strict=True)

    wait_ms = quotas.throttle_time_ms(quotas_of(rate), asked("a"))

    assert wait_ms == 2**31 - 1
    kind = message_type("response", "CreateTopicsResponse")
    assert kind.write(kind.cls(throttle_time_ms=wait_ms), 7)
    with pytest.raises(ApiError):
        quotas.charge(quotas_of(rate), asked("a"), 1, 3_600_000, is_strict=True)


@pytest.mark.parametrize(("value", "code"), [(0.0, INVALID_REQUEST), (-1.0, INVALID_REQUEST), (0.001, NONE)])
def test_a_quota_of_nothing_is_refused_and_writes_nothing(value: float, code: int) -> None:
    cluster = Cluster()
    made = messages.AlterClientQuotasRequest
    entry = made.EntryData(
        entity=(made.EntityData(entity_type="user", entity_name="u"),), ops=(made.OpData(key="controller_mutation_rate", value=value),)
    )

    (answer,) = cluster.ask(49, 1, made(entries=(entry,))).entries

    assert answer.error_code == code
    assert (answer.error_message or "").endswith("must be greater than 0") == (code != NONE)
    assert len(cluster.controller.image.client_quotas) == (code == NONE)


def test_a_session_lasts_through_its_last_millisecond_and_the_oldest_ends_first() -> None:
    heartbeats = Heartbeats(session_timeout_ms=100)
    for id, now_ms in ((1, 0), (2, 10), (2, 15), (1, 20), (1, 12)):
        heartbeats.contact(id, 7, now_ms)

    assert [heartbeats.expired(now_ms) for now_ms in (115, 116, 500)] == [None, (2, 7), (2, 7)]
    heartbeats.forget(2, 7)
    assert [heartbeats.expired(now_ms) for now_ms in (120, 121)] == [None, (1, 7)]


def test_a_hold_prolongs_by_its_length_and_no_session_begins_later_than_now() -> None:
    heartbeats = Heartbeats(session_timeout_ms=100)
    heartbeats.contact(1, 7, 0)
    heartbeats.contact(2, 7, 990)

    heartbeats.prolong(400, 1000)

    assert (heartbeats.contacted_ms(1, 7), heartbeats.contacted_ms(2, 7)) == (400, 1000)


def test_who_may_be_given_replicas_and_whose_offset_counts() -> None:
    heartbeats = Heartbeats(session_timeout_ms=100)
    for id, fenced in ((1, False), (2, False), (3, True)):
        heartbeats.register(id, fenced)
        heartbeats.touch(id, fenced, 10 * id)
    heartbeats.begin_shutdown(1, 50)
    heartbeats.begin_shutdown(1, 60)

    assert heartbeats.usable() == [(2, False), (3, True)]
    assert heartbeats.lowest_active_offset() == 20
    assert [heartbeats.is_shutting_down(id) for id in (1, 2, 9)] == [True, False, False]
    beat = heartbeats.beat(1)
    assert beat is not None and beat.shutdown_offset == 50
    heartbeats.register(2, True)
    assert heartbeats.lowest_active_offset() is None
    heartbeats.register(2, False)
    assert heartbeats.lowest_active_offset() == 20, "only its fencing changed"
    heartbeats.forget_offset(2)
    assert heartbeats.lowest_active_offset() == -1
    heartbeats.fence(2)
    heartbeats.fence(1)
    assert heartbeats.lowest_active_offset() is None and not heartbeats.is_shutting_down(1)
    heartbeats.remove(3)
    assert heartbeats.usable() == [(1, True), (2, True)]
