"""Makes tests/golden/groups/downgrade.json: what the group coordinators of old releases of Kafka do with records that newer ones wrote.

    python -m tools.make_downgrade_golden [RELEASE...]

For each release it starts a node, so that `__consumer_offsets` exists, puts one kind of record into each partition, starts it again and
asks its coordinator. Each partition also has a group with an offset that every release reads: the witness. The answer of a group is its
committed offset, -1 for none, or the name of an error. It needs Java and Kafka's jars (tests/java.py)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.coordinator import coordinator_partition
from metashell.codec.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NONE, NOT_COORDINATOR, error_name
from metashell.codec.registry import message_type
from metashell.common.errors import MetashellError
from metashell.net.addresses import Address
from metashell.net.client import Client
from tests.java import kafka_command
from tools.generated import ROOT
from tools.interop.nodes import SMALL, cluster, free_ports, write_config

RELEASES: Final = ("3.3.2", "3.4.0", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")
OUT: Final = ROOT / "tests/golden/groups/downgrade.json"
CLUSTER: Final = "4L6g3nShT-eMCtK--X86sw"
TOPIC_ID: Final = bytes(range(16))
NOW_MS: Final = 1_790_000_000_000
WITNESS_OFFSET: Final = 7
LIMIT_S: Final = 120.0
NOT_READY_S: Final = 8.0

Pair = tuple[bytes, bytes]


def commit(group: str, version: int, **more: Any) -> Pair:
    """A committed offset: its value in one of the versions."""
    value = messages.OffsetCommitValue(offset=5, leader_epoch=-1, metadata="", commit_timestamp=NOW_MS, **more)
    return pair(1, "OffsetCommit", {"group": group, "topic": "t", "partition": 0}, value, version)


def group_metadata(group: str, version: int) -> Pair:
    """A group without members."""
    value = messages.GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol=None, leader=None, current_state_timestamp=NOW_MS, members=()
    )
    return pair(2, "GroupMetadata", {"group": group}, value, version)


def modern(type_id: int, name: str, key: dict[str, Any], **fields: Any) -> Pair:
    """A record of a newer protocol, in version 0 of its value."""
    return pair(type_id, name, key, message_type("offsets", f"{name}Value").cls(**fields), 0)


def pair(type_id: int, name: str, key: dict[str, Any], value: Any, version: int) -> Pair:
    keys, values = message_type("offsets", f"{name}Key"), message_type("offsets", f"{name}Value")
    return type_id.to_bytes(2, "big") + keys.write(keys.cls(**key), 0), version.to_bytes(2, "big") + values.write(value, version)


def variants(group: Any) -> dict[str, list[Pair]]:
    """The records of each partition by its name; `group` gives the id of the group that they are about."""
    made: dict[str, list[Pair]] = {}

    def add(name: str, *pairs: Pair) -> None:
        made[name] = list(pairs)

    for version in range(5):
        add(f"offset-commit-v{version}", commit(group(len(made)), version))
    add("offset-commit-v4-topic-id", commit(group(len(made)), 4, topic_id=TOPIC_ID))
    id = group(len(made))
    add("offset-commit-v4-replaced-by-v3", commit(id, 4), commit(id, 3))
    id = group(len(made))
    key, value = commit(id, 4)
    add("offset-commit-v5", (key, b"\0\5" + value[2:]))
    for version in range(5):
        add(f"group-metadata-v{version}", group_metadata(group(len(made)), version))
    id = group(len(made))
    key, value = group_metadata(id, 4)
    add("group-metadata-v5", (key, b"\0\5" + value[2:]))
    id = group(len(made))
    add("consumer-group", modern(3, "ConsumerGroupMetadata", {"group_id": id}, epoch=1), commit(id, 3))
    id = group(len(made))
    add("share-group", modern(11, "ShareGroupMetadata", {"group_id": id}, epoch=1))
    id = group(len(made))
    expression = {"group_id": id, "regular_expression": "t.*"}
    add(
        "regular-expression",
        modern(3, "ConsumerGroupMetadata", {"group_id": id}, epoch=1),
        modern(16, "ConsumerGroupRegularExpression", expression, topics=("t",), version=1, timestamp=NOW_MS),
        commit(id, 3),
    )
    id = group(len(made))
    add("streams-group", modern(17, "StreamsGroupMetadata", {"group_id": id}, epoch=1), commit(id, 3))
    for type_id in (24, 99):
        id = group(len(made))
        key = type_id.to_bytes(2, "big") + len(id).to_bytes(2, "big") + id.encode()
        add(f"type-{type_id}", (key, b"\0\0\0\0\0\1\0"), commit(id, 3))
    return made


def group_in(partition: int, count: int, word: str) -> str:
    """A group whose log is one partition of many."""
    return next(id for number in range(1 << 20) if coordinator_partition(id := f"{word}-{number}", count) == partition)


COUNT: Final = len(variants(str))


def log_of(pairs: list[Pair], witness: str) -> bytes:
    key, value = commit(witness, 1)
    value = value[:2] + WITNESS_OFFSET.to_bytes(8, "big") + value[10:]
    records = [Record(offset, NOW_MS, *each) for offset, each in enumerate([(key, value), *pairs])]
    return b"".join(write_batch(record.offset, [record], leader_epoch=0, base_timestamp=NOW_MS) for record in records)


def settings(folder: Path, ports: list[int]) -> dict[str, object]:
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@localhost:{ports[1]}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://localhost:{ports[0]},CONTROLLER://localhost:{ports[1]}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": folder / "data",
        **SMALL,
        "offsets.topic.num.partitions": COUNT,
        # Offsets and groups are not to expire, and compaction is not to help.
        "offsets.retention.minutes": 2_000_000_000 // 60_000,
        "log.cleaner.enable": "false",
        "unstable.api.versions.enable": "true",
    }


def offset_of(port: int, group: str) -> str:
    """What the coordinator answers about a group: its offset, or an error."""
    make = messages.OffsetFetchRequest
    topics = (make.OffsetFetchRequestTopic(name="t", partition_indexes=(0,)),)
    began = time.monotonic()
    deadline = began + LIMIT_S
    while True:
        try:
            with Client([Address("localhost", port)]) as client:
                answer = client.request(make(group_id=group, topics=topics), version=5)
        except MetashellError as error:
            if time.monotonic() > deadline:
                return f"no answer: {type(error).__name__}"
            time.sleep(0.5)
            continue
        codes = [answer.error_code, *(one.error_code for topic in answer.topics for one in topic.partitions)]
        code = next((code for code in codes if code != NONE), NONE)
        if code == NONE:
            return str(answer.topics[0].partitions[0].committed_offset)
        # A node that has just started does not know yet which partitions it leads.
        is_passing = code == NOT_COORDINATOR and time.monotonic() < began + NOT_READY_S
        if not is_passing and (code not in (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE) or time.monotonic() > deadline):
            return error_name(code)
        time.sleep(0.2)


def is_listed(port: int, group: str) -> bool:
    with Client([Address("localhost", port)]) as client:
        return any(each.group_id == group for each in client.request(messages.ListGroupsRequest(), version=3).groups)


def has_coordinator(port: int) -> bool:
    try:
        with Client([Address("localhost", port)]) as client:
            return client.request(messages.FindCoordinatorRequest(key="any", key_type=0), version=3).error_code == NONE
    except MetashellError:
        return False


def judged(release: str) -> dict[str, dict[str, object]]:
    """What a release does with each partition."""
    with tempfile.TemporaryDirectory(prefix="metashell-downgrade-") as place:
        folder, ports = Path(place), free_ports(2)
        config = write_config(folder / "node.properties", settings(folder, ports))
        subprocess.run(kafka_command(release, "storage", "format", "-t", CLUSTER, "-c", str(config)), check=True, capture_output=True)

        def command_of(tool: str, *words: str) -> list[str]:
            command = kafka_command(release, tool, *words)
            return [word for word in command if "OFF" not in word and "defaultLogLevel" not in word]

        with cluster(command_of, folder) as nodes:
            node = nodes.start(config)
            nodes.wait_until("a coordinator", lambda: has_coordinator(ports[0]), LIMIT_S)
            nodes.wait_until("the partitions", lambda: len(list((folder / "data").glob("__consumer_offsets-*"))) == COUNT, LIMIT_S)
            node.kill()
            nodes.nodes.clear()
        groups = [group_in(partition, COUNT, "group") for partition in range(COUNT)]
        witnesses = [group_in(partition, COUNT, "witness") for partition in range(COUNT)]
        for number, pairs in enumerate(variants(lambda partition: groups[partition]).values()):
            directory = folder / "data" / f"__consumer_offsets-{number}"
            for file in directory.iterdir():
                if file.name != "partition.metadata":
                    file.unlink()
            (directory / f"{0:020d}.log").write_bytes(log_of(pairs, witnesses[number]))
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            (folder / "data" / name).unlink(missing_ok=True)
        found: dict[str, dict[str, object]] = {}
        with cluster(command_of, folder) as nodes:
            nodes.start(config)
            nodes.wait_until("a coordinator", lambda: has_coordinator(ports[0]), LIMIT_S)
            for number, name in enumerate(variants(lambda partition: groups[partition])):
                witness = offset_of(ports[0], witnesses[number])
                found[name] = {
                    "witness": witness,
                    "offset": offset_of(ports[0], groups[number]),
                    "listed": is_listed(ports[0], groups[number]),
                }
        shutil.rmtree(folder / "data", ignore_errors=True)
        return found


def main(releases: list[str]) -> int:
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    for release in releases or RELEASES:
        began = time.monotonic()
        known[release] = judged(release)
        OUT.write_text(json.dumps({name: known[name] for name in RELEASES if name in known}, indent=1) + "\n", encoding="utf-8")
        print(release, f"{time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
