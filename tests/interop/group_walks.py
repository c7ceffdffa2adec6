"""Random walks of classic and consumer members through one group: mostly what clients do, and now and then what none should."""

from __future__ import annotations

import base64
import random
from typing import Any

from metashell.codec.consumer_protocol import Assignment, Subscription, assignment_bytes, read_assignment, subscription_bytes
from metashell.common.errors import DecodeError
from tests.interop.real_groups import Json, Talk

CLASSIC_NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
GONE = (25, 82, 22, 69, 110, 111, 113)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Walk:
    """Shape: `topics` by name, with their ids and partition counts; all actors are in one group."""

    def __init__(self, talk: Talk, chance: random.Random, topics: dict[str, tuple[str, int]], kinds: str) -> None:
        self.talk, self.chance, self.topics = talk, chance, topics
        self.group_id = talk.row["scenario"]
        self.actors: list[Actor] = []
        makers = {"classic": (Classic,), "consumer": (Consumer,), "mixed": (Classic, Consumer)}[kinds]
        for number in range(chance.randint(2, 5)):
            self.actors.append(chance.choice(makers)(self, f"{self.group_id}.{number}"))

    def run(self, steps: int) -> Json:
        for _ in range(steps):
            if self.chance.random() < 0.12:
                self._administer()
                continue
            free = [actor for actor in self.actors if not self.talk.is_waiting(actor.who)]
            if not free:
                break
            self.chance.choice(free).act()
        self._administer()
        return self.talk.row

    def _administer(self) -> None:
        chance, group_id = self.chance, self.group_id
        what = chance.randrange(7)
        if what <= 1:
            self.talk.send("admin", "DescribeGroups", 6, {"groups": [group_id], "includeAuthorizedOperations": False})
        elif what <= 3:
            self.talk.send("admin", "ConsumerGroupDescribe", 1, {"groupIds": [group_id], "includeAuthorizedOperations": False})
        elif what == 4:
            group = {"groupId": group_id, "memberId": None, "memberEpoch": -1, "topics": None}
            self.talk.send("admin", "OffsetFetch", 9, {"groups": [group], "requireStable": False})
        elif what == 5:
            self.talk.send("admin", "DeleteGroups", chance.choice((2, 3)), {"groupsNames": [group_id]})
        else:
            member: Json = {"memberId": "", "groupInstanceId": chance.choice(("i0", "i1")), "reason": None}
            self.talk.send("admin", "LeaveGroup", 5, {"groupId": group_id, "members": [member]})

    def some_topics(self) -> list[str]:
        return sorted(self.chance.sample(sorted(self.topics), self.chance.choice((1, 1, 2))))


class Actor:
    """One client. Shape: `owned` has partitions by topic."""

    def __init__(self, walk: Walk, who: str) -> None:
        self.walk, self.who = walk, who
        self.chance = walk.chance
        self.instance_id = self.chance.choice((None, None, None, "i0", "i1"))
        self.names = walk.some_topics()
        self.member_id = ""
        self.epoch = -1
        self.owned: dict[str, list[int]] = {}

    def send(self, api: str, version: int, fields: Json) -> Json | None:
        return self.walk.talk.send(self.who, api, version, {"groupId": self.walk.group_id, **fields})

    def act(self) -> None:
        raise NotImplementedError

    def commit(self, version: int) -> None:
        topic = self.chance.choice(sorted(self.walk.topics))
        partition = {"partitionIndex": self.chance.randint(0, 2), "committedOffset": self.chance.randint(0, 9), "committedMetadata": ""}
        epoch = self.epoch - (self.chance.random() < 0.1)
        self.send(
            "OffsetCommit",
            version,
            {
                "generationIdOrMemberEpoch": epoch,
                "memberId": self.member_id,
                "groupInstanceId": self.instance_id,
                "topics": [{"name": topic, "partitions": [partition]}],
            },
        )


class Classic(Actor):
    def __init__(self, walk: Walk, who: str) -> None:
        super().__init__(walk, who)
        self.version = self.chance.choice((9, 9, 6, 5, 3)) if self.instance_id is None else self.chance.choice((9, 5))
        self.protocols = self._protocols()
        self.blob_version = self.chance.choice((0, 1, 2, 3, 3))
        self.joined = 0
        self.is_leader = False
        self.members: list[str] = []
        self.session_ms = self.chance.choice((30_000, 45_000))

    def _protocols(self) -> list[str]:
        return self.chance.sample(CLASSIC_NAMES, self.chance.choice((1, 2, 2, 3)))

    def act(self) -> None:
        self._learn()
        what = self.chance.random()
        if self.epoch < 0 or what < 0.2:
            self.join()
        elif what < 0.5:
            self.sync()
        elif what < 0.75:
            self.beat()
        elif what < 0.87:
            self.commit(8)
        elif what < 0.94:
            self.leave()
        elif what < 0.97:
            # It restarts.
            self.member_id, self.epoch, self.owned = "", -1, {}
            self.join()
        else:
            self.protocols, self.names = self._protocols(), self.walk.some_topics()
            self.join()

    def join(self) -> None:
        partitions = [(topic, number) for topic, numbers in self.owned.items() for number in numbers]
        blob = subscription_bytes(
            Subscription(tuple(self.names), None, tuple(partitions), self.epoch if partitions else -1, None, self.blob_version)
        )
        fields = {
            "sessionTimeoutMs": self.session_ms,
            "rebalanceTimeoutMs": 45_000,
            "memberId": self.member_id,
            "groupInstanceId": self.instance_id,
            "protocolType": "consumer" if self.chance.random() < 0.98 else "connect",
            "protocols": [{"name": name, "metadata": b64(blob)} for name in self.protocols],
        }
        if self.version < 5:
            del fields["groupInstanceId"]
        answer = self.send("JoinGroup", self.version, fields)
        self.joined = self.walk.talk.number
        if answer is not None and answer["errorCode"] == 79:
            self.member_id = answer["memberId"]
            if self.chance.random() < 0.9:
                self.send("JoinGroup", self.version, {**fields, "memberId": self.member_id})
                self.joined = self.walk.talk.number
        self._learn()

    def _learn(self) -> None:
        """Take in the answer to the last join, which may have come in between."""
        answer = self.walk.talk.answers.get(self.joined)
        if answer is None:
            return
        self.joined = 0
        if answer["errorCode"] == 0:
            self.member_id, self.epoch = answer["memberId"], answer["generationId"]
            self.is_leader = answer["leader"] == self.member_id
            self.members = [member["memberId"] for member in answer["members"]]
        elif answer["errorCode"] in GONE:
            self.forget()

    def forget(self) -> None:
        self.member_id, self.epoch, self.owned = "", -1, {}

    def sync(self) -> None:
        given: list[Json] = []
        if self.is_leader:
            for at, member_id in enumerate(self.members):
                partitions = [(topic, number) for topic in self.names for number in range(self.walk.topics[topic][1])]
                share = tuple(partitions[at :: len(self.members)])
                given.append({"memberId": member_id, "assignment": b64(assignment_bytes(Assignment(share, version=self.blob_version)))})
        version = min(self.version, 3)
        fields: Json = {"generationId": self.epoch, "memberId": self.member_id, "assignments": given}
        if self.version >= 5:
            fields["groupInstanceId"] = self.instance_id
        answer = self.send("SyncGroup", version, fields)
        if answer is not None and answer["errorCode"] == 0:
            self._own(base64.b64decode(answer["assignment"]))
        self._heed(answer)

    def _own(self, assignment: bytes) -> None:
        self.owned = {}
        try:
            for topic, partition in read_assignment(assignment).partitions:
                self.owned.setdefault(topic, []).append(partition)
        except DecodeError:
            return

    def beat(self) -> None:
        fields = {
            "generationId": self.epoch + (self.chance.random() < 0.05),
            "memberId": self.member_id,
            "groupInstanceId": self.instance_id,
        }
        self._heed(self.send("Heartbeat", 4, fields))

    def _heed(self, answer: Json | None) -> None:
        code = 0 if answer is None else answer["errorCode"]
        if code in GONE:
            self.forget()
        elif code == 27 and self.chance.random() < 0.7:
            self.join()

    def leave(self) -> None:
        member = {"memberId": self.member_id, "groupInstanceId": None, "reason": "bye"}
        self.send("LeaveGroup", 5, {"members": [member]})
        self.forget()


class Consumer(Actor):
    def __init__(self, walk: Walk, who: str) -> None:
        super().__init__(walk, who)
        self.member_id = who
        self.assignor = self.chance.choice((None, None, "uniform", "range"))
        self.is_in = False
        self.ids = {topic_id: topic for topic, (topic_id, _) in walk.topics.items()}

    def act(self) -> None:
        what = self.chance.random()
        if not self.is_in or what < 0.04:
            self.beat(0)
        elif what < 0.6:
            self.beat(self.epoch)
        elif what < 0.7:
            self.names = self.walk.some_topics()
            self.beat(self.epoch, subscribedTopicNames=self.names)
        elif what < 0.75:
            self.beat(self.epoch, owned=False)
        elif what < 0.78:
            self.beat(self.epoch + self.chance.choice((-1, 1)))
        elif what < 0.9:
            self.commit(9)
        elif what < 0.96:
            self.beat(-1, owned=False)
        else:
            self.beat(-2 if self.instance_id else -1, owned=False)

    def beat(self, epoch: int, *, owned: bool = True, **about: Any) -> None:
        fields: Json = {"memberId": self.member_id, "memberEpoch": epoch, "instanceId": self.instance_id, **about}
        if epoch == 0:
            fields |= {"rebalanceTimeoutMs": 45_000, "subscribedTopicNames": self.names, "topicPartitions": []}
            fields["serverAssignor"] = self.assignor
            self.owned = {}
        elif owned:
            held = [{"topicId": self.walk.topics[topic][0], "partitions": numbers} for topic, numbers in self.owned.items() if numbers]
            fields["topicPartitions"] = held
        answer = self.send("ConsumerGroupHeartbeat", 1, fields)
        assert answer is not None
        if answer["errorCode"] in GONE:
            self.is_in, self.owned = False, {}
        elif answer["errorCode"] == 0:
            self.epoch = answer["memberEpoch"]
            self.is_in = epoch >= 0
            if answer["assignment"] is not None:
                parts = answer["assignment"]["topicPartitions"]
                self.owned = {self.ids[part["topicId"]]: part["partitions"] for part in parts}
