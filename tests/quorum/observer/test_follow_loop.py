"""The log that a leader still holds from before its newest snapshot: how it is asked for, and that a past is made of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from metashell.codec.framing import checked_batches
from metashell.common.errors import MetashellError
from metashell.common.values import OffsetAndEpoch
from metashell.demo import demo_directory
from metashell.metadata.history import Past
from metashell.metadata.history.sources import FetchedOpener, opener_of
from metashell.metadata.image.writer import image_digest
from metashell.quorum.observer import follow_loop as module
from metashell.quorum.observer.follow_loop import OlderLog, older_log
from metashell.quorum.raft.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse

FOLDER = Path(demo_directory()) / "__cluster_metadata-0"
LOG = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.log")))
SNAPSHOT = OffsetAndEpoch(329, 1)
BASE = OffsetAndEpoch(141, 1)
NOT_FOUND = 98


def snapshot_bytes(id: OffsetAndEpoch) -> bytes:
    return (FOLDER / f"{id.offset:020d}-{id.epoch:010d}.checkpoint").read_bytes()


def log_between(start: int, end: int) -> bytes:
    return b"".join(
        batch.data for batch in checked_batches(LOG, "log") if batch.header.last_offset >= start and batch.header.base_offset < end
    )


class Leader:
    """Answers as Kafka's leader does whose log begins at `begin`, where a snapshot of some epoch ends."""

    def __init__(self, begin: int, epoch: int = 5) -> None:
        self.begin = begin
        self.epoch = epoch
        self.asked: list[object] = []

    def answer(self, request: FetchRequest | FetchSnapshotRequest) -> object:
        self.asked.append(request)
        if request.epoch != self.epoch:
            return FetchResponse(error=76, epoch=self.epoch)
        if isinstance(request, FetchSnapshotRequest):
            if request.snapshot_id != BASE:
                return FetchSnapshotResponse(error=NOT_FOUND, epoch=self.epoch)
            data = snapshot_bytes(BASE)
            part = data[request.position : request.position + 5000]
            return FetchSnapshotResponse(epoch=self.epoch, snapshot_id=BASE, size=len(data), position=request.position, records=part)
        known = {"epoch": self.epoch, "log_start_offset": self.begin, "high_watermark": 521}
        if request.fetch_offset == 0 or (request.fetch_offset == self.begin and request.last_epoch != BASE.epoch):
            return FetchResponse(**known, snapshot_id=SNAPSHOT)
        records = log_between(request.fetch_offset, request.fetch_offset + 40)
        return FetchResponse(**known, records=records)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch):
    async def ask(leader: Leader, request: FetchRequest, timeout_s: float) -> object:
        return leader.answer(request)

    monkeypatch.setattr(module, "send_raft_request", ask)
    return lambda leader: asyncio.run(older_log(leader, SNAPSHOT, "cluster"))


@pytest.mark.parametrize("begin", [0, 141])
def test_a_past_of_it_is_that_of_the_disk(asked, begin: int) -> None:
    found = asked(Leader(begin))
    assert (found.snapshot and found.snapshot[0]) == (BASE if begin else None)

    class Piece(NamedTuple):
        snapshot_id: OffsetAndEpoch | None
        data: bytes

    opener = FetchedOpener("quorum", [Piece(SNAPSHOT, snapshot_bytes(SNAPSHOT)), Piece(None, log_between(329, 1000))])
    past, local = Past(opener), Past(opener_of(str(FOLDER)))
    assert opener.starts() == [329]
    with pytest.raises(MetashellError, match="the oldest state here is that of offset 329"):
        past.image(300)
    opener.add_older(found)
    assert opener.starts() == [begin, 329]
    for offset in (begin + 5, 200, 328, 329, 400, 521):
        assert image_digest(past.image(offset)) == image_digest(local.image(offset)), offset


def test_there_is_none_where_the_log_begins_at_the_snapshot_or_the_leader_refuses(asked) -> None:
    assert asked(Leader(329)) is None
    assert asked(Leader(100)) is None  # no snapshot of that offset
    leader = Leader(0)
    leader.epoch = -1
    leader.answer = lambda request: FetchResponse(error=6, epoch=-1)  # type: ignore[method-assign]
    assert asked(leader) is None


@pytest.mark.parametrize(
    ("at", "answer"),
    [
        (0, {"error": 6, "snapshot_id": SNAPSHOT}),
        (0, {"snapshot_id": None}),
        (1, {"error": 6}),
        (1, {"records": b""}),
        (1, {"records": b"", "snapshot_id": SNAPSHOT}),
        (1, {"snapshot_id": SNAPSHOT}),
        (1, {"diverging": OffsetAndEpoch(0, 1)}),
    ],
)
def test_there_is_none_where_the_leader_breaks_off(asked, at: int, answer: dict[str, object]) -> None:
    leader = Leader(0)
    plain = leader.answer

    def broken(request: FetchRequest | FetchSnapshotRequest) -> object:
        assert len(leader.asked) < 10, "it is asked again and again"
        whole = plain(request)
        return replace(whole, **answer) if isinstance(request, FetchRequest) and request.fetch_offset == at else whole  # type: ignore[type-var]

    leader.answer = broken  # type: ignore[method-assign]
    assert asked(leader) is None
    assert any(isinstance(request, FetchRequest) and request.fetch_offset == at for request in leader.asked)


def test_a_newer_snapshot_puts_an_end_to_it() -> None:
    class Piece(NamedTuple):
        snapshot_id: OffsetAndEpoch | None
        data: bytes

    opener = FetchedOpener("quorum", [Piece(BASE, snapshot_bytes(BASE))])
    opener.add_older(OlderLog(None, log_between(0, 141)))
    assert opener.starts() == [0, 141]
    opener.add(Piece(SNAPSHOT, snapshot_bytes(SNAPSHOT)))
    assert opener.starts() == [329]
