"""The standing questions: they have the answers of rehearsals, one for each broker and rack."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.metadata.image import MetadataImage, PartitionRegistration
from metashell.rehearse.outcome import Trouble
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.single_failures import (
    BROKER,
    CONTROLLER,
    RACK,
    Loss,
    SingleFailures,
    find_single_failures,
    single_failures_line,
    single_failures_lines,
    single_failures_status,
    single_failures_value,
)
from metashell.rehearse.steps import KillBroker, LoseRack, Step
from tests.rehearse.small_images import partition, small_image

BROKERS = {1: "a", 2: "a", 3: "b", 4: None}
ALIVE = (1, 2, 3)
"""Broker 4 is fenced."""
UNCLEAN = {"unclean.leader.election.enable": "true"}


@st.composite
def partitions(draw: st.DrawFn) -> PartitionRegistration:
    """A partition as a controller leaves one: what is in sync is alive, a leader is in sync."""
    replicas = draw(st.lists(st.sampled_from(list(BROKERS)), min_size=1, max_size=3, unique=True))
    alive = [id for id in replicas if id in ALIVE]
    isr = draw(st.lists(st.sampled_from(alive), unique=True, min_size=1)) if alive else []
    elr = [id for id in replicas if id not in isr and draw(st.booleans())]
    return partition(*replicas, isr=isr, leader=draw(st.sampled_from(isr)) if isr else -1, elr=elr)


@st.composite
def images(draw: st.DrawFn) -> MetadataImage:
    topics = draw(st.dictionaries(st.sampled_from("pqr"), st.lists(partitions(), min_size=1, max_size=4), min_size=1))
    configs = {(2, name): {"min.insync.replicas": str(draw(st.integers(1, 3)))} for name in topics}
    for name in topics:
        if draw(st.booleans()):
            configs[2, name] |= UNCLEAN
    elr = draw(st.booleans())
    if not elr:
        topics = {name: [one._replace(elr=()) for one in those] for name, those in topics.items()}
    return small_image(BROKERS, topics, fenced=[4], settings=configs, voters=[11, 12, 13], elr=elr)


def rehearsed(image: MetadataImage, step: Step) -> tuple[set[tuple[str, int]], ...]:
    """The partitions that a rehearsal leaves offline, elects uncleanly, and leaves under min ISR, of those that were fine before."""
    outcome = rehearse_change(image, [step])
    found = {
        trouble: {(one.topic, one.partition) for one in outcome.intervals_of(trouble) if not one.was_before}
        for trouble in (Trouble.OFFLINE, Trouble.UNCLEAN, Trouble.UNDER_MIN_ISR)
    }
    lasting = {(one.topic, one.partition) for one in outcome.intervals if one.to_ms is None and one.trouble is not Trouble.UNCLEAN}
    offline = found[Trouble.OFFLINE] & lasting
    # A broker of a rack may be elected before it is fenced too: what is offline in the end counts as that.
    return offline, found[Trouble.UNCLEAN] - offline, (found[Trouble.UNDER_MIN_ISR] & lasting) - found[Trouble.UNCLEAN] - offline


@pytest.mark.slow
@settings(max_examples=max(60, settings().max_examples))
@given(images())
def test_each_loss_counts_what_its_rehearsal_counts(image: MetadataImage) -> None:
    standing = find_single_failures(image)
    assert [(loss.kind, loss.name) for loss in standing.losses] == [
        *((BROKER, str(id)) for id in ALIVE),
        (RACK, "a"),
        (RACK, "b"),
        *((CONTROLLER, str(id)) for id in (11, 12, 13)),
    ]
    for loss in standing.losses[:5]:
        offline, unclean, under = rehearsed(image, KillBroker(int(loss.name)) if loss.kind == BROKER else LoseRack(loss.name))
        assert (loss.offline, loss.unclean, loss.under_min_isr) == (len(offline), len(unclean), len(under)), loss
        worst = {f"{topic}-{id}" for topic, id in offline or unclean or under}
        assert not loss.examples or loss.examples[0] in worst


def losses_of(standing: SingleFailures) -> dict[str, Loss]:
    return {f"{loss.kind} {loss.name}": loss for loss in standing.losses}


SAFE = small_image({1: "a", 2: "b", 3: "c"}, {"orders": [partition(1, 2, 3), partition(2, 3, 1)]}, voters=[11, 12, 13])


def test_a_cluster_that_can_lose_any_one() -> None:
    standing = find_single_failures(SAFE)
    assert single_failures_line(standing) == "SAFE: any single broker, rack or controller can be lost"
    assert single_failures_status(standing) == 0
    assert losses_of(standing)["broker 1"] == Loss(kind=BROKER, name="1", brokers=(1,), leaders=1)


def test_a_leader_that_has_no_second_cannot_be_lost() -> None:
    image = small_image({1: None, 2: None}, {"orders": [partition(1, 2, isr=[1])], "one": [partition(2)]}, voters=[11, 12, 13])
    standing = find_single_failures(image)
    assert single_failures_line(standing) == "NOT SAFE: this cluster cannot lose brokers 1, 2"
    assert losses_of(standing)["broker 2"].examples == ("one-0",)
    assert single_failures_status(standing) == 1


def test_what_is_offline_already_is_not_fine() -> None:
    image = small_image({1: None, 2: None, 3: None}, {"orders": [partition(2, isr=[2], leader=-1)]}, fenced=[2], voters=[11, 12, 13])
    standing = find_single_failures(image)
    assert single_failures_line(standing) == "NOT SAFE: 1 partition is offline now"
    assert (single_failures_status(standing), standing.dead_brokers, standing.under_min_isr) == (1, (2,), 0)


def test_a_partition_may_be_offline_and_under_min_isr() -> None:
    partitions = [partition(2, 1, isr=[], leader=-1, elr=[2])]
    image = small_image({1: None, 2: None}, {"orders": partitions}, fenced=[2], settings={(2, "orders"): {"min.insync.replicas": "2"}})
    standing = find_single_failures(image)
    assert (standing.offline, standing.under_min_isr) == (1, 1)


def test_a_cluster_without_a_broker_alive_is_not_fine() -> None:
    standing = find_single_failures(small_image({1: None}, {}, fenced=[1]))
    assert single_failures_line(standing) == "NOT SAFE: no broker is alive in this image"
    assert single_failures_status(standing) == 1


def test_a_majority_of_two_voters_is_both() -> None:
    standing = find_single_failures(SAFE._replace(voters=small_image({}, {}, voters=[11, 12]).voters))
    assert single_failures_line(standing) == "NOT SAFE: this cluster cannot lose controllers 11, 12"


def test_a_node_that_is_broker_and_controller_is_lost_as_both() -> None:
    image = small_image({1: "a", 2: "a", 3: "b"}, {"orders": [partition(1, 2, 3)]}, voters=[1, 2, 3])
    found = losses_of(find_single_failures(image))
    assert (found["broker 1"].voters, found["broker 1"].keeps_quorum) == ((1,), True)
    assert (found["rack a"].voters, found["rack a"].keeps_quorum) == ((1, 2), False)
    assert not found["rack a"].can_be_lost and not found["rack a"].offline


def test_where_no_voters_are_named_nothing_is_said_about_controllers() -> None:
    standing = find_single_failures(SAFE._replace(voters=None))
    assert single_failures_line(standing) == "SAFE: any single broker or rack can be lost"
    assert any("whether a controller can be lost is not known" in line for line in single_failures_lines(standing, ""))


def test_writes_that_would_be_refused_are_told_and_are_no_loss() -> None:
    image = small_image(
        {1: None, 2: None, 3: None},
        {"orders": [partition(1, 2)]},
        settings={(2, "orders"): {"min.insync.replicas": "2"}},
        voters=[11, 12, 13],
    )
    standing = find_single_failures(image)
    expected = "SAFE: any single broker or controller can be lost; without brokers 1, 2 some partitions refuse writes with acks=all"
    assert single_failures_line(standing) == expected
    assert single_failures_status(standing) == 0


def test_the_object_has_what_the_text_has() -> None:
    value = single_failures_value(find_single_failures(SAFE))
    assert (value["status"], value["safe"], value["verdict"]) == (0, True, "SAFE: any single broker, rack or controller can be lost")
    assert [loss["name"] for loss in value["losses"]] == ["1", "2", "3", "a", "b", "c", "11", "12", "13"]
