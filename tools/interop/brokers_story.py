"""What happens to brokers on a quorum while clients write and read, and what must hold at the end.

    python -m tools.interop.brokers_story [--controllers ours|VERSION|VERSION,VERSION,VERSION] [--release RELEASE]
        [--story mixed|newest|small|rolling|deaths|all] [--rounds N] [--seconds S] [--dir D]

`mixed`: brokers of the newest release, of the one before and of 3.9.2, at metadata.version 3.9. Each controller and each broker is killed
with -9, one broker is told to stop. `newest`: two brokers of the newest release at its metadata.version, with a KIP-848 group, two log
directories each of which one fails, and a reassignment with a throttle. `small`: logs are so short that controllers and brokers which
return need a snapshot. `rolling`: one controller of ours, two controllers and two brokers of the release before, which are replaced one by
one by the newest; then the features are upgraded. `deaths`: the nodes of `small` die, each controller once and then all at random. With
--controllers VERSION the same is done to three of Kafka's controllers, with a list of three (`ours,4.4.0,4.3.1`) to a mixed quorum;
--release is the metadata.version of the directories where it is not the story's own.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from tests.java import BEFORE, KAFKA
from tools.interop.brokers import CONTROLLERS, OURS, Plan, broker_cluster, controllers_of
from tools.interop.brokers_acts import PARTITIONS, Story, StoryError
from tools.interop.brokers_ends import check_log, compare_controllers, end_traffic
from tools.interop.brokers_history import LogsDifferError
from tools.interop.brokers_image import directory_id, placed_in
from tools.interop.brokers_traffic import TrafficError
from tools.interop.nodes import NodeFailedError

OLDER: Final = "3.9.2"
SESSION_MS: Final = 4_000
"""Short, so that a test is; the rule is the same with Kafka's 9 s."""
QUICK: Final = {
    "broker.session.timeout.ms": SESSION_MS,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 5_000,
    "replica.high.watermark.checkpoint.interval.ms": 1_000,
}


def mixed_plan(controllers: Mapping[int, str]) -> Plan:
    """Brokers of the newest release, of the one before and of an older, at the metadata.version of the older."""
    return Plan(
        controllers=controllers,
        brokers={11: BEFORE, 12: OLDER, 13: KAFKA},
        release="3.9",
        settings=QUICK | {"default.replication.factor": 3, "offsets.topic.replication.factor": 3, "min.insync.replicas": 2},
        # One process for the controllers and a broker, since each takes its share of a small machine.
        together=((*CONTROLLERS, 13),) if set(controllers.values()) == {KAFKA} else (),
    )


def newest_plan(controllers: Mapping[int, str]) -> Plan:
    """Two brokers at the newest metadata.version; 11 has two log directories. Voters are in every node's settings."""
    copies = {"default.replication.factor": 2, "offsets.topic.replication.factor": 2, "transaction.state.log.replication.factor": 2}
    return Plan(
        controllers=controllers,
        brokers={11: KAFKA, 12: KAFKA},
        release="4.4",
        settings=QUICK | copies | {"transaction.state.log.min.isr": 1},
        directories={11: 2},
        is_dynamic=False,
        together=(CONTROLLERS,) if set(controllers.values()) == {KAFKA} else (),
    )


def tell_mixed(story: Story, chance: random.Random, rounds: int, until: float) -> None:
    """See the module."""
    cluster = story.cluster
    story.start_nodes(11, 12)
    words = ["--create", "--topic", "made", "--partitions", "3", "--replication-factor", "2"]
    cluster.tool("topics", "--bootstrap-server", cluster.addresses(11), *words)
    text = cluster.tool("topics", "--bootstrap-server", cluster.addresses(12), "--describe", "--topic", "made", version=OLDER)
    if len(re.findall(r"Leader: \d+\s+Replicas: (\S+)\s+Isr: \1\s", text)) != 3:
        raise StoryError(f"kafka-topics --describe says:\n{text}")
    story.tell("kafka-topics made a topic through 11 and described it through 12")
    cluster.start(13)
    cluster.wait_until_unfenced(11, 12, 13)
    story.tell("broker 13 is unfenced")
    for name in (story.topic, "copied"):
        story.create(name, PARTITIONS, 3)
    story.start_traffic()
    story.progress()
    story.make_by_producing("made-by-itself")
    story.kill_each_controller()
    story.kill_broker(11)
    story.stop_broker(12)
    story.some_deaths(chance, rounds, until)
    end_traffic(story)
    check_log(story)


def begin(story: Story) -> None:
    """Start all nodes, and traffic on two brokers."""
    story.start_nodes(11, 12)
    for name in (story.topic, "copied"):
        story.create(name, PARTITIONS, 2)
    story.start_traffic()
    story.progress()


def tell_newest(story: Story, chance: random.Random, rounds: int, until: float) -> None:
    """See the module."""
    cluster = story.cluster
    story.protocol = "consumer"
    begin(story)
    moves: dict[tuple[str, int], tuple[Sequence[int], Sequence[str]]]
    moves = {(story.topic, number): ((11, 12), (str(cluster.directory(11, 1)), "any")) for number in range(PARTITIONS)}
    story.create("moved", 2, 1)
    for number in range(2):
        here = cluster.image.topics.by_name["moved"].partitions[number].replicas[0]
        moves["moved", number] = ((here, 23 - here), ("any", "any"))
    story.reassign(moves, 10_000_000)
    failing = directory_id(cluster.directory(11, 1))
    wanted = {f"{story.topic}-{number}" for number in range(PARTITIONS)}
    took = cluster.wait_until(
        "the replicas are in the other directory", lambda image: wanted <= {name for name, _ in placed_in(image, 11, failing)}
    )
    story.tell(f"their replicas on 11 are known to be in its other directory, after {took:.1f} s")
    story.elect_preferred(11)
    if not cluster.is_together(*CONTROLLERS):
        story.kill_controller(cluster.leader_id)
    story.fail_directory(11, 1)
    story.stop_broker(11, repair=1)
    story.some_deaths(chance, rounds, until)
    end_traffic(story)
    check_log(story)


def small_plan(controllers: Mapping[int, str]) -> Plan:
    """As the newest, with logs that are soon cut off at a snapshot."""
    sizes = {
        "metadata.log.max.record.bytes.between.snapshots": 50_000,
        "metadata.max.retention.bytes": 100_000,
        "internal.metadata.log.segment.bytes": 65_536,
    }
    newest = newest_plan(controllers)
    return replace(newest, settings={**newest.settings, **sizes}, directories={}, is_dynamic=True)


def tell_small(story: Story, chance: random.Random, rounds: int, until: float) -> None:
    """See the module."""
    begin(story)
    if not story.cluster.is_together(*CONTROLLERS):
        for id in CONTROLLERS:
            story.outrun_controller(id)
    story.kill_broker(11, forgets=True)
    story.some_deaths(chance, rounds, until)
    end_traffic(story)
    compare_controllers(story)


def rolling_plan(controllers: Mapping[int, str]) -> Plan:
    """As the small, at the newest metadata.version of the release before."""
    if set(controllers.values()) == {OURS}:
        controllers = controllers_of(f"{OURS},{BEFORE},{BEFORE}")
    return replace(small_plan(controllers), brokers={11: BEFORE, 12: BEFORE}, release="4.3")


def tell_rolling(story: Story, chance: random.Random, rounds: int, until: float) -> None:
    """See the module."""
    cluster = story.cluster
    begin(story)
    for id in CONTROLLERS:
        if cluster.versions[id] == BEFORE:
            story.refuse_upgrade("4.4")
            cluster.versions[id] = KAFKA
        story.kill_controller(id)
    for id in cluster.plan.brokers:
        story.refuse_upgrade("4.4")
        cluster.versions[id] = KAFKA
        story.stop_broker(id)
    story.upgrade("4.4")
    for id in CONTROLLERS:
        story.kill_controller(id)
    story.some_deaths(chance, rounds, until)
    end_traffic(story)
    compare_controllers(story)


def tell_deaths(story: Story, chance: random.Random, rounds: int, until: float) -> None:
    """See the module."""
    begin(story)
    story.kill_each_controller()
    story.some_deaths(chance, rounds, until)
    end_traffic(story)
    compare_controllers(story)


STORIES: Final = {
    "mixed": (mixed_plan, tell_mixed),
    "newest": (newest_plan, tell_newest),
    "small": (small_plan, tell_small),
    "rolling": (rolling_plan, tell_rolling),
    "deaths": (small_plan, tell_deaths),
}


def run_story(
    name: str, folder: Path, say: Callable[[str], None], *, controllers: str, release: str | None, seed: int, rounds: int, seconds: float
) -> None:
    """Tell a story in an empty folder, with more deaths for so many rounds or seconds.

    Errors: StoryError, TrafficError, NodeFailedError, LogsDifferError.
    """
    plan_of, tell = STORIES[name]
    plan = plan_of(controllers_of(controllers))
    with broker_cluster(replace(plan, release=release or plan.release), folder) as cluster:
        story = Story(cluster, say)
        try:
            tell(story, random.Random(seed), rounds, time.monotonic() + seconds)
        finally:
            for client in story.clients:
                client.tell_to_end()
        story.tell(f"{name}: all that must hold does")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--controllers", default=OURS, help="ours, or a version of Kafka, or three of these")
    parser.add_argument("--release", help="the release whose metadata.version the cluster begins with")
    parser.add_argument("--story", choices=[*STORIES, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=0, help="so many random deaths more")
    parser.add_argument("--seconds", type=float, default=0, help="random deaths for so long")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--dir", type=Path, help="keep all files there")
    arguments = parser.parse_args(argv)
    print(f"seed {arguments.seed}", flush=True)
    for name in STORIES if arguments.story == "all" else [arguments.story]:
        with folder_of(arguments.dir, name) as folder:
            try:
                run_story(
                    name,
                    folder,
                    partial(print, flush=True),
                    controllers=arguments.controllers,
                    release=arguments.release,
                    seed=arguments.seed,
                    rounds=arguments.rounds,
                    seconds=arguments.seconds,
                )
            except (StoryError, TrafficError, NodeFailedError, LogsDifferError, KafkaException) as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
                return 1
    return 0


@contextmanager
def folder_of(kept: Path | None, name: str) -> Iterator[Path]:
    """A folder that goes away at the end, but for one that is to be kept; SIGTERM too ends what runs in the block."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="metashell-brokers-") as made:
            yield Path(made)
    else:
        (kept / name).mkdir(parents=True)
        yield kept / name


if __name__ == "__main__":
    STATUS = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # At an ordinary end a client that hangs in its library would be waited for.
    os._exit(STATUS)
