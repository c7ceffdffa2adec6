"""Controllers that are asked each for itself, and what else may be at an address."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED
from metashell.metadata.checks.facts import Probe, QuorumAnswers
from metashell.net.addresses import Address, parse_addresses
from metashell.net.security import ListenerSecurity, SecurityConfig, security_config, tls_config
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.quorum.observer.controllers import Target
from metashell.quorum.observer.probes import probe, probe_brokers
from tests.net.certificates import Authority
from tests.quorum.observer.fake_quorum import FakeQuorum


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=3) as running:
        running.wait_for(lambda image: len(image.cluster.controllers) == 3)
        yield running


def ask(addresses: str, known: dict[int, Address] | None = None) -> QuorumAnswers:
    began = time.monotonic()
    found = probe(Target(controllers=tuple(parse_addresses(addresses))), known)
    assert time.monotonic() - began < 5
    return found


def by_address(found: QuorumAnswers) -> dict[str, Probe]:
    return {one.address: one for one in found.probes}


@contextmanager
def listener(answer: bytes | None) -> Iterator[str]:
    """A port that answers anything with these bytes and closes, or for None never answers."""
    kept: list[socket.socket] = []
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    taken, _ = server.accept()
                except OSError:
                    return
                kept.append(taken)
                if answer is not None:
                    taken.recv(1000)
                    taken.sendall(answer)
                    taken.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"localhost:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    for taken in kept:
        taken.close()


def test_one_address_leads_to_all_voters(quorum: EmbeddedQuorum) -> None:
    leader = quorum.wait_for_leader()
    for address in quorum.bootstrap_controllers.split(","):
        found = ask(address)
        assert found.leader_id == leader and {voter.id for voter in found.voters} == {1, 2, 3}
        assert {one.voter_id: one.outcome for one in found.probes} == dict.fromkeys((1, 2, 3), "answers")
        assert {(one.leader_id, one.epoch, one.cluster_id) for one in found.probes} == {(leader, found.epoch, quorum.cluster_id)}


def test_what_else_is_at_an_address_is_found_out(quorum: EmbeddedQuorum) -> None:
    with listener(None) as silent, listener(b"HTTP/1.1 400 Bad Request\r\n\r\n") as web:
        found = by_address(ask(f"{quorum.bootstrap_controllers},localhost:1,nowhere.invalid:9093,{silent},{web}"))
    outcomes = {address: (one.outcome, one.voter_id) for address, one in found.items() if one.voter_id is None}
    assert outcomes == {
        "localhost:1": ("refused", None),
        "nowhere.invalid:9093": ("unresolved", None),
        silent: ("silent", None),
        web: ("no_kafka", None),
    }
    # Where something is amiss, each controller is asked who it is.
    assert sorted(one.id for one in found.values() if one.outcome == "answers") == [1, 2, 3]


def test_controllers_of_two_clusters_are_told_apart(quorum: EmbeddedQuorum) -> None:
    with EmbeddedQuorum(controllers=1) as other:
        found = ask(f"{quorum.bootstrap_controllers},{other.bootstrap_controllers}")
        there = by_address(found)[other.bootstrap_controllers]
        assert there.outcome == "wrong_cluster" and other.cluster_id in there.words and there.voter_id is None
        assert found.leader_id == quorum.leader_id and len(found.voters) == 3


def test_those_that_remain_say_where_the_others_are() -> None:
    with EmbeddedQuorum(controllers=3) as quorum:
        quorum.wait_for(lambda image: len(image.cluster.controllers) == 3)
        places = dict(zip((1, 2, 3), quorum.bootstrap_controllers.split(","), strict=True))
        first = quorum.wait_for_leader()
        quorum.kill(first)
        second = quorum.wait_for_leader()
        quorum.kill(second)
        (last,) = {1, 2, 3} - {first, second}
        found = ask(places[last])
        assert found.leader_id is None and found.voters == () and found.epoch is not None
        assert {one.voter_id: (one.outcome, one.source) for one in found.probes} == {
            first: ("refused", "registered"),
            second: ("refused", "registered"),
            last: ("answers", "registered"),
        }


def only(port: int, security: SecurityConfig | None = None) -> Probe:
    """What one port on this machine answers."""
    address = Address("127.0.0.1", port)
    more = {} if security is None else {"security": security}
    (found,) = (one for one in probe(Target(controllers=(address,), **more)).probes if one.address == str(address))  # type: ignore[arg-type]
    return found


def test_a_port_that_is_asked_the_wrong_way_is_named(tmp_path: Path) -> None:
    authority = Authority()
    node = authority.sign("node", ["127.0.0.1"]).write_pem(tmp_path)
    listener_security = ListenerSecurity(protocol="SSL", tls=tls_config({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(node)}))
    trusted = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.write_pem(tmp_path))}
    stranger = trusted | {"ssl.truststore.location": str(Authority("other CA").write_pem(tmp_path, "other"))}
    with FakeQuorum(1, security=listener_security) as secured, FakeQuorum(1) as plain:
        assert only(secured.ports[1]).outcome == "tls"
        assert only(secured.ports[1], security_config(trusted)).outcome == "answers"
        refused = only(secured.ports[1], security_config(stranger))
        assert refused.outcome == "forbidden" and "certificate is refused" in refused.words
        assert only(plain.ports[1], security_config(trusted)).outcome == "plain"
        assert only(plain.broker_port).outcome == "broker"
        (broker,) = probe_brokers(Target(brokers=(Address("127.0.0.1", plain.broker_port),)))
        (controller,) = probe_brokers(Target(brokers=(Address("127.0.0.1", plain.ports[1]),)))
        assert (broker.outcome, controller.outcome) == ("answers", "controller")


def test_who_may_not_ask_for_the_quorum_is_told_so() -> None:
    with FakeQuorum(1) as quorum:
        quorum.describe_error = CLUSTER_AUTHORIZATION_FAILED
        told = only(quorum.ports[1])
        assert told.outcome == "forbidden" and "the right DESCRIBE on the cluster" in told.words


def test_below_the_level_at_which_controllers_register_the_leader_is_found_by_a_fetch() -> None:
    with EmbeddedQuorum(controllers=3, static=True, metadata_version="3.6-IV2") as quorum:
        leader = quorum.wait_for_leader()
        places = dict(zip((1, 2, 3), quorum.bootstrap_controllers.split(","), strict=True))
        other = next(place for id, place in places.items() if id != leader)
        # A follower answers before it has loaded its log.
        found = next(found for found in (ask(other) for _ in range(100)) if "not_loaded" not in {one.outcome for one in found.probes})
        assert found.leader_id == leader and {one.voter_id: one.outcome for one in found.probes} == dict.fromkeys((1, 2, 3), "answers")
