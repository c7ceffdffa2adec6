"""Clients that run while nodes die: what was acknowledged to each of them is compared with what the topics hold at the end.

All but one are clients of librdkafka; each has a thread of its own, and keeps going whatever the brokers answer until it is stopped.
"""

from __future__ import annotations

import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from typing import Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from metashell.codec.error_codes import error_name
from metashell.codec.messages import AlterClientQuotasRequest
from metashell.metadata.image import MetadataImage
from metashell.net.addresses import ConnectError, parse_addresses
from metashell.net.client import Client as BlockingClient

POLL_S: Final = 0.2
ANSWER_S: Final = 30.0
FLUSH_S: Final = 90.0
READ_S: Final = 120.0
COPY_S: Final = 0.5
"""How long a transaction gathers messages."""
DECIDE_S: Final = 0.2
DECIDED_MS: Final = 10_000


class TrafficError(Exception):
    """What clients saw is not what must be: something is lost, there twice, or out of order, or a client ended."""


class Client(ABC):
    """A thread that ends when it is told to; what it raised is raised again then."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.errors: Counter[str] = Counter()
        """What it was told; of a writer, for how many messages."""
        self._ends = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._guarded, name=name, daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def tell_to_end(self) -> None:
        self._ends.set()

    def end(self) -> None:
        """Stop it and wait until it has. Errors: TrafficError."""
        self.tell_to_end()
        self._thread.join(2 * FLUSH_S)
        if self._thread.is_alive():
            raise TrafficError(f"{self.name} does not end")
        if self._failure is not None:
            raise TrafficError(f"{self.name} failed: {self._failure!r}") from self._failure

    def where(self) -> str:
        """What the thread is doing."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return " < ".join(f"{line.name}:{line.lineno}" for line in reversed(traceback.extract_stack(frame)[-4:])) if frame else "ended"

    def _guarded(self) -> None:
        try:
            self.run()
        except BaseException as failure:
            self._failure = failure

    @abstractmethod
    def run(self) -> None:
        """What the thread does until `_ends`."""


class Writer(Client):
    """An idempotent producer with acks=all: messages `NAME-NUMBER`, numbers ascending over the partitions by turns."""

    def __init__(self, name: str, bootstrap: str, topic: str, partitions: int, *, per_second: float) -> None:
        super().__init__(name)
        self.topic = topic
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        """Numbers by partition."""
        self.longest_gap_s: dict[int, float] = defaultdict(float)
        """By partition, the longest time between two acknowledgements."""
        self._acknowledged_at: dict[int, float] = {}
        self._partitions = partitions
        self._wait_s = 1 / per_second
        self._settings = {
            "bootstrap.servers": bootstrap,
            "client.id": name,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 5,
            "delivery.timeout.ms": int(FLUSH_S * 1000),
            "request.timeout.ms": 5_000,
            "topic.metadata.refresh.interval.ms": 2_000,
            "log_level": 2,
        }

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def run(self) -> None:
        producer = Producer(self._settings)
        number = 0
        while not self._ends.is_set():
            try:
                producer.produce(self.topic, f"{self.name}-{number}", partition=number % self._partitions, on_delivery=self._delivered)
                number += 1
            except BufferError:
                producer.poll(POLL_S)
            producer.poll(self._wait_s)
        producer.flush(FLUSH_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors[error.name()] += 1
            return
        partition, value, now = message.partition(), message.value(), time.monotonic()
        assert partition is not None and value is not None
        self.acknowledged[partition].append(number_of(value))
        last = self._acknowledged_at.get(partition, now)
        self.longest_gap_s[partition] = max(self.longest_gap_s[partition], now - last)
        self._acknowledged_at[partition] = now


class Member(Client):
    """A consumer of a group, by the classic protocol or by KIP-848's; it commits what it has read by itself."""

    def __init__(self, name: str, bootstrap: str, topic: str, group: str, *, protocol: str) -> None:
        super().__init__(name)
        self.seen: set[bytes] = set()
        self._topic = topic
        self._settings = group_settings(bootstrap, group, protocol) | {
            "client.id": name,
            "enable.auto.commit": True,
            "auto.commit.interval.ms": 500,
        }

    def run(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe([self._topic])
        try:
            while not self._ends.is_set():
                for message in consumer.consume(500, POLL_S):
                    error, value = message.error(), message.value()
                    if error is not None:
                        self.errors[error.name()] += 1
                    elif value is not None:
                        self.seen.add(value)
        finally:
            consumer.close()


class Copier(Client):
    """Copies a topic into another in transactions that hold its offsets (exactly once); each seventh is aborted on purpose."""

    def __init__(self, name: str, bootstrap: str, source: str, target: str, *, protocol: str) -> None:
        super().__init__(name)
        self.committed = self.aborted = self.copied = 0
        self._source, self._target = source, target
        self._consumer_settings = group_settings(bootstrap, name, protocol) | {
            "enable.auto.commit": False,
            # So long one that hangs keeps its partitions from the one that replaces it.
            "max.poll.interval.ms": 30_000,
        }
        self._producer_settings = {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": 30_000,
            "request.timeout.ms": 5_000,
            # What a coordinator was asked whose log directory then failed is never answered.
            "socket.timeout.ms": 6_000,
            "log_level": 2,
        }

    def run(self) -> None:
        consumer, producer = self._consumer(), None
        try:
            while not self._ends.is_set():
                try:
                    if producer is None:
                        producer = Producer(self._producer_settings)
                        producer.init_transactions(ANSWER_S)
                    if self._copy(consumer, producer):
                        continue
                except KafkaException as error:
                    told: KafkaError = error.args[0]
                    self.errors[told.name()] += 1
                    producer = self._recover(producer, told)
                # A new one begins at what the group has committed.
                consumer.close()
                consumer = self._consumer()
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        consumer = Consumer(self._consumer_settings)
        consumer.subscribe([self._source])
        return consumer

    def _copy(self, consumer: Consumer, producer: Producer) -> bool:
        """Copy what comes in a while; False where that was aborted. Errors: KafkaException."""
        messages = [message for message in consumer.consume(500, COPY_S) if message.error() is None]
        if not messages:
            return True
        producer.begin_transaction()
        for message in messages:
            producer.produce(self._target, message.value())
        ends: dict[tuple[str, int], int] = {}
        for message in messages:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None and partition is not None and offset is not None
            ends[topic, partition] = offset + 1
        offsets = [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]
        group = consumer.consumer_group_metadata()
        self._ask(lambda: producer.send_offsets_to_transaction(offsets, group, ANSWER_S))
        if (self.committed + self.aborted) % 7 == 6:
            self._ask(lambda: producer.abort_transaction(ANSWER_S))
            self.aborted += 1
            return False
        self._ask(lambda: producer.commit_transaction(ANSWER_S))
        self.committed += 1
        self.copied += len(messages)
        return True

    def _ask(self, call: Callable[[], object]) -> None:
        """Make a call again while its failure says that this may help. Errors: KafkaException."""
        end = time.monotonic() + FLUSH_S
        while True:
            try:
                call()
                return
            except KafkaException as error:
                told: KafkaError = error.args[0]
                if not told.retriable() or time.monotonic() > end:
                    raise
                self.errors[told.name()] += 1

    def _recover(self, producer: Producer | None, error: KafkaError) -> Producer | None:
        """Abort; a producer that cannot go on is given up: the next one aborts for it."""
        if producer is None or error.fatal() or not error.txn_requires_abort():
            return None
        try:
            self._ask(lambda: producer.abort_transaction(ANSWER_S))
        except KafkaException:
            return None
        return producer


class Decider(Client):
    """Has the active controller decide, through brokers: a quota of another user each time, which is never changed again."""

    def __init__(self, name: str, bootstrap: str) -> None:
        super().__init__(name)
        self.acknowledged: list[str] = []
        """Users."""
        self._addresses = parse_addresses(bootstrap)

    def run(self) -> None:
        made = AlterClientQuotasRequest
        number = 0
        while not self._ends.wait(DECIDE_S):
            user, number = f"{self.name}-{number}", number + 1
            entity = (made.EntityData(entity_type="user", entity_name=user),)
            entry = made.EntryData(entity=entity, ops=(made.OpData(key="request_percentage", value=50.0),))
            try:
                with BlockingClient(self._addresses, attempts_max=1, deadline_ms=DECIDED_MS) as client:
                    code = client.request(made(entries=(entry,))).entries[0].error_code
            except ConnectError as error:
                self.errors[type(error).__name__] += 1
                continue
            if code:
                self.errors[error_name(code)] += 1
            else:
                self.acknowledged.append(user)


def group_settings(bootstrap: str, group: str, protocol: str) -> dict[str, str | int | bool]:
    """What members of a group are made with."""
    settings: dict[str, str | int | bool] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "topic.metadata.refresh.interval.ms": 2_000,
        # An answer for each message would be most of what brokers do.
        "fetch.min.bytes": 10_000,
        "fetch.wait.max.ms": 300,
        "log_level": 2,
    }
    if protocol == "classic":
        settings |= {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}
    return settings


def number_of(value: bytes) -> int:
    return int(value.rpartition(b"-")[2])


def read_topic(bootstrap: str, topic: str, partitions: int) -> dict[int, list[bytes]]:
    """All committed values of a topic by partition. Errors: TrafficError when they do not come."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "log_level": 2,
        }
    )
    found: dict[int, list[bytes]] = {partition: [] for partition in range(partitions)}
    open_partitions = set(found)
    end = time.monotonic() + READ_S
    consumer.assign([TopicPartition(topic, partition, 0) for partition in found])
    try:
        while open_partitions:
            if time.monotonic() > end:
                raise TrafficError(f"partitions {sorted(open_partitions)} of {topic} cannot be read to their end")
            for message in consumer.consume(1000, POLL_S):
                error, partition, value = message.error(), message.partition(), message.value()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(partition if partition is not None else -1)
                elif error is None and partition is not None and value is not None:
                    found[partition].append(value)
    finally:
        consumer.close()
    return found


def without_repeats(found: Mapping[int, Sequence[bytes]]) -> tuple[dict[int, list[bytes]], dict[int, set[bytes]]]:
    """The values of each partition where each is first, and those that are there more than once."""
    first = {partition: list(dict.fromkeys(values)) for partition, values in found.items()}
    repeated = {partition: {value for value, count in Counter(values).items() if count > 1} for partition, values in found.items()}
    return first, {partition: values for partition, values in repeated.items() if values}


def check_written(writer: Writer, found: Mapping[int, Sequence[bytes]]) -> None:
    """Each acknowledged message is in its partition once, and all are in the order in which they were sent. Errors: TrafficError."""
    prefix = f"{writer.name}-".encode()
    for partition, values in found.items():
        numbers = [number_of(value) for value in values if value.startswith(prefix)]
        here = Counter(numbers)
        lost = [number for number in writer.acknowledged.get(partition, ()) if not here[number]]
        twice = [number for number, count in here.items() if count > 1]
        if lost or twice:
            raise TrafficError(
                f"{writer.name}, partition {partition}: {len(lost)} lost ({lost[:10]}), {len(twice)} more than once ({twice[:10]})"
            )
        if numbers != sorted(numbers):
            raise TrafficError(f"{writer.name}, partition {partition}: not in the order in which they were sent")


def check_decided(decider: Decider, image: MetadataImage) -> None:
    """Each acknowledged decision is in an image. Errors: TrafficError."""
    lost = [user for user in decider.acknowledged if (("user", user),) not in image.client_quotas]
    if lost:
        raise TrafficError(f"{decider.name}: {len(lost)} of {len(decider.acknowledged)} decisions lost ({lost[:10]})")


def check_seen(members: Sequence[Member], written: Mapping[int, Sequence[bytes]]) -> None:
    """What is in a topic was read by a member of the group. Errors: TrafficError."""
    seen = set().union(*(member.seen for member in members))
    missing = [value for values in written.values() for value in values if value not in seen]
    if missing:
        raise TrafficError(f"{members[0].name}: {len(missing)} were not read: {missing[:10]}")


def check_copied(written: Mapping[int, Sequence[bytes]], copied: Mapping[int, Sequence[bytes]]) -> None:
    """Each value of the topic is in the copy once, and nothing else is. Errors: TrafficError."""
    want = Counter(value for values in written.values() for value in values)
    have = Counter(value for values in copied.values() for value in values)
    if want != have:
        missing, more = want - have, have - want
        raise TrafficError(f"copy: {missing.total()} missing {list(missing)[:10]}, {more.total()} too many {list(more)[:10]}")
