"""Hints may name too much, never too little.
Entries are found by what they are about, and forgotten when no view has them."""

from __future__ import annotations

import random
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec import messages
from metashell.codec.batch_writer import write_records
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.metadata.image import Acl, AclsImage, MetadataImage, PartitionRegistration, TopicImage, TopicsImage
from metashell.metadata.image.partitions import Span, partition_record
from metashell.quorum.controller import state
from metashell.quorum.controller.authorizer import Authorizer, Operation, Permission, Resource
from metashell.quorum.controller.decision import Decision, Request, finish_steps
from metashell.quorum.controller.hints import AclHints, Hints
from tests.quorum.controller.cluster import Cluster

BROKERS = st.integers(0, 9)


@st.composite
def partitions(draw: st.DrawFn) -> PartitionRegistration:
    count = draw(st.sampled_from((1, 2, 3, 3, 62, 63, 64, 70)))
    replicas = tuple(draw(st.lists(BROKERS, min_size=count, max_size=count)))
    isr = replicas if draw(st.booleans()) else tuple(draw(st.lists(st.sampled_from(replicas), max_size=3)))
    moving = draw(st.booleans()) and draw(st.booleans())
    return PartitionRegistration(
        replicas,
        (bytes(16),) * len(replicas),
        isr,
        removing_replicas=replicas[:1] if moving else (),
        elr=tuple(draw(st.lists(BROKERS, max_size=2))) if draw(st.booleans()) else (),
        leader=draw(st.sampled_from((-1, replicas[0], replicas[-1]))),
        leader_epoch=draw(st.integers(0, 5)),
    )


def everything(hints: Hints) -> tuple[object, ...]:
    by_broker = {id: set(hints.of_broker(id)) for id in range(10)}
    return by_broker, set(hints.leaderless), set(hints.unpreferred), set(hints.reassigning)


@settings(max_examples=max(100, settings.default.max_examples))
@given(st.lists(partitions(), min_size=1, max_size=5), st.sampled_from((0, 1, 2)))
def test_partitions_that_are_bytes_give_the_same_hints_as_those_that_are_decoded(drawn: list[PartitionRegistration], version: int) -> None:
    topic_id = b"\7" * 16
    level = (7, 17, 30)[version]
    values = []
    expected = Hints()
    for index, partition in enumerate(drawn):
        if version < 2:
            partition = partition._replace(elr=())
        values.append(write_metadata_record(partition_record(partition, topic_id, index, level, lambda loss: None), version))
        expected.add_partition(topic_id, index, partition)
    area = write_records_of(values)
    topic = TopicImage("t", topic_id, (Span(area, 0, len(area), len(values)),))
    hints = Hints()

    finish_steps(hints.add_image(MetadataImage(topics=TopicsImage({topic_id: topic}, {"t": topic}))))

    assert everything(hints) == everything(expected)


def test_the_room_of_removed_topics_is_reclaimed() -> None:
    hints = Hints()
    kept = b"\1" * 16
    hints.add_replicas(kept, 5, (1, 2))
    for number in range(200):
        gone = number.to_bytes(16, "big")
        hints.add_replicas(gone, 0, (1, 2))
        hints.forget_partitions(gone)
    assert hints.has_waste
    finish_steps(hints.reclaim())

    assert not hints.has_waste
    assert len(list(hints.of_broker(1))) < 200
    assert (kept, 5) in set(hints.of_broker(2))


def test_names_that_could_collide_are_forgotten_with_their_topics() -> None:
    cluster = Cluster()
    cluster.register(1)
    names = cluster.state.hints._names

    def begin(name: str) -> Decision:
        topic = messages.TopicRecord(name=name, topic_id=name.encode().rjust(16))
        return Decision(None, [(messages.BeginTransactionRecord(name="open"), 0), (topic, 0)])

    for number in range(5):
        cluster.create(f"a.{number}", (1,))
        made = messages.DeleteTopicsRequest
        cluster.ask(20, 6, made(topics=(made.DeleteTopicState(name=f"a.{number}"),), timeout_ms=1000))
    assert not names
    # A topic whose transaction is aborted, or whose record a lost leadership took along, is removed by no record.
    cluster.write(begin("a.5"))
    assert names
    cluster.write(Decision(None, [(messages.AbortTransactionRecord(reason="r"), 0)]))
    assert not names
    cluster.write(Decision(None, [(messages.TopicRecord(name="a.6", topic_id=b"6" * 16), 0)]), commit=False)
    assert names
    cluster.controller.renounce()
    assert not names


def write_records_of(values: list[bytes]) -> bytes:
    return write_records([Record(offset=at, timestamp=0, key=None, value=value, headers=()) for at, value in enumerate(values)], 0, 0)


def test_partitions_that_are_no_longer_special_are_forgotten_once_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_SPECIAL_MIN", 3)
    cluster = Cluster()
    cluster.register(1, 2)
    topic_id = cluster.create("t", *((1, 2) for _ in range(4)))
    cluster.beat(1, want_fence=True)
    assert len(cluster.state.hints.unpreferred) == 4
    finish_steps(cluster.controller.background_steps())
    assert len(cluster.state.hints.unpreferred) == 4
    assert cluster.controller.background_steps() is None
    cluster.state.hints.swept = 0
    made = messages.DeleteTopicsRequest
    cluster.ask(20, 6, made(topics=(made.DeleteTopicState(name=None, topic_id=topic_id),), timeout_ms=1000))

    finish_steps(cluster.controller.background_steps())

    assert cluster.state.hints.special_count == 0


def test_what_an_open_transaction_changed_is_still_special_when_it_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_SPECIAL_MIN", 0)
    cluster = Cluster()
    cluster.register(1, 2)
    topic_id = cluster.create("t", (1, 2))
    cluster.beat(1, want_fence=True)
    cluster.write(Decision(None, [(messages.BeginTransactionRecord(name="open"), 0)]))
    change = messages.PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=1, isr=(1,))
    cluster.write(Decision(None, [(change, 2)]))
    assert cluster.state.partition(topic_id, 0).leader == 1
    finish_steps(cluster.controller.background_steps())
    cluster.write(Decision(None, [(messages.AbortTransactionRecord(reason="r"), 0)]))
    assert cluster.state.partition(topic_id, 0).leader == 2
    assert set(cluster.state.hints.unpreferred) == {(topic_id, 0)}


HOSTS = ("*", "127.0.0.1", "10.0.0.1", "127.0.0.0/8", "10.0.0.1/31", "10.0.0.0/31", "::/0", "::1/128", "127.0.0.1/33")
NAMES = ("a", "ab", "abc", "b", "*", "")


def random_acl(chance: random.Random) -> Acl:
    return Acl(
        chance.choice((Resource.TOPIC, Resource.GROUP)),
        chance.choice(NAMES),
        chance.choice((3, 4)),
        chance.choice(("User:x", "User:y", "User:*")),
        chance.choice(HOSTS),
        chance.choice(list(Operation)[2:]),
        chance.choice((Permission.DENY, Permission.ALLOW, Permission.ALLOW)),
    )


def is_about(host: str, address: str) -> bool:
    """Whether a host is any, the address itself, or a range that holds it, as Python's own ipaddress has it."""
    if "/" not in host:
        return host in ("*", address)
    try:
        return ip_address(address) in ip_network(host, strict=False)
    except ValueError:
        return False


def allows(acls: list[Acl], request: Request, operation: Operation, resource: Resource, name: str, default: bool) -> bool:
    """The rule as it stands in controller.md 25.2, over all entries."""
    implied = {Operation.DESCRIBE: (3, 4, 6, 7), Operation.DESCRIBE_CONFIGS: (11,)}
    about = [
        acl
        for acl in acls
        if acl.resource_type == resource
        and (acl.resource_name in (name, "*") if acl.pattern_type == 3 else name.startswith(acl.resource_name))
    ]
    mine = [acl for acl in about if acl.principal in (request.principal, "User:*") and is_about(acl.host, request.host)]
    if any(acl.permission_type == Permission.DENY and acl.operation in (operation, Operation.ALL) for acl in mine):
        return False
    meant = (operation, Operation.ALL, *implied.get(operation, ()))
    return any(acl.permission_type == Permission.ALLOW and acl.operation in meant for acl in mine) or (not about and default)


def test_the_authorizer_says_what_all_entries_say() -> None:
    chance = random.Random(1)
    for _ in range(300):
        acls = {number.to_bytes(16, "big"): random_acl(chance) for number in range(chance.randint(0, 6))}
        image = AclsImage(AclsImage().by_id.update(acls))
        hints = AclHints()
        finish_steps(hints.add_image(image))
        # More than the image has, as after a removal that is not committed.
        hints.add(b"x" * 16, random_acl(chance))
        default = chance.random() < 0.5
        authorizer = Authorizer(image, hints, frozenset(), allows_without_acl=default, is_configured=True)
        for _ in range(20):
            host = chance.choice(("127.0.0.1", "10.0.0.0", "10.0.0.2", "0:0:0:0:0:0:0:1"))
            request = Request(0, 0, None, chance.choice(("User:x", "User:z", "Group:x")), host=host)
            operation, resource = chance.choice(list(Operation)[3:]), chance.choice((Resource.TOPIC, Resource.GROUP))
            name = chance.choice(("a", "ab", "abcd", "c", "*"))
            expected = allows(list(acls.values()), request, operation, resource, name, default)
            assert authorizer.allows(request, operation, resource, name) == expected, (acls, request, operation, resource, name)


def test_what_was_removed_is_forgotten() -> None:
    cluster = Cluster()
    made = messages.CreateAclsRequest
    new = [
        made.AclCreation(
            resource_type=2, resource_name=name, resource_pattern_type=kind, principal="User:a", host="*", operation=3, permission_type=3
        )
        for name in ("t", "tt")
        for kind in (3, 4)
    ]
    assert {one.error_code for one in cluster.ask(30, 3, made(creations=tuple(new))).results} == {0}
    assert cluster.state.acl_hints._ids
    again = cluster.decide(30, 3, made(creations=tuple(new)))
    assert not again.records
    wanted = messages.DeleteAclsRequest
    every = wanted.DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    cluster.ask(31, 3, wanted(filters=(every,)))

    assert not cluster.controller.image.acls.by_id
    assert not cluster.state.acl_hints._ids
    assert not any(cluster.state.acl_hints._lengths.values())
