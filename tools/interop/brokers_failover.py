"""How soon brokers have an active controller again after kill -9 of the last, and whether short timeouts depose one that lives.

    python -m tools.interop.brokers_failover [--controllers ours|VERSION] [--kills 10]
    python -m tools.interop.brokers_failover [--controllers ours|VERSION] --unprovoked SECONDS [--fetch-timeout-ms 300]

Three controllers and a broker of the newest release, at Kafka's default settings. `elected`: from the kill until another controller's
quorum-state names it leader. `answered`: until a CreateTopics that was sent to the broker at once is answered with success. Of Kafka's
controllers one shares its process with the broker; where that one leads, it is stopped for a while first, so that another one
does. Where none is killed, the other two share one too.

--unprovoked: with the shorter fetch timeout a producer writes, topics come and go, and nothing is killed: the elections are counted.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from metashell.codec.messages import CreateTopicsRequest, DeleteTopicsRequest
from metashell.net.addresses import Address, ConnectError
from metashell.net.client import Client
from tests.java import KAFKA
from tools.interop.brokers import CONTROLLERS, OURS, BrokerCluster, Plan, broker_cluster, controllers_of
from tools.interop.brokers_story import folder_of
from tools.interop.brokers_traffic import Writer
from tools.interop.nodes import NodeFailedError

BROKER: Final = 11
LIMIT_S: Final = 120.0
SETTLE_S: Final = 3.0
LOOK_S: Final = 0.005
PAUSE_S: Final = 4.0
TOPIC_EXISTS: Final = 36
TOPIC: Final = "traffic"


def plan(controllers: Mapping[int, str], settings: dict[str, object], together: Sequence[Sequence[int]]) -> Plan:
    """One copy of everything, since there is one broker; `together` share a process where the controllers are Kafka's."""
    copies = {"offsets.topic.replication.factor": 1, "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1}
    return Plan(
        controllers=controllers,
        brokers={BROKER: KAFKA},
        release="4.4",
        settings=copies | settings,
        is_dynamic=False,
        together=() if OURS in controllers.values() else together,
    )


def start(cluster: BrokerCluster) -> None:
    cluster.start(*CONTROLLERS, BROKER)
    cluster.wait_for_leader()
    cluster.wait_until_unfenced(BROKER)


def create_topic(cluster: BrokerCluster, name: str, limit_s: float = LIMIT_S) -> None:
    """Create a topic through the broker, which asks the active controller. Errors: NodeFailedError."""
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    end = time.monotonic() + limit_s
    told: Any = "nothing"
    while time.monotonic() < end:
        try:
            with Client([Address("localhost", cluster.ports[BROKER])], deadline_ms=int(limit_s * 1000)) as client:
                told = client.request(CreateTopicsRequest(topics=(topic,), timeout_ms=int(limit_s * 1000))).topics[0]
        except ConnectError as error:
            told = error
            continue
        if told.error_code in (0, TOPIC_EXISTS):
            return
    raise NodeFailedError(f"{name} is not created in {limit_s} s: {told}")


# ---- failover


def failovers(cluster: BrokerCluster, kills: int) -> tuple[list[float], list[float]]:
    """Seconds until another one is elected, and until the broker answers, of each kill."""
    elected, answered = [], []
    for number in range(kills):
        victim = leader_to_kill(cluster)
        time.sleep(SETTLE_S)
        epoch = cluster.epoch
        create_topic(cluster, f"before-{number}")
        times: list[float] = []
        asked = Thread(target=note_created, args=(cluster, f"after-{number}", times))
        killed = time.monotonic()
        cluster.kill(victim)
        asked.start()
        others = [id for id in CONTROLLERS if id != victim]
        elected.append(await_elected(cluster, others, epoch) - killed)
        asked.join(2 * LIMIT_S)
        if not times:
            raise NodeFailedError(f"after the kill of {victim} the broker did not answer in {LIMIT_S} s")
        answered.append(times[0] - killed)
        leader = cluster.wait_for_leader(other_than=victim, after_epoch=epoch)
        print(
            f"kill {number + 1}: leader {victim}, epoch {epoch} -> {leader}, epoch {cluster.epoch}: elected {elected[-1]:.3f} s, "
            f"answered {answered[-1]:.3f} s",
            flush=True,
        )
        cluster.start(victim)
        cluster.wait_until_joined(victim)
    return elected, answered


def note_created(cluster: BrokerCluster, name: str, times: list[float]) -> None:
    create_topic(cluster, name)
    times.append(time.monotonic())


def leader_to_kill(cluster: BrokerCluster) -> int:
    """The active controller, once it is one that can be killed alone."""
    while cluster.is_together(leader := cluster.wait_for_leader()):
        process, epoch = cluster.nodes[leader].process, cluster.epoch
        process.send_signal(signal.SIGSTOP)
        time.sleep(PAUSE_S)
        process.send_signal(signal.SIGCONT)
        cluster.wait_for_leader(after_epoch=epoch)
        cluster.wait_until_unfenced(BROKER)
    return leader


def await_elected(cluster: BrokerCluster, ids: Sequence[int], epoch: int) -> float:
    """When one of the controllers says in its file that it leads a later epoch."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        for id in ids:
            state = cluster.quorum_state(id)
            if state.get("leaderEpoch", -1) > epoch and state.get("leaderId") == id:
                return time.monotonic()
        time.sleep(LOOK_S)
    raise NodeFailedError(f"nobody was elected in {LIMIT_S} s")


# ---- elections that nothing provoked


def unprovoked(cluster: BrokerCluster, seconds: float) -> int:
    """How many epochs there were more at the end of so long a time of load."""
    create_topic(cluster, TOPIC)
    writer = Writer("writer", cluster.bootstrap, TOPIC, 1, per_second=500).start()
    ends = Event()
    made = [0]

    def make_topics() -> None:
        while not ends.is_set():
            create_topic(cluster, f"topic-{made[0]}")
            with Client([Address("localhost", cluster.ports[BROKER])], deadline_ms=int(LIMIT_S * 1000)) as client:
                state = DeleteTopicsRequest.DeleteTopicState(name=f"topic-{made[0]}")
                client.request(DeleteTopicsRequest(topics=(state,), timeout_ms=int(LIMIT_S * 1000)))
            made[0] += 1

    maker = Thread(target=make_topics)
    maker.start()
    first = last = cluster.epoch
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        time.sleep(0.1)
        if cluster.epoch != last:
            print(f"{time.monotonic() - began:6.1f} s  epoch {last} -> {cluster.epoch}, load {os.getloadavg()[0]:.1f}", flush=True)
            last = cluster.epoch
    ends.set()
    maker.join(2 * LIMIT_S)
    writer.end()
    print(f"{writer.count} messages written, {made[0]} topics made and deleted, load {os.getloadavg()}")
    return last - first


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--controllers", default=OURS, help="ours, or a version of Kafka")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--unprovoked", type=float, metavar="SECONDS", help="count elections under load for so long")
    parser.add_argument("--fetch-timeout-ms", type=int, default=300, help="of the voters while elections are counted")
    parser.add_argument("--dir", type=Path, help="keep all files there")
    arguments = parser.parse_args(argv)
    settings: dict[str, object] = {}
    together: list[tuple[int, ...]] = [(CONTROLLERS[-1], BROKER)]
    if arguments.unprovoked is not None:
        settings["controller.quorum.fetch.timeout.ms"] = arguments.fetch_timeout_ms
        together.append(CONTROLLERS[:-1])
    with (
        folder_of(arguments.dir, "failover") as folder,
        broker_cluster(plan(controllers_of(arguments.controllers), settings, together), folder) as cluster,
    ):
        start(cluster)
        print(f"controllers: {arguments.controllers}; load {os.getloadavg()}", flush=True)
        if arguments.unprovoked is not None:
            print(f"{unprovoked(cluster, arguments.unprovoked)} elections that nothing provoked in {arguments.unprovoked:.0f} s")
            return 0
        for name, times in zip(("elected", "answered"), failovers(cluster, arguments.kills), strict=True):
            print(f"{name}: min {min(times):.3f} median {statistics.median(times):.3f} max {max(times):.3f} s")
        print(f"load {os.getloadavg()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
