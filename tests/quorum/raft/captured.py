"""A cluster of Kafka 4.3.1 as a proxy saw it: who was asked what and answered how, the log that they wrote, what a controller knew when.

Frames: the golden set's wire/frames; its README tells where rows were left out. Offsets of which no batch was seen are filled with
batches of NoOpRecords, so that every other batch lies where it lay. Times are ms since the capture began, timestamps of batches Unix ms.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.codec.codes import API_VERSIONS
from metashell.codec.dispatch import REQUESTS, RESPONSES
from metashell.codec.messages import NoOpRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import OURS
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.voters import ControlValue, VoterSet, read_control_batch
from metashell.quorum.raft.wire import decode_request, decode_response
from tests.golden_cases import wire_frames
from tests.quorum.raft.made import data_batch

CONTROLLERS = (1, 2, 3)
RAFT_APIS = OURS.keys() - {API_VERSIONS}
NO_OP = write_metadata_record(NoOpRecord())


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer; `source` and `target` are node ids, None for a client, and for a broker that passed it on."""

    asked_ms: int
    answered_ms: int
    source: int | None
    target: int | None
    request: Any
    response: Any


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of the metadata log; `is_filler` where it was not seen."""

    base_offset: int
    end_offset: int
    epoch: int
    timestamp: int
    data: bytes
    is_filler: bool = False

    @property
    def controls(self) -> list[ControlValue]:
        header = read_batch_header(self.data)
        return read_control_batch(self.data, header) if header.is_control else []

    @property
    def values(self) -> list[bytes]:
        """The values of a data batch."""
        return [bytes(record.value or b"") for record in RecordBatch(read_batch_header(self.data), 0, self.data).records()]


@functools.cache
def exchanges() -> tuple[Exchange, ...]:
    """All requests of raft's APIs that were answered, in the order of the answers. A Fetch of a broker's follower is none."""
    asked: dict[tuple[Any, ...], tuple[dict[str, Any], Any]] = {}
    found = []
    for frame in wire_frames():
        if frame["api_key"] not in RAFT_APIS or "-fetcher-" in frame["client_id"]:
            continue
        ends = (frame["from"], frame["to"]) if frame["dir"] == "request" else (frame["to"], frame["from"])
        name = (*ends, frame["client_id"], frame["api_key"], frame["correlation_id"])
        if frame["dir"] == "request":
            asked[name] = frame, decode(frame)
        elif name in asked:
            first, request = asked.pop(name)
            found.append(Exchange(first["t"], frame["t"], node_of(ends[0]), controller_of(ends[1]), request, decode(frame)))
    return tuple(found)


def decode(frame: dict[str, Any]) -> Any:
    """The flat message of a frame; all of these APIs have tagged headers."""
    raw, key, version = bytes.fromhex(frame["hex"]), frame["api_key"], frame["api_version"]
    if frame["dir"] == "request":
        start = 10 + len(frame["client_id"].encode()) + 1
        return decode_request(key, version, message_type("request", REQUESTS[key]).read(raw, version, start))
    return decode_response(key, version, message_type("response", RESPONSES[key]).read(raw, version, 5))


def node_of(name: str) -> int | None:
    match = re.fullmatch(r"(?:controller|broker)-(\d+)", name)
    return int(match[1]) if match else None


def controller_of(name: str) -> int | None:
    id = node_of(name)
    return id if id in CONTROLLERS else None


@functools.cache
def log() -> tuple[Batch, ...]:
    """The metadata log from offset 0 on, without gaps."""
    seen = {batch.base_offset: batch for exchange in exchanges() for batch in batches_of(exchange.response)}
    found: list[Batch] = []
    for base, batch in sorted(seen.items()):
        end = found[-1].end_offset if found else 0
        if end < base:
            assert found[-1].epoch == batch.epoch, "an epoch begins with a batch that was seen"
            data = data_batch(end, batch.epoch, batch.timestamp, [NO_OP] * (base - end))
            found.append(Batch(end, base, batch.epoch, batch.timestamp, data, is_filler=True))
        found.append(batch)
    return tuple(found)


def batches_of(response: Any) -> Iterator[Batch]:
    """The batches of a Fetch answer, none of another one."""
    return split(response.records) if isinstance(response, flat.FetchResponse) else iter(())


def split(records: bytes) -> Iterator[Batch]:
    """The batches that lie one behind the other."""
    at = 0
    while at < len(records):
        header = read_batch_header(records, at)
        data = records[at : at + header.size_bytes]
        yield Batch(header.base_offset, header.last_offset + 1, header.leader_epoch, header.max_timestamp, data)
        at += header.size_bytes


def epoch_start(epoch: int) -> int:
    return next(batch.base_offset for batch in log() if batch.epoch == epoch)


def memory_log(end_offset: int) -> MemoryLog:
    """A durable log with all batches before an offset."""
    made = MemoryLog()
    entries: list[tuple[int, int]] = []
    for batch in log():
        if batch.end_offset > end_offset:
            break
        made.append(batch.data, batch.end_offset)
        if not entries or entries[-1][0] != batch.epoch:
            entries.append((batch.epoch, batch.base_offset))
    assert made.end_offset == end_offset, "a batch ends there"
    made.write_leader_epochs(entries)
    made.flush_to(end_offset)
    return made


@functools.cache
def changes() -> tuple[Exchange, ...]:
    """The requests that changed the voters."""
    classes = flat.AddRaftVoterRequest | flat.RemoveRaftVoterRequest | flat.UpdateRaftVoterRequest
    return tuple(sorted((found for found in exchanges() if isinstance(found.request, classes)), key=lambda found: found.asked_ms))


def change_batch(exchange: Exchange) -> Batch:
    """The batch with the voters that a request led to: each request led to one."""
    voters = [batch for batch in log() if isinstance(batch.controls[0] if batch.controls else None, VoterSet)]
    return voters[changes().index(exchange)]


@functools.cache
def directory_ids() -> dict[int, bytes]:
    """By node, from what they said of themselves."""
    requests = [exchange.request for exchange in exchanges() if isinstance(exchange.request, flat.FetchRequest)]
    return {request.replica_id: request.directory_id for request in requests}


@functools.cache
def snapshots() -> dict[OffsetAndEpoch, bytes]:
    """Those that were fetched in one piece."""
    answers = [exchange.response for exchange in exchanges() if isinstance(exchange.response, flat.FetchSnapshotResponse)]
    return {answer.snapshot_id: answer.records for answer in answers if answer.position == 0 and answer.size == len(answer.records)}


SENT_LATE_MS = 20
"""How long after a controller did something the proxy may have seen what it sent."""


@dataclass(frozen=True, slots=True)
class View:
    """What a controller knew: the state it was in, and the end of its log."""

    state: str = "unattached"
    epoch: int = 0
    leader_id: int = -1
    voted: ReplicaKey | None = None
    has_fetched: bool = False
    log_end: int = 0


def views(exchange: Exchange) -> list[View]:
    """What the target may have known when it answered: its states from just before the request to just after the answer, most often one.

    Every message that it sent or was given says something of that.
    """
    id = exchange.target
    first = log()[0].controls[0]
    # The first leader was elected alone, before anything was captured.
    view = View("leader", log()[0].epoch, id) if id == first.leader_id else View()
    found = [view]
    for time_ms, is_answer, other in events(id):
        if other is exchange and is_answer:
            continue
        if time_ms > exchange.answered_ms + (0 if is_answer else SENT_LATE_MS):
            break
        if other.source == id:
            view = after_answer(view, other) if is_answer else after_sending(view, other)
        if other.target == id and is_answer:
            view = after_answering(view, other)
        if time_ms < exchange.asked_ms:
            found.clear()
        if view not in found:
            found.append(view)
    return found


@functools.cache
def events(id: int | None) -> list[tuple[int, bool, Exchange]]:
    """The requests and answers that a controller sent or was given, in the order of their times; True for an answer."""
    found = [(exchange.asked_ms, False, exchange) for exchange in exchanges() if exchange.source == id]
    found += [(exchange.answered_ms, True, exchange) for exchange in exchanges() if id in (exchange.source, exchange.target)]
    return sorted(found, key=lambda event: event[0])


def after_sending(view: View, exchange: Exchange) -> View:
    """A request shows what its sender is."""
    match exchange.request:
        case flat.VoteRequest(epoch=epoch, pre_vote=True):
            return replace(view, state="prospective", epoch=epoch)
        case flat.VoteRequest(epoch=epoch, candidate_id=id, candidate_directory_id=directory_id):
            return replace(view, state="candidate", epoch=epoch, leader_id=-1, voted=ReplicaKey(id, directory_id))
        case flat.BeginQuorumEpochRequest(epoch=epoch, leader_id=id):
            return replace(view, state="leader", epoch=epoch, leader_id=id)
        case flat.EndQuorumEpochRequest(epoch=epoch, leader_id=id):
            return replace(view, state="resigned", epoch=epoch, leader_id=id)
        case flat.FetchRequest(fetch_offset=offset) if exchange.response.error == 0:
            return replace(view, log_end=offset)
        case _:
            return view


def after_answer(view: View, exchange: Exchange) -> View:
    """What a replica was answered it knows."""
    response = exchange.response
    if not isinstance(response, flat.FetchResponse) or response.epoch < view.epoch:
        return view
    if response.epoch == view.epoch and view.state in ("leader", "resigned"):
        return view
    if response.error == 0:
        end = max((batch.end_offset for batch in batches_of(response)), default=view.log_end)
        return replace(view, state="follower", epoch=response.epoch, leader_id=response.leader_id, has_fetched=True, log_end=end)
    return heard_of(view, response.epoch, response.leader_id)


def after_answering(view: View, exchange: Exchange) -> View:
    """An answer shows what was taken up from its request."""
    request, response = exchange.request, exchange.response
    match request, response:
        case flat.VoteRequest(pre_vote=False, candidate_id=id, candidate_directory_id=directory_id), flat.VoteResponse(granted=True):
            return replace(view, state="unattached", epoch=request.epoch, leader_id=-1, voted=ReplicaKey(id, directory_id))
        case flat.BeginQuorumEpochRequest(), flat.BeginQuorumEpochResponse(error=0):
            return heard_of(view, request.epoch, request.leader_id)
        case flat.FetchRequest(), flat.FetchResponse(error=0):
            return replace(view, log_end=max([view.log_end, *(batch.end_offset for batch in batches_of(response))]))
        case _:
            return view


def heard_of(view: View, epoch: int, leader_id: int) -> View:
    """Someone named an epoch and perhaps its leader."""
    if (epoch, leader_id) == (view.epoch, view.leader_id) or epoch < view.epoch or (epoch == view.epoch and leader_id < 0):
        return view
    state = "follower" if leader_id >= 0 else "unattached"
    voted = view.voted if epoch == view.epoch else None
    return replace(view, state=state, epoch=epoch, leader_id=leader_id, voted=voted, has_fetched=False)
