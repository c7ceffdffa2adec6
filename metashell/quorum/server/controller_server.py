"""One controller: its directory, its replica, its machine, and the process's garbage.

`Garbage` collects in small pieces. Decisions and replay make no cycles, and what an image consists of lives long; Python's own collector
would look at all of it again and again, for longer than a heartbeat should wait. So only what was made lately is looked at, some thousand
objects at a time; what is alive by then is left alone. Once an hour everything is looked at, if that is a small matter, because connections
that lived for long leave cycles. If it is none, an image was loaded since: what is there by then is left alone for ever, so that it is not
counted every hour. Only a process that is nothing but a controller does this: it is the whole process's collector.

Source: kafka.server.ControllerServer, kafka.server.KafkaRaftServer."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.common.errors import MetashellError
from metashell.common.values import ZERO_UUID
from metashell.disk.metadata_log import MetadataLog
from metashell.metadata.image import EMPTY_IMAGE, MetadataImage, Voter, VoterSet
from metashell.metadata.image.provenance import VoterEndpoint
from metashell.net.listener import Listener
from metashell.net.listener_options import ListenerOptions
from metashell.quorum.controller import QuorumController
from metashell.quorum.controller.decision import new_uuid
from metashell.quorum.raft.messages import Endpoint, RaftConfig
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.server.apis import Apis, ImageCredentials
from metashell.quorum.server.audit import Audit, ToldClients
from metashell.quorum.server.config import (
    ControllerConfig,
    ElectionStore,
    Formatted,
    advertised_endpoints,
    bootstrap_records,
    formatted_for,
    listener_options,
    newest_epoch,
    open_log,
    peer_security,
    plain_passwords,
    raft_config,
    settings_of,
    static_voters,
)
from metashell.quorum.server.controller_machine import ControllerMachine, SnapshotLimits
from metashell.quorum.server.records import check_log
from metashell.quorum.server.registration import Leaderless, Registration
from metashell.quorum.server.replica_server import Parts, ReplicaServer

if TYPE_CHECKING:
    from metashell.quorum.server.event_queue import LoopHold


class DiskHangsError(MetashellError):
    """The disk did not answer at the end. A thread still waits for it, so the process can only end by os._exit."""


class ControllerServer:
    """See the module. `on_event` gets one line for each event that an operator wants to see, `on_audit` the entries of the audit log."""

    def __init__(
        self,
        config: ControllerConfig,
        on_event: Callable[[str], None] = lambda line: None,
        on_audit: Callable[[str], None] | None = None,
    ) -> None:
        self.config = config
        self.failure: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        """Done when this controller ended: with the error that ended it, or None where it was stopped."""
        self._on_event = on_event
        self._on_audit = on_audit
        self._random = random.SystemRandom()
        self._log: MetadataLog | None = None
        self._replica: ReplicaServer | None = None
        self._machine: ControllerMachine | None = None
        self._registration: Registration | None = None
        self._leaderless: Leaderless | None = None
        self._formatted: Formatted | None = None
        self._ports: dict[str, int] = {}
        self._is_ending = False

    # ---- the beginning

    async def open(self, static_voter_ids: tuple[int, ...] | None = None) -> Mapping[str, int]:
        """Open the directory and the listeners; the port of each listener, by name. Errors: MetashellError, OSError."""
        config = self.config
        formatted = self._formatted = formatted_for(config)
        log = self._log = await asyncio.to_thread(open_log, config)
        try:
            for repair in log.repairs:
                self._on_event(f"recovery: {repair}")
            await asyncio.to_thread(check_log, log)
            ids = sorted(static_voters(config)) if static_voter_ids is None else sorted(static_voter_ids)
            store = ElectionStore(log.directory, ids, acknowledged=log.acknowledged)
            bootstrap = bootstrap_records(config.directory, log)
            controller = QuorumController(settings_of(config, formatted.cluster_id), self._random, bootstrap)
            limits = SnapshotLimits(
                config.number("metadata.log.max.record.bytes.between.snapshots"), config.number("metadata.log.max.snapshot.interval.ms")
            )
            machine = self._machine = ControllerMachine(controller, limits, wall_ms, self._on_event)
            audit = None if self._on_audit is None else Audit(self._on_audit)
            apis = Apis(machine, audit, ToldClients(self._on_event, lambda: self.image))
            parts = Parts(
                log=log,
                store=store,
                election=store.read_for(newest_epoch(log), accept_loss=config.accept_loss, is_recovering=log.recovering is not None),
                random=random.Random(),
                wall_ms=wall_ms,
                machine=machine,
                application=apis,
                peers=peer_security(config),
                on_event=self._on_event,
            )
            replica = self._replica = ReplicaServer(parts)
            # Before the log was read to its end, the image may have users and tokens that a later record removes.
            settings = controller.state.settings
            passwords = plain_passwords(config)
            credentials = ImageCredentials(lambda: self._caught_up_image, settings.token_secret, wall_ms, passwords)
            listeners = [replace(options, features=apis.features) for options in listener_options(config, credentials)]
            opened = await _bound(replica, listeners)
        except BaseException:
            await self._abandon()
            raise
        self._ports = {name: listener.port for name, listener in opened.items()}
        return self._ports

    async def start(self, voters: Mapping[int, Endpoint] | None = None) -> None:
        """Take part, after `open`, which this does if nobody has; `voters` in place of controller.quorum.voters.

        Errors: MetashellError, OSError.
        """
        if self._replica is None:
            await self.open(None if voters is None else tuple(voters))
        replica, machine, formatted, config = self.replica, self.machine, self._formatted, self.config
        assert formatted is not None, "opened"
        try:
            voters = static_voters(config) if voters is None else voters
            start_replica(replica, machine, raft_config(config, formatted.cluster_id, formatted.directory_id, self._ports, voters))
        except BaseException:
            await self._abandon()
            raise
        self._registration = Registration(
            config.node.node_id,
            new_uuid(self._random),
            advertised_endpoints(config, self._ports),
            config.protocols,
            # What it has not applied yet may end it: who registers understands all that is committed.
            lambda: self._caught_up_image,
            lambda: leader_endpoint(self.node),
            peer_security(config),
            self._random,
            self._on_event,
        )
        machine.watchers.append(self._registration.look)
        self._leaderless = Leaderless(replica.driver, self._on_event)
        replica.failure.add_done_callback(self._failed)

    async def _abandon(self) -> None:
        """Release everything after a failed start."""
        if self._replica is not None:
            await self._replica.kill()
        if self._log is not None and (self._replica is None or not self._replica.is_hung):
            with suppress(OSError):
                self._log.close()
        self._replica = self._log = None

    # ---- the end

    async def stop(self) -> None:
        """Leave gracefully: leadership is handed over, what waits is answered, everything is closed."""
        await self._end(is_graceful=True)

    async def kill(self) -> None:
        """End as a crash would: nobody is told."""
        await self._end(is_graceful=False)

    def _failed(self, failure: asyncio.Future[BaseException | None]) -> None:
        if not self._is_ending:
            self._ending = asyncio.get_running_loop().create_task(self._end(is_graceful=False))

    async def _end(self, *, is_graceful: bool) -> None:
        if self._is_ending:
            await asyncio.wait([self.failure])
            return
        self._is_ending = True
        replica = self._replica
        if self._leaderless is not None:
            self._leaderless.close()
        if self._registration is not None:
            await self._registration.close()
        error: BaseException | None = None
        if replica is not None:
            if is_graceful:
                await replica.stop()
            else:
                await replica.kill()
            with suppress(AssertionError, asyncio.InvalidStateError):
                error = replica.failure.result()
            if replica.is_hung:
                error = error or DiskHangsError(f"{self.config.directory}: the disk hangs: it has not finished what was written")
        if self._log is not None and (replica is None or not replica.is_hung):
            with suppress(OSError):
                self._log.close()
        if not self.failure.done():
            self.failure.set_result(error)

    def stand(self) -> None:
        """Ask for pre-votes at once, unless a leader is heard from."""
        driver = self.replica.driver
        driver.step(driver.node.stand)

    # ---- what it is

    @property
    def replica(self) -> ReplicaServer:
        assert self._replica is not None, "not opened"
        return self._replica

    @property
    def machine(self) -> ControllerMachine:
        assert self._machine is not None, "not opened"
        return self._machine

    @property
    def log(self) -> MetadataLog:
        """The metadata log on disk."""
        assert self._log is not None, "not opened"
        return self._log

    @property
    def registration(self) -> Registration:
        assert self._registration is not None, "not started"
        return self._registration

    @property
    def node(self) -> RaftNode:
        """The core of raft."""
        return self.replica.node

    @property
    def epoch(self) -> int:
        return self.node.epoch

    @property
    def state_name(self) -> str:
        """The name of raft's state: leader, follower, ..."""
        return self.node.state_name

    @property
    def leader_id(self) -> int:
        """The leader that this controller knows; -1 for none."""
        return self.node.leader_id

    @property
    def is_active(self) -> bool:
        """Whether this is the active controller, and takes writes."""
        return self.machine.is_active

    @property
    def image(self) -> MetadataImage:
        """The committed image, without open transactions."""
        return self.machine.controller.image

    @property
    def _caught_up_image(self) -> MetadataImage:
        return self.image if self.machine.is_caught_up else EMPTY_IMAGE

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports by listener."""
        return self._ports

    @property
    def log_end(self) -> tuple[int, int]:
        """The end of its log: (epoch, offset)."""
        return self.node.last_epoch, self.node.log_end_offset

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` on the loop after each step of raft and each change of the image or of who is active; returns what ends that."""
        watchers = self.machine.watchers
        watchers.append(watcher)
        end = self.replica.driver.watch(watcher)

        def both() -> None:
            watchers.remove(watcher)
            end()

        return both


async def _bound(replica: ReplicaServer, listeners: list[ListenerOptions]) -> Mapping[str, Listener]:
    """Open the listeners. Errors: MetashellError, in Kafka's words where an address cannot be had."""
    for options in listeners:
        try:
            await replica.open(options)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise MetashellError(f"Socket server failed to bind to {options.host}:{options.port}: {reason}.") from None
    return replica.inbound.listeners


def wall_ms() -> int:
    """Unix ms."""
    return int(time.time() * 1000)


def start_replica(replica: ReplicaServer, machine: ControllerMachine, config: RaftConfig) -> None:
    """Start a replica whose application and state machine are those of a controller."""
    replica.start(config)
    node = replica.node
    voters = (
        Voter(id, voter.key.directory_id or ZERO_UUID, tuple(VoterEndpoint(name, *at) for name, at in voter.endpoints.items()))
        for id, voter in node.voters.voters.items()
    )
    machine.begin(replica.driver, VoterSet(-1, tuple(voters)), node.kraft_version)


def leader_endpoint(node: RaftNode) -> Endpoint | None:
    """The leader's endpoint on the first controller listener."""
    return node.role.endpoints.get(node.config.default_listener) if node.leader_id >= 0 else None


YOUNG: Final = 5_000
"""New objects after which the new ones are looked at: a millisecond."""
YOUNGER: Final = 1
"""Such looks after which those of all of them are taken together: some 10 000 objects, 5 to 10 ms. With 5 it was 30 ms while a snapshot
is loaded or a batch replayed, on top of the step in which it came."""
NEVER: Final = 1_000_000_000
PERIOD_S: Final = 3600.0
ALL_MAX: Final = 60_000
"""Old objects up to which all of them are looked at: some 30 ms."""


class Garbage:
    """Runs Python's garbage collection on its own schedule. `held` measures the collections, and the counts before them."""

    def __init__(self, held: LoopHold) -> None:
        self._held = held
        self._loop = asyncio.get_running_loop()
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(YOUNG, YOUNGER, NEVER)
        gc.enable()
        self._timer = self._loop.call_later(PERIOD_S, self.collect)

    def close(self) -> None:
        """Leave garbage collection to Python again."""
        self._timer.cancel()
        gc.set_threshold(*self._thresholds)

    def collect(self) -> None:
        """Collect everything now, if it is little enough, and again after a period."""
        self._timer.cancel()
        began = self._held.begin()
        if len(gc.get_objects(2)) <= ALL_MAX:
            gc.collect()
        else:
            gc.freeze()
        self._held.end(began)
        self._timer = self._loop.call_later(PERIOD_S, self.collect)
