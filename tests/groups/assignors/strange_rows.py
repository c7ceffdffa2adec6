"""Random inputs of all assignors, many as no orderly life of a group leaves them: claims to what others claim, or to what is not there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.common.values import uuid_text
from metashell.groups.assignors import Partition
from metashell.groups.assignors.rows import CLIENT_NAMES, SERVER_NAMES
from metashell.groups.assignors.sticky import cooperative_user_data, sticky_user_data

UNKNOWN = "zz"
Row = dict[str, Any]


def rows(seed: int, count: int) -> Iterator[Row]:
    """So many rows of each assignor, always the same for a seed."""
    for name in (*CLIENT_NAMES, *SERVER_NAMES):
        for number in range(count):
            chance = random.Random(f"{name} {seed} {number}")
            given = client_input(chance, name) if name in CLIENT_NAMES else server_input(chance, name)
            yield {"id": f"{name}/{seed}/{number}", "assignor": name, "input": given}


def client_input(chance: random.Random, name: str) -> Row:
    topics = {f"t{number}": [[chance.randrange(3)] for _ in range(chance.randrange(1, 5))] for number in range(chance.randrange(1, 4))}
    names = [*topics, UNKNOWN]
    are_equal = chance.random() < 0.4
    members = []
    for number in range(chance.randrange(1, 7)):
        subscribed = names if are_equal else [topic for topic in names if chance.random() < 0.7]
        owned = [(topic, partition) for topic in names for partition in range(7) if chance.random() < 0.25]
        members.append(
            {
                "id": f"m{number}",
                "instanceId": chance.choice([None, None, f"i{9 - number}"]),
                "subscription": _subscription(chance, name, subscribed, owned).hex(),
            }
        )
    chance.shuffle(members)
    return {"nodes": [{"id": id, "rack": chance.choice([None, "A", "B", "C"])} for id in range(3)], "topics": topics, "members": members}


def _subscription(chance: random.Random, name: str, topics: list[str], owned: list[Partition]) -> bytes:
    generation = chance.choice([-1, 1, 2, 3])
    user_data = sticky_user_data(owned, generation) if name == "sticky" else cooperative_user_data(generation)
    if chance.random() < 0.2:
        user_data = user_data[: chance.randrange(len(user_data))] + bytes(chance.randrange(3))
    rack = chance.choice([None, None, "A", "B"])
    version = chance.choice([0, 1, 2, 3, 3, 3])
    return subscription_bytes(Subscription(tuple(topics), user_data, tuple(owned), generation, rack, version))


def server_input(chance: random.Random, name: str) -> Row:
    ids = [uuid_text(chance.randbytes(16)) for _ in range(chance.randrange(1, 5))]
    topics = {id: {"partitions": chance.randrange(30) if chance.random() < 0.2 else chance.randrange(6)} for id in ids}
    if chance.random() < 0.05:
        del topics[ids[0]]
    are_equal = chance.random() < 0.5
    members = []
    for number in range(chance.randrange(1, 20)):
        members.append(
            {
                "id": f"m{chance.randrange(10**6)}-{number}",
                "instanceId": chance.choice([None, None, f"i{9 - number}"]),
                "topicIds": ids if are_equal else [id for id in ids if chance.random() < 0.6],
                "previous": {id: _previous(chance, topics.get(id)) for id in ids if chance.random() < 0.4},
            }
        )
    kinds = {tuple(sorted(member["topicIds"])) for member in members}
    assignable = None
    if name == "server-simple" and chance.random() < 0.3:
        assignable = {id: [number for number in range(6) if chance.random() < 0.7] for id in ids if chance.random() < 0.8}
    kind = "HOMOGENEOUS" if len(kinds) < 2 else "HETEROGENEOUS"
    return {"topics": topics, "subscriptionType": kind, "members": members, "assignable": assignable}


def _previous(chance: random.Random, topic: dict[str, int] | None) -> list[int]:
    """Partitions of a topic, at times also what is beyond its end."""
    count = 3 if topic is None else topic["partitions"]
    return [number for number in range(count + (chance.random() < 0.02)) if chance.random() < 0.3]
