"""The metadata log that a leader still holds from before its newest snapshot, which is all that an observer fetches.

A leader sends its newest snapshot to whoever asks for offset 0, although its log goes further back, up to metadata.max.retention.*.
Whoever asks for a later offset, and names an epoch that reaches so far, gets the log. Where the log does not begin at 0, the snapshot that
ends where it begins is still there.

Source: KafkaRaftClient.validateFetchOffsetAndEpoch, ReplicatedLog.validateOffsetAndEpoch of org.apache.kafka.raft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.batches import read_batch_header
from metashell.codec.error_codes import NONE
from metashell.raft.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from metashell.raft.wire import ask
from metashell.values import ZERO_UUID, OffsetAndEpoch

if TYPE_CHECKING:
    from metashell.live.controllers import Link

TIMEOUT_S: Final = 3.0
_READ_SIZE: Final = 8 << 20
_EPOCHS_TRIED: Final = 100


class OlderLog(NamedTuple):
    """The bytes of the log before a snapshot, and those of the snapshot where that log begins; none where it begins at offset 0."""

    snapshot: tuple[OffsetAndEpoch, bytes] | None
    log: bytes


async def older_log(link: Link, snapshot: OffsetAndEpoch, cluster_id: str | None) -> OlderLog | None:
    """What the leader at `link` has from before `snapshot`; None where it has nothing more.

    Errors: MetashellError of the connection, DecodeError.
    """
    asker = _Asker(link, cluster_id)
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


class _Asker:
    """Asks one node as an observer without an id."""

    def __init__(self, link: Link, cluster_id: str | None) -> None:
        self._link = link
        self._cluster_id = cluster_id
        self._epoch = 0

    async def fetch(self, offset: int, last_epoch: int) -> FetchResponse:
        """The log from an offset on."""
        request = FetchRequest(self._cluster_id, -1, ZERO_UUID, self._epoch, offset, last_epoch, 0, _READ_SIZE)
        answer = await ask(self._link, request, TIMEOUT_S)
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
            answer = await ask(self._link, request, TIMEOUT_S)
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
