"""The input of a plan: which brokers take replicas, which partitions may move, and the notes about both."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.metadata.image import MetadataDelta
from metashell.rehearse.placement import (
    Broker,
    BrokerState,
    Partition,
    PartitionState,
    PlacementError,
    Situation,
    Wishes,
    cluster_of,
)
from metashell.rehearse.placement.cluster import situation_of
from tests.rehearse.small_images import broker_id_bytes, partition, small_image

BROKERS = (
    BrokerState(1, "a"),
    BrokerState(2, "b"),
    BrokerState(3, "a", is_fenced=True),
    BrokerState(4, "b", is_leaving=True),
    BrokerState(5, "b", is_cordoned=True),
    BrokerState(6, "a", disk_trouble="has only failed directories"),
)
PARTITIONS = (
    PartitionState("p", 0, (1, 2)),
    PartitionState("p", 1, (1, 2, 9), adding=(2,), removing=(9,)),
    PartitionState("q", 0, (3, 1, 2), removing=(3,)),
    PartitionState("q", 1, (2, 9)),
)
TROUBLE = {3: "is fenced", 4: "is shutting down", 5: "is cordoned", 6: "has only failed directories"}
KEEPS = [f"broker {id} {what}: it keeps its replicas and gets none (--off {id} empties it)" for id, what in TROUBLE.items()]
GONE = "broker 9 is not registered: its replicas move away"


def moving(count: int) -> str:
    return f"partitions that are already being moved keep the replicas of that move: {count}"


def states(wishes: Wishes) -> tuple[dict[int, str], dict[str, tuple[tuple[int, ...], bool]], list[str]]:
    """Whether each broker takes, keeps or leaves its replicas; the replicas of each partition, and whether they are fixed; the notes."""
    cluster, notes = cluster_of(Situation(BROKERS, PARTITIONS), wishes, {})
    kind = {(True, False): "takes", (False, False): "keeps", (False, True): "leaves"}
    brokers = {broker.id: kind[broker.takes, broker.is_left] for broker in cluster.brokers}
    return brokers, {f"{one.topic}{one.partition}": (one.replicas, one.is_fixed) for one in cluster.partitions}, notes


def test_without_wishes_all_that_can_take_replicas_do_and_those_of_the_missing_broker_move() -> None:
    brokers, partitions, notes = states(Wishes())
    assert brokers == {1: "takes", 2: "takes", 3: "keeps", 4: "keeps", 5: "keeps", 6: "keeps", 9: "leaves"}
    assert partitions == {"p0": ((1, 2), False), "p1": ((1, 2), True), "q0": ((1, 2), True), "q1": ((2, 9), False)}
    assert notes == [GONE, *KEEPS, moving(2)]


def test_brokers_to_empty_are_left_whatever_their_trouble_and_moves_to_them_do_not_go_on() -> None:
    brokers, partitions, notes = states(Wishes(off=(2, 3, 9)))
    assert brokers == {1: "takes", 2: "leaves", 3: "leaves", 4: "keeps", 5: "keeps", 6: "keeps", 9: "leaves"}
    assert partitions == {"p0": ((1, 2), False), "p1": ((1, 2), False), "q0": ((1, 2), False), "q1": ((2, 9), False)}
    assert notes == KEEPS[1:]


def test_only_some_may_take_replicas_and_only_some_topics_change() -> None:
    brokers, partitions, notes = states(Wishes(only=(1,), topics=("q",)))
    assert brokers == {1: "takes", **dict.fromkeys((2, 3, 4, 5, 6, 9), "leaves")}
    assert partitions == {"p0": ((1, 2), True), "p1": ((1, 2), True), "q0": ((1, 2), True), "q1": ((2, 9), False)}
    assert notes == [GONE, moving(1)]


def test_sizes_and_racks_that_are_missing_are_noted() -> None:
    brokers = (BrokerState(1, "a"), BrokerState(2), BrokerState(3))
    partitions = (PartitionState("p", 0, (1,)), PartitionState("p", 1, (2,)), PartitionState("p", 2, (1,)))
    cluster, notes = cluster_of(Situation(brokers, partitions), Wishes(), {("p", 0): 70, ("p", 2): 0, ("x", 1): 1})
    assert cluster.brokers == (Broker(1, "a"), Broker(2), Broker(3))
    assert cluster.partitions == (Partition("p", 0, (1,), 70), Partition("p", 1, (2,)), Partition("p", 2, (1,)))
    assert notes == [
        "1 of 3 partitions have no size: they count as 0 bytes",
        "racks are ignored: 1 of 3 brokers name theirs, broker 2 does not",
    ]
    # Where all sizes are known, or none, and where no broker has a rack, there is nothing to say.
    # A broker that takes nothing needs no rack.
    for racks, fenced, sizes in ((("a", "b"), False, {("p", 0): 1}), ((None, None), False, {}), (("a", None), True, {("p", 0): 0})):
        known = (BrokerState(1, racks[0]), BrokerState(2, racks[1], is_fenced=fenced))
        assert cluster_of(Situation(known, partitions[:1]), Wishes(), sizes)[1] == ([KEEPS[0].replace("3", "2")] if fenced else [])


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (Wishes(off=(7,)), "broker 7 is not registered and has no replica: the cluster has 1, 2, 3, 4, 5, 6"),
        (Wishes(off=(1,), only=(1,)), "broker 1 is both to be emptied and to take replicas"),
        (Wishes(only=(1, 7)), "broker 7 is not registered: the cluster has 1, 2, 3, 4, 5, 6"),
        (Wishes(only=(5,)), "broker 5 is cordoned: it cannot take replicas now"),
        (Wishes(topics=("q", "z", "x")), "there is no topic x, z"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(wishes: Wishes, message: str) -> None:
    with pytest.raises(PlacementError) as caught:
        states(wishes)
    assert str(caught.value) == message


def test_a_broker_of_an_image_is_cordoned_where_all_its_directories_are() -> None:
    image = small_image(dict.fromkeys((4, 1, 2, 3, 5), "r"), {"u": [partition(1, 2, isr=[2])], "t": [partition(1)]}, fenced=[4])
    delta = MetadataDelta(image)
    for id, directories, cordoned in ((1, (1, 2), (1,)), (2, (1, 2), (2, 1)), (3, (), ()), (5, (1,), (1, 2))):
        before = image.cluster.brokers[id]
        record = messages.RegisterBrokerRecord(
            broker_id=id,
            broker_epoch=before.epoch,
            incarnation_id=before.incarnation_id,
            rack=before.rack,
            fenced=False,
            in_controlled_shutdown=id == 3,
            log_dirs=tuple(broker_id_bytes(5, one) for one in directories),
            cordoned_log_dirs=tuple(broker_id_bytes(5, one) for one in cordoned),
        )
        delta.replay(record)
    found = situation_of(delta.apply())
    assert [(one.id, one.rack, one.trouble) for one in found.brokers] == [
        (1, "r", ""),
        (2, "r", "is cordoned"),
        (3, "r", "is shutting down"),
        (4, "r", "is fenced"),
        (5, "r", "is cordoned"),
    ]
    assert [(one.topic, one.partition, one.replicas, one.isr, one.is_moving) for one in found.partitions] == [
        ("t", 0, (1,), (1,), False),
        ("u", 0, (1, 2), (2,), False),
    ]
