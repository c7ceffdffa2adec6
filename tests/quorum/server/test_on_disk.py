"""Voters from Kafka's configuration files, on formatted directories: static and dynamic quorums, plain text and SASL over TLS."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from metashell.codec.messages import TopicRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.common.errors import MetashellError, UsageError
from metashell.disk.source import open_directory
from metashell.metadata.image import load_image
from metashell.quorum.server.feed import ImageMachine
from tests.coroutines import eventually
from tests.net.certificates import Authority
from tests.quorum.server.controllers import Formatted
from tools.interop.voter import Voter, start_voter

pytestmark = pytest.mark.slow

QUICK = {
    "controller.quorum.election.timeout.ms": 300,
    "controller.quorum.fetch.timeout.ms": 600,
    "controller.quorum.append.linger.ms": 0,
    "metadata.log.max.record.bytes.between.snapshots": 2000,
}


class Place(Formatted):
    """Three directories; the voters that run on them."""

    def __init__(self, folder: Path, security: dict[str, object], *, dynamic: bool) -> None:
        super().__init__(folder, settings={**QUICK, **security}, dynamic=dynamic)
        self.voters: dict[int, Voter] = {}

    async def start(self, id: int) -> None:
        self.voters[id] = await start_voter(str(self.configs[id]), may_stand=True)

    async def stop(self, id: int) -> None:
        voter = self.voters.pop(id)
        await voter.server.kill()
        voter.log.close()

    async def stop_all(self) -> None:
        for id in list(self.voters):
            await self.stop(id)

    async def leader(self) -> Voter:
        await eventually(lambda: any(self.leads(id) for id in self.voters))
        return next(voter for id, voter in self.voters.items() if self.leads(id))

    def leads(self, id: int) -> bool:
        node = self.voters[id].server.node
        return node.state_name == "leader" and node.high_watermark is not None

    def topics_at(self, id: int) -> set[str]:
        machine = self.voters[id].server.feed.machine
        assert isinstance(machine, ImageMachine)
        return {topic.name for topic in machine.image.topics.by_id.values()}


def topic(number: int) -> bytes:
    return write_metadata_record(TopicRecord(name=f"topic-{number}", topic_id=bytes(8) + number.to_bytes(8, "big")))


def security_of(kind: str, folder: Path) -> dict[str, object]:
    if kind == "PLAINTEXT":
        return {}
    authority = Authority()
    store = authority.sign("node", ["localhost", "127.0.0.1"]).write_pem(folder)
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required username=quorum password=secret user_quorum=secret;"
    return {
        "listener.security.protocol.map": "CONTROLLER:SASL_SSL",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": login,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": store,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority.write_pem(folder),
    }


@pytest.mark.parametrize(("kind", "dynamic"), [("PLAINTEXT", False), ("PLAINTEXT", True), ("SASL_SSL", True)])
async def test_a_quorum_on_disk_replicates_makes_snapshots_and_fills_an_empty_directory(tmp_path: Path, kind: str, dynamic: bool) -> None:
    place = Place(tmp_path, security_of(kind, tmp_path), dynamic=dynamic)
    try:
        for id in place.configs:
            await place.start(id)
        leader = await place.leader()
        for number in range(40):
            await leader.server.append([topic(number)])
        names = {f"topic-{number}" for number in range(40)}
        for id in place.configs:
            await eventually(lambda id=id: place.topics_at(id) == names)
        assert leader.server.node.kraft_version == int(dynamic)
        last = next(id for id in place.configs if place.voters[id] is not leader)
        await eventually(lambda: any(snapshot.offset > 0 for snapshot in leader.log.snapshots()))
        await place.stop(last)
        shutil.rmtree(tmp_path / f"node-{last}")
        place.format(last)
        await place.start(last)
        await eventually(lambda: place.topics_at(last) == names)
        assert place.voters[last].log.start_offset > 0, "it began with a snapshot"
        await (await place.leader()).server.append([topic(40)])
        await eventually(lambda: place.topics_at(last) == names | {"topic-40"})
    finally:
        await place.stop_all()
    for id in place.configs:
        image = load_image(open_directory(str(tmp_path / f"node-{id}" / "__cluster_metadata-0")))
        assert {found.name for found in image.topics.by_id.values()} == names | {"topic-40"}
        assert not image.faults


async def test_every_voter_may_be_restarted_on_its_directory(tmp_path: Path) -> None:
    place = Place(tmp_path, {}, dynamic=True)
    try:
        for id in place.configs:
            await place.start(id)
        for number, id in enumerate(place.configs):
            await (await place.leader()).server.append([topic(number)])
            await place.stop(id)
            await place.start(id)
            await place.leader()
            await eventually(lambda id=id, number=number: f"topic-{number}" in place.topics_at(id))
    finally:
        await place.stop_all()


async def test_a_directory_of_another_node_and_one_in_use_are_refused(tmp_path: Path) -> None:
    place = Place(tmp_path, {}, dynamic=False)
    wrong = tmp_path / "wrong.properties"
    wrong.write_text(place.configs[1].read_text().replace("node.id=1", "node.id=2"))
    await place.start(1)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tools.interop.voter", str(place.configs[1]), stderr=asyncio.subprocess.PIPE
    )
    said = (await process.communicate())[1]
    assert process.returncode == 1
    assert b"A Kafka instance in another process or thread is using this directory." in said and said.count(b"\n") == 1
    await place.stop(1)
    with pytest.raises(MetashellError, match="Stored node id 1 doesn't match previous node id 2"):
        await start_voter(str(wrong), may_stand=False)
    shutil.rmtree(tmp_path / "node-1")
    with pytest.raises(MetashellError, match=r"No readable meta\.properties"):
        await start_voter(str(place.configs[1]), may_stand=False)


async def test_a_signal_ends_the_program_gracefully_and_a_broken_directory_with_one_line(tmp_path: Path) -> None:
    place = Place(tmp_path, {}, dynamic=False)
    argv = [sys.executable, "-m", "tools.interop.voter", "-v", str(place.configs[1])]
    process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    assert b"unattached" in await process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    said = await process.stderr.read()
    assert await process.wait() == 0
    assert said.endswith(b"stopped\n")
    (tmp_path / "node-1" / "meta.properties").write_text("version=7\n")
    process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    said = await process.stderr.read()
    assert await process.wait() == 1
    assert said.startswith(b"voter: ") and said.count(b"\n") == 1


@pytest.mark.parametrize("host", ["", "0.0.0.0"])
async def test_a_listener_that_others_reach_is_refused_unless_it_may_be_plaintext(tmp_path: Path, host: str) -> None:
    place = Place(tmp_path, {}, dynamic=False)
    config = place.configs[1]
    text = config.read_text()
    found = re.search(r"^listeners=CONTROLLER://[^:]*:", text, re.MULTILINE)
    assert found is not None
    config.write_text(text.replace(found.group(), f"listeners=CONTROLLER://{host}:"))
    with pytest.raises(UsageError, match="must be allowed explicitly"):
        await start_voter(str(config), may_stand=False)
    voter = await start_voter(str(config), may_stand=False, allow_plaintext=True)
    await voter.server.stop()
    voter.log.close()
