"""The consensus core as an anonymous observer, without I/O: answers in, requests and committed batches out.

It drives a `RaftNode` that has no id and may not stand, over a log in memory that forgets what was consumed. Nothing that it holds
has to survive it, so every state is "durable" as soon as it is written down here.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, assert_never

from metashell.codec.checked_batches import checked_batches
from metashell.raft.config import RaftConfig
from metashell.raft.memory_log import MemoryLog
from metashell.raft.messages import FetchResponse, Response
from metashell.raft.node import RaftNode
from metashell.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Ready, Send, SnapshotToLoad, TruncatedTo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.codec.batches import RecordBatch
    from metashell.live.consumers import Consumer
    from metashell.net.addresses import Address
    from metashell.raft.replica import Random
    from metashell.values import OffsetAndEpoch

READ_SIZE: Final = 1 << 20
"""Bytes of the log that become one step."""
REQUEST_TIMEOUT_MS: Final = 3_000
RETRY_BACKOFF_MS: Final = 250
"""Longer than Kafka's 20 ms: nobody waits for us."""


class Observer:
    """See the module. `label` names the source of batches in faults.

    `high_watermark` is the newest that a leader named, -1 before; `end_offset` how far all is consumed.
    """

    def __init__(self, controllers: Sequence[Address], consumer: Consumer, label: str, random: Random, now_ms: int) -> None:
        config = RaftConfig(
            cluster_id="",
            local=None,
            bootstrap_servers=tuple((address.host, address.port) for address in controllers),
            is_controller=False,
            may_stand=False,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            retry_backoff_ms=RETRY_BACKOFF_MS,
        )
        self._consumer = consumer
        self._label = label
        self._log = MemoryLog()
        self._durable = Durable(ElectionState(0), 0)
        self._position = 0
        self.high_watermark = -1
        self.end_offset = 0
        self.leader_id = -1
        self.epoch = 0
        self.refused = ""
        """Why the last answer was refused, empty if it was not."""
        self._node = RaftNode(config, self._log, ElectionState(0), random=random, now_ms=now_ms)
        self._listener, registered = self._node.register(now_ms)
        self._pending = deque([self._node.take_ready(), registered])

    def start(self, now_ms: int) -> list[Send]:
        """The first requests."""
        self._pending.append(self._node.poll(now_ms))
        return self._work(now_ms)

    def poll(self, now_ms: int) -> list[Send]:
        """To be called at `next_poll_ms`."""
        self._pending.append(self._node.poll(now_ms))
        return self._work(now_ms)

    @property
    def next_poll_ms(self) -> int:
        return self._node.next_poll_ms()

    def answered(self, send: Send, response: Response, now_ms: int) -> list[Send]:
        """An answer came; gives what is to be sent now."""
        if isinstance(response, FetchResponse) and not response.error and not response.top_error:
            self.high_watermark = max(self.high_watermark, response.high_watermark)
        complaints = self._node.complaints
        self._pending.append(self._node.handle_response(send.destination, send.correlation_id, response, now_ms))
        self.refused = self._node.last_complaint if self._node.complaints > complaints else ""
        return self._work(now_ms)

    def failed(self, send: Send, error_code: int, now_ms: int) -> list[Send]:
        """No answer came; gives what is to be sent now."""
        self._pending.append(self._node.handle_failure(send.destination, send.correlation_id, error_code, now_ms))
        return self._work(now_ms)

    @property
    def complaint(self) -> str:
        """The last thing that a peer sent and should not have, empty if none did."""
        return self._node.last_complaint

    def _work(self, now_ms: int) -> list[Send]:
        sends: list[Send] = []
        while self._pending:
            ready = self._pending.popleft()
            if ready.election is not None:
                self._durable = Durable(ready.election, ready.kraft_version)
            sends += [message for message in ready.messages(self._durable) if isinstance(message, Send)]
            self._perform(ready, now_ms)
        if self._node.next_poll_ms() <= now_ms:
            self._pending.append(self._node.poll(now_ms))
        return sends

    def _perform(self, ready: Ready, now_ms: int) -> None:
        if ready.flush_to is not None:
            self._log.flush_to(ready.flush_to)
            self._pending.append(self._node.flushed(ready.flush_to, now_ms))
        if ready.freeze is not None:
            part = self._node.downloaded_part()
            assert part is not None, "a snapshot to freeze has its part"
            part.freeze()
            self._pending.append(self._node.snapshot_frozen(ready.freeze, now_ms))
        for notice in ready.notices:
            match notice:
                case SnapshotToLoad(_, id):
                    self._load_snapshot(id)
                    self._pending.append(self._node.consumed(self._listener, id.offset, now_ms))
                case Committed(_, _, end_offset):
                    self._take(end_offset)
                    self._pending.append(self._node.consumed(self._listener, end_offset, now_ms))
                case LeaderChanged(_, leader_id, epoch):
                    self.leader_id, self.epoch = leader_id, epoch
                case TruncatedTo():
                    pass  # nobody mirrors what is not committed
                case _:
                    assert_never(notice)

    def _load_snapshot(self, id: OffsetAndEpoch) -> None:
        data = self._log.read_snapshot(id, 0, self._log.snapshot_size(id))
        # The image keeps what it needs of these bytes, and nobody fetches them from us.
        self._log.add_snapshot(id, b"")
        self._position = self.end_offset = id.offset
        self._consumer.load_snapshot(id, data)

    def _take(self, end_offset: int) -> None:
        """Hand on whole batches below `end_offset`; one that ends behind it waits for the next time."""
        while self._position < end_offset:
            data = self._log.read(self._position, end_offset, READ_SIZE)
            batches: list[RecordBatch] = []
            for batch in checked_batches(data, self._label):
                if batch.header.last_offset >= end_offset:
                    break
                batches.append(batch)
            if not batches:
                break
            start, self._position = self._position, batches[-1].header.last_offset + 1
            self.end_offset = self._position
            self._consumer.take(batches, start, self._position)
            # The last batch that was consumed stays: a log that is cut back to it has to know its epoch.
            self._log.forget_before(self._position - 1)
