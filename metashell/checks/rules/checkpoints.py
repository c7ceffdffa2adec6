"""Checkpoints against the log: whether what the log lacks at its beginning is in one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metashell.checks.facts import LOG
from metashell.checks.model import BAD, UNUSUAL, Evidence, Found
from metashell.checks.nodes import is_only_voter, nodes_of, others_text, voters_of
from metashell.checks.registry import check

if TYPE_CHECKING:
    from metashell.checks.facts import Facts, MetadataLog
    from metashell.checks.nodes import Node


def _ways_back(node: Node, facts: Facts, start: int) -> list[str]:
    """How a log comes back that lacks its beginning; see KafkaMetadataLog.recoverSnapshots."""
    log = node.log
    assert log is not None
    copy = f"copy a checkpoint from offset {start} on of another controller or broker into {log.path}"
    if is_only_voter(node, facts):
        return [f"{node.name} is the only voter: do not empty it; {copy} (brokers have checkpoints too)"]
    others = others_text(node, facts)
    if node.id is not None and node.id in voters_of(node, facts):
        alive = f"while a majority of the voters {', '.join(map(str, sorted(voters_of(node, facts))))} lives (others: {others})"
    else:
        alive = "while the quorum lives"
    fetch = f"{alive}: empty {log.path}, keep meta.properties, start the node: it fetches everything"
    return [fetch, f"or {copy}; not the first way if this is the only voter"]


@check(
    "checkpoints.lost_checkpoint",
    BAD,
    "metadata logs that begin late while no whole checkpoint has what came before",
    LOG,
    endangers="the node does not start, or comes up without what is missing",
    source="org.apache.kafka.raft.internals.KafkaRaftLog.recoverSnapshots",
    example="node-2/__cluster_metadata-0 (offsets 0 to 250 are in no checkpoint and no segment)",
    of_a_part=True,
)
def lost_checkpoint(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        log = node.log
        if log is None or not log.start_offset or _newest_whole(log) >= log.start_offset:
            continue
        newest = _newest_whole(log)
        first = max(newest, 0)
        torn = [one for one in log.checkpoints if one.trouble]
        words = f"offsets {first} to {log.start_offset - 1} are in no checkpoint and no segment"
        whats = f"{words}; the log begins at {log.start_offset}"
        for one in torn[:1]:
            whats += f"; {one.name} ({one.size_bytes} bytes) {_trouble(one.trouble)}"
        evidence = (Evidence(log.path, log.start_offset), *(Evidence(f"{log.path}/{one.name}") for one in torn[:1]))
        yield Found(log.path, whats, evidence, tuple(_ways_back(node, facts, log.start_offset)), ("directory", log.path))


@check(
    "checkpoints.torn_checkpoint",
    BAD,
    "checkpoints that are not whole",
    LOG,
    follows=("lost_checkpoint",),
    endangers="Kafka loads the newest one without looking for its end: the node comes up without what is missing in it",
    source="org.apache.kafka.snapshot.RecordsSnapshotReader; KIP-630",
    example="00000000000000000329-0000000001.checkpoint (0 bytes)",
    of_a_part=True,
)
def torn_checkpoint(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        log = node.log
        if log is None:
            continue
        for one in log.checkpoints:
            if one.trouble:
                path = f"{log.path}/{one.name}"
                older = _newest_whole(log)
                has_rest = older >= log.start_offset or log.start_offset == 0
                steps = ["move it out of the directory: an older checkpoint and the log have everything"] if has_rest else []
                steps = steps or _ways_back(node, facts, log.start_offset)
                yield Found(path, f"{one.size_bytes} bytes; {_trouble(one.trouble)}", (Evidence(path),), tuple(steps), ("directory", path))


@check(
    "checkpoints.behind",
    UNUSUAL,
    "metadata logs of voters that lack what another one has in a checkpoint, so what is committed",
    LOG,
    source="KIP-595",
    example="node-3 (ends at 300, epoch 1; node-2 has a checkpoint of all before 329)",
    of_a_part=True,
)
def behind(facts: Facts) -> Iterator[Found]:
    """Such a voter cannot win an election against one that has it, and fetches it when it runs."""
    of_cluster: dict[str | None, list[tuple[Node, MetadataLog]]] = {}
    for node in nodes_of(facts):
        if node.log is not None and node.stored_id is not None:
            of_cluster.setdefault(node.cluster_id, []).append((node, node.log))
    for logs in of_cluster.values():
        best, committed = max(logs, key=lambda found: _newest_whole(found[1]))
        for node, log in logs:
            if log.end_offset < _newest_whole(committed) and node is not best and node.stored_id in voters_of(best, facts):
                whole = _newest_whole(committed)
                cause = f"ends at {log.end_offset}, epoch {log.last_epoch}; {best.name} has a checkpoint of all before {whole}"
                yield Found(
                    log.path,
                    f"{cause}: it lacks {log.end_offset} to {whole - 1} and cannot win against it",
                    (Evidence(log.path, log.end_offset),),
                )


@check(
    "checkpoints.majority_behind",
    BAD,
    "quorums whose other voters, a majority, lack what one node has in a checkpoint, so what is committed",
    LOG,
    endangers="these voters elect a leader among themselves, and the committed records are gone",
    step="start the node that has them first, or bring its checkpoint and log to the others, before a majority without them runs",
    source="KIP-595",
    of_a_part=True,
)
def majority_behind(facts: Facts) -> Iterator[Found]:
    nodes = [node for node in nodes_of(facts) if node.log is not None and node.stored_id is not None]
    for node in nodes:
        assert node.log is not None
        voters, whole = voters_of(node, facts), _newest_whole(node.log)
        lacking = {
            other.stored_id: other.log.end_offset
            for other in nodes
            if other.log is not None and other.stored_id in voters and other.cluster_id == node.cluster_id and other.log.end_offset < whole
        }
        if lacking and 2 * len(lacking) > len(voters):
            ends = ", ".join(f"{id} ends at {end}" for id, end in sorted(lacking.items(), key=str))
            evidence = (Evidence(node.log.path, whole),)
            yield Found(node.name, f"it has a checkpoint of all before {whole}; of voters {', '.join(map(str, voters))}: {ends}", evidence)
            return


def _newest_whole(log: MetadataLog) -> int:
    return max((one.offset for one in log.checkpoints if not one.trouble), default=-1)


def _trouble(text: str) -> str:
    return text.removeprefix("checkpoint ")
