"""Makes tests/golden/groups/series with a real Kafka: groups whose rebalances repeat for one cause, and healthy ones.

    python -m tools.make_group_series FOLDER      # takes about two minutes; FOLDER/kept is what tests read

One broker of the newest release with one partition of `__consumer_offsets`, and members of librdkafka (confluent-kafka) and of
kafka-python, all at once. A group's name says what happens in it: `sick-...` is one that shall be explained, `well-...` one that shall get
no finding. `held-reader` reads only committed records of the topic `held`, where a transaction stays open.
"""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.java import KAFKA, kafka_command
from tools.interop.nodes import cluster, combined_settings, format_directories, free_ports, write_config

FOR_S = 80.0
_LOG4J = """
appenders = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRefs = file
rootLogger.appenderRef.file.ref = file
"""
_MEMBER = """
import sys
from confluent_kafka import Consumer, Producer
bootstrap, group, client = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "client.id": client, "session.timeout.ms": 3000,
                     "heartbeat.interval.ms": 500, "auto.offset.reset": "earliest"})
consumer.subscribe(["orders"])
while True:
    consumer.poll(0.2)
"""


_TWIN = """
import sys
from kafka import KafkaConsumer
bootstrap, group, client = sys.argv[1:]
consumer = KafkaConsumer("orders", bootstrap_servers=bootstrap, group_id=group, client_id=client, group_instance_id="payments-0",
                         session_timeout_ms=20000, heartbeat_interval_ms=500)
while True:
    consumer.poll(200)
"""


class Broker:
    def __init__(self, address: str) -> None:
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})
        self.ends_at = time.monotonic() + FOR_S
        self.is_over = threading.Event()

    def pause(self, seconds: float) -> bool:
        """Wait; return whether the scenarios go on."""
        return not self.is_over.wait(min(seconds, max(self.ends_at - time.monotonic(), 0))) and time.monotonic() < self.ends_at

    def create(self, *names: str, partitions: int = 6) -> None:
        for future in self.admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
            future.result()


class Member(threading.Thread):
    """A member that polls every 0.2 s, or every `every_s`, until it is ended."""

    def __init__(
        self, broker: Broker, group: str, client: str, topics: Iterable[str] = ("orders",), every_s: float = 0.2, **more: Any
    ) -> None:
        super().__init__(daemon=True)
        self._broker, self._every_s, self._topics = broker, every_s, list(topics)
        self._is_over = threading.Event()
        self.revoke_s = 0.0
        settings = {
            "bootstrap.servers": broker.address,
            "group.id": group,
            "client.id": client,
            "heartbeat.interval.ms": 500,
            "session.timeout.ms": 6000,
            "topic.metadata.refresh.interval.ms": 1000,
            "auto.offset.reset": "earliest",
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        if settings.get("group.protocol") == "consumer":
            del settings["heartbeat.interval.ms"], settings["session.timeout.ms"]
        self._settings = settings
        self.start()

    def run(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe(self._topics, on_revoke=lambda *_: time.sleep(self.revoke_s))
        while not self._is_over.is_set() and time.monotonic() < self._broker.ends_at:
            message = consumer.poll(0.2)
            if message is not None and message.error() is not None and message.error().fatal():
                break  # fenced
            if (message is not None and message.error() is None) or self._every_s > 1:
                self._is_over.wait(max(self._every_s - 0.2, 0))
        consumer.close()

    def end(self) -> None:
        self._is_over.set()
        self.join()


def sick_slow(broker: Broker, group: str = "sick-slow", **more: Any) -> None:
    Member(broker, group, "quick-worker", **more)
    Member(broker, group, "slow-worker", every_s=8, max_poll_interval_ms=6000, **more)


def sick_slow_consumer(broker: Broker) -> None:
    sick_slow(broker, "sick-slow-consumer", group_protocol="consumer")


def sick_topics(broker: Broker, group: str = "sick-topics", **more: Any) -> None:
    prefix = group.replace("-", "_")
    broker.create(f"{prefix}_0", partitions=2)
    for number in range(2):
        Member(broker, group, f"listener-{number}", [f"^{prefix}_.*"], **more)
    number = 1
    while broker.pause(9):
        broker.create(f"{prefix}_{number}", partitions=2)
        number += 1
    if number > 3:
        broker.admin.delete_topics([f"{prefix}_2"])[f"{prefix}_2"].result()


def sick_topics_consumer(broker: Broker) -> None:
    sick_topics(broker, "sick-topics-consumer", group_protocol="consumer")


def sick_twins(broker: Broker) -> None:
    """Two processes use one id, and each is started again when it ends."""
    Member(broker, "sick-twins", "payments", group_instance_id="payments-1")
    pods: list[subprocess.Popen[bytes] | None] = [None, None]
    while broker.pause(1.5):
        for number, pod in enumerate(pods):
            if pod is None or pod.poll() is not None:
                pods[number] = subprocess.Popen(
                    [sys.executable, "-c", _TWIN, broker.address, "sick-twins", f"pod-{number}"], stderr=subprocess.DEVNULL
                )
                broker.pause(2)
    for pod in pods:
        if pod is not None:
            pod.kill()
            pod.wait()


def sick_killed(broker: Broker) -> None:
    """A member that is killed and started again, over and over: its session ends each time."""
    Member(broker, "sick-killed", "steady")
    while True:
        process = subprocess.Popen([sys.executable, "-c", _MEMBER, broker.address, "sick-killed", "crasher"])
        goes_on = broker.pause(5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not goes_on or not broker.pause(4):
            return


def well_static(broker: Broker) -> None:
    """Two static members; one is restarted."""
    Member(broker, "well-static", "a", group_instance_id="static-a")
    member = Member(broker, "well-static", "b", group_instance_id="static-b")
    broker.pause(20)
    member.end()
    broker.pause(1)
    Member(broker, "well-static", "b", group_instance_id="static-b")


def well_slow(broker: Broker) -> None:
    """One rebalance that takes long, since a member takes 5 s to give up."""
    member = Member(broker, "well-slow", "a")
    broker.pause(15)
    member.revoke_s = 5
    Member(broker, "well-slow", "b")
    broker.pause(10)
    member.revoke_s = 0


def well_rolling(broker: Broker, group: str = "well-rolling", *, is_static: bool = False, one_client_id: bool = False) -> None:
    """A rolling restart of ten members."""

    def start(number: int) -> Member:
        more = {"group_instance_id": f"static-{number}"} if is_static else {}
        return Member(broker, group, "app" if one_client_id else f"app-{number}", session_timeout_ms=20_000, **more)

    members = [start(number) for number in range(10)]
    broker.pause(20)
    for number, member in enumerate(members):
        member.end()
        broker.pause(0.5)
        members[number] = start(number)
        broker.pause(4)


def well_rolling_static(broker: Broker) -> None:
    well_rolling(broker, "well-rolling-static", is_static=True)


def well_rolling_alike(broker: Broker) -> None:
    well_rolling(broker, "well-rolling-alike", one_client_id=True)


def well_scaled(broker: Broker) -> None:
    """An autoscaler: pods come and go, each for some time of its own, under one client id."""
    Member(broker, "well-scaled", "pod")
    pods: list[Member] = []
    for step, count in enumerate((2, 5, 3, 6, 1, 4, 2)):
        while len(pods) < count:
            pods.append(Member(broker, "well-scaled", "pod"))
        while len(pods) > count:
            pods.pop().end()
        if not broker.pause(7 + step):
            return


def well_python(broker: Broker) -> None:
    """Members of kafka-python with the sticky assignor; one joins later."""
    from kafka import KafkaConsumer
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    def run(after_s: float, number: int) -> None:
        broker.pause(after_s)
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=broker.address,
            group_id="well-python",
            client_id=f"python-{number}",
            partition_assignment_strategy=[StickyPartitionAssignor],
            auto_offset_reset="earliest",
        )
        while time.monotonic() < broker.ends_at:
            consumer.poll(200)
        consumer.close()

    for number in range(2):
        threading.Thread(target=run, args=(number * 15.0, number), daemon=True).start()


def well_sticky(broker: Broker) -> None:
    for number in range(3):
        Member(broker, "well-sticky", f"c{number}", partition_assignment_strategy="cooperative-sticky")
        broker.pause(6)


def held(broker: Broker) -> None:
    """A transaction is committed, another stays open, and 300 plain records follow it."""
    broker.create("held", partitions=1)
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": "hung-1", "transaction.timeout.ms": 600_000})
    producer.init_transactions()
    for is_committed in (True, False):
        producer.begin_transaction()
        producer.produce("held", b"in a transaction", partition=0)
        producer.flush()
        if is_committed:
            producer.commit_transaction()
    plain = Producer({"bootstrap.servers": broker.address})
    for number in range(300):
        plain.produce("held", str(number), partition=0)
    plain.flush()
    Member(broker, "held-reader", "reader", ["held"], isolation_level="read_committed", auto_commit_interval_ms=1000)
    while broker.pause(60):
        pass
    HELD.append(producer)


HELD: list[Producer] = []
"""Producers that stay, so that their transactions do."""

SCENARIOS: tuple[Callable[[Broker], None], ...] = (
    sick_slow,
    sick_slow_consumer,
    sick_topics,
    sick_topics_consumer,
    sick_twins,
    sick_killed,
    well_static,
    well_slow,
    well_rolling,
    well_rolling_static,
    well_rolling_alike,
    well_scaled,
    well_python,
    well_sticky,
    held,
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    ports = free_ports(3)
    quorum = {"controller.quorum.voters": f"1@localhost:{ports[2]}"}
    config = write_config(
        folder / "broker.properties",
        combined_settings(1, ports, folder / "data", quorum),
        {
            "offsets.topic.num.partitions": 1,
            "group.min.session.timeout.ms": 1000,
            "group.initial.rebalance.delay.ms": 0,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.num.partitions": 1,
            "transaction.state.log.min.isr": 1,
            "log.cleaner.enable": "false",
            "group.consumer.min.heartbeat.interval.ms": 500,
            "group.consumer.heartbeat.interval.ms": 1000,
            "group.consumer.min.session.timeout.ms": 3000,
            "group.consumer.session.timeout.ms": 6000,
        },
    )
    format_directories(config)
    (folder / "log4j2.properties").write_text(_LOG4J.format(path=folder / "server.log"))

    def command(tool: str, *args: str) -> list[str]:
        words = [word for word in kafka_command(KAFKA, tool, *args) if not word.startswith("-Dlog4j2.level")]
        return [words[0], f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", *words[1:]]

    with cluster(command, folder) as nodes:
        nodes.start(config)
        log = folder / "server.log"
        nodes.wait_until("the broker runs", lambda: log.exists() and "Kafka Server started" in log.read_text())
        broker = Broker(f"localhost:{ports[0]}")
        broker.create("orders")
        broker.ends_at = time.monotonic() + FOR_S
        threads = [threading.Thread(target=scenario, args=(broker,), daemon=True) for scenario in SCENARIOS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Members leave when their time is over.
        time.sleep(8)
    kept = folder / "kept"
    for name in ("__consumer_offsets-0", "__cluster_metadata-0", "__transaction_state-0", "held-0"):
        (kept / "logs" / name).mkdir(parents=True)
        segment = f"{name}/00000000000000000000.log"
        (kept / "logs" / segment).write_bytes((folder / "data" / segment).read_bytes())
    lines = [line for line in log.read_text().splitlines() if "GroupMetadataManager" in line]
    (kept / "server.log.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
