"""A quorum whose controllers are replaced one by one while a broker works on it: Kafka's by ours, and back.

Kafka's controllers and the broker share one process (`Host`), ours have one each.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from metashell.common.values import uuid_text
from metashell.disk.names import META_PROPERTIES
from metashell.disk.properties import read_meta_properties
from metashell.quorum.raft import messages as flat
from tools.interop.host import Host, Printed
from tools.interop.mixed_quorum import LIMIT_S, MixedQuorum
from tools.interop.nodes import Cluster

CHANGES_OF_LEADER_MAX: Final = 10


class ReplacedQuorum(MixedQuorum):
    """See the module. `kafka` names the ids of Kafka's controllers; `broker` is HOST:PORT of the broker, whose id is `broker_id`."""

    def __init__(self, place: Cluster, ports: Mapping[int, int], kafka: Collection[int], host: Host, broker_id: int, broker: str) -> None:
        super().__init__(place, ports, dict.fromkeys(kafka, place.command_of))
        self.host = host
        self.broker_id = broker_id
        self.broker = broker

    # ---- nodes

    def start(self, *ids: int) -> None:
        """Start nodes; those of Kafka come back once they serve."""
        theirs = [id for id in ids if id in self.kafka or id == self.broker_id]
        if theirs:
            self.host.ask("start", configs=[str(self.config(id)) for id in theirs])
        for id in ids:
            if id in self.kafka:
                self.nodes[id] = self.host.node
            elif id != self.broker_id:
                self.nodes[id] = self._start_ours(id)

    def stop(self, id: int) -> None:
        """Shut a controller down as an operator does; one of ours must end with status 0."""
        if id in self.kafka:
            del self.nodes[id]
            self.host.ask("stop", id=id)
            return
        status = self.end(id, signal.SIGTERM)
        assert status == 0, f"{id} ended with {status}:\n{(self.place.folder / f'ours-{id}.log').read_text()[-2000:]}"

    # ---- voters

    def key_of(self, id: int) -> str:
        """The id of a controller's directory."""
        directory_id = read_meta_properties(str(self.directory(id) / META_PROPERTIES)).directory_id
        assert directory_id is not None, "formatted"
        return uuid_text(directory_id)

    def tool(self, tool: str, *words: str) -> Printed:
        """What a tool of Kafka's prints."""
        return self.host.run(tool, words)

    def wait_for_voters(self, ids: Collection[int]) -> flat.DescribeQuorumResponse:
        return self.wait_for(f"the voters are {sorted(ids)}", lambda described: {state.id for state in described.voters} == set(ids))

    def add(self, id: int) -> None:
        """Add an observer by kafka-metadata-quorum, as one does with a controller that does not join by itself."""
        self.wait_until_caught_up(id)
        words = ("--bootstrap-server", self.broker, "--command-config", str(self.config(id)), "add-controller")
        self._until(lambda voters: id in voters, words)

    def remove(self, id: int) -> None:
        """Remove a voter by kafka-metadata-quorum."""
        words = ("--controller-id", str(id), "--controller-directory-id", self.key_of(id))
        self._until(lambda voters: id not in voters, ("--bootstrap-server", self.broker, "remove-controller", *words))

    def _until(self, holds: Callable[[set[int]], bool], words: Sequence[str]) -> None:
        """Ask until the voters are as they should be: who is asked while leaders change may not lead any more."""

        def is_done() -> bool:
            described = self.describe()
            if described is None:
                return False
            if holds({state.id for state in described.voters}):
                return True
            self.tool("kafka-metadata-quorum", *words)
            return False

        self.place.wait_until(" ".join(words), is_done, LIMIT_S)

    def make_lead(self, ids: Collection[int]) -> int:
        """Restart the others until one of `ids` leads; gives who does. A leader that stops would rather hand over to another of them."""
        for _ in range(CHANGES_OF_LEADER_MAX):
            leader = self.wait_for("a leader", lambda described: described.leader_id in self.nodes).leader_id
            if leader in ids:
                return leader
            others = [id for id in self.nodes if id not in ids]
            for id in others:
                self.stop(id)
            self.start(*others)
            self.wait_until_caught_up(*self.nodes)
        raise AssertionError(f"none of {sorted(ids)} came to lead")

    def clear(self, id: int) -> Path:
        """Take a node's disk away; gives its configuration, to format it anew."""
        folder = self.directory(id)
        folder.rename(folder.with_name(f"{folder.name}-old"))
        return self.config(id)
