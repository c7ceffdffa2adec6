"""Runs a replica without a controller, from the server.properties of a Kafka controller, on a formatted directory.

    python -m tools.interop.voter CONFIG [--may-stand] [--allow-plaintext] [--accept-loss] [-v]

It votes, replicates and makes snapshots, and can not act as the active controller: without --may-stand it never asks for votes itself. It
does not authorize: a client that reaches a listener and authenticates may do whatever raft answers. SIGTERM and SIGINT stop it gracefully.
It ends with one line and status 1 when its disk or directory fails.

A voter whose log lost records that it may have acknowledged says so on stderr, and has no vote until a leader has sent them again. A voter
that lost its quorum-state, and a sole voter with a damaged log, do not start. With --accept-loss they start with what is left, as Kafka
does: use it when a majority is damaged, once, at the voter whose log reaches furthest (docs/damage.md).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from metashell.common.errors import MetashellError
from metashell.disk.metadata_log import MetadataLog
from metashell.quorum.server.config import (
    ControllerConfig,
    ElectionStore,
    formatted_for,
    listener_options,
    load_config,
    newest_epoch,
    open_log,
    peer_security,
    raft_config,
    static_voters,
)
from metashell.quorum.server.feed import ImageMachine
from metashell.quorum.server.records import StateMachine, check_log
from metashell.quorum.server.replica_server import Parts, ReplicaServer, no_vote_line
from tools.interop.without_controller import WithoutController


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
    config = load_config(path, allow_plaintext=allow_plaintext, accept_loss=accept_loss)
    formatted = formatted_for(config)
    log = await asyncio.to_thread(open_log, config)
    server: ReplicaServer | None = None
    try:
        if machine is None:
            await asyncio.to_thread(check_log, log)
        application = WithoutController(formatted.cluster_id)
        server = ReplicaServer(parts_of(config, log, machine, application, on_event))
        opened = await server.open(*listener_options(config))
        ports = {name: listener.port for name, listener in opened.items()}
        made = raft_config(config, formatted.cluster_id, formatted.directory_id, ports, static_voters(config))
        server.start(replace(made, may_stand=may_stand))
        application.node = server.node
    except BaseException:
        if server is not None:
            await server.kill()
        log.close()
        raise
    for repair in log.repairs:
        on_event(f"recovery: {repair}")
    return Voter(server, log)


def parts_of(
    config: ControllerConfig,
    log: MetadataLog,
    machine: StateMachine | None,
    application: WithoutController,
    on_event: Callable[[str], None],
) -> Parts:
    """What the replica is given."""
    store = ElectionStore(log.directory, sorted(static_voters(config)), acknowledged=log.acknowledged)
    return Parts(
        log=log,
        store=store,
        election=store.read_for(newest_epoch(log), accept_loss=config.accept_loss, is_recovering=log.recovering is not None),
        random=random.Random(),
        wall_ms=lambda: int(time.time() * 1000),
        machine=machine or ImageMachine(config.number("metadata.log.max.record.bytes.between.snapshots")),
        application=application,
        peers=peer_security(config),
        on_event=on_event,
    )


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
