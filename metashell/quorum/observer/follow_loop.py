"""The loop that fetches: clock, connections and tasks around an `Observer`. It runs in a thread of its own.

`older_log` reads the metadata log that a leader still holds from before its newest snapshot, which is all that an observer fetches. A
leader sends its newest snapshot to whoever asks for offset 0, although its log goes further back, up to metadata.max.retention.*. Whoever
asks for a later offset, and names an epoch that reaches so far, gets the log. Where the log does not begin at 0, the snapshot that ends
where it begins is still there.

This module imports asyncio, so it is itself imported inside functions.
Source: KafkaRaftClient.validateFetchOffsetAndEpoch, ReplicatedLog.validateOffsetAndEpoch of org.apache.kafka.raft."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.batches import read_batch_header
from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    CLUSTER_AUTHORIZATION_FAILED,
    INCONSISTENT_CLUSTER_ID,
    NETWORK_EXCEPTION,
    NONE,
    UNSUPPORTED_VERSION,
    error_text,
)
from metashell.common.errors import DecodeError, MetashellError
from metashell.common.values import ZERO_UUID, OffsetAndEpoch
from metashell.net.addresses import Address
from metashell.quorum.observer.controllers import (
    AttachError,
    Controllers,
    Dial,
    Failures,
    MixedClustersError,
    Refused,
    as_refused,
    controllers_of,
    voters_of,
)
from metashell.quorum.observer.observer import REQUEST_TIMEOUT_MS, Observer
from metashell.quorum.raft.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse, Response
from metashell.quorum.raft.wire import UnsupportedVersionError, send_raft_request

if TYPE_CHECKING:
    from metashell.quorum.observer.controllers import Link, Target
    from metashell.quorum.observer.observer import Consumer
    from metashell.quorum.raft.ready import Send


_POLL_MAX_S = 10.0
_LOOK_S = 1.0
_BEAT_S = 1.0
_PAUSE_S = 3.0
_LEARN_S = 10.0
_VOTERS_S = 1.0
_HOLD_S = 0.5
_HOLD_MAX_S = 8.0
_OLDER_S = 30.0
_NOT_AUTHORIZED = "not authorized: to fetch the metadata log needs the right CLUSTER_ACTION on the cluster"


class _Hold(NamedTuple):
    """A node that refused our credential is not asked again before `until_s`; each refusal doubles the pause."""

    failure: Refused
    until_s: float
    pause_s: float


class FollowLoop:
    """Attaches and follows until `stop`. `moved` is called after each answer, on the loop's thread."""

    def __init__(self, target: Target, consumer: Consumer, dial: Dial, moved: Callable[[FollowLoop], None]) -> None:
        self._target = target
        self._consumer = consumer
        self._moved = moved
        self._connections = Controllers(dial, target.address_map, REQUEST_TIMEOUT_MS / 1000)
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._heart: asyncio.TimerHandle | None = None
        self._over: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False
        self.failures = Failures()
        self.controllers = target.controllers
        self.observer: Observer | None = None
        self._heard = (0.0, -math.inf)
        self._learned_s = 0.0
        self._turn = -1
        self._leader: Address | None = None
        self._holds: dict[Address, _Hold] = {}

    # ---- life

    async def run(self) -> None:
        """Follow until `stop` is called. Errors: AttachError where trying again cannot help; our own bugs pass."""
        self._loop = asyncio.get_running_loop()
        self._over = self._loop.create_future()
        if self._is_stopped:
            return
        self._start(self._begin())
        self._beat()
        try:
            await self._over
        finally:
            for timer in (self._timer, self._heart):
                if timer is not None:
                    timer.cancel()
            for task in self._tasks:
                task.cancel()
            self._connections.close()

    async def _begin(self) -> None:
        if self._target.brokers:
            self.controllers = await self._discover()
        await self._look_at_all()
        self.observer = Observer(self.controllers, self._consumer, self._target.label, random.Random(), _now_ms())
        self._send(self.observer.start(_now_ms()))

    def stop(self) -> None:
        """End `run`; may be called from any thread, and before `run`."""
        self._is_stopped = True
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._finish, None)

    def _finish(self, error: BaseException | None) -> None:
        if self._over is not None and not self._over.done():
            if error is None:
                self._over.set_result(None)
            else:
                self._over.set_exception(error)

    # ---- silence

    @property
    def refused(self) -> str:
        """The reason why the last answer was refused, empty if it was not."""
        return "" if self.observer is None else self.observer.refused

    @property
    def forbidden(self) -> str:
        """The nodes that refuse our credential, and their errors, while no leader has answered since; empty where none does."""
        return "; ".join(f"{address}: {hold.failure}" for address, hold in sorted(dict(self._holds).items()))

    @property
    def silent_s(self) -> float:
        """Seconds since a leader last answered, as of the last second; time in which this process was stopped does not count."""
        beat_s, answered_s = self._heard
        return beat_s - answered_s

    def _beat(self) -> None:
        assert self._loop is not None
        (beat_s, answered_s), now_s = self._heard, time.monotonic()
        if now_s - beat_s > _PAUSE_S:
            answered_s += now_s - beat_s
        self._heard = (now_s, answered_s)
        if now_s > self._learned_s + _LEARN_S and self._tasks:
            self._learned_s = now_s
            self._start(self._connections.learn())
        self._heart = self._loop.call_later(_BEAT_S, self._beat)

    # ---- where the controllers are

    async def _discover(self) -> tuple[Address, ...]:
        brokers = self._target.brokers
        while True:
            for address in brokers:
                try:
                    link = await self._connections.broker(address)
                    try:
                        return await controllers_of(link, REQUEST_TIMEOUT_MS / 1000)
                    finally:
                        link.close()
                except Refused as failure:
                    self.failures.note(address, failure)
            if self.failures.are_final(brokers):
                raise AttachError(self.failures.text(brokers))
            await asyncio.sleep(REQUEST_TIMEOUT_MS / 10_000)

    async def _look_at_all(self) -> None:
        """Connect to all named controllers that answer soon, to check that they belong to one cluster.

        Errors: AttachError where they are not.
        """

        async def look(address: Address) -> None:
            try:
                await self._connections.link(address)
            except Refused as failure:
                self._note(address, failure)
                if isinstance(failure, MixedClustersError):
                    raise

        looks = [asyncio.ensure_future(look(address)) for address in self.controllers]
        try:
            await asyncio.wait(looks, timeout=_LOOK_S)
        finally:
            for each in looks:
                each.cancel()
        if any(not each.cancelled() and each.done() and each.exception() is not None for each in looks):
            raise AttachError(self.failure_text())
        if self.failures.are_final(self.controllers):
            raise AttachError(self.failure_text())

    @property
    def is_hopeless(self) -> bool:
        """Whether no address that is known takes a connection."""
        return self.failures.are_hopeless((*(self.controllers or self._target.brokers), *self._connections.learned))

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, empty while no node has named it."""
        return self._connections.cluster_id or ""

    def voter_ids(self) -> tuple[int, ...]:
        """The voters as the leader names them, empty where it does not answer soon. Called from another thread, which waits."""
        from concurrent.futures import CancelledError

        if self._loop is None:
            return ()
        asked = asyncio.run_coroutine_threadsafe(self._ask_for_voters(), self._loop)
        try:
            return asked.result(_VOTERS_S)
        except (TimeoutError, CancelledError, MetashellError, RuntimeError):
            asked.cancel()
            return ()

    async def _ask_for_voters(self) -> tuple[int, ...]:
        assert self._leader is not None, "somebody has answered a fetch"
        return await voters_of(await self._connections.link(self._leader), _VOTERS_S)

    def older_log(self, snapshot: OffsetAndEpoch) -> OlderLog | None:
        """Fetch the leader's log from before a snapshot; None where it has none, or does not answer. For another thread."""
        from concurrent.futures import CancelledError

        if self._loop is None or self._leader is None:
            return None
        asked = asyncio.run_coroutine_threadsafe(self._ask_for_older(self._leader, snapshot), self._loop)
        try:
            return asked.result(_OLDER_S)
        except (TimeoutError, CancelledError, MetashellError, DecodeError, RuntimeError):
            asked.cancel()
            return None

    async def _ask_for_older(self, leader: Address, snapshot: OffsetAndEpoch) -> OlderLog | None:

        return await older_log(await self._connections.link(leader), snapshot, self._connections.cluster_id)

    def failure_text(self) -> str:
        """Return the error text of a failed attach; it names all addresses, also those that only a broker named."""
        return self.failures.text(self.controllers or self._target.brokers)

    # ---- requests

    def _send(self, sends: list[Send]) -> None:
        assert self._loop is not None and self.observer is not None
        for send in sends:
            self._start(self._exchange(send))
        if self._timer is not None:
            self._timer.cancel()
        wait_s = min(max(self.observer.next_poll_ms - _now_ms(), 0) / 1000, _POLL_MAX_S)
        self._timer = self._loop.call_later(wait_s, self._poll)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        assert self._loop is not None
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._finish(error)

    def _poll(self) -> None:
        assert self.observer is not None
        self._send(self.observer.poll(_now_ms()))

    async def _exchange(self, send: Send) -> None:
        assert self.observer is not None
        address = Address(*send.endpoint) if send.destination >= 0 else self._next_candidate()
        try:
            response = await self._ask(address, send)
        except Refused as failure:
            self._note(address, failure)
            self._hold(address, failure)
            code = NETWORK_EXCEPTION if failure.final else BROKER_NOT_AVAILABLE
            self._send(self.observer.failed(send, code, _now_ms()))
        except UnsupportedVersionError as error:
            self._note(address, Refused(str(error), final=True))
            self._send(self.observer.failed(send, UNSUPPORTED_VERSION, _now_ms()))
        else:
            sends = self.observer.answered(send, response, _now_ms())
            self._judge(address, response)
            self._send(sends)
        self._moved(self)

    def _next_candidate(self) -> Address:
        """Return the next controller to ask for the leader: all that were named or learned take turns, since those named may be gone."""
        candidates = list(dict.fromkeys((*self.controllers, *self._connections.learned)))
        self._turn += 1
        return candidates[self._turn % len(candidates)]

    async def _ask(self, address: Address, send: Send) -> Response:
        """Errors: Refused, UnsupportedVersionError."""
        hold = self._holds.get(address)
        if hold is not None and time.monotonic() < hold.until_s:
            raise hold.failure
        link = await self._connections.link(address)
        assert isinstance(send.message, FetchRequest | FetchSnapshotRequest), "an observer only fetches"
        # Null is any cluster; once it is known, a node of another one refuses us.
        send.message.cluster_id = self._connections.cluster_id
        try:
            return await send_raft_request(link, send.message, REQUEST_TIMEOUT_MS / 1000)
        except UnsupportedVersionError:
            raise
        except (MetashellError, DecodeError) as error:
            self._connections.drop(address)
            raise as_refused(error) from None

    def _judge(self, address: Address, response: Response) -> None:
        assert isinstance(response, FetchResponse | FetchSnapshotResponse) and self.observer is not None
        if response.top_error == CLUSTER_AUTHORIZATION_FAILED:
            failure = Refused(_NOT_AUTHORIZED, credential=True)
            self._note(address, failure)
            self._hold(address, failure)
        elif response.top_error == INCONSISTENT_CLUSTER_ID:
            self._note(address, Refused("is of another cluster", final=True))
        elif response.top_error:
            self._note(address, Refused(f"answers with {error_text(response.top_error)}"))
        else:
            self.failures.forget(address)
            if not response.error and not self.observer.refused:
                self._leader = address
                self._holds.clear()
                now_s = time.monotonic()
                self._heard = (now_s, now_s)

    def _hold(self, address: Address, failure: Refused) -> None:
        """Pause requests to a node that refused our credential; callers get the same refusal meanwhile."""
        before = self._holds.get(address)
        if failure.credential and (before is None or before.failure is not failure):
            pause_s = _HOLD_S if before is None else min(2 * before.pause_s, _HOLD_MAX_S)
            self._holds[address] = _Hold(failure, time.monotonic() + pause_s, pause_s)

    def _note(self, address: Address, failure: Refused) -> None:
        self.failures.note(address, failure)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


TIMEOUT_S: Final = 3.0
_READ_SIZE: Final = 8 << 20
_EPOCHS_TRIED: Final = 100


class OlderLog(NamedTuple):
    """The bytes of the log before a snapshot, and those of the snapshot where that log begins; none where it begins at offset 0."""

    snapshot: tuple[OffsetAndEpoch, bytes] | None
    log: bytes


async def older_log(link: Link, snapshot: OffsetAndEpoch, cluster_id: str | None) -> OlderLog | None:
    """Fetch the log from before `snapshot` from the leader at `link`; None where it has nothing more.

    Errors: MetashellError of the connection, DecodeError.
    """
    asker = _Fetcher(link, cluster_id)
    end = await asker.fetch(snapshot.offset, snapshot.epoch)
    begin = end.log_start_offset
    if end.error != NONE or not 0 <= begin < snapshot.offset:
        return None
    base = None
    position, epoch = begin, 0
    if begin:
        base = await asker.snapshot_at(begin, snapshot.epoch)
        if base is None:
            return None
        epoch = base[0].epoch
    data: list[bytes] = []
    while position < snapshot.offset:
        answer = await asker.fetch(position, epoch)
        if answer.error == NONE and not answer.records and position == 0 and (answer.snapshot_id or answer.diverging):
            # At 0 is only the record of the first election. The epoch of a later one reaches further back too.
            position, epoch = 1, snapshot.epoch
            continue
        if answer.error != NONE or not answer.records or answer.snapshot_id is not None or answer.diverging is not None:
            return None
        data.append(answer.records)
        position, epoch = _end_of(answer.records)
    return OlderLog(base, b"".join(data))


class _Fetcher:
    """Asks one node as an observer without an id."""

    def __init__(self, link: Link, cluster_id: str | None) -> None:
        self._link = link
        self._cluster_id = cluster_id
        self._epoch = 0

    async def fetch(self, offset: int, last_epoch: int) -> FetchResponse:
        """The log from an offset on."""
        request = FetchRequest(self._cluster_id, -1, ZERO_UUID, self._epoch, offset, last_epoch, 0, _READ_SIZE)
        answer = await send_raft_request(self._link, request, TIMEOUT_S)
        assert isinstance(answer, FetchResponse)
        if answer.error != NONE and answer.epoch > self._epoch and not answer.top_error:
            # The first answer says which epoch it is.
            self._epoch = answer.epoch
            return await self.fetch(offset, last_epoch)
        self._epoch = max(self._epoch, answer.epoch)
        return answer

    async def snapshot_at(self, offset: int, newest_epoch: int) -> tuple[OffsetAndEpoch, bytes] | None:
        """The snapshot that ends at an offset, whose epoch is not known."""
        for epoch in range(newest_epoch, max(newest_epoch - _EPOCHS_TRIED, -1), -1):
            id = OffsetAndEpoch(offset, epoch)
            data = await self._snapshot(id)
            if data is not None:
                return id, data
        return None

    async def _snapshot(self, id: OffsetAndEpoch) -> bytes | None:
        data = b""
        while True:
            request = FetchSnapshotRequest(self._cluster_id, -1, ZERO_UUID, self._epoch, id, len(data), _READ_SIZE)
            answer = await send_raft_request(self._link, request, TIMEOUT_S)
            assert isinstance(answer, FetchSnapshotResponse)
            if answer.error != NONE or answer.top_error != NONE or not answer.records:
                return None
            data += answer.records
            if len(data) >= answer.size:
                return data


def _end_of(records: bytes) -> tuple[int, int]:
    """The offset behind the last batch, and its epoch."""
    header = None
    at = 0
    while at < len(records):
        header = read_batch_header(records, at)
        at += header.size_bytes
    assert header is not None
    return header.last_offset + 1, header.leader_epoch
