"""A quorum of real Kafka controllers and one of ours: starts and stops them, loads them, and compares their logs.

It compares logs without `metashell.disk`, so that a fault there cannot hide itself.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from metashell.codec.codes import DESCRIBE_QUORUM
from metashell.codec.messages import AlterClientQuotasRequest
from metashell.disk.source import open_directory
from metashell.metadata.image import MetadataImage, load_image
from metashell.net.addresses import Address, ConnectError
from metashell.net.client import Client
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.wire import decode_response, encode_request
from tools.interop.nodes import Cluster, CommandOf, Node, server_command

REPOSITORY: Final = Path(__file__).parents[2]
QUIET: Final = {"metadata.max.idle.interval.ms": 0}
"""Settings with which an active controller appends nothing while nobody asks it to."""
LIMIT_S: Final = 120.0
ASK_LIMIT_MS: Final = 5_000
PREFIX: Final = struct.Struct(">qi")
"""Base offset, and the size of what follows it."""
LAST_OFFSET_DELTA_AT: Final = 23


@dataclass(slots=True)
class MixedQuorum:
    """Nodes by id, each with a file node-ID.properties in `folder` and the directory dID; `kafka` has the command of each of Kafka's."""

    place: Cluster
    ports: Mapping[int, int]
    kafka: dict[int, CommandOf]
    nodes: dict[int, Node] = field(default_factory=dict)

    def config(self, id: int) -> Path:
        return self.place.folder / f"node-{id}.properties"

    def directory(self, id: int) -> Path:
        return self.place.folder / f"d{id}"

    def start(self, *ids: int) -> None:
        """Start nodes: Kafka's where it has a command for the id, else ours."""
        for id in ids:
            if id in self.kafka:
                self.place.command_of = self.kafka[id]
                self.nodes[id] = self.place.start(self.config(id))
            else:
                self.nodes[id] = self._start_ours(id)

    def _start_ours(self, id: int) -> Node:
        log = self.place.folder / f"ours-{id}.log"
        command = server_command(str(self.config(id)))
        with open(log, "ab") as output:
            process = subprocess.Popen(command, stderr=output, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
        node = Node(f"ours-{id}", process, log)
        self.place.nodes.append(node)
        return node

    def end(self, id: int, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal, which must end the node; gives its status."""
        node = self.nodes.pop(id)
        self.place.nodes.remove(node)
        node.process.send_signal(number)
        return node.wait(LIMIT_S)

    def describe(self) -> flat.DescribeQuorumResponse | None:
        """The quorum as its leader sees it, None while nobody leads."""
        for id in self.nodes:
            try:
                with Client([Address("localhost", self.ports[id])], deadline_ms=ASK_LIMIT_MS, attempts_max=1) as client:
                    answer = client.request(encode_request(flat.DescribeQuorumRequest(), 2))
            except ConnectError:
                continue
            described = decode_response(DESCRIBE_QUORUM, 2, answer)
            assert isinstance(described, flat.DescribeQuorumResponse)
            if not described.error and not described.top_error:
                return described
        return None

    def wait_for(self, what: str, holds: Callable[[flat.DescribeQuorumResponse], bool]) -> flat.DescribeQuorumResponse:
        """The first description of the quorum, with a leader that has committed, for which `holds` does. Errors: NodeFailedError."""
        found: list[flat.DescribeQuorumResponse] = []

        def look() -> bool:
            described = self.describe()
            found[:] = [described] if described is not None else []
            return described is not None and described.high_watermark > 0 and holds(described)

        self.place.wait_until(what, look, LIMIT_S)
        return found[0]

    def commit(self, name: str, count: int = 20) -> int:
        """Have `count` quotas of users `name-..` committed, each a record with a long name; gives a high watermark that has them.

        The active controller answers only when they are committed. Errors: NodeFailedError.
        """
        entity = AlterClientQuotasRequest.EntityData
        operation = AlterClientQuotasRequest.OpData(key="request_percentage", value=50.0)
        users = [entity(entity_type="user", entity_name=f"{name}-{number:0200d}") for number in range(count)]
        entries = tuple(AlterClientQuotasRequest.EntryData(entity=(user,), ops=(operation,)) for user in users)
        request = AlterClientQuotasRequest(entries=entries)

        def is_done() -> bool:
            described = self.describe()
            if described is None or described.leader_id not in self.nodes:
                return False
            try:
                with Client([Address("localhost", self.ports[described.leader_id])], deadline_ms=4 * ASK_LIMIT_MS) as client:
                    answer = client.request(request)
            except ConnectError:
                return False
            return all(entry.error_code == 0 for entry in answer.entries)

        before = self.wait_for("a leader", lambda described: described.leader_id in self.nodes).high_watermark
        self.place.wait_until(f"{name} is committed", is_done, LIMIT_S)
        return self.wait_for("they are seen", lambda described: described.high_watermark >= before + count).high_watermark

    def wait_until_caught_up(self, *ids: int) -> flat.DescribeQuorumResponse:
        """Until the leader knows that replicas (the leader is one) have all that was committed when this was called."""
        committed = self.wait_for("a leader", lambda described: True).high_watermark

        def have(described: flat.DescribeQuorumResponse) -> bool:
            ends = {state.id: state.log_end_offset for state in (*described.observers, *described.voters)}
            return all(ends.get(id, -1) >= committed for id in ids)

        return self.wait_for(f"{ids} have all up to {committed}", have)

    def assert_logs_agree(self, *ids: int) -> int:
        """Wait until the replicas have all that is committed now, then compare their batches by offset; gives how many were compared."""
        high_watermark = self.wait_until_caught_up(*ids).high_watermark
        while any(not self.batches(id) and high_watermark in self.snapshots(id) for id in ids):
            # Who has just loaded a snapshot that ends there has nothing to compare.
            self.commit(f"after-the-snapshot-at-{high_watermark}")
            high_watermark = self.wait_until_caught_up(*ids).high_watermark
        committed: dict[int, Mapping[int, bytes]] = {}

        def are_written() -> bool:
            for id in ids:
                committed[id] = {base: data for base, data in self.batches(id).items() if base + offsets_of(data) <= high_watermark}
            return all(ends_at(committed[id]) == high_watermark for id in ids)

        # What a replica was given it has not always appended yet.
        self.place.wait_until(f"logs of {ids} have all up to {high_watermark}", are_written, LIMIT_S)
        start = max(min(batches) for batches in committed.values())
        first, *others = [{base: data for base, data in committed[id].items() if base >= start} for id in ids]
        for id, other in zip(ids[1:], others, strict=True):
            assert other.keys() == first.keys(), f"batches of {id} and {ids[0]} begin at other offsets"
            different = [base for base, data in other.items() if first[base] != data]
            assert not different, f"batches of {id} and {ids[0]} differ at {different}"
        return len(first)

    def batches(self, id: int) -> dict[int, bytes]:
        """The whole batches of a replica's log by base offset, from the start of its first segment on."""
        found: dict[int, bytes] = {}
        for path in sorted((self.directory(id) / "__cluster_metadata-0").glob("*.log")):
            found.update(split_batches(path.read_bytes()))
        return found

    def snapshots(self, id: int) -> list[int]:
        """The end offsets of the complete snapshots of a replica, ascending, without the one at 0 that it was formatted with."""
        paths = (self.directory(id) / "__cluster_metadata-0").glob("*.checkpoint")
        return sorted(offset for path in paths if (offset := int(path.name.split("-")[0])))

    def image(self, id: int) -> MetadataImage:
        """What a replica's disk says."""
        return load_image(open_directory(str(self.directory(id) / "__cluster_metadata-0")))

    def errors(self, *words: str) -> list[str]:
        """Lines of ERROR and FATAL that Kafka's nodes wrote, without those that hold one of `words`."""
        lines = [line for id in self.kafka for line in (self.place.folder / f"{self.config(id).stem}.log").read_text().splitlines()]
        return [line for line in lines if ("ERROR" in line or "FATAL" in line) and not any(word in line for word in words)]


def split_batches(data: bytes) -> dict[int, bytes]:
    """Batches of a segment by base offset; ends at zeros or where a batch is not whole yet."""
    found = {}
    at = 0
    while at + PREFIX.size <= len(data):
        base, size = PREFIX.unpack_from(data, at)
        end = at + PREFIX.size + size
        if not size or end > len(data):
            break
        found[base] = data[at:end]
        at = end
    return found


def offsets_of(batch: bytes) -> int:
    """How many offsets a batch takes."""
    return int.from_bytes(batch[LAST_OFFSET_DELTA_AT : LAST_OFFSET_DELTA_AT + 4], "big") + 1


def ends_at(batches: Mapping[int, bytes]) -> int:
    """The offset after the last of the batches, which must follow one another; -1 for none."""
    expected = -1
    for base, data in sorted(batches.items()):
        assert expected in (-1, base), f"the batch at {base} follows one that ends at {expected}"
        expected = base + offsets_of(data)
    return expected
