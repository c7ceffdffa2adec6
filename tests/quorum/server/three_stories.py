"""Stories of three controllers that one controller cannot tell; see `three.py`."""

from __future__ import annotations

import functools
import json
import lzma
from base64 import urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from metashell.codec import messages
from metashell.quorum.controller.decision import SUPPORTED_FEATURES
from tests.quorum.server.three import FOLDER, Record, Three
from tools.interop.nodes import CommandOf, cluster


def registration_of_voters(three: Three) -> None:
    """Three voters start, and each registers; one starts again, and registers anew."""
    three.begin()
    three.wait("the bootstrap records and three registrations", registered(3))
    three.describe_quorum("the voters")
    three.describe_controllers("the controllers", 3)
    one = three.others[0]
    three.kill(one)
    three.start(one)
    three.wait("it registers again", registered(1))
    three.describe_controllers("the controllers after that", 3)
    three.topic("t", [1], to=one)


def upgrade_with_an_old_voter(three: Three) -> None:
    """A static quorum of an old level: upgrades are refused while one voter's registration is too old, and taken when it is back."""
    three.begin()
    three.wait("the bootstrap records and three registrations", registered(3))
    newest = SUPPORTED_FEATURES["metadata.version"][1]
    old = three.others[0]
    three.kill(old)
    ranges = dict(SUPPORTED_FEATURES)
    three.register_controller("a voter of an old release registers", old, {**ranges, "metadata.version": (7, 21), "kraft.version": (0, 0)})
    three.update_features("metadata.version, too new for it", metadata_version=newest)
    three.update_features("the same, only looked at", validates=True, metadata_version=newest)
    three.update_features("what it supports", metadata_version=21)
    three.update_features("kraft.version, too new for it", kraft_version=1)
    three.start(old)
    three.wait("it is back with a new release", registered(1))
    three.update_features("metadata.version", metadata_version=newest)
    # The leader hears from the new voter what that supports, a moment after it is there.
    three.update_features("kraft.version", until_none=True, kraft_version=1)
    three.describe_quorum("the voters after that")
    three.update_features("kraft.version back", kind=2, kraft_version=0)
    three.kill(old)
    three.unregister_controller("its registration is removed", old)
    three.update_features("a level that all registered controllers support", validates=True, share_version=1)


def takeover(three: Three) -> None:
    """The active controller is killed: the next one knows what was committed, and the brokers go on with it."""
    three.begin()
    three.wait("the bootstrap records and three registrations", registered(3))
    for id in (1, 2, 3):
        three.register(id)
    three.topic("t", [1, 2, 3], [2, 3, 1])
    three.beat(3, want_fence=True)
    standby = three.others[0]
    three.topic("u", [1], to=standby)
    three.beat(1, to=standby)
    old = three.active
    three.kill(old)
    new = three.find_active(is_not=old)
    three.names("node-2", new)
    three.names("node-3", next(id for id in three.others if id != old))
    for id in (1, 2, 3):
        three.beat(id)
    three.beat(1, want_fence=True)
    three.topic("v", [2, 3])
    three.start(old)
    three.wait("the old one registers again", registered(1))
    three.beat(1)
    three.describe_quorum("the voters")


def elections_by_themselves(three: Three) -> None:
    """Preferred and unclean elections that come by the clock, before and after a takeover."""
    three.begin()
    three.wait("the bootstrap records and three registrations", registered(3))
    for id in (1, 2):
        three.register(id)
    three.topic("clean", [1, 2])
    three.topic("unclean", [1, 2], unclean_leader_election_enable="true", min_insync_replicas="1")
    three.beat(1, want_fence=True)
    three.beat(1)
    for name in ("clean", "unclean"):
        isr(three, name, 2, (2, 1), reads=False)
    three.wait("both ISRs grow, and the preferred replicas lead again", changed(4))
    old = three.active
    three.kill(old)
    new = three.find_active(is_not=old)
    three.names("node-2", new)
    three.names("node-3", next(id for id in three.others if id != old))
    for id in (1, 2):
        three.beat(id)
    isr(three, "clean", 1, (1,))
    isr(three, "unclean", 1, (1,))
    three.beat(1, want_fence=True)
    made = messages.IncrementalAlterConfigsRequest
    change = (made.AlterableConfig(name="unclean.leader.election.enable", value="true"),)
    resource = made.AlterConfigsResource(resource_type=2, resource_name="clean", configs=change)
    three.send("unclean elections are allowed", made(resources=(resource,)), 1, reads=False)
    three.wait("one comes", changed(1))


def voter_back_by_auto_join(three: Three) -> None:
    """A voter is removed while it is down, joins by itself when it is back, and again when it is removed while it runs."""
    three.begin()
    three.wait("the bootstrap records and three registrations", registered(3))
    one = three.others[0]
    three.kill(one)
    three.remove_voter("a voter is removed that is down", one)
    three.remove_voter("it is none any more", one)
    three.describe_quorum("two voters")
    three.start(one)
    three.wait("it registers, and joins", lambda found: registered(1)(found) and joined(3)(found))
    three.describe_quorum("three voters")
    three.remove_voter("it is removed while it runs", one)
    three.wait("it joins again", joined(3))
    three.describe_quorum("three voters again")


def unregistered(three: Three) -> None:
    """A controller's registration is removed: the voters stay, and who starts registers again."""
    three.begin()
    three.wait("the bootstrap records and three registrations", registered(3))
    one, other = three.others
    three.unregister_controller("the active one", three.active)
    three.unregister_controller("nobody", 3009)
    three.kill(one)
    three.unregister_controller("one that is down", one)
    three.unregister_controller("the same again", one)
    three.describe_controllers("two controllers", 2)
    three.describe_quorum("three voters all the same")
    newest = SUPPORTED_FEATURES["metadata.version"][1]
    three.update_features("an upgrade meanwhile", validates=True, metadata_version=newest)
    three.send("at a standby", messages.UnregisterControllerRequest(controller_id=one), 0, to=other)
    three.start(one)
    three.wait("it registers again", registered(1))
    three.unregister_controller("one that runs", other)
    three.wait("it registers again by itself", registered(1))
    three.describe_controllers("after that", 3)


STORIES: Final[dict[str, tuple[Callable[[Three], None], dict[str, Any]]]] = {
    "registration-of-voters": (registration_of_voters, {}),
    "upgrade-with-an-old-voter": (upgrade_with_an_old_voter, {"is_static": True, "release": "3.7-IV0"}),
    "takeover": (takeover, {}),
    "elections-by-themselves": (
        elections_by_themselves,
        {
            "settings": {
                "auto.leader.rebalance.enable": "true",
                "leader.imbalance.check.interval.seconds": 1,
                "unclean.leader.election.interval.ms": 1000,
            }
        },
    ),
    "voter-back-by-auto-join": (voter_back_by_auto_join, {"settings": {"controller.quorum.auto.join.enable": "true"}}),
    "unregistered": (unregistered, {}),
}


def isr(three: Three, topic: str, leader: int, replicas: tuple[int, ...], *, reads: bool = True) -> None:
    """A leader changes its ISR; its topic id and epochs are those of the log."""
    state = partition_state(three, topic)
    made = messages.AlterPartitionRequest
    members = tuple(made.BrokerState(broker_id=id, broker_epoch=three.epochs[id]) for id in replicas)
    part = made.PartitionData(
        partition_index=0, leader_epoch=state["leaderEpoch"], new_isr_with_epochs=members, partition_epoch=state["partitionEpoch"]
    )
    body = made(broker_id=leader, broker_epoch=three.epochs[leader], topics=(made.TopicData(topic_id=state["id"], partitions=(part,)),))
    three.send(f"the ISR of {topic} is {replicas}", body, 3, reads=reads)


def partition_state(three: Three, topic: str) -> dict[str, Any]:
    """Partition 0 of a topic as the records of the steps tell it."""
    id = ""
    state = {"leaderEpoch": 0, "partitionEpoch": 0}
    for step in three.steps:
        for record in step["records"]:
            kind, data = record["type"], record["data"]
            if kind == "TOPIC_RECORD" and data["name"] == topic:
                id = data["topicId"]
            elif kind == "PARTITION_CHANGE_RECORD" and data["topicId"] == id and data["partitionId"] == 0:
                state["partitionEpoch"] += 1
                state["leaderEpoch"] += data.get("leader", -2) != -2
    return {**state, "id": urlsafe_b64decode(id + "==")}


def registered(count: int) -> Callable[[list[Record]], bool]:
    return lambda found: sum(record["type"] == "REGISTER_CONTROLLER_RECORD" for record in found) >= count


def changed(count: int) -> Callable[[list[Record]], bool]:
    return lambda found: sum(record["type"] == "PARTITION_CHANGE_RECORD" for record in found) >= count


def joined(count: int) -> Callable[[list[Record]], bool]:
    return lambda found: any(record["type"] == "KRAFT_VOTERS" and len(record["data"]["voters"]) == count for record in found)


def play(name: str, command_of: CommandOf, folder: Path) -> list[dict[str, Any]]:
    """The steps of a story, in the form that compares."""
    story, how = STORIES[name]
    with cluster(command_of, folder) as nodes:
        three = Three(nodes, **how)
        story(three)
        return three.told()


@functools.cache
def recorded() -> dict[str, list[dict[str, Any]]]:
    """What real controllers did, by the story."""
    stories: dict[str, list[dict[str, Any]]] = json.loads(lzma.decompress((FOLDER / "stories.json.xz").read_bytes()))
    return stories
