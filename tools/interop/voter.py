"""Runs our own replica as a controller of a quorum, from the server.properties of a Kafka controller, on a formatted directory.

    python -m tools.interop.voter CONFIG [--may-stand] [--allow-plaintext] [--accept-loss] [-v]

It votes, replicates and makes snapshots. Without --may-stand it never asks for votes itself, because nothing here can act as the active
controller. It does not authorize: a client that reaches a listener and authenticates may do whatever a controller may. So an address that
other machines reach needs TLS, and with it SASL or ssl.client.auth=required; --allow-plaintext overrides that. SIGTERM and SIGINT stop it
gracefully. It ends with one line and status 1 when its disk or directory fails.

A voter whose log lost records that it may have acknowledged says so on stderr, and has no vote until a leader has sent them again. A voter
that lost its quorum-state, and a sole voter with a damaged log, do not start. With --accept-loss they start with what is left, as Kafka
does: use it when a majority is damaged, once, at the voter whose log reaches furthest (docs/damage.md).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from metashell.errors import MetashellError
from metashell.log.meta_properties import META_PROPERTIES, read_meta_properties
from metashell.log.metadata_log import MetadataLog
from metashell.log.properties import parse_properties
from metashell.log.text_files import read_text_file
from metashell.net.addresses import parse_address
from metashell.net.listener_options import ListenerOptions
from metashell.net.mechanisms import StaticCredentials, server_mechanisms
from metashell.net.security import listener_security, security_config
from metashell.net.tls import client_context, server_context
from metashell.raft.config import RaftConfig
from metashell.raft.messages import Endpoint
from metashell.server.election_store import ElectionStore, newest_epoch
from metashell.server.image_machine import ImageMachine
from metashell.server.replica_server import Parts, PeerSecurity, ReplicaServer, no_vote_line
from metashell.server.state_machine import StateMachine
from metashell.storage.config import config_of
from metashell.storage.config_values import ConfigValues
from metashell.storage.listeners import Listeners, read_listeners
from metashell.values import ReplicaKey

ALL_INTERFACES = "0.0.0.0"


@dataclass(slots=True)
class Voter:
    """A running replica, and its log, which holds the directory until it is closed."""

    server: ReplicaServer
    log: MetadataLog


async def start_voter(
    path: str,
    *,
    may_stand: bool,
    machine: StateMachine | None = None,
    on_event: Callable[[str], None] = lambda line: None,
    allow_plaintext: bool = False,
    accept_loss: bool = False,
) -> Voter:
    """Start the replica that a properties file describes. Errors: MetashellError, OSError."""
    properties = parse_properties(read_text_file(path))
    node = config_of(properties)
    if node.roles != {"controller"}:
        raise MetashellError(f"{path}: process.roles must be controller alone")
    values = ConfigValues(properties)
    listeners = read_listeners(values)
    directory = node.metadata_log_directory
    meta = read_meta_properties(os.path.join(directory, META_PROPERTIES))
    if meta.node_id != node.node_id or meta.cluster_id is None or meta.directory_id is None:
        raise MetashellError(f"{directory}: formatted for node {meta.node_id}, {path} is of node {node.node_id}")
    voters = static_voters(values)
    segment_size, segment_ms = values.number("metadata.log.segment.bytes"), values.number("metadata.log.segment.ms")
    log = await asyncio.to_thread(MetadataLog.open, directory, segment_size=segment_size, segment_ms=segment_ms, accept_loss=accept_loss)
    server: ReplicaServer | None = None
    try:
        store = ElectionStore(log.directory, sorted(voters))
        parts = Parts(
            log=log,
            store=store,
            election=store.read_for(newest_epoch(log), accept_loss=accept_loss),
            random=random.Random(),
            wall_ms=lambda: int(time.time() * 1000),
            machine=machine or ImageMachine(values.number("metadata.log.max.record.bytes.between.snapshots")),
            peers=peer_security(properties, node.controller_listener),
            on_event=on_event,
        )
        server = ReplicaServer(parts)
        opened = await server.open(*listener_options(properties, listeners, allow_plaintext=allow_plaintext))
        ports = {name: listener.port for name, listener in opened.items()}
        key = ReplicaKey(node.node_id, meta.directory_id)
        server.start(raft_config(values, listeners, ports, key, meta.cluster_id, voters, may_stand=may_stand))
    except BaseException:
        if server is not None:
            await server.kill()
        log.close()
        raise
    for repair in log.repairs:
        on_event(f"recovery: {repair}")
    return Voter(server, log)


def static_voters(values: ConfigValues) -> dict[int, Endpoint]:
    """controller.quorum.voters by id."""
    found = {}
    for entry in values.words("controller.quorum.voters"):
        id, _, address = entry.partition("@")
        found[int(id)] = tuple(parse_address(address))
    return found  # type: ignore[return-value]


def raft_config(
    values: ConfigValues,
    listeners: Listeners,
    ports: Mapping[str, int],
    key: ReplicaKey,
    cluster_id: str,
    voters: Mapping[int, Endpoint],
    *,
    may_stand: bool,
) -> RaftConfig:
    """The settings of the core; a listener whose port is 0 advertises the one that the system chose."""
    host_name = os.uname().nodename
    advertised = {
        endpoint.name: (endpoint.host or host_name, endpoint.port or ports[endpoint.name])
        for endpoint in listeners.advertised_to_controllers
        if endpoint.name in ports
    }
    quorum = "controller.quorum."
    return RaftConfig(
        cluster_id=cluster_id,
        local=key,
        listeners=advertised,
        default_listener=next(iter(advertised)),
        static_voters=voters,
        bootstrap_servers=tuple(tuple(parse_address(entry)) for entry in values.words(quorum + "bootstrap.servers")),
        may_stand=may_stand,
        auto_join=bool(values.value(quorum + "auto.join.enable")),
        election_timeout_ms=values.number(quorum + "election.timeout.ms"),
        fetch_timeout_ms=values.number(quorum + "fetch.timeout.ms"),
        election_backoff_max_ms=values.number(quorum + "election.backoff.max.ms"),
        append_linger_ms=values.number(quorum + "append.linger.ms"),
        request_timeout_ms=values.number(quorum + "request.timeout.ms"),
        retry_backoff_ms=values.number(quorum + "retry.backoff.ms"),
        fetch_max_size=values.number(quorum + "fetch.max.bytes"),
        fetch_snapshot_max_size=values.number(quorum + "fetch.snapshot.max.bytes"),
        retention_size=values.number("metadata.max.retention.bytes"),
        retention_ms=values.number("metadata.max.retention.ms"),
    )


def listener_options(properties: Mapping[str, str], listeners: Listeners, *, allow_plaintext: bool) -> list[ListenerOptions]:
    """How to listen, for each of the controller's listeners."""
    made = []
    for endpoint in listeners.of_controller:
        security = listener_security(properties, endpoint.name)
        options = ListenerOptions(
            ranges={},
            name=endpoint.name,
            host=endpoint.host or ALL_INTERFACES,
            port=endpoint.port,
            tls=None if security.tls is None else server_context(security.tls),
            mechanisms=server_mechanisms(security.mechanisms, StaticCredentials(security.plain_users)) if security.mechanisms else None,
            allow_plaintext=allow_plaintext,
        )
        made.append(options)
    return made


def peer_security(properties: Mapping[str, str], listener: str) -> PeerSecurity:
    """How to connect to the other controllers."""
    security = security_config(properties, listener)
    tls = None if security.tls is None else client_context(security.tls)
    if not security.mechanism:
        return PeerSecurity(tls=tls)

    def sasl():  # type: ignore[no-untyped-def]
        client = security.sasl_client()
        assert client is not None
        return client

    return PeerSecurity(tls=tls, sasl=sasl)


async def run(path: str, *, may_stand: bool, allow_plaintext: bool, accept_loss: bool, on_event: Callable[[str], None]) -> int:
    """Run until a signal, or until the disk fails."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    voter = await start_voter(path, may_stand=may_stand, on_event=on_event, allow_plaintext=allow_plaintext, accept_loss=accept_loss)
    if voter.server.node.recovering is not None:
        print(f"voter: {voter.log.directory}: {no_vote_line(voter.server.node.recovering)}", file=sys.stderr, flush=True)
    waiting = asyncio.ensure_future(stopping.wait())
    await asyncio.wait({waiting, voter.server.failure}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    await voter.server.stop()
    with contextlib.suppress(OSError):
        voter.log.close()
    error = voter.server.failure.result()
    if error is None:
        on_event("stopped")
        return 0
    if isinstance(error, (OSError, MetashellError)):
        print(f"voter: {voter.log.directory}: {error}", file=sys.stderr)
        return 1
    raise error


def main(argv: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="voter", description="Runs our own replica as a controller of a quorum.")
    parser.add_argument("config")
    parser.add_argument("--may-stand", action="store_true", help="ask for votes, so that it may lead")
    parser.add_argument("--allow-plaintext", action="store_true", help="let other machines in without TLS, or by TLS alone")
    parser.add_argument("--accept-loss", action="store_true", help="vote although records or a vote were lost, as Kafka does")
    parser.add_argument("-v", action="store_true", dest="verbose", help="print events on stderr")
    options = parser.parse_args(argv)

    def tell(line: str) -> None:
        if options.verbose:
            print(f"{time.strftime('%H:%M:%S', time.gmtime())} {line}", file=sys.stderr, flush=True)

    try:
        return asyncio.run(
            run(
                options.config,
                may_stand=options.may_stand,
                allow_plaintext=options.allow_plaintext,
                accept_loss=options.accept_loss,
                on_event=tell,
            )
        )
    except (OSError, MetashellError) as error:
        print(f"voter: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
