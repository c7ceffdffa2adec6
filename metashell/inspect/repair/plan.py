"""Plans the repair of a log directory in place: its steps, each with cause and proof, and what cannot be repaired, with the ways out.

A step never guesses: each value follows from facts, and where it does not, the file is left and the facts that are missing are named. The
rules and their reasons stand with the steps: `log`, `identity`, `small_files`, and here for directories of partitions.

A partition.metadata may be lost, torn, or of no topic. The topic id follows from the topic's name only if the directory cannot be that of
an earlier topic of this name: the log has all since offset 0 and no other topic of the name; or this broker is in the partition's ISR or
ELR, and the partition is assigned to this directory. A broker that was down while a topic was removed and made again is in neither: an ISR
has only replicas that have fetched under the new id.

Source: KIP-516, KIP-966; org.apache.kafka.storage.internals.log.LogManager."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.values import uuid_text
from metashell.disk.mend import NEW_SUFFIX, FileChange
from metashell.disk.names import METADATA_DIRECTORY, PARTITION_METADATA, parse_name
from metashell.disk.state_files import format_topic_id, read_leader_epochs
from metashell.inspect.repair.facts import Refusal, RepairFacts, RepairRequest, Step, judge_log, read_repair_facts
from metashell.inspect.repair.identity import identity_step
from metashell.inspect.repair.log import checkpoint_items, lost_log_items, tail_items
from metashell.inspect.repair.small_files import quorum_state_items, small_file_items
from metashell.inspect.verify.output import start_of
from metashell.metadata.checks import judge_disks
from metashell.metadata.checks.model import BAD
from metashell.metadata.checks.partitions import NO_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.metadata.checks.facts import Facts, PartitionDirectory
    from metashell.metadata.checks.model import Found
    from metashell.metadata.image import MetadataImage


def topic_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    image = facts.image()
    for place in facts.own.partitions:
        if place.suffix or (isinstance(place.topic_id, bytes) and (image is None or place.topic_id in image.topics.by_id)):
            continue
        topic = None if image is None else image.topics.by_name.get(place.topic)
        what = _topic_cause(place)
        if image is None or topic is None or not topic.has_partition(place.partition):
            if isinstance(place.topic_id, bytes):
                continue  # a check of its own says what becomes of it
            why = "no metadata is at hand" if image is None else f"the metadata has no {place.topic}-{place.partition}"
            way = "name the directory of the newest metadata log with --from" if image is None else "find out whose log this is"
            yield Refusal("no_topic_id", place.path, f"{what}; {why}", (way,))
            continue
        check = "stray_topic_id" if isinstance(place.topic_id, bytes) else "no_topic_id"
        reason, doubt = _topic_proof(facts, image, place)
        if doubt:
            way = f"find out whose log this is; if it is {place.topic}'s, write topic_id: {uuid_text(topic.id)} into its partition.metadata"
            yield Refusal(check, place.path, f"{what}; {doubt}", (way,))
            continue
        file = os.path.relpath(os.path.join(place.path, PARTITION_METADATA), facts.own.path)
        yield Step(
            check,
            FileChange("write", file, data=format_topic_id(topic.id)),
            what,
            f"{place.topic} has topic id {uuid_text(topic.id)}; {reason}",
        )


def _topic_cause(place: PartitionDirectory) -> str:
    name = os.path.basename(place.path)
    if place.topic_id is None:
        return f"{name}: partition.metadata is missing"
    if isinstance(place.topic_id, bytes):
        return f"{name}: topic id {uuid_text(place.topic_id)} is not in the metadata"
    return f"{name}: partition.metadata: {place.topic_id}"


def _topic_proof(facts: RepairFacts, image: MetadataImage, place: PartitionDirectory) -> tuple[str, str]:
    """Why the directory is that of the topic which has its name now, and what makes that doubtful; one of them is empty."""
    topic = image.topics.by_name[place.topic]
    partition = topic.partitions[place.partition]
    own = facts.node_id
    earlier = [
        uuid_text(id)
        for log in facts.facts.logs
        for id, note in log.topics.items()
        if id != topic.id and note.name == place.topic and (note.removed_offset >= 0 or note.offset >= 0)
    ]
    if earlier:
        return "", f"the log has topics of this name with ids {', '.join(dict.fromkeys(earlier))} and {uuid_text(topic.id)}"
    epochs = os.path.join(place.path, "leader-epoch-checkpoint")
    newest = max((entry.epoch for entry in read_leader_epochs(epochs)), default=-1) if os.path.isfile(epochs) else -1
    if newest > partition.leader_epoch:
        return "", f"its log has leader epoch {newest}, above {partition.leader_epoch} of the partition"
    if own is None or own not in partition.replicas:
        replicas = ", ".join(map(str, partition.replicas))
        return "", f"broker {own} is no replica of it: {replicas}" if own is not None else "it is not known whose directory this is"
    is_all_there = any(log.image is not None and not log.start_offset and topic.id in log.image.topics.by_id for log in facts.facts.logs)
    if is_all_there and place.topic_id is None:
        return "the metadata log has everything since offset 0, and no other topic of this name", ""
    if not is_all_there and isinstance(place.topic_id, bytes):
        return "", "the metadata log does not reach back to offset 0, so this may be the id of an earlier topic"
    assigned = dict(zip(partition.replicas, partition.directories, strict=False)).get(own)
    if own not in (*partition.isr, *partition.elr):
        return "", f"broker {own} is not in its ISR, so it may have missed that the topic was removed and made again"
    if assigned is not None and assigned not in NO_DIRECTORIES and assigned != facts.directory_id:
        return "", f"the metadata assigns it to directory {uuid_text(assigned)}"
    never = "; no topic ever had the id in the file" if isinstance(place.topic_id, bytes) else ""
    return f"broker {own} is in its ISR or ELR, and it is assigned to this directory: the broker has fetched under this id{never}", ""


_LEFTOVERS: Final = (".deleted", ".cleaned", ".part", ".tmp", NEW_SUFFIX)


_DAMAGE: Final = ("damaged_log", "contradicted_log", "lost_checkpoint")
"""What keeps a node from voting with its log: an election state that lets it vote is not written then."""


class RepairPlan(NamedTuple):
    """The steps in the order in which they are made, and what is left as it is."""

    path: str
    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]

    @property
    def changes(self) -> list[FileChange]:
        return [step.change for step in self.steps]


def plan_repair(request: RepairRequest) -> RepairPlan:
    """Plan the repair of a directory. Errors: StorageError if it is no log directory; MetashellError for a bad source; OSError."""
    facts = read_repair_facts(request)
    found: list[Step | Refusal] = []
    identity, meta = identity_step(facts)
    facts = replace(facts, node_id=None if meta is None else meta.node_id, directory_id=None if meta is None else meta.directory_id)
    if facts.log is not None:
        found += checkpoint_items(facts)
        copied = next((item.change.file for item in found if isinstance(item, Step) and item.change.action == "copy"), None)
        name = None if copied is None else parse_name(os.path.basename(copied))
        if name is not None:
            facts = replace(facts, log=judge_log(facts.folder, assumed=name.snapshot_id))
        if not any(isinstance(item, Refusal) for item in found):
            found += tail_items(facts)
        found += small_file_items(facts)
        if not any(item.check == "quorum_state_form" for item in found):
            is_damaged = any(isinstance(item, Refusal) and item.check in _DAMAGE for item in found)
            found += (_left(facts, item) if is_damaged and isinstance(item, Step) else item for item in quorum_state_items(facts))
    else:
        found += lost_log_items(facts)
    found += topic_items(facts)
    changed = {item.change.file for item in found if isinstance(item, Step)}
    found += [item for item in _leftover_items(facts) if item.change.file not in changed]
    # Without its meta.properties a directory does not start, so the file comes last: a node never starts on half of a repair.
    found += [identity] if identity is not None else []
    found = [_only_files(facts, item) for item in found]
    steps = tuple(item for item in found if isinstance(item, Step))
    refusals = [item for item in found if isinstance(item, Refusal)]
    refusals += _unused_sources(facts) if refusals else ()
    refusals += _other_findings(facts, {item.check for item in found})
    return RepairPlan(facts.own.path, steps, tuple(refusals))


def _left(facts: RepairFacts, step: Step) -> Refusal:
    """A step for a small file that waits until the log is whole again."""
    path = os.path.join(facts.own.path, step.change.file)
    return Refusal(step.check, path, f"{step.cause}; the log is damaged too", ("the ways of the log hold for both",))


def _only_files(facts: RepairFacts, item: Step | Refusal) -> Step | Refusal:
    """A step as it is, unless a folder or a pipe has the file's name: that is nothing to replace."""
    if isinstance(item, Refusal):
        return item
    path = os.path.join(facts.own.path, item.change.file)
    if not os.path.lexists(path) or os.path.isfile(path):
        return item
    return Refusal(item.check, path, f"{item.cause}; it is not a regular file", ("move it out of the directory, then repair again",))


# ---- leftovers, and what else the checks found


def _leftover_items(facts: RepairFacts) -> Iterator[Step]:
    if facts.log is None:
        return
    for name in sorted(os.listdir(facts.folder)):
        if name.endswith(_LEFTOVERS) and os.path.isfile(os.path.join(facts.folder, name)):
            reason = "every start removes such files"
            yield Step("leftover", FileChange("move", f"{METADATA_DIRECTORY}/{name}"), f"{name}: left by interrupted work", reason)


def _unused_sources(facts: RepairFacts) -> Iterator[Refusal]:
    """The sources from which nothing was taken, where something could not be proven."""
    for other in facts.others:
        if other.path not in facts.proven:
            cause = "nothing shows that it is of this directory's cluster and of its history, so nothing was taken from it"
            yield Refusal("source", other.path, cause, ("name directories of the same cluster with --from",))
    for file in facts.checkpoints:
        if file.image is None or not facts.shares_ids(file.image):
            cause = "is not whole" if file.image is None else "shares no id with this directory, so nothing was taken from it"
            yield Refusal("source", file.path, cause, ("name a checkpoint of the same cluster with --from",))


def _other_findings(facts: RepairFacts, done: set[str]) -> Iterator[Refusal]:
    """The other bad findings of the checks about this directory."""
    for finding in judge_disks(_facts_of_the_node(facts)).findings:
        # What follows from a fault that is repaired goes with it.
        if finding.check.severity != BAD or not done.isdisjoint((finding.check.id, *finding.check.follows)):
            continue
        for found in finding:
            if _is_about(facts, found):
                ways = found.steps or tuple(filter(None, [finding.check.step]))
                yield Refusal(finding.check.id, found.name, found.cause, ways)


def _is_about(facts: RepairFacts, found: Found) -> bool:
    places = [str(found.key[1])] if found.key[:1] == ("directory",) else []
    places += [evidence.path for evidence in found.evidence]
    own = facts.own.path.rstrip("/")
    return any(place == own or place.startswith(f"{own}/") for place in places)


def judge_start(request: RepairRequest) -> list[Refusal]:
    """What would keep Kafka's newest release from a safe start on the directory as it is now, by the rules of `verify --start-safe`."""
    facts = read_repair_facts(request)
    if facts.log is None:
        return []
    verdict = start_of(_facts_of_the_node(facts), facts.own.node)
    if verdict.is_safe:
        return []
    return [Refusal("start", facts.own.path, str(verdict), (f"metashell verify --start-safe {facts.own.path} shows the files",))]


def _facts_of_the_node(facts: RepairFacts) -> Facts:
    """The facts as a server of this node sees them: of its own directories alone."""
    node = facts.own.node
    directories = tuple(replace(one, node=node) for one in (facts.own, *facts.siblings))
    configurations = () if facts.configuration is None else (replace(facts.configuration, node=node),)
    return replace(facts.facts, directories=directories, configurations=configurations)


__all__ = ["RepairPlan", "RepairRequest", "judge_start", "plan_repair"]
