"""Advice about a refusal: what the rulebook finds about the thing that was refused, and nothing where it finds nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from metashell.cli.admin.protocol import AdminError
from metashell.cli.cluster.live_facts import Advice, Adviser, advice_lines, with_remark
from metashell.cli.cluster.live_facts import advice_on as advice_in
from metashell.codec import error_codes as codes
from metashell.codec.registry import message_type
from metashell.common.errors import MetashellError
from metashell.metadata.checks import Facts, Health, judge
from metashell.metadata.checks.facts import Probe, QuorumAnswers
from metashell.metadata.image import ImageLoader, MetadataImage
from tests.metadata.image.batches import batch, record

TOPIC = bytes(range(16))


def facts(*, highest: dict[int, int] | None = None, fenced: tuple[int, ...] = (), isr: tuple[int, ...] = (1, 2)) -> Facts:
    """Two brokers that support metadata.version up to 29, or to what `highest` says, and a partition on both."""
    feature = message_type("metadata", "RegisterBrokerRecord").structs["BrokerFeature"]
    brokers = [
        record(
            "RegisterBrokerRecord",
            broker_id=id,
            incarnation_id=bytes(16),
            broker_epoch=5,
            fenced=id in fenced,
            log_dirs=(bytes([id] * 16),),
            features=(feature(name="metadata.version", min_supported_version=7, max_supported_version=(highest or {}).get(id, 29)),),
        )
        for id in (1, 2)
    ]
    level = record("FeatureLevelRecord", name="metadata.version", feature_level=20)
    topic = record("TopicRecord", name="orders", topic_id=TOPIC)
    directories = (bytes([1] * 16), bytes([2] * 16))
    partition = record("PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=(1, 2), isr=isr, leader=isr[0], directories=directories)
    loader = ImageLoader()
    loader.load_batch(batch(level, *brokers, topic, partition))
    return Facts(health=Health(loader.image()))


def refusal(code: int, thing: str, words: str | None = None) -> AdminError:
    return AdminError(code, words, thing)


def advice_on(error: AdminError, facts: Facts) -> list[Advice]:
    return advice_in(error, facts, judge(facts))


def test_a_level_that_a_registered_node_does_not_support_is_held_by_that_node() -> None:
    words = "Invalid update version 29 for feature metadata.version. Broker 2 only supports versions 7-25"
    error = refusal(codes.INVALID_UPDATE_VERSION, "metadata.version", words)
    (found,) = advice_on(error, facts(highest={2: 25}))
    assert found.id == "holds_upgrade" and "broker 2" in found.words and "metadata.version 25" in found.words and found.steps
    assert list(advice_lines([found]))[-1].startswith("next: ")
    # All support the same: the level is too high for this release, which Kafka's own words say.
    assert advice_on(error, facts()) == []
    assert advice_on(refusal(codes.INVALID_UPDATE_VERSION, "group.version", words), facts(highest={2: 25})) == []
    lower = refusal(codes.INVALID_UPDATE_VERSION, "metadata.version", "Unsupported metadata.version downgrade from 20 to 10.")
    assert advice_on(lower, facts(highest={2: 25})) == []


def test_a_factor_is_refused_for_fenced_brokers_only_where_kafka_says_so() -> None:
    all_fenced = refusal(codes.INVALID_REPLICATION_FACTOR, "orders", "Unable to replicate the partition: All brokers are currently fenced.")
    assert [one.id for one in advice_on(all_fenced, facts(fenced=(1, 2)))] == ["fenced", "fenced"]
    too_high = refusal(codes.INVALID_REPLICATION_FACTOR, "orders", "cannot be reached because only 2 broker(s) are registered.")
    assert advice_on(too_high, facts(fenced=(2,))) == []


def test_a_preferred_replica_that_cannot_lead_is_not_in_sync() -> None:
    error = refusal(codes.PREFERRED_LEADER_NOT_AVAILABLE, "orders:0")
    assert next(one.id for one in advice_on(error, facts(isr=(2,)))) == "under_replicated"
    assert advice_on(refusal(codes.PREFERRED_LEADER_NOT_AVAILABLE, "orders:0"), facts()) == []
    assert advice_on(refusal(codes.PREFERRED_LEADER_NOT_AVAILABLE, "payments:0"), facts(isr=(2,))) == []


@pytest.mark.parametrize(
    "code",
    [codes.UNSUPPORTED_VERSION, codes.BROKER_ID_NOT_REGISTERED, codes.NOT_CONTROLLER, codes.TOPIC_ALREADY_EXISTS, codes.INVALID_CONFIG],
)
def test_a_code_alone_gives_no_advice(code: int) -> None:
    error = refusal(code, "orders")
    assert advice_on(error, facts(highest={2: 25}, fenced=(2,))) == []
    assert with_remark(error) == str(error)


def test_the_facts_are_gathered_once_and_only_where_they_can_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def image() -> MetadataImage:
        asked.append("image")
        return facts(highest={2: 25}).image

    monkeypatch.setattr("metashell.cli.cluster.live_facts.ask_quorum", lambda named: asked.append("quorum") or QuorumAnswers(leader_id=1))
    adviser = Adviser(image, SimpleNamespace)
    error = refusal(
        codes.INVALID_UPDATE_VERSION,
        "metadata.version",
        "Invalid update version for feature metadata.version. Broker 2 only supports versions 7-25",
    )
    assert adviser.advice_on(refusal(codes.TOPIC_ALREADY_EXISTS, "orders"), has_image=True) == []
    assert adviser.advice_on(refusal(codes.PREFERRED_LEADER_NOT_AVAILABLE, "orders:0"), has_image=False) == [] and asked == []
    assert adviser.advice_on(error, has_image=True) and adviser.advice_on(error, has_image=True)
    assert asked == ["quorum", "image"]

    def gone() -> MetadataImage:
        raise MetashellError("no controller answers")

    assert Adviser(gone, SimpleNamespace).advice_on(error, has_image=True) == []


def test_a_quorum_without_a_leader_is_why_nothing_can_be_changed() -> None:
    error = refusal(codes.NOT_CONTROLLER, "broker 3")
    silent = Probe(address="a:1", outcome="refused", words="Connection refused", voter_id=2)
    answering = Probe(address="b:1", outcome="answers", voter_id=1, id=1, epoch=4)
    assert advice_on(error, Facts(quorum=QuorumAnswers(probes=(silent, answering))))


def test_the_right_that_is_missing_is_told() -> None:
    error = refusal(codes.CLUSTER_AUTHORIZATION_FAILED, "", "no")
    error.right = "ALTER on the cluster"
    assert with_remark(error) == "CLUSTER_AUTHORIZATION_FAILED: no. It needs the right ALTER on the cluster."
