"""An observer beside a quorum in memory, on the quorum's clock: requests go to the nodes, answers come when they give them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image.differences import Step
from metashell.net.addresses import Address
from metashell.quorum.observer.observer import ImageConsumer, Observer
from metashell.quorum.raft.messages import Response
from metashell.quorum.raft.ready import Send
from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch
from tests.metadata.image.batches import batch, record, value
from tests.quorum.raft.quorum import CLUSTER, Quorum, endpoint

TICK_MS = 10


def setting(key: str, text: str | None = "1") -> bytes:
    """A record that sets a config of the topic orders."""
    return value(record("ConfigRecord", resource_type=2, resource_name="orders", name=key, value=text))


def no_op() -> bytes:
    return value(record("NoOpRecord"))


def snapshot_bytes(end_offset: int, epoch: int, *bodies: Any) -> bytes:
    """A snapshot that holds these records."""
    head = write_control_batch(0, epoch, 0, [SnapshotHeader(7)])
    body = batch(*bodies, base_offset=1).data
    return head + body + write_control_batch(1 + len(bodies), epoch, 0, [SnapshotFooter()])


class Watcher:
    """The observer, the steps that it published, and what it asked. `spoil` may change an answer on its way."""

    def __init__(self, quorum: Quorum, *ids: int) -> None:
        self.quorum = quorum
        self.steps: list[Step] = []
        self.sent: list[Send] = []
        self.spoil: Callable[[Response], Response] = lambda response: response
        self.consumer = ImageConsumer("quorum", self.steps.append, 1 << 20)
        addresses = [Address(*endpoint(id)) for id in ids or quorum.nodes]
        self.observer = Observer(addresses, self.consumer, "quorum", Random(1), quorum.now)
        self._open: dict[str, Send] = {}
        self._take(self.observer.start(quorum.now))

    @property
    def keys(self) -> set[str]:
        """The configs that the published image has."""
        return set(self.consumer.image.configs.get((2, "orders"), ()))

    def run(self, duration_ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass for both, at most so long; whether `until` came true."""
        end = self.quorum.now + duration_ms
        while self.quorum.now < end:
            if until is not None and until():
                return True
            self.quorum.run(TICK_MS)
            self._deliver()
            if self.observer.next_poll_ms <= self.quorum.now:
                self._take(self.observer.poll(self.quorum.now))
        return until is None

    def _take(self, sends: list[Send]) -> None:
        for send in sends:
            self.sent.append(send)
            name = f"watcher {len(self.sent)}"
            self._open[name] = send
            send.message.cluster_id = CLUSTER  # type: ignore[union-attr]
            id = int(send.endpoint[0].removeprefix("node-"))
            if id in self.quorum.nodes:
                self.quorum.ask(id, send.message, name)

    def _deliver(self) -> None:
        for name, send in list(self._open.items()):
            answer = self.quorum.answers.pop(name, None)
            if answer is not None:
                del self._open[name]
                self._take(self.observer.answered(send, self.spoil(answer), self.quorum.now))
            elif int(send.endpoint[0].removeprefix("node-")) not in self.quorum.nodes:
                del self._open[name]
                self._take(self.observer.failed(send, BROKER_NOT_AVAILABLE, self.quorum.now))


def truncate_away(quorum: Quorum, id: int, *bodies: Any) -> OffsetAndEpoch:
    """Give a node a snapshot of all that it has committed, and drop the log before it."""
    node = quorum.nodes[id]
    assert node.high_watermark is not None
    snapshot = OffsetAndEpoch(node.high_watermark, node.epoch)
    log = quorum.disks[id].log
    log.add_snapshot(snapshot, snapshot_bytes(snapshot.offset, snapshot.epoch, *bodies))
    log.delete_before(snapshot)
    return snapshot
