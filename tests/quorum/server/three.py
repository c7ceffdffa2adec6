"""Three controllers, real ones or ours, through stories that one controller cannot tell: what they answer, and which records they write.

A story (`three_stories.py`) is a function that drives a `Three`. The same functions recorded real controllers, by
tools/make_three_golden.py, and are played to ours, by test_three_golden.py. `Naming` names what a quorum chooses (who leads, ids, epochs,
ports), so that two runs compare.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.batch_writer import read_control_record
from metashell.codec.batches import HEADER_SIZE, RecordBatch, read_batch_header
from metashell.codec.metadata_records import read_metadata_record
from metashell.common.values import uuid_from_text
from metashell.quorum.controller.decision import SUPPORTED_FEATURES
from tests.quorum.controller.live import Wire, read_answer
from tests.recordings import in_order
from tools.interop.nodes import Cluster, Node, controller_settings, format_directories, free_ports, write_config

FOLDER: Final = Path(__file__).resolve().parents[2] / "golden" / "three-controllers"
IDS: Final = (3000, 3001, 3002)
CLUSTER_ID: Final = "Y2x1c3Rlci1vZi10aHJlZQ"
DIRECTORIES: Final = {id: f"dGhyZWUtY29udHJvbGxlc{letter}" for id, letter in zip(IDS, "AQg", strict=True)}
LIMIT_S: Final = 120.0
PAUSE_S: Final = 0.02
SETTINGS: Final = {
    "metadata.max.idle.interval.ms": 0,
    "broker.session.timeout.ms": 3_600_000,
    "broker.heartbeat.interval.ms": 60_000,
    "controller.quorum.append.linger.ms": 0,
    "auto.leader.rebalance.enable": "false",
    "num.network.threads": 1,
    "num.io.threads": 2,
}
BUSY: Final = 7
"""REQUEST_TIMED_OUT."""
NOT_ACTIVE: Final = '"errorCode": 41'
"""Of a whole request, or of each topic; of a partition it says that an epoch is too high."""
_RAFT: Final = {"LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"}
Record = dict[str, Any]


class Three:
    """Three controllers below a folder; `steps` are what the story did, each with its answer and records.

    `settings` go over SETTINGS. A dynamic quorum has the three as its first voters, a static one kraft.version 0.
    """

    def __init__(
        self, cluster: Cluster, *, release: str = "4.4", is_static: bool = False, settings: Mapping[str, object] | None = None
    ) -> None:
        self.ports = dict(zip(IDS, free_ports(len(IDS)), strict=True))
        self.steps: list[dict[str, Any]] = []
        self.active = -1
        self.epochs: dict[int, int] = {}
        self._cluster = cluster
        self._nodes: dict[int, Node] = {}
        self._configs: dict[int, Path] = {}
        self._directories: dict[int, str] = {}
        self._next_offset = 0
        self._names: dict[int, str] = {}
        first = ",".join(f"{id}@localhost:{port}:{DIRECTORIES[id]}" for id, port in self.ports.items())
        words = ["-r", release, *(["--initial-controllers", first] if not is_static else [])]
        if is_static:
            quorum = {"controller.quorum.voters": ",".join(f"{id}@localhost:{port}" for id, port in self.ports.items())}
        else:
            quorum = {"controller.quorum.bootstrap.servers": ",".join(f"localhost:{port}" for port in self.ports.values())}
        for id, port in self.ports.items():
            folder = cluster.folder / f"node-{id}"
            parts = controller_settings(id, port, folder, quorum), SETTINGS, settings or {}
            config = self._configs[id] = write_config(cluster.folder / f"{id}.properties", *parts)
            format_directories(config, *words, cluster_id=CLUSTER_ID)
            properties = (folder / "meta.properties").read_text()
            self._directories[id] = re.findall(r"^directory\.id=(.*)$", properties, re.MULTILINE)[0]

    # ---- nodes

    def begin(self) -> None:
        """Start all, and wait until one is active and all are registered."""
        for id in IDS:
            self.start(id)
        self.find_active()
        self.names("node-1", self.active)
        for number, id in enumerate(sorted(self.others), 2):
            self.names(f"node-{number}", id)

    def names(self, name: str, id: int) -> None:
        """Call a node by a name that says the same of every run."""
        self._names[id] = name

    @property
    def others(self) -> list[int]:
        return [id for id in IDS if id != self.active]

    def start(self, id: int) -> None:
        self._nodes[id] = self._cluster.start(self._configs[id])

    def kill(self, id: int) -> None:
        """End a node as a crash does."""
        node = self._nodes.pop(id)
        self._cluster.nodes.remove(node)
        node.kill()

    def find_active(self, *, is_not: int = -1) -> int:
        """Wait until a running node leads and takes writes. Errors: AssertionError."""
        ends_at = time.monotonic() + LIMIT_S
        asked = messages.AllocateProducerIdsRequest(broker_id=-5, broker_epoch=-5)
        while time.monotonic() < ends_at:
            for id in self._nodes:
                with suppress(ConnectionError):
                    # Only the active controller looks for the broker.
                    if id != is_not and self._ask(id, "AllocateProducerIds", 0, asked)["errorCode"] == 77:
                        self.active = id
                        return id
            time.sleep(PAUSE_S)
        raise AssertionError([node.text()[-2000:] for node in self._nodes.values()])

    def _ask(self, id: int, api: str, version: int, body: Any) -> Any:
        wire = Wire(self.ports[id])
        try:
            answered = wire.ask(version, body)
        finally:
            wire.close()
        if answered is None:
            raise ConnectionError(f"{id} hung up")
        return read_answer(api, version, answered)

    # ---- steps

    def send(self, what: str, body: Any, version: int, *, to: int | None = None, reads: bool = True) -> Any:
        """Send a request to the active controller, or to that node; a step with its answer and records.

        Without `reads` its records are those of the next step: where others may come by themselves meanwhile.
        """
        api = type(body).__name__.removesuffix("Request")
        ends_at = time.monotonic() + LIMIT_S
        while True:
            answer = None
            with suppress(ConnectionError):
                answer = self._ask(self.active if to is None else to, api, version, body)
            if to is not None or (answer is not None and answer.get("errorCode") != BUSY and NOT_ACTIVE not in json.dumps(answer)):
                break
            # On a busy machine the leader may have changed, or a change of voters may not be committed: then nothing was written.
            assert time.monotonic() < ends_at, (what, answer)
            self.find_active()
        self.steps.append({"what": what, "api": api, "version": version, "answer": answer, "records": self._read() if reads else []})
        return answer

    def wait(self, what: str, holds: Callable[[list[Record]], bool]) -> list[Record]:
        """Wait for records that come by themselves; a step. Errors: AssertionError."""
        found: list[Record] = []
        ends_at = time.monotonic() + LIMIT_S
        while not holds(found):
            assert time.monotonic() < ends_at, (what, found, self.steps[-1], [node.text()[-1500:] for node in self._nodes.values()])
            time.sleep(PAUSE_S)
            found += self._read()
        self.steps.append({"what": what, "records": found, "comes_by_itself": True})
        return found

    def _read(self) -> list[Record]:
        """The committed records of the active controller's log that are new since the last call, without raft's own of leadership."""
        high_watermark = -1
        with suppress(ConnectionError):
            told = self._ask(self.active, "DescribeQuorum", 2, QUORUM)["topics"][0]["partitions"][0]
            high_watermark = told["highWatermark"]
        path = self._configs[self.active].parent / f"node-{self.active}" / "__cluster_metadata-0" / f"{0:020d}.log"
        data = path.read_bytes() if path.exists() else b""
        at, found = 0, []
        while len(data) - at >= HEADER_SIZE:
            head = read_batch_header(data, at)
            # A file of ours is as long as the next writes need: what follows the last batch is zeros.
            if head.size_bytes < HEADER_SIZE or len(data) - at < head.size_bytes:
                break
            if head.last_offset >= high_watermark:
                break
            if head.last_offset >= self._next_offset:
                batch = RecordBatch(head, at, data[at : at + head.size_bytes])
                found += [_shown(record, is_control=head.is_control) for record in batch.records() if record.offset >= self._next_offset]
                self._next_offset = head.last_offset + 1
            at += head.size_bytes
        return [record for record in found if record["type"] not in _RAFT]

    # ---- what brokers and operators ask

    def register(self, id: int) -> None:
        made = messages.BrokerRegistrationRequest
        features = tuple(made.Feature(name=name, min_supported_version=low, max_supported_version=high) for name, (low, high) in FEATURES)
        body = made(
            broker_id=id, cluster_id=CLUSTER_ID, incarnation_id=bytes((1, id)) * 8, rack=None, features=features,
            listeners=(made.Listener(name="PLAINTEXT", host="localhost", port=9092),), log_dirs=(bytes((2, id)) * 8,),
        )  # fmt: skip
        self.epochs[id] = self.send(f"broker {id} registers", body, 4)["brokerEpoch"]
        self.beat(id)

    def beat(self, id: int, *, want_fence: bool = False, to: int | None = None) -> Any:
        made = messages.BrokerHeartbeatRequest
        body = made(broker_id=id, broker_epoch=self.epochs[id], current_metadata_offset=1 << 40, want_fence=want_fence)
        return self.send(f"a heartbeat of broker {id}", body, 2, to=to)

    def topic(self, name: str, *replicas: Sequence[int], to: int | None = None, **configs: str) -> None:
        made = messages.CreateTopicsRequest
        assigned = tuple(made.CreatableReplicaAssignment(partition_index=at, broker_ids=tuple(ids)) for at, ids in enumerate(replicas))
        kept = tuple(made.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items())
        one = made.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assigned, configs=kept)
        self.send(f"topic {name} is made", made(topics=(one,), timeout_ms=60_000), 7, to=to)

    def describe_quorum(self, what: str) -> Any:
        return self.send(what, QUORUM, 2)

    def describe_controllers(self, what: str, count: int) -> None:
        """Ask for the controllers once so many are published, which follows their registration by some milliseconds."""
        ends_at = time.monotonic() + LIMIT_S
        asked = messages.DescribeClusterRequest(endpoint_type=2)
        while len(self._ask(self.active, "DescribeCluster", 2, asked)["brokers"]) != count:
            assert time.monotonic() < ends_at, what
            time.sleep(PAUSE_S)
        self.send(what, asked, 2)

    def update_features(self, what: str, *, kind: int = 1, validates: bool = False, until_none: bool = False, **levels: int) -> Any:
        """Update features; with `until_none` as often as it is refused, and the last answer is the step's."""
        made = messages.UpdateFeaturesRequest
        updates = tuple(
            made.FeatureUpdateKey(feature=name.replace("_", "."), max_version_level=level, upgrade_type=kind)
            for name, level in levels.items()
        )
        ends_at = time.monotonic() + LIMIT_S
        while (answer := self.send(what, made(timeout_ms=60_000, feature_updates=updates, validate_only=validates), 2))["errorCode"]:
            if not until_none or time.monotonic() > ends_at:
                break
            self.steps.pop()
            time.sleep(PAUSE_S)
        return answer

    def register_controller(self, what: str, id: int, ranges: Mapping[str, tuple[int, int]]) -> Any:
        """The registration of a controller that supports these levels."""
        made = messages.ControllerRegistrationRequest
        features = tuple(
            made.Feature(name=name, min_supported_version=low, max_supported_version=high) for name, (low, high) in ranges.items()
        )
        listeners = (made.Listener(name="CONTROLLER", host="localhost", port=self.ports[id]),)
        body = made(controller_id=id, incarnation_id=b"\5" * 16, listeners=listeners, features=features, zk_migration_ready=False)
        return self.send(what, body, 0)

    def remove_voter(self, what: str, id: int) -> Any:
        body = messages.RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=id, voter_directory_id=uuid_from_text(self._directories[id]))
        return self.send(what, body, 0)

    def unregister_controller(self, what: str, id: int) -> Any:
        return self.send(what, messages.UnregisterControllerRequest(controller_id=id), 0)

    # ---- what compares

    def told(self) -> list[dict[str, Any]]:
        """The steps with names in place of what the quorum chose; records that come by themselves in a fixed order."""
        return Naming(self._names, self.ports, self._directories).steps(self.steps)


_DESCRIBED: Final = messages.DescribeQuorumRequest
QUORUM: Final = _DESCRIBED(
    topics=(_DESCRIBED.TopicData(topic_name="__cluster_metadata", partitions=(_DESCRIBED.PartitionData(partition_index=0),)),)
)
FEATURES: Final = tuple(SUPPORTED_FEATURES.items())


def _shown(record: Any, *, is_control: bool) -> Record:
    if is_control:
        control = read_control_record(record.key, record.value)
        value = control.message.to_json_value(control.body, control.version) if control.message is not None else None
        return {"type": control.type_name, "version": control.version, "data": value}
    read = read_metadata_record(record.value)
    assert read.message is not None
    return {"type": read.type_name, "version": read.version, "data": read.message.to_json_value(read.body, read.version)}


_CLOCKS: Final = {"throttleTimeMs", "lastFetchTimestamp", "lastCaughtUpTimestamp", "highWatermark", "logEndOffset"}
_KEY: Final = r"ReplicaKey\([^()]*\)"
_KEYS: Final = re.compile(rf"{_KEY}(?:, {_KEY})+")
"""Voters in a message; Kafka's order is that of a hash map."""
_OFFSETS: Final = {"brokerEpoch", "previousBrokerEpoch"}
_CHOSEN: Final = {"incarnationId", "topicId", "id"}


class Naming:
    """Names what two runs choose differently."""

    def __init__(self, names: Mapping[int, str], ports: Mapping[int, int], directories: Mapping[int, str]) -> None:
        self._nodes = dict(names)
        self._ports = {port: f"$port of {names[id]}" for id, port in ports.items()}
        self._directories = {text: f"$directory of {names[id]}" for id, text in directories.items()}
        self._seen: dict[tuple[str, object], str] = {}
        self._topics: dict[str, str] = {}
        self._voters: Any = None
        self._registered: dict[int, Any] = {}

    def steps(self, steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        made = (record["data"] for step in steps for record in step["records"] if record["type"] == "TOPIC_RECORD")
        self._topics = {data["topicId"]: f"$id of {data['name']}" for data in made}
        return [self._step(step) for step in steps]

    def _step(self, step: dict[str, Any]) -> dict[str, Any]:
        records = [record for record in step["records"] if not self._is_repeated(record)]
        # Of many partitions Kafka writes changes in the order of a hash map of random ids.
        runs = [records] if step.get("comes_by_itself") else [list(run) for _, run in groupby(records, lambda record: record["type"])]
        records = [one for run in runs for one in sorted(run, key=lambda record: (record["type"], self._order(record["data"])))]
        return {
            **{key: self._value(value, key) for key, value in step.items() if key not in ("records", "comes_by_itself")},
            "records": [self._value(record) for record in records],
        }

    def _is_repeated(self, record: Record) -> bool:
        """Whether a record says once more what was: of a controller that registers twice because its first answer was late, and of a new
        leader that writes the level and the voters again, as Kafka's does now and then.
        """
        if record["type"] == "UNREGISTER_CONTROLLER_RECORD":
            self._registered.pop(record["data"]["controllerId"], None)
        if record["type"] == "REGISTER_CONTROLLER_RECORD":
            id = record["data"]["controllerId"]
            before, self._registered[id] = self._registered.get(id), record["data"]
            return bool(before == record["data"])
        if record["type"] == "KRAFT_VERSION":
            return self._voters is not None and record["data"] == self._voters[0]
        if record["type"] != "KRAFT_VOTERS":
            return False
        before, self._voters = self._voters, ({"version": 0, "kRaftVersion": 1}, record["data"])
        return before is not None and bool(before[1] == record["data"])

    def _order(self, data: Any) -> str:
        """A text that orders records alike in every run: by the names of nodes and topics."""
        if not isinstance(data, dict):
            return ""
        return self._nodes.get(data.get("controllerId", -1)) or self._topics.get(data.get("topicId", "")) or in_order(data)

    def _value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            # How often there was an election until all stood is chance; the epochs of partitions are not.
            left_out = {*_CLOCKS, "leaderEpoch"} if "currentVoters" in value else _CLOCKS
            return {name: self._value(item, name) for name, item in value.items() if name not in left_out}
        if isinstance(value, list):
            items = [self._value(item, key) for item in value]
            return sorted(items, key=in_order) if items and all(isinstance(item, dict) for item in items) else items
        if isinstance(value, str):
            return self._text(value, key)
        if isinstance(value, int) and not isinstance(value, bool):
            if key == "port":
                return self._ports.get(value, value)
            if key in _OFFSETS and 0 <= value < 1 << 60:
                return self._seen.setdefault((key[-5:], value), f"$epoch-{len(self._seen) + 1}")
            return self._nodes.get(value, value)
        return value

    def _text(self, value: str, key: str) -> str:
        if value in self._directories or value in self._topics:
            return self._directories.get(value) or self._topics[value]
        if key in _CHOSEN and re.fullmatch(r"[\w-]{22}", value) and not value.startswith("A" * 20):
            return self._seen.setdefault(("id", value), f"$id-{len(self._seen) + 1}")
        for text, name in self._directories.items():
            value = value.replace(text, name)
        for id, name in self._nodes.items():
            value = re.sub(rf"\b{id}\b", name, value)
        return _KEYS.sub(lambda found: ", ".join(sorted(re.findall(_KEY, found[0]))), value)
