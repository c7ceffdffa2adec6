"""Checks before a change of voters: which replicas are running, and the controller that a server.properties describes.

DescribeQuorum returns the time of each replica's last fetch, which no longer changes after a replica dies. So the leader is asked twice: a
running replica fetches at least every half second (org.apache.kafka.raft.KafkaRaftClient.MAX_FETCH_WAIT_MS), so also in between.

The errors about server.properties have the wording of org.apache.kafka.tools.MetadataQuorumCommand of 4.4.0."""

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
"""The pause between two requests: twice the longest pause between two fetches of a replica."""
SAMPLES_MAX: Final = 3
"""The number of requests, after which a replica that has not fetched counts as dead: a running voter may pause for a second."""
CAUGHT_UP_MS: Final = 10_000
"""The longest time since a voter under load was caught up, for which it still counts as caught up."""
_TRIES: Final = 3


class FreshQuorum(NamedTuple):
    """A quorum as its leader reports it, and its replicas that fetched during the look (`present`, with the leader).

    `unreached` has the voters that cannot be reached at the address in the voter set: they cannot take part in an election.
    """

    quorum: QuorumDescription
    present: frozenset[tuple[int, bytes | None]]
    unreached: frozenset[int] = frozenset()

    def is_present(self, replica: Replica) -> bool:
        """Return whether a replica runs and fetches."""
        return (replica.id, replica.directory_id) in self.present

    def counts(self, replica: Replica) -> bool:
        """Return whether a voter fetches, is caught up and can be elected: the next write needs a majority of such voters."""
        return self.is_present(replica) and replica.id not in self.unreached and has_caught_up(self.quorum, replica)

    def spare(self, voters: Iterable[Replica]) -> int:
        """Return how many more of these voters may fail; negative if the working ones are no majority."""
        chosen = tuple(voters)
        return sum(map(self.counts, chosen)) - majority(len(chosen))

    def lacking(self, voters: Iterable[Replica]) -> str:
        """Return in words which of these voters do not fetch or cannot be reached; empty if there are none."""
        silent = [str(voter.id) for voter in voters if not self.is_present(voter)]
        unreached = [str(voter.id) for voter in voters if self.is_present(voter) and voter.id in self.unreached]
        parts = [f"{', '.join(silent)} did not fetch while this was looked at"] if silent else []
        return "; ".join(parts + ([f"{', '.join(unreached)} cannot be reached where the voter set says"] if unreached else []))


def has_caught_up(quorum: QuorumDescription, replica: Replica) -> bool:
    """Return whether a replica was caught up a moment ago, by the leader's clock: the last fetch time of the leader's own entry is now."""
    now_ms = None if quorum.leader is None else quorum.leader.last_fetch_ms
    caught_up_ms = replica.last_caught_up_ms
    return replica.id == quorum.leader_id or (caught_up_ms is not None and (now_ms is None or now_ms - caught_up_ms <= CAUGHT_UP_MS))


def fresh_quorum(work: Work) -> FreshQuorum:
    """Watch the quorum for a second, or two if a replica does not fetch; through controllers, also try to reach each voter.

    Errors: MetashellError, also if the leader keeps changing.
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
    """Return the ids of the voters that cannot be reached at the address in the voter set; empty if this cannot be judged from here."""
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
    """A controller to add: its id and directory id, its advertised listeners, and the cluster it was formatted for, None if not known."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None = None


def read_new_controller(path: str) -> NewController:
    """Read a controller from its configuration, and from meta.properties in its metadata directory. Errors: MetashellError; PathError."""
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
    """Read the meta.properties of a directory. Errors: MetashellError, also if it has no directory.id."""
    from metashell.disk.properties import read_meta

    meta = read_meta(directory)
    if meta is None or isinstance(meta, str):
        raise MetashellError(f"Unable to read meta.properties from {directory}{f': {meta}' if meta else ': is it formatted?'}")
    if meta.directory_id is None:
        raise MetashellError(f"No directory id found in {directory}")
    return meta


def _endpoints(values: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return the advertised address of each controller listener, or else the address that it listens on. Errors: MetashellError."""
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
