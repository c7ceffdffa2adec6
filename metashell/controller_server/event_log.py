"""The events of a controller as lines: text for people, or one JSON object each, with stable keys, for programs.

Every object has `time`, `event` (its kind) and `message` (the text); the other keys go by the kind:

| event | keys | when |
| --- | --- | --- |
| state | state, epoch, leader_id | raft's state changed |
| active, inactive | epoch | this controller became the active one, or no longer is |
| error | number, what, error, place | something was decided by a mistake of ours |
| broker | broker_id, broker_epoch, change | registered, fenced, unfenced, in controlled shutdown, unregistered |
| controller | controller_id, change | registered, unregistered |
| feature | feature, level | a finalized level changed |
| snapshot | offset, epoch, size | a snapshot is complete |
| complaint | number, what | a peer sent what it must not send |
| peer | host, port, reached | another controller cannot be reached, or can be again; this one cannot register with the active one |
| leaderless | epoch, asked | no leader is known for some seconds; whom this controller asks |
| note | | everything else |

This module imports asyncio by what it watches, so it is itself imported inside functions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from metashell.codec.metadata_version import METADATA_VERSION
from metashell.escape import terminal_line
from metashell.forms import compact_json
from metashell.server.events import Event

if TYPE_CHECKING:
    from metashell.controller_server.server import ControllerServer
    from metashell.image import BrokerRegistration, MetadataImage


class EventLog:
    """Events on a stream (standard error), one line each; a reader that is gone ends nothing."""

    def __init__(self, form: str, stream: IO[str] | None = None, clock: Callable[[], float] = time.time) -> None:
        self._is_json = form == "json"
        self._stream = stream
        self._clock = clock

    def event(self, line: str) -> None:
        """Write one."""
        now = self._clock()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
        if self._is_json:
            kind, fields = (line.kind, line.fields) if isinstance(line, Event) else ("note", {})
            text = compact_json({"time": stamp, "event": kind, "message": str(line), **fields})
        else:
            text = f"{stamp} {terminal_line(line)}"
        stream = self._stream or sys.stderr
        with suppress(OSError):
            stream.write(f"{text}\n")
            stream.flush()


class ClusterEvents:
    """Tells what changes in the stable image of a controller that was started, once it has read its log to the end."""

    def __init__(self, server: ControllerServer, on_event: Callable[[str], None]) -> None:
        self._server = server
        self._on_event = on_event
        self._seen: MetadataImage | None = None
        self._snapshots = 0
        self._end = server.watch(self._look)

    def close(self) -> None:
        """Tell nothing more."""
        self._end()

    def _look(self) -> None:
        server = self._server
        made = server.replica.feed.snapshots_made
        if made != self._snapshots:
            self._snapshots = made
            self._tell_snapshot()
        image = server.image
        seen = self._seen
        if image is seen or not server.machine.is_caught_up:
            return
        self._seen = image
        if seen is not None:
            self._tell_brokers(seen, image)
            self._tell_controllers(seen, image)
            self._tell_features(seen, image)

    def _tell_snapshot(self) -> None:
        log = self._server.log
        ids = log.snapshots()
        if ids:
            id = ids[-1]
            size = log.snapshot_size(id)
            text = f"snapshot {id.offset}-{id.epoch} is complete: {size} bytes"
            self._on_event(Event(text, "snapshot", offset=id.offset, epoch=id.epoch, size=size))

    def _tell_brokers(self, before: MetadataImage, after: MetadataImage) -> None:
        old, new = before.cluster.brokers, after.cluster.brokers
        if old is new:
            return
        for id in sorted({*old, *new}):
            was, now = old.get(id), new.get(id)
            if was is not now:
                for change in changes(was, now):
                    epoch = (now or was).epoch  # type: ignore[union-attr]
                    self._on_event(Event(f"broker {id} is {change}", "broker", broker_id=id, broker_epoch=epoch, change=change))

    def _tell_controllers(self, before: MetadataImage, after: MetadataImage) -> None:
        old, new = before.cluster.controllers, after.cluster.controllers
        if old is new:
            return
        for id in sorted({*old, *new}):
            was, now = old.get(id), new.get(id)
            if now is None or was is None or was.incarnation_id != now.incarnation_id:
                change = "unregistered" if now is None else "registered"
                self._on_event(Event(f"controller {id} is {change}", "controller", controller_id=id, change=change))

    def _tell_features(self, before: MetadataImage, after: MetadataImage) -> None:
        if before.features is after.features:
            return
        old = {**dict(before.features.levels.items()), METADATA_VERSION: before.features.metadata_version}
        new = {**dict(after.features.levels.items()), METADATA_VERSION: after.features.metadata_version}
        for name in sorted({*old, *new}):
            level = new.get(name) or 0
            if (old.get(name) or 0) != level:
                self._on_event(Event(f"{name} is at level {level}", "feature", feature=name, level=level))


def changes(was: BrokerRegistration | None, now: BrokerRegistration | None) -> list[str]:
    """What happened to a broker, in the order in which it did."""
    if now is None:
        return ["unregistered"]
    found = []
    if was is None or was.incarnation_id != now.incarnation_id:
        found.append("registered")
    if now.in_controlled_shutdown and not (was is not None and was.in_controlled_shutdown):
        found.append("in controlled shutdown")
    was_fenced = was is None or was.fenced or was.incarnation_id != now.incarnation_id
    if was_fenced != now.fenced:
        found.append("fenced" if now.fenced else "unfenced")
    return found
