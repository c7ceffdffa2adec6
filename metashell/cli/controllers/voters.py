"""Checks before voters of a quorum change: which replicas are running now, and the controller that a server.properties describes.

DescribeQuorum has the time of each replica's last fetch, which stays when a replica dies. So the leader is asked twice: a running replica
fetches at least every half second (org.apache.kafka.raft.KafkaRaftClient.MAX_FETCH_WAIT_MS), and has then done so in between.

Source of the errors about server.properties: org.apache.kafka.tools.MetadataQuorumCommand of 4.4.0, whose wording they have."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.cli.admin.cluster import Endpoint, describe_quorum
from metashell.common.errors import MetashellError
from metashell.common.values import ReplicaKey
from metashell.metadata.checks.rules.live_quorum import majority
from metashell.net.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metashell.cli.admin.cluster import QuorumDescription, Replica
    from metashell.cli.cluster.noun_tool import Work
    from metashell.disk.properties import MetaProperties


SAMPLE_S: Final = 1.0
"""Between two questions: twice as long as a replica waits between two fetches."""
SAMPLES_MAX: Final = 3
"""Who has not fetched until the last one is dead: so a pause of one second of a voter that runs stops nobody."""
CAUGHT_UP_MS: Final = 10_000
"""How long ago a voter that fetches may have had everything, under load."""
_TRIES: Final = 3


class FreshQuorum(NamedTuple):
    """A quorum as its leader tells it, and which of its replicas fetched while it was looked at; the leader is one of them.

    `unreached` are the voters that are not reached where the voter set says: no voter can elect them, or be elected by them.
    """

    quorum: QuorumDescription
    present: frozenset[tuple[int, bytes | None]]
    unreached: frozenset[int] = frozenset()

    def is_present(self, replica: Replica) -> bool:
        """Whether it runs and fetches."""
        return (replica.id, replica.directory_id) in self.present

    def counts(self, replica: Replica) -> bool:
        """Whether a voter has everything, fetches, and can be elected: what is written next needs a majority of such voters."""
        return self.is_present(replica) and replica.id not in self.unreached and has_caught_up(self.quorum, replica)

    def spare(self, voters: Iterable[Replica]) -> int:
        """How many more of these voters may fail; below 0 where those that are there are no majority."""
        chosen = tuple(voters)
        return sum(map(self.counts, chosen)) - majority(len(chosen))

    def lacking(self, voters: Iterable[Replica]) -> str:
        """Who of these voters is not there, in words; empty where all are."""
        silent = [str(voter.id) for voter in voters if not self.is_present(voter)]
        unreached = [str(voter.id) for voter in voters if self.is_present(voter) and voter.id in self.unreached]
        parts = [f"{', '.join(silent)} did not fetch while this was looked at"] if silent else []
        return "; ".join(parts + ([f"{', '.join(unreached)} cannot be reached where the voter set says"] if unreached else []))


def has_caught_up(quorum: QuorumDescription, replica: Replica) -> bool:
    """Whether a replica has had everything a moment ago, by the leader's clock, which its own entry has."""
    now_ms = None if quorum.leader is None else quorum.leader.last_fetch_ms
    caught_up_ms = replica.last_caught_up_ms
    return replica.id == quorum.leader_id or (caught_up_ms is not None and (now_ms is None or now_ms - caught_up_ms <= CAUGHT_UP_MS))


def fresh_quorum(work: Work) -> FreshQuorum:
    """Look at the quorum for a second, or two where somebody keeps silent; through controllers, each voter is tried too.

    Errors: MetashellError; also where its leader changes.
    """
    unreached = _unreached(work)
    for _ in range(_TRIES):
        first = describe_quorum(work.admin)
        before = {(one.id, one.directory_id): one.last_fetch_ms or -1 for one in (*first.voters, *first.observers)}
        for number in range(1, SAMPLES_MAX):
            time.sleep(SAMPLE_S)
            now = describe_quorum(work.admin)
            if (now.leader_id, now.leader_epoch) != (first.leader_id, first.leader_epoch):
                break
            present = frozenset(
                (one.id, one.directory_id)
                for one in (*now.voters, *now.observers)
                if one.id == now.leader_id or (one.last_fetch_ms or -1) > before.get((one.id, one.directory_id), -1)
            )
            if len(present) == len(now.voters) + len(now.observers) or number == SAMPLES_MAX - 1:
                return FreshQuorum(now, present, unreached)
    raise MetashellError("the leader of the quorum changes all the time: nothing was changed; look with `metashell quorum describe`")


def _unreached(work: Work) -> frozenset[int]:
    """The voters that are not where the voter set says, as far as that can be seen from here."""
    from metashell.cli.cluster.live_facts import ask_quorum
    from metashell.cli.connection import cluster_of
    from metashell.metadata.checks.rules.live_quorum import sees_as_they_do, unreached

    if not work.asks_controllers:
        return frozenset()
    answers = ask_quorum(cluster_of(work.values))
    return frozenset(unreached(answers) if sees_as_they_do(answers) else ())


_IS_IT: Final = "in configuration file. Is this a valid controller configuration file?"
_LISTENER: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class NewController(NamedTuple):
    """Its id and directory id, the listeners that it advertises, and the cluster that it was formatted for, where that is known."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None = None


def read_new_controller(path: str) -> NewController:
    """What a server's configuration, and the meta.properties in its metadata directory, say. Errors: MetashellError; PathError."""
    from metashell.cli.connection import read_properties

    values = read_properties(path)
    id = _id(values)
    meta = _meta_properties(_metadata_directory(values))
    assert meta.directory_id is not None
    return NewController(ReplicaKey(id, meta.directory_id), _endpoints(values), meta.cluster_id)


def _id(values: Mapping[str, str]) -> int:
    from metashell.codec.java import java_int

    if "node.id" not in values:
        raise MetashellError(f"node.id not found {_IS_IT}")
    id = java_int(values["node.id"])
    if id is None:
        raise MetashellError(f'For input string: "{values["node.id"]}"')
    if id < 0:
        raise MetashellError(f"node.id was negative {_IS_IT}")
    if "controller" not in values.get("process.roles", ""):
        raise MetashellError(f"process.roles did not contain 'controller' {_IS_IT}")
    return id


def _metadata_directory(values: Mapping[str, str]) -> str:
    if "metadata.log.dir" in values:
        return values["metadata.log.dir"]
    if "log.dirs" in values:
        return values["log.dirs"].strip().split(",")[0]
    raise MetashellError("Neither metadata.log.dir nor log.dirs were found. Is this a valid controller configuration file?")


def _meta_properties(directory: str) -> MetaProperties:
    """Errors: MetashellError, also where they have no directory.id."""
    from metashell.disk.properties import read_meta

    meta = read_meta(directory)
    if meta is None or isinstance(meta, str):
        raise MetashellError(f"Unable to read meta.properties from {directory}{f': {meta}' if meta else ': is it formatted?'}")
    if meta.directory_id is None:
        raise MetashellError(f"No directory id found in {directory}")
    return meta


def _endpoints(values: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Of each controller listener what is advertised, else what it listens on."""
    found = {**_listeners(values.get("listeners", "")), **_listeners(values.get("advertised.listeners", ""))}
    if "controller.listener.names" not in values:
        raise MetashellError("controller.listener.names was not found. Is this a valid controller configuration file?")
    names = [name.strip().upper() for name in values["controller.listener.names"].split(",")]
    for name in names:
        if name not in found:
            raise MetashellError(f"Cannot find information about controller listener name: {name}")
    return tuple(Endpoint(name, found[name]) for name in dict.fromkeys(names))


def _listeners(text: str) -> dict[str, Address]:
    found = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        match = _LISTENER.fullmatch(word)
        if match is None:
            raise MetashellError(f"Unable to parse {word} to a broker endpoint")
        found[match[1].upper()] = Address(match[2] or "localhost", int(match[3]))
    return found
