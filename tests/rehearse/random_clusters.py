"""Small clusters and steps by chance, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.partitions import PartitionRegistration
from metashell.quorum.controller.decision import UNCLEAN_ELECTION
from metashell.rehearse.steps import (
    AddBroker,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    KillBroker,
    LoseController,
    LoseDirectory,
    LoseRack,
    Move,
    Reassign,
    RestartBroker,
    RollBrokers,
    Step,
    Unregister,
)
from tests.rehearse.small_images import partition, small_image

RACKS = (None, "a", "b")


@st.composite
def partitions(draw: st.DrawFn, brokers: list[int], fenced: set[int], elr: bool) -> PartitionRegistration:
    """A partition as a controller could have left it."""
    replicas = draw(st.lists(st.sampled_from(brokers), min_size=1, max_size=3, unique=True))
    active = [id for id in replicas if id not in fenced]
    if active:
        isr = draw(st.lists(st.sampled_from(active), min_size=1, unique=True))
        out = [id for id in replicas if id not in isr]
        in_elr = draw(st.lists(st.sampled_from(out), unique=True)) if elr and out else []
        return partition(*replicas, isr=isr, leader=isr[0], elr=in_elr)
    if not elr:
        return partition(*replicas, isr=[draw(st.sampled_from(replicas))], leader=-1)
    if draw(st.booleans()):
        return partition(*replicas, isr=[], leader=-1, elr=[draw(st.sampled_from(replicas))], last_known_elr=[replicas[0]])
    return partition(*replicas, isr=[], leader=-1, last_known_elr=[draw(st.sampled_from(replicas))])


@st.composite
def images(draw: st.DrawFn, *, all_live: bool = False) -> MetadataImage:
    brokers = list(range(1, draw(st.integers(1, 5)) + 1))
    racks = {id: draw(st.sampled_from(RACKS)) for id in brokers}
    fenced = set() if all_live else draw(st.sets(st.sampled_from(brokers), max_size=len(brokers) - 1))
    elr = draw(st.booleans())
    topics = {
        f"t{number}": draw(st.lists(partitions(brokers, fenced, elr), min_size=1, max_size=4)) for number in range(draw(st.integers(1, 3)))
    }
    settings = {(TOPIC_RESOURCE, "t0"): {"min.insync.replicas": str(draw(st.integers(1, 3)))}}
    if draw(st.integers(0, 3)) == 0:
        settings[BROKER_RESOURCE, ""] = {UNCLEAN_ELECTION: "true"}
    voters = draw(st.sampled_from([(3000,), (3000, 3001, 3002), (1, 2, 3), ()]))
    return small_image(racks, topics, fenced=fenced, settings=settings, voters=voters, elr=elr)


@st.composite
def steps_for(draw: st.DrawFn, image: MetadataImage) -> list[Step]:
    """Steps that make sense, one by one."""
    brokers = sorted(image.cluster.brokers)
    racks = sorted({broker.rack for broker in image.cluster.brokers.values() if broker.rack})
    topics = sorted(image.topics.by_name)
    made: list[Step] = []
    at_ms = 0
    gone: set[int] = set()
    for number in range(draw(st.integers(1, 4))):
        when = None
        if draw(st.booleans()):
            at_ms += draw(st.integers(0, 15_000))
            when = at_ms
        left = [id for id in brokers if id not in gone] or [None]
        broker = draw(st.sampled_from(left))
        if broker is None:
            break
        kinds = ["kill", "restart", "roll", "elect", "create", "unregister", "add", "config", "reassign", "disk", "empty"]
        kinds += ["rack"] * bool(racks) + ["delete"] * bool(topics) + ["controller"] * bool(image.voters)
        match draw(st.sampled_from(kinds)):
            case "disk":
                made.append(LoseDirectory(broker, at_ms=when))
            case "empty":
                made.append(RestartBroker(broker, empty=(), at_ms=when))
            case "kill":
                made.append(KillBroker(broker, at_ms=when))
            case "restart":
                made.append(RestartBroker(broker, down_ms=draw(st.sampled_from([None, 0, 2000])), at_ms=when))
            case "roll":
                made.append(RollBrokers(max_offline=draw(st.integers(1, 2)), at_ms=when))
            case "rack":
                made.append(LoseRack(draw(st.sampled_from(racks)), at_ms=when))
            case "elect":
                made.append(Elect(unclean=draw(st.booleans()), at_ms=when))
            case "create":
                made.append(CreateTopic(f"new{number}", partitions=3, replication_factor=1, at_ms=when))
            case "delete":
                made.append(DeleteTopic(topics.pop(), at_ms=when))
            case "unregister":
                gone.add(broker)
                made.append(Unregister(broker, at_ms=when))
            case "add":
                made.append(AddBroker(100 + number, "a", at_ms=when))
            case "config" if topics:
                values = (("min.insync.replicas", draw(st.sampled_from(["1", "2", None]))),)
                made.append(ConfigSet(TOPIC_RESOURCE, topics[0], values, at_ms=when))
            case "reassign" if topics:
                known = [id for id in left if id is not None]
                replicas = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
                made.append(Reassign((Move(topics[0], 0, tuple(replicas)),), at_ms=when))
            case "controller":
                made.append(LoseController(back_after_ms=draw(st.sampled_from([None, 20_000])), at_ms=when))
            case _:
                pass
    return made
