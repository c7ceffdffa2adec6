"""How a story ends: what clients wrote and read, and what is in the logs of the controllers, is compared with what was acknowledged."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from confluent_kafka.admin import ConsumerGroupDescription

from metashell.disk.source import open_directory
from metashell.metadata.image import MetadataImage, load_image
from tools.interop.brokers import CONTROLLERS
from tools.interop.brokers_acts import COPIER_STALL_S, METADATA, PARTITIONS, Story, StoryError
from tools.interop.brokers_history import compare_logs, read_history
from tools.interop.brokers_traffic import TrafficError, check_copied, check_decided, check_seen, check_written, read_topic, without_repeats
from tools.interop.nodes import NodeFailedError

ELECTION_S: Final = 10.0
"""What an election of a controller may take on a busy machine, with the fetch timeout of 2 s before it."""
RECORDS: Final = {
    "FEATURE_LEVEL_RECORD",
    "REGISTER_BROKER_RECORD",
    "REGISTER_CONTROLLER_RECORD",
    "BROKER_REGISTRATION_CHANGE_RECORD",
    "TOPIC_RECORD",
    "PARTITION_RECORD",
    "PARTITION_CHANGE_RECORD",
    "CONFIG_RECORD",
    "PRODUCER_IDS_RECORD",
}
"""What is in the log of every story."""


def end_traffic(story: Story) -> None:
    """End the clients, writers first and readers when they have read all, and compare. Errors: TrafficError."""
    story.decider.end()
    for writer in story.writers:
        writer.end()
    where = story.cluster.bootstrap
    written = read_topic(where, story.topic, PARTITIONS)
    first, repeated = without_repeats(written)
    _check_sent_again(story, repeated)
    read, count = (sum(map(len, values.values())) for values in (first, written))

    def has_copied(_: MetadataImage) -> bool:
        return sum(map(len, read_topic(where, "copied", PARTITIONS).values())) >= count

    story.cluster.wait_until("the group has read all", lambda _: len(set().union(*(member.seen for member in story.members))) >= read)
    try:
        story.cluster.wait_until("all is copied", has_copied, COPIER_STALL_S)
    except NodeFailedError:
        story.tell(f"the copier stands still: {dict(story.copier.errors)}, {story.copier.where()}")
        story.replace_copier()
        story.cluster.wait_until("all is copied by another copier", has_copied)
    _check_group(story, "readers")
    for client in (*story.members, story.copier):
        client.end()
    copied = read_topic(where, "copied", PARTITIONS)
    for writer in story.writers:
        check_written(writer, first)
    check_seen(story.members, written)
    check_copied(written, copied)
    acknowledged = sum(writer.count for writer in story.writers)
    refused: Counter[str] = sum((writer.errors for writer in story.writers), start=Counter())
    story.tell(f"{acknowledged} messages were acknowledged, {dict(refused) or 'none'} refused: each is there once, in order")
    copier = story.copier
    story.tell(f"the group has read all, the copy has each once: {copier.committed} transactions committed, {copier.aborted} aborted")
    story.tell(f"errors that the copier met: {dict(copier.errors) or 'none'}")
    gaps = [max(writer.longest_gap_s.values()) for writer in story.writers]
    story.tell(f"longest time between two acknowledgements of a partition: {max(gaps):.1f} s")


def _check_sent_again(story: Story, repeated: Mapping[int, set[bytes]]) -> None:
    """What is there twice was sent again by its producer with a new epoch. Errors: TrafficError.

    librdkafka takes a new epoch when the batches of a partition have met a new leader in another order, and sends all that is not
    acknowledged again, in other partitions too, where it may be written already (KIP-360): a broker cannot know these for the same.
    """
    for partition, values in repeated.items():
        broker = next(id for id in story.cluster.plan.brokers if story.cluster.segments(id, story.topic, partition))
        files = ",".join(map(str, story.cluster.segments(broker, story.topic, partition)))
        text = story.cluster.tool("dump-log", "--print-data-log", "--files", files)
        writers: dict[bytes, list[str]] = defaultdict(list)
        writer = ""
        for line in text.splitlines():
            if found := re.search(r"producerId: \S+ producerEpoch: \S+", line):
                writer = found[0]
            elif found := re.search(r"payload: (\S+)$", line):
                writers[found[1].encode()].append(writer)
        twice = [value for value in values if len(set(writers[value])) < len(writers[value]) or len(writers[value]) < 2]
        if twice:
            raise TrafficError(f"{story.topic}-{partition}: more than once by the same epoch of a producer: {sorted(twice)[:10]}")
        story.tell(f"{len(values)} messages of {story.topic}-{partition} were sent again by their producer with a new epoch")


def _check_group(story: Story, group: str) -> None:
    """The group lives by the protocol that its members were told to use. Errors: StoryError."""
    admin = story.admin()

    def describe() -> ConsumerGroupDescription:
        return admin.describe_consumer_groups([group])[group].result(60)

    story.cluster.wait_until(f"{group} has its members", lambda _: len(describe().members) == len(story.members))
    described = describe()
    if described.type.name.lower() != story.protocol:
        raise StoryError(f"{group} is a group of type {described.type}")
    story.tell(f"{group} is a group of protocol {story.protocol} with {len(described.members)} members")


def compare_controllers(story: Story) -> None:
    """All controllers have the same batches, and what was decided and acknowledged. Errors: LogsDifferError, TrafficError."""
    compared, start = compare_logs([story.cluster.directory(id) for id in CONTROLLERS])
    story.tell(f"the {compared} batches of the controllers from offset {start} on are the same bytes")
    for id in CONTROLLERS:
        check_decided(story.decider, load_image(open_directory(str(story.cluster.directory(id) / METADATA))))
    count, errors = len(story.decider.acknowledged), dict(story.decider.errors) or "none"
    story.tell(f"{count} decisions of controllers were acknowledged, each is in the log of each of them; errors: {errors}")


def check_log(story: Story) -> None:
    """The controllers have one log, which says that no partition was without a leader that lives for long. Errors: StoryError.

    Long is more than the session timeout and an election.
    """
    compare_controllers(story)
    history = read_history(story.cluster.directory(CONTROLLERS[0]))
    missing = RECORDS - {record.type for record in history.records}
    if missing:
        raise StoryError(f"no such records: {sorted(missing)}")
    for ended, id in story.stopped:
        if left := history.led_at(ended, id):
            raise StoryError(f"broker {id} had ended and still led {left[:10]}")
    limit_s = story.cluster.plan.session_ms / 1000 + ELECTION_S
    times = history.leaderless_s(story.killed)
    long = [f"{seconds:.2f} s {line}" for seconds, line in times if seconds > limit_s]
    if long:
        raise StoryError(f"longer than {limit_s} s without a leader: {long[:10]}")
    longest = f"{times[0][0]:.2f} s ({times[0][1]})" if times else "0 s"
    story.tell(f"longest time of a partition without a leader that lives: {longest} of {limit_s:.1f} s allowed")
