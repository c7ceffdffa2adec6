"""Random walks of streams members, and of clients that commit and fetch offsets without being members."""

from __future__ import annotations

import random
from typing import Any

from tests.interop.group_walks import GONE, Actor, Classic, Walk
from tests.interop.real_groups import Json, Talk

_Tasks = dict[str, list[int]]


class StreamsWalk(Walk):
    """Shape: all members of the group have the same topology, of one part or two. Stateful parts have a topic that is there as changelog,
    and get a standby.
    """

    def __init__(self, talk: Talk, chance: random.Random, topics: dict[str, tuple[str, int]], kinds: str) -> None:
        sources = chance.choice(([["t"]], [["u"]], [["t"], ["u"]], [["t", "u"]], [["nope"], ["t"]]))
        parts = [_part(str(at), names, topics.get(names[0], ("", 0))[1] * chance.randrange(2)) for at, names in enumerate(sources)]
        self.topology = {"epoch": 1, "subtopologies": parts}
        talk.row["profile"] = "standby"
        super().__init__(talk, chance, topics, "classic")
        self.actors = [Streams(self, f"{self.group_id}.{number}") for number in range(chance.randint(2, 5))]

    def _administer(self) -> None:
        what = self.chance.randrange(6)
        if what <= 3:
            version = self.chance.randrange(2)
            asked = {"includeTopologyDescription": self.chance.random() < 0.5} if version else {}
            asked |= {"groupIds": [self.group_id], "includeAuthorizedOperations": False}
            self.talk.send("admin", "StreamsGroupDescribe", version, asked)
        elif what == 4:
            group = {"groupId": self.group_id, "memberId": None, "memberEpoch": -1, "topics": None}
            self.talk.send("admin", "OffsetFetch", 9, {"groups": [group], "requireStable": False})
        else:
            self.talk.send("admin", "DeleteGroups", self.chance.choice((2, 3)), {"groupsNames": [self.group_id]})


def _part(id: str, sources: list[str], changelog_partitions: int) -> Json:
    """Kafka shows a changelog as the member wrote it until the coordinator has written something since it looked at the topics: so it is
    written as it comes out.
    """
    lists = ("sourceTopicRegex", "repartitionSinkTopics", "repartitionSourceTopics", "copartitionGroups")
    topic = {"name": sources[0], "partitions": changelog_partitions, "replicationFactor": 0, "topicConfigs": []}
    changelog = [topic] if changelog_partitions else []
    return {"subtopologyId": id, "sourceTopics": sources, "stateChangelogTopics": changelog, **{name: [] for name in lists}}


class Streams(Actor):
    """A member of a streams group. Shape: `owned` has the active tasks that it runs, by subtopology, `standby` those that it follows."""

    def __init__(self, walk: StreamsWalk, who: str) -> None:
        super().__init__(walk, who)
        self.topology = walk.topology
        self.member_id = who
        self.standby: _Tasks = {}
        self.version = self.chance.randrange(2)
        self.starts = 0
        self.process_id = self.chance.choice("PQR")
        self.endpoint = self.chance.choice((None, None, {"host": who[-1], "port": 9}))
        self.endpoint_epoch = 0
        self.is_in = False

    def act(self) -> None:
        what = self.chance.random()
        if not self.is_in or what < 0.05:
            self.join()
        elif what < 0.5:
            self.beat(self.epoch, **_lists(self.owned, self.standby))
        elif what < 0.6:
            self.beat(self.epoch, taskOffsets=self.offsets(), taskEndOffsets=self.chance.choice((None, self.offsets())))
        elif what < 0.7:
            self.beat(self.epoch)
        elif what < 0.75:
            self.beat(self.epoch + self.chance.choice((-1, 1)), **_lists(self.owned))
        elif what < 0.8:
            self.process_id = self.chance.choice("PQR")
            self.beat(self.epoch, processId=self.process_id)
        elif what < 0.85:
            kept = {part: numbers[: len(numbers) // 2] for part, numbers in self.owned.items()}
            self.beat(self.epoch, **_lists(kept))
        elif what < 0.9:
            self.commit(9)
        elif what < 0.95 and self.instance_id is not None:
            # It leaves for a while, and comes back under another id.
            self.beat(-2)
            if self.chance.random() < 0.7:
                self.starts += 1
                self.member_id = f"{self.who}.{self.starts}"
                self.endpoint = self.chance.choice((None, self.endpoint))
                self.join()
        else:
            self.beat(-1)

    def offsets(self) -> list[Json]:
        """How far it says that it is, with tasks that it does not have; now and then one twice."""
        tasks = [(part, number) for part in ("0", "1") for number in range(8) if self.chance.random() < 0.3]
        tasks += tasks[:1] if self.chance.random() < 0.1 else []
        return [{"subtopologyId": part, "partition": number, "offset": self.chance.randint(0, 3)} for part, number in tasks]

    def join(self) -> None:
        about = {"rebalanceTimeoutMs": 45_000, "topology": self.topology, "processId": self.process_id, "clientTags": []}
        self.beat(0, **about, **_lists({}), userEndpoint=self.endpoint)

    def beat(self, epoch: int, **about: Any) -> None:
        known = self.endpoint_epoch if self.chance.random() < 0.9 else 0
        fields = {"memberId": self.member_id, "memberEpoch": epoch, "endpointInformationEpoch": known, **about}
        fields["instanceId"] = self.instance_id
        answer = self.send("StreamsGroupHeartbeat", self.version, fields)
        assert answer is not None
        if answer["errorCode"] in GONE:
            self.is_in, self.owned, self.standby = False, {}, {}
        elif answer["errorCode"] == 0:
            self.epoch, self.is_in = answer["memberEpoch"], epoch >= 0
            self.endpoint_epoch = answer["endpointInformationEpoch"]
            if answer["activeTasks"] is not None:
                self.owned = {task["subtopologyId"]: task["partitions"] for task in answer["activeTasks"]}
                self.standby = {task["subtopologyId"]: task["partitions"] for task in answer["standbyTasks"]}


def _lists(active: _Tasks, standby: _Tasks | None = None) -> Json:
    def listed(tasks: _Tasks) -> list[Json]:
        return [{"subtopologyId": part, "partitions": numbers} for part, numbers in tasks.items() if numbers]

    return {"activeTasks": listed(active), "standbyTasks": listed(standby or {}), "warmupTasks": []}


class OffsetsWalk(Walk):
    """Clients of all ages that commit, fetch and delete offsets, and a member or two.

    Kafka's tables do not shrink, which shows in the order of all offsets of a group once some were deleted: then nobody asks for all.
    """

    has_deleted = False
    has_stored = False
    """Whether the group is there. One that comes of a commit of which nothing could be stored is seen by some of Kafka's requests only."""

    def _administer(self) -> None:
        what = self.chance.randrange(4)
        if what == 0:
            self.talk.send("admin", "DeleteGroups", self.chance.choice((2, 3)), {"groupsNames": [self.group_id]})
            self.has_stored = False
        elif what == 1 and not self.has_deleted:
            group = {"groupId": self.group_id, "memberId": None, "memberEpoch": -1, "topics": None}
            self.talk.send("admin", "OffsetFetch", 9, {"groups": [group], "requireStable": False})
        else:
            self.talk.send("admin", "DescribeGroups", 6, {"groups": [self.group_id], "includeAuthorizedOperations": False})

    def __init__(self, talk: Talk, chance: random.Random, topics: dict[str, tuple[str, int]], kinds: str) -> None:
        super().__init__(talk, chance, topics, "classic")
        self.actors = [Offsets(self, f"{self.group_id}.o{number}") for number in range(2)]
        self.actors += [Classic(self, f"{self.group_id}.{number}") for number in range(chance.choice((0, 0, 1, 2)))]


class Offsets(Actor):
    """Somebody who is no member, or says that he is."""

    def __init__(self, walk: OffsetsWalk, who: str) -> None:
        super().__init__(walk, who)
        self.place = walk

    def act(self) -> None:
        what = self.chance.random()
        if what < 0.5:
            self._commit()
        elif what < 0.85:
            self._fetch()
        else:
            topics = [{"name": name, "partitions": [{"partitionIndex": number} for number in self._partitions()]} for name in self._names()]
            self.place.has_deleted = True
            self.send("OffsetDelete", 0, {"topics": topics})

    def _names(self) -> list[str]:
        return sorted({self.chance.choice(("t", "t", "u", "u", "nope")) for _ in range(self.chance.choice((1, 2)))})

    def _partitions(self) -> list[int]:
        return sorted({self.chance.choice((0, 1, 2, 2, 7, 8, -1)) for _ in range(self.chance.choice((1, 2, 3)))})

    def _topic(self, name: str, version: int) -> Json:
        """How a version names a topic."""
        if version < 10:
            return {"name": name}
        return {"topicId": self.walk.topics[name][0] if name in self.walk.topics else "AAAAAAAAAAAAAAAAAAAABQ"}

    def _commit(self) -> None:
        version = self.chance.randint(2, 10)
        fields: Json = {
            "generationIdOrMemberEpoch": self.chance.choice((-1, -1, -1, 0, 1)),
            "memberId": self.chance.choice(("", "", "who")),
        }
        if version <= 4:
            fields["retentionTimeMs"] = self.chance.choice((-1, -1, 10_000_000))
        if version >= 7:
            fields["groupInstanceId"] = self.chance.choice((None, None, "i0"))
        fields["topics"] = [{**self._topic(name, version), "partitions": self._commits(version)} for name in self._names()]
        answer = self.send("OffsetCommit", version, fields) or {"topics": []}
        if any(row["errorCode"] == 0 for topic in answer["topics"] for row in topic["partitions"]):
            self.place.has_stored = True

    def _commits(self, version: int) -> list[Json]:
        rows = []
        for number in self._partitions():
            row: Json = {"partitionIndex": number, "committedOffset": self.chance.randint(-1, 99)}
            row["committedMetadata"] = self.chance.choice((None, "", "m", "é" * 2100, "x" * 4097)) if self.place.has_stored else "m"
            if version >= 6:
                row["committedLeaderEpoch"] = self.chance.randint(-1, 3)
            rows.append(row)
        return rows

    def _fetch(self) -> None:
        version = self.chance.randint(1, 10)
        asks_all = version >= 2 and not self.place.has_deleted and self.chance.random() < 0.4
        topics = None if asks_all else [{**self._topic(name, version), "partitionIndexes": self._partitions()} for name in self._names()]
        fields: Json = {"groupId": self.walk.group_id, "topics": topics}
        if version >= 9:
            fields |= {"memberId": self.chance.choice((None, None, "", "who")), "memberEpoch": self.chance.choice((-1, -1, 0, 1))}
        if version >= 8:
            fields = {"groups": [fields, {**fields, "groupId": "~another"}]}
        if version >= 7:
            fields["requireStable"] = self.chance.random() < 0.5
        self.walk.talk.send(self.who, "OffsetFetch", version, fields)


WALKS: dict[str, type[Walk]] = {"classic": Walk, "consumer": Walk, "mixed": Walk, "streams": StreamsWalk, "offsets": OffsetsWalk}
"""What walks there are, by the kind of the group."""
