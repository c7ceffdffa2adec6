"""Downloading a snapshot from the leader, page by page.

The last page asks the driver to freeze the file; when that is durable the log begins anew at the snapshot. A download ends with the
state of the replica: none is resumed under another leader.
Source: KafkaRaftClient.handleFetchSnapshotResponse; KIP-630.
"""

from __future__ import annotations

from metashell.codec.error_codes import NONE, SNAPSHOT_NOT_FOUND
from metashell.errors import UnknownRecordError
from metashell.raft import common, snapshot_loading
from metashell.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse
from metashell.raft.replica import Replica
from metashell.raft.roles import Download, Follower, Leader
from metashell.values import ZERO_UUID, OffsetAndEpoch


def begin(node: Replica, role: Follower, id: OffsetAndEpoch) -> bool:
    """The leader's log begins behind ours: download its snapshot, unless it is here already."""
    if id.epoch < 0 or id.offset < 0:
        node.complain("a leader names half a snapshot id")
        return False
    if id.epoch > role.epoch:
        node.complain("a leader names a snapshot of an epoch that is to come")
        return False
    if id.offset < node.committed or id == OffsetAndEpoch(node.log_end, node.last_epoch):
        node.complain("a leader offers a snapshot of what is here")
        return False
    if id in node.log.snapshots():
        snapshot_loading.adopt(node, id)
    else:
        role.download = Download(id, node.log.create_snapshot(id))
    return True


def next_request(node: Replica, role: Follower, download: Download) -> FetchSnapshotRequest:
    """Ask for the bytes behind those that are here."""
    config, local = node.config, node.local_key
    return FetchSnapshotRequest(
        config.cluster_id,
        node.local_id,
        ZERO_UUID if local is None else local.directory_id,
        role.epoch,
        download.id,
        download.part.size,
        config.fetch_snapshot_max_size,
    )


def handle_response(node: Replica, source: int, response: FetchSnapshotResponse) -> bool:
    """Add a page; whether the connection is fine."""
    is_fine = common.handle_response(node, response)
    if is_fine is not None:
        return is_fine
    role = node.role
    download = role.download if isinstance(role, Follower) else None
    if not isinstance(role, Follower) or download is None or download.is_complete:
        node.complain("a snapshot was answered that nobody asked for")
        return False
    if response.error == SNAPSHOT_NOT_FOUND or response.snapshot_id.offset < 0 or response.snapshot_id.epoch < 0:
        give_up(role, download)
        role.fetch_deadline_ms = node.now_ms + node.config.fetch_timeout_ms
        return True
    if response.error != NONE:
        node.complain("a snapshot was answered by an error")
        return False
    if not is_next_page(download, response):
        node.complain("a snapshot was answered by another page than the one asked for")
        return False
    download.check.feed(response.records)
    is_last = response.position + len(response.records) == response.size
    if download.check.fault is not None and download.check.is_newer:
        # All of a snapshot is committed: this replica can never follow on.
        raise UnknownRecordError(f"snapshot {download.id}", download.check.next_offset, download.check.fault)
    if download.check.fault is not None or (is_last and not download.check.is_complete):
        node.complain(download.check.fault or "a snapshot ends without its footer")
        give_up(role, download)
        return False
    download.part.append(response.records)
    role.fetch_deadline_ms = node.now_ms + node.config.fetch_timeout_ms
    role.has_fetched = True
    if is_last:
        download.is_complete = True
        node.freezing = download.part
        node.ready.freeze = download.id
    return True


def is_next_page(download: Download, response: FetchSnapshotResponse) -> bool:
    """Whether a page is of the snapshot asked for, begins where the last one ended, and brings something that fits."""
    if response.snapshot_id != download.id or response.position != download.part.size:
        return False
    end = response.position + len(response.records)
    return end <= response.size and (len(response.records) > 0 or end == response.size)


def give_up(role: Follower, download: Download) -> None:
    """The leader has it no more: forget what came and fetch again."""
    download.part.close()
    role.download = None


def frozen(node: Replica, id: OffsetAndEpoch) -> None:
    """The file is complete and durable: begin the log with it, if it is still ahead of the log."""
    role = node.role
    node.freezing = None
    is_awaited = isinstance(role, Follower) and role.download is not None and role.download.id == id
    if isinstance(role, Follower) and is_awaited:
        # The leader said that this log is of no use: it may be longer, or of a later epoch that nobody else knew.
        if role.download is not None and not role.download.is_complete:
            # It was asked for again under this leader, while the same snapshot of an earlier one was made durable.
            role.download.part.close()
        role.download = None
        role.fetch_deadline_ms = node.now_ms + node.config.fetch_timeout_ms
    # The state may be another one meanwhile, or a follower may have come further. A leader has all that is committed anywhere.
    is_useful = is_awaited or (not isinstance(role, Leader) and id.offset > node.log_end)
    if is_useful and id.offset >= node.committed:
        snapshot_loading.adopt(node, id)
