"""The output of `metashell quorum restore`: what was found, what would be lost, and what to do next, as text and as JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.releases import METADATA_VERSION, level_name
from metashell.common.forms import aligned, counted, spaced_json, standard_output
from metashell.common.values import OffsetAndEpoch, uuid_text
from metashell.disk.restore import EPOCH_MARGIN
from metashell.net.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.disk.restore import RestorePlan
    from metashell.inspect.surviving_logs import PartitionOnDisk
    from metashell.inspect.survivors import Choice, LeftOut, Survivor
    from metashell.metadata.image import MetadataImage

REFUSED: Final = "refused"
_NAMED_MAX: Final = 5
DELETES: Final = (
    "a broker that runs when the restored quorum begins to lead deletes the data of every topic that the restored metadata lacks; "
    "one that is started later only sets it aside (-stray)"
)


class VoterAnswer(NamedTuple):
    """One voter of the old quorum: its address, None if no source has it, and what was found there.

    `is_alive` is None if it cannot be asked. `leader_id` and `epoch` are the leader and the epoch that it reports.
    """

    id: int
    address: Address | None
    is_alive: bool | None
    words: str
    leader_id: int | None = None
    epoch: int | None = None


class OnDisk(NamedTuple):
    """What a log directory has of topics that the restored metadata lacks, and of partitions whose leader epoch is later on disk."""

    folder: str
    unknown: tuple[PartitionOnDisk, ...]
    later: tuple[PartitionOnDisk, ...]


class Outcome(NamedTuple):
    """Everything that the command has to tell. `refusals` forbid it, unless forced; `warnings` do not."""

    choice: Choice
    image: MetadataImage
    voters: tuple[VoterAnswer, ...]
    named_by: str
    strays: tuple[OnDisk, ...]
    left_out: LeftOut
    refusals: tuple[str, ...]
    warnings: tuple[str, ...]
    plan: RestorePlan


def show(outcome: Outcome, values: SimpleNamespace, result: str, forced: tuple[str, ...]) -> None:
    display = standard_output()
    if values.output == "json":
        display.out.write(display.colored_json(spaced_json(_json(outcome, result, forced))) + "\n")
        return
    for line in _lines(outcome, result, forced):
        display.line(line)


def _lines(outcome: Outcome, result: str, forced: tuple[str, ...]) -> Iterator[str]:
    choice, plan = outcome.choice, outcome.plan
    best = choice.best
    rows = [("cluster", plan.cluster_id), ("best source", f"{best.label} ({_described(best)})")]
    rows.append(("", "the only source" if not choice.others else _why_best(choice)))
    rows.append(("committed", _committed(choice)))
    rows += [("source", f"{one.label} ({_described(one)}): {_lacking(choice, one)}") for one in choice.others]
    for one in outcome.voters:
        rows.append((f"voter {one.id}", f"{one.address or 'no address'}: {one.words}"))
    for disk in outcome.strays:
        if disk.unknown:
            what = f"{counted(len(disk.unknown), 'partition')} of topics that the best source lacks: {_named_topics(disk.unknown)}"
            rows.append(("lost", f"{disk.folder}: {what}"))
        if disk.later:
            what = f"later elections of {counted(len(disk.later), 'partition')} that it lacks: {_named_topics(disk.later)}"
            rows.append(("lost", f"{disk.folder}: {what}"))
    if outcome.left_out.users or outcome.left_out.settings:
        left = f"{counted(outcome.left_out.users, 'user')} and {counted(outcome.left_out.settings, 'setting')}"
        rows.append(("left out", f"{left} whose secrets the bundle does not have"))
    rows.append(("contents", _contents(outcome.image)))
    if result != REFUSED:
        rows.append((result, f"{plan.path}: node {plan.voter.node_id}, directory id {uuid_text(plan.voter.directory_id)}"))
        rows.append(("", f"begins at offset {plan.snapshot_id.offset} in epoch {plan.snapshot_id.epoch}, above all that was seen"))
    yield from aligned(rows)
    yield from (f"--force: {text}" for text in forced)
    yield from (f"warning: {text}" for text in outcome.warnings)
    if result != REFUSED:
        yield "next:"
        yield from (f"  {number}. {text}" for number, text in enumerate(_steps(outcome), 1))


def _described(one: Survivor) -> str:
    node = "" if one.node_id is None else f" of node {one.node_id}"
    return f"{one.kind}{node}, epoch {one.last_epoch}, ends at offset {one.end_offset}"


def _why_best(choice: Choice) -> str:
    best = choice.best
    if all(one.place == best.place for one in choice.others):
        return "the others end at the same place"
    if any(one.last_epoch == best.last_epoch for one in choice.others):
        return "no other has a later epoch, and of this epoch it has the most records"
    return "it has the latest epoch: its leader had all that was committed before"


def _committed(choice: Choice) -> str:
    end = choice.best.end_offset
    if choice.certain_to is None:
        return f"not known: no source has a checkpoint; offsets 0 to {end - 1} may be committed"
    if choice.certain_to >= end:
        return f"all before offset {end}, which is all that the best source has"
    return f"all before offset {choice.certain_to}; offsets {choice.certain_to} to {end - 1} may be committed, and are kept"


def _lacking(choice: Choice, one: Survivor) -> str:
    if choice.best.last_epoch - one.last_epoch >= EPOCH_MARGIN:
        return "is of a quorum before a restore: what it has of later changes is not in the best source"
    for lack in choice.lacks:
        if lack.survivor is one:
            what = f"offsets {lack.first} to {lack.end - 1} of epoch {lack.last_epoch} are not in the best source"
            return f"{what}, whose later leader did not have them: they were not committed" if lack.is_replaced else what
    return "has nothing that the best source lacks"


def _named_topics(partitions: tuple[PartitionOnDisk, ...]) -> str:
    topics = list(dict.fromkeys(one.name for one in partitions))
    more = f" and {len(topics) - _NAMED_MAX} more" if len(topics) > _NAMED_MAX else ""
    return f"{', '.join(topics[:_NAMED_MAX])}{more}"


def _contents(image: MetadataImage) -> str:
    version = image.features.metadata_version
    assert version is not None, "checked when it was loaded"
    parts = [level_name(METADATA_VERSION, version), counted(len(image.cluster.brokers), "broker"), counted(len(image.topics), "topic")]
    return ", ".join([*parts, counted(image.topics.partition_count, "partition")])


def _steps(outcome: Outcome) -> Iterator[str]:
    """Yield what to do next, in order."""
    plan = outcome.plan
    address = Address(plan.voter.host, plan.voter.port)
    if outcome.voters:
        who = ", ".join(str(one.id) for one in outcome.voters)
        yield (
            f"make sure that no controller of the old quorum ({who}) starts on its old directory again: move that away. "
            "Two of them could elect a leader, and brokers that have not yet seen the new quorum would follow it"
        )
    voters = f"controller.quorum.voters={plan.voter.node_id}@{address}"
    servers = voters if plan.is_static else f"controller.quorum.bootstrap.servers={address}"
    yield f"stop every broker: {DELETES}"
    if os.geteuid() == 0:
        yield f"give {plan.path} to the user of the server (chown -R): root has written it"
    is_combined = plan.voter.node_id in outcome.image.cluster.brokers
    if is_combined:
        yield (
            f"move the old __cluster_metadata-0 out of the log directories of node {plan.voter.node_id}, and set "
            f"metadata.log.dir={plan.path} beside its log.dirs, which keep their partitions"
        )
    places = f"metadata.log.dir={plan.path}" if is_combined else f"log.dirs={plan.path}"
    yield (
        f"start the controller with node.id={plan.voter.node_id}, {places}, listeners={plan.listener}://{address}, "
        f"controller.listener.names={plan.listener}, {servers}"
    )
    yield f"metashell quorum describe -C {address}"
    later = ", ".join(one.folder for one in outcome.strays if one.later)
    last = f"the broker of {later}" if later else "the broker whose data are the most complete"
    yield (
        f"in the server.properties of every broker set {servers}, without the addresses of the old quorum, and start it, last {last}: "
        "a broker that registers leaves the in-sync replicas, unless it is the last of them, which leads"
    )
    yield (
        "a partition whose last in-sync replica is on a broker that never returns has no leader: "
        "metashell elect unclean TOPIC:PARTITION -b HOST:PORT gives it one, and loses what only that broker had"
    )
    if plan.is_static:
        yield (
            "with kraft.version 0 the voters are those of controller.quorum.voters: change it in every server.properties. Controllers that "
            "still have the old list follow at first, and elect one of themselves as soon as the restored one is away"
        )
    else:
        yield (
            f"add controllers: format each with metashell storage format -t {plan.cluster_id} --no-initial-controllers, start it, and "
            f"run metashell quorum add-controller --server-config FILE -C {address}"
        )


def _json(outcome: Outcome, result: str, forced: tuple[str, ...]) -> dict[str, Any]:
    choice, plan = outcome.choice, outcome.plan
    lacks = {id(one.survivor): one for one in choice.lacks}
    sources = []
    for one in (choice.best, *choice.others):
        lack = lacks.get(id(one))
        sources.append(
            {
                "path": one.label,
                "kind": one.kind,
                "is_best": one is choice.best,
                "cluster_id": one.cluster_id,
                "node_id": one.node_id,
                "last_epoch": one.last_epoch,
                "end_offset": one.end_offset,
                "committed_to": one.certain_to,
                "seen": _place(one.seen),
                "damage": one.lost or None,
                "running": one.is_running,
                "lacking": None
                if lack is None
                else {"first": lack.first, "end": lack.end, "last_epoch": lack.last_epoch, "replaced": lack.is_replaced},
            }
        )
    return {
        "type": "restore",
        "result": result.replace(" ", "_"),
        "cluster_id": plan.cluster_id,
        "sources": sources,
        "committed_to": choice.certain_to,
        "voters_named_by": outcome.named_by or None,
        "voters": [
            {
                "id": one.id,
                "address": None if one.address is None else str(one.address),
                "alive": one.is_alive,
                "words": one.words,
                "leader": one.leader_id,
            }
            for one in outcome.voters
        ],
        "on_disk": [
            {
                "path": one.folder,
                "unknown": [_partition(each) for each in one.unknown],
                "later": [_partition(each) for each in one.later],
            }
            for one in outcome.strays
        ],
        "left_out": outcome.left_out._asdict(),
        "contents": {
            "metadata_version": outcome.image.features.metadata_version,
            "brokers": len(outcome.image.cluster.brokers),
            "topics": len(outcome.image.topics),
            "partitions": outcome.image.topics.partition_count,
        },
        "directory": {
            "path": plan.path,
            "node_id": plan.voter.node_id,
            "directory_id": uuid_text(plan.voter.directory_id),
            "listener": f"{plan.listener}://{Address(plan.voter.host, plan.voter.port)}",
            "static": plan.is_static,
            "checkpoint": plan.checkpoint,
            "begins_at": _place(plan.snapshot_id),
        },
        "refusals": list(outcome.refusals),
        "forced": list(forced),
        "warnings": list(outcome.warnings),
        "steps": list(_steps(outcome)),
    }


def _partition(one: PartitionOnDisk) -> dict[str, Any]:
    topic_id = None if one.topic_id is None else uuid_text(one.topic_id)
    return {"topic": one.name, "partition": one.partition, "topic_id": topic_id, "leader_epoch": one.leader_epoch}


def _place(place: OffsetAndEpoch) -> dict[str, int]:
    return {"offset": place.offset, "epoch": place.epoch}
