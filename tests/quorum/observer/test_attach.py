"""Attaching over loopback to a quorum of our cores: what is seen, and what each hindrance says in its one line.
Subscriptions: every step in order, none lost, and no more memory than a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image import EMPTY_IMAGE, MetadataImage
from metashell.metadata.image.differences import Step
from metashell.net.addresses import Address
from metashell.net.security import ListenerSecurity, security_config, tls_config
from metashell.quorum.observer.attach import BATCHES_MAX, STEPS_MAX, StepHub, attach, attach_chunks
from metashell.quorum.observer.controllers import AttachError, Target
from metashell.quorum.raft.messages import FetchRequest, FetchResponse
from tests.metadata.image.batches import batch, record
from tests.net.certificates import Authority
from tests.quorum.observer.fake_quorum import LIMIT_S, FakeQuorum, wait_for
from tests.quorum.observer.world import setting, truncate_away
from tests.running import no_longer_than
from tests.seeds import shows

TOPIC = record("TopicRecord", name="orders", topic_id=bytes(range(16)))


@pytest.fixture
def three() -> Iterator[FakeQuorum]:
    with FakeQuorum(1, 2, 3) as quorum:
        quorum.commit(setting("a"))
        yield quorum


def target(quorum: FakeQuorum, **fields) -> Target:
    values = {"controllers": quorum.addresses, "address_map": quorum.address_map, "timeout_s": LIMIT_S} | fields
    return Target(**values)


def keys(image: MetadataImage) -> set[str]:
    return set(image.configs.get((2, "orders"), ()))


def failure(found: Target) -> str:
    with pytest.raises(AttachError) as caught:
        attach(found)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_image_is_there_and_goes_on(three: FakeQuorum):
    with attach(target(three)) as source:
        view = source.view()
        assert keys(view.image) == {"a"}
        assert (view.trouble, view.image.provenance.certain_to) == ("", view.image.provenance.end_offset)
        three.append(setting("b"))
        assert keys(wait_for(source, lambda image: "b" in keys(image))) == {"a", "b"}
        assert source.view().details["leader"] == {"id": three.leader_id(), "epoch": source.view().epoch}
        assert source.view().lag == 0


def test_all_that_was_asked_was_to_fetch_without_an_id_and_with_the_clusters(three: FakeQuorum):
    with attach(target(three)):
        pass
    fetches = [message for _, message in three.asked if isinstance(message, FetchRequest)]
    assert fetches
    assert {(each.replica_id, each.directory_id, each.cluster_id) for each in fetches} == {(-1, bytes(16), "cluster")}


@shows("KIP-631/metadata-shell")
def test_a_broker_tells_where_the_controllers_are(three: FakeQuorum):
    broker = Address("127.0.0.1", three.broker_port)
    with attach(target(three, controllers=(), brokers=(broker,))) as source:
        assert keys(source.view().image) == {"a"}
        assert source.label == str(broker)


@pytest.mark.slow
def test_controllers_that_a_broker_named_and_nobody_reaches_are_named(three: FakeQuorum):
    for id in (1, 2, 3):
        three._await(three._listeners[id].stop(0))
    found = failure(target(three, controllers=(), brokers=(Address("127.0.0.1", three.broker_port),), timeout_s=1.0))
    refused = "; ".join(sorted(f"node-{id}:9093: at 127.0.0.1:{three.ports[id]}: Connection refused" for id in (1, 2, 3)))
    assert "; ".join(sorted(found.removeprefix("not attached within 1 s: ").split("; "))) == refused


def test_a_leader_that_dies_is_survived_without_a_word(three: FakeQuorum):
    with attach(target(three)) as source:
        three.kill(three.leader_id())
        assert three.call(lambda: three.quorum.run(60_000, lambda: three.quorum.leader() is not None))
        three.append(setting("b"))
        image = wait_for(source, lambda image: "b" in keys(image))
        assert not image.faults
        assert source.view().trouble == ""


def test_a_leader_that_dies_is_survived_when_it_is_all_that_was_named(three: FakeQuorum):
    leader = three.leader_id()
    with attach(target(three, controllers=(three.addresses[leader - 1],))) as source:
        three.kill(leader)
        assert three.call(lambda: three.quorum.run(60_000, lambda: three.quorum.leader() is not None))
        three.append(setting("b"))
        wait_for(source, lambda image: "b" in keys(image))


def test_a_snapshot_is_loaded_and_so_is_one_under_us():
    with FakeQuorum(1) as quorum:
        quorum.commit(setting("a"))
        quorum.call(lambda: truncate_away(quorum.quorum, 1, TOPIC))
        with attach(target(quorum)) as source:
            assert set(source.view().image.topics.by_name) == {"orders"}
            assert keys(source.view().image) == set()
            quorum.append(setting("b"))
            assert set(wait_for(source, lambda image: "b" in keys(image)).topics.by_name) == {"orders"}


@pytest.mark.slow
def test_voters_that_neither_log_nor_snapshot_names_are_told_by_the_leader():
    with FakeQuorum(1, 2, 3) as quorum:
        quorum.commit(setting("a"))
        for id in quorum.ids:
            quorum.call(lambda id=id: truncate_away(quorum.quorum, id, TOPIC))
        # A leader that does not answer soon, as on a busy machine, leaves them out.
        for _ in range(50):
            with attach(target(quorum)) as source:
                assert (source.view().image.voters, source.view().image.leader) == (None, None)
                named = source.view().details.get("voters")
            if named is not None:
                break
        assert named == [{"id": id, "directory_id": None} for id in quorum.ids]
        quorum.describe_error = 31
        with attach(target(quorum)) as source:
            assert "voters" not in source.view().details


def test_bytes_are_those_of_snapshot_and_log_and_end_where_they_are_not_followed():
    with FakeQuorum(1) as quorum:
        quorum.commit(setting("a"))
        snapshot = quorum.call(lambda: truncate_away(quorum.quorum, 1, TOPIC))
        quorum.commit(setting("b"))
        log = quorum.quorum.disks[1].log
        source = attach_chunks(target(quorum))
        first, *rest = source.chunks(follow=False)
        source.close()
        assert (first.snapshot_id, first.data) == (snapshot, log.read_snapshot(snapshot, 0, 1 << 20))
        assert b"".join(chunk.data for chunk in rest) == log.read(snapshot.offset, log.end_offset, 1 << 20)
        assert [chunk.snapshot_id for chunk in rest] == [None] * len(rest)


def test_nobody_there_is_told_for_each_address_within_the_deadline():
    found = failure(Target(controllers=(Address("127.0.0.1", 1), Address("::1", 2)), timeout_s=0.5))
    assert found.startswith("not attached within 0.5 s: 127.0.0.1:1: Connection refused; [::1]:2: ")


def test_nobody_there_ends_the_wait_early_however_long_an_answer_may_take():
    nobody = (Address("localhost", 1), Address("nobody.invalid", 9093))
    for addresses in ({"controllers": nobody}, {"brokers": nobody}):
        found = failure(Target(**addresses, timeout_s=3600, absent_s=0.1))
        assert found.startswith("not attached within 0.1 s: localhost:1: Connection refused; nobody.invalid:9093: ")


def test_controllers_that_a_broker_named_and_are_not_there_end_the_wait_early(three: FakeQuorum):
    for id in (1, 2, 3):
        three._await(three._listeners[id].stop(0))
    broker = Address("127.0.0.1", three.broker_port)
    assert failure(target(three, controllers=(), brokers=(broker,), timeout_s=3600, absent_s=0.1)).count("Connection refused") == 3


def test_one_that_accepts_and_says_nothing_is_waited_for():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_one = Address("127.0.0.1", silent.getsockname()[1])
        found = failure(Target(controllers=(Address("127.0.0.1", 1), silent_one), timeout_s=0.5, absent_s=0.1))
    assert found == f"not attached within 0.5 s: 127.0.0.1:1: Connection refused; {silent_one}: no answer"


def test_a_broker_where_a_controller_should_be(three: FakeQuorum):
    broker = Address("127.0.0.1", three.broker_port)
    assert failure(target(three, controllers=(broker,))) == f"{broker}: is a broker, not a controller: name it with --bootstrap-server"


def test_a_controller_where_a_broker_should_be(three: FakeQuorum):
    controller = three.addresses[0]
    found = failure(target(three, controllers=(), brokers=(controller,)))
    assert found == f"{controller}: is a controller, not a broker: name it with --bootstrap-controller"


def test_a_missing_right_is_told_and_not_tried_again(three: FakeQuorum):
    three.denied = 31
    found = failure(target(three))
    assert "not authorized: to fetch the metadata log needs the right CLUSTER_ACTION on the cluster" in found


def test_a_missing_right_to_describe_is_told(three: FakeQuorum):
    three.describe_error = 31
    broker = Address("127.0.0.1", three.broker_port)
    found = failure(target(three, controllers=(), brokers=(broker,)))
    assert found == f"{broker}: not authorized: to ask for the quorum needs the right DESCRIBE on the cluster"


def test_controllers_of_two_clusters_are_told_apart(three: FakeQuorum):
    three.names[2] = "another"
    found = failure(target(three))
    assert "is of cluster another, node-" in found or "is of cluster cluster, node-2:9093 of another" in found


@pytest.mark.slow
def test_a_right_that_is_taken_away_later_is_told_at_once_and_ends_who_waits(three: FakeQuorum, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("metashell.quorum.observer.attach.REFUSED_MAX_S", 2.5)
    with attach(target(three)) as source:
        three.denied = 31
        steps = source.subscribe()
        while not source.view().trouble.startswith("refused for "):
            steps.next(0.05)
        words = "not authorized: to fetch the metadata log needs the right CLUSTER_ACTION on the cluster"
        assert source.view().trouble.startswith("refused for 0 s: ") and source.view().trouble.endswith(words)
        asked = len(three.asked)
        with pytest.raises(MetashellError, match=r"refused for [23] s: .*not authorized"):
            while True:
                steps.next(0.05)
        # It asks less and less: with pauses of 0.5, 1 and 2 s for each of three nodes.
        assert len(three.asked) - asked < 20
        # The source itself stays, and what is allowed again is followed again.
        three.denied = 0
        three.append(setting("b"))
        wait_for(source, lambda image: "b" in keys(image))
        assert source.view().trouble == ""


def test_a_mistake_of_ours_ends_a_subscription_with_its_reason(three: FakeQuorum, monkeypatch: pytest.MonkeyPatch):
    with attach(target(three)) as source:
        steps = source.subscribe()

        def fail(*_: object) -> None:
            raise AssertionError("an invariant of ours")

        monkeypatch.setattr(source._consumer, "take", fail)
        three.append(setting("b"))
        with pytest.raises(MetashellError, match="the observer stopped: an invariant of ours"):
            while True:
                steps.next(LIMIT_S)
        assert source.view().trouble == "stopped: an invariant of ours"
        with pytest.raises(MetashellError, match="the observer stopped"):
            source.subscribe().next(LIMIT_S)


@pytest.mark.slow
def test_answers_that_are_refused_are_told_as_that(three: FakeQuorum, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("metashell.quorum.observer.attach.LOST_AFTER_S", 0.3)
    with attach(target(three)) as source:
        three.spoil = lambda message: replace(message, diverging=OffsetAndEpoch(0, 0)) if isinstance(message, FetchResponse) else message
        steps = source.subscribe()
        while not source.view().trouble.startswith("refused for "):
            steps.next(0.05)
        assert source.view().trouble.endswith(" s: a leader asks to truncate what is committed")
        three.spoil = lambda message: message
        three.append(setting("b"))
        wait_for(source, lambda image: "b" in keys(image))


PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{}";'


def plain_client(password: str) -> dict[str, str]:
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN.format(password)}


@pytest.mark.slow
def test_sasl_lets_in_who_is_known_and_tells_who_is_not():
    security = ListenerSecurity(protocol="SASL_PLAINTEXT", mechanisms=("PLAIN",), plain_users={"alice": "right"})
    with FakeQuorum(1, security=security) as quorum:
        quorum.commit(setting("a"))
        with attach(target(quorum, security=security_config(plain_client("right")))) as source:
            assert keys(wait_for(source, lambda image: bool(keys(image)))) == {"a"}
        found = failure(target(quorum, security=security_config(plain_client("wrong"))))
        assert found.startswith("node-1:9093: ")
        assert "uthentication failed" in found
        # Without credentials the handshake never ends well.
        assert failure(target(quorum, timeout_s=1.0)).startswith("not attached within 1 s: node-1:9093: ")


@pytest.mark.slow
def test_a_password_that_is_changed_is_told_and_ends_who_waits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("metashell.quorum.observer.attach.REFUSED_MAX_S", 2.5)
    users = {"alice": "right"}
    with FakeQuorum(1, security=ListenerSecurity(protocol="SASL_PLAINTEXT", mechanisms=("PLAIN",), plain_users=users)) as quorum:
        quorum.commit(setting("a"))
        said: list[str] = []
        with attach(target(quorum, security=security_config(plain_client("right")))) as source:
            steps = source.subscribe()
            chunks = attach_chunks(target(quorum, security=security_config(plain_client("right"))))
            dump = chunks.chunks(follow=True, say=said.append)
            next(dump)
            users["alice"] = "another"
            quorum.reopen(1)
            with pytest.raises(AttachError, match=r"refused for .*uthentication failed"):
                for _ in dump:
                    pass
            assert len(said) == 1 and said[0].startswith("refused for ")
            # It has asked at moments of its own, and gives up in its own time.
            with pytest.raises(MetashellError, match=r"refused for .*uthentication failed"), no_longer_than(60):
                while steps.next(0.1) is None:
                    pass
            chunks.close()


def test_tls_holds_the_certificate_against_the_nodes_own_name_and_tells_one_that_nobody_trusts(tmp_path: Path):
    authority = Authority()
    node = authority.sign("node", ["node-1"]).write_pem(tmp_path)
    security = ListenerSecurity(protocol="SSL", tls=tls_config({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(node)}))
    with FakeQuorum(1, security=security) as quorum:
        quorum.commit(setting("a"))
        trusted = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.write_pem(tmp_path))}
        with attach(target(quorum, security=security_config(trusted))) as source:
            wait_for(source, lambda image: bool(keys(image)))
        other = trusted | {"ssl.truststore.location": str(Authority("other CA").write_pem(tmp_path, "other"))}
        found = failure(target(quorum, security=security_config(other)))
        assert found.startswith(f"node-1:9093: at 127.0.0.1:{quorum.ports[1]}: the certificate is refused: ")


def test_a_store_that_is_not_there_is_told_before_anything_is_asked(three: FakeQuorum):
    missing = {"security.protocol": "SSL", "ssl.truststore.location": "/nowhere/trust.pem"}
    with pytest.raises(MetashellError, match=r"/nowhere/trust\.pem"):
        attach(target(three, security=security_config(missing)))
    assert three.asked == []


BATCH = batch(record("NoOpRecord"))


def steps(count: int, batches: int = 1) -> list[Step]:
    images = [EMPTY_IMAGE._replace(provenance=EMPTY_IMAGE.provenance._replace(offset=at)) for at in range(count + 1)]
    return [Step(before, after, (BATCH,) * batches) for before, after in pairwise(images)]


def test_a_subscription_begins_with_the_newest_image_and_gets_what_follows():
    first, second, third = steps(3)
    hub = StepHub(first.before)
    hub.publish(first)
    queue = hub.subscribe()
    assert queue.start is first.after
    hub.publish(second)
    hub.publish(third)
    assert (queue.next(0), queue.next(0), queue.next(0)) == (second, third, None)


def test_two_subscriptions_do_not_take_from_each_other_and_a_closed_one_gets_nothing():
    first, second = steps(2)
    hub = StepHub(first.before)
    one, two = hub.subscribe(), hub.subscribe()
    hub.publish(first)
    one.close()
    hub.publish(second)
    assert (one.next(0), one.next(0)) == (first, None)
    assert (two.next(0), two.next(0)) == (first, second)


def test_steps_that_nobody_takes_are_joined_and_stay_one_chain():
    made = steps(STEPS_MAX + 10)
    hub = StepHub(made[0].before)
    queue = hub.subscribe()
    for step in made:
        hub.publish(step)
    taken = []
    while (step := queue.next(0)) is not None:
        taken.append(step)
    assert len(taken) == STEPS_MAX
    assert [step.before for step in taken[1:]] == [step.after for step in taken[:-1]]
    assert taken[-1].after is made[-1].after
    assert taken[-1].batches == (BATCH,) * 11


def test_a_step_of_too_many_batches_or_of_a_snapshot_has_none():
    made = steps(STEPS_MAX + 1, batches=BATCHES_MAX // 2 + 1)
    hub = StepHub(made[0].before)
    queue, other = hub.subscribe(), hub.subscribe()
    for step in made:
        hub.publish(step)
    for _ in range(STEPS_MAX - 1):
        queue.next(0)
    last = queue.next(0)
    assert last is not None and last.batches is None
    other.put(made[-1]._replace(batches=None))
    assert other._steps[-1].batches is None


def test_what_is_over_says_why_after_the_steps_that_came_before():
    (first,) = steps(1)
    hub = StepHub(first.before)
    queue = hub.subscribe()
    hub.publish(first)
    hub.fail("over")
    assert queue.next(0) == first
    for each in (queue, hub.subscribe()):
        with pytest.raises(MetashellError, match="over"):
            each.next(0)
