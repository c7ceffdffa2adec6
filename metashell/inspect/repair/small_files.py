"""Steps for small files beside the metadata log over which a server exits, by the rules of `verify --start-safe`.

Each has its content from somewhere else, so that it can be made again or left out: the epoch cache from the batches, the topic id is a
constant, the log's own records stand for bootstrap.checkpoint once there are any, and files with names that no server gives are copies that
somebody made by hand.

Source: org.apache.kafka.storage.internals.log.LogLoader, LogFileUtils; BootstrapDirectory; PartitionMetadataFile; FileQuorumStateStore."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.common.errors import MetashellError
from metashell.common.values import METADATA_TOPIC_ID
from metashell.disk.mend import FileChange
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, LEADER_EPOCH_CHECKPOINT, METADATA_DIRECTORY, PARTITION_METADATA, QUORUM_STATE
from metashell.disk.opening import epochs_from
from metashell.disk.state_files import (
    EpochEntry,
    format_leader_epochs,
    format_quorum_state,
    format_topic_id,
    read_leader_epochs,
    read_quorum_state,
)
from metashell.inspect.repair.facts import Refusal, RepairFacts, Step
from metashell.inspect.verify.start import ServerExit
from metashell.inspect.verify.start.load import check_topic_id, is_sane_transaction_index, read_bootstrap, read_election, read_epochs

if TYPE_CHECKING:
    from collections.abc import Iterator


EPOCH_MAX: Final = (1 << 31) - 1
"""The last epoch that there can be; a server ends over it."""
_LOG_ENDINGS: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".cleaned", ".swap")
_CHECKPOINT_ENDINGS: Final = (".checkpoint", ".checkpoint.part", ".checkpoint.deleted")


def small_file_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    """The steps for the metadata log's small files; quorum-state only where its content is known."""
    if facts.log is None:
        return
    yield from _epoch_cache_items(facts)
    yield from _topic_id_items(facts)
    yield from _election_items(facts)
    yield from _name_items(facts)
    yield from _bootstrap_items(facts)


def _exit_of(path: str, read: Callable[[str], object]) -> str:
    """The reason why Kafka exits over a file; empty if it does not."""
    try:
        read(path)
    except ServerExit as error:
        return error.reason
    return ""


def _epoch_cache_items(facts: RepairFacts) -> Iterator[Step]:
    """The epochs of a log are those of its batches; one that is in no batch would be believed, and win elections."""
    log, path = facts.log, os.path.join(facts.folder, LEADER_EPOCH_CHECKPOINT)
    if log is None or log.plan is None or log.plan.run is None or log.plan.loss is not None or not os.path.isfile(path):
        return
    run, plan = log.plan.run, log.plan
    cause = _exit_of(path, read_epochs)
    if not cause:
        known = {epoch for epoch, _ in run.epochs} | {id.epoch for id in plan.sound}
        odd = [entry.epoch for entry in _entries(path) if entry.epoch not in known]
        cause = f"has epoch {odd[0]}, which no batch has" if odd else ""
    if cause:
        data = format_leader_epochs(epochs_from(run, plan.start))
        change = FileChange("write", f"{METADATA_DIRECTORY}/{LEADER_EPOCH_CHECKPOINT}", data=data)
        yield Step(
            "epoch_cache", change, f"{LEADER_EPOCH_CHECKPOINT}: {cause}", "it repeats the epochs of the log's batches, which are whole"
        )


def _entries(path: str) -> tuple[EpochEntry, ...]:
    try:
        return read_leader_epochs(path)
    except MetashellError:
        return ()  # a version alone, which Kafka accepts


def _topic_id_items(facts: RepairFacts) -> Iterator[Step]:
    path = os.path.join(facts.folder, PARTITION_METADATA)
    cause = _exit_of(path, check_topic_id)
    if cause:
        change = FileChange("write", f"{METADATA_DIRECTORY}/{PARTITION_METADATA}", data=format_topic_id(METADATA_TOPIC_ID))
        yield Step("metadata_topic_id", change, f"{PARTITION_METADATA}: {cause}", "the metadata log has the same topic id in every cluster")


def _election_items(facts: RepairFacts) -> Iterator[Step]:
    """A quorum-state that we can read and Kafka cannot: the same epoch, leader and vote, in Kafka's form."""
    path = os.path.join(facts.folder, QUORUM_STATE)
    cause = _exit_of(path, read_election)
    if not cause:
        return
    try:
        state = read_quorum_state(path)
    except (MetashellError, OSError):
        return  # `election` rebuilds it, or says why not
    own = facts.own_log
    ids = state.leader_id, state.voted_id
    is_sound = own is not None and own.last_epoch <= state.leader_epoch < EPOCH_MAX and min(ids) >= -1 and max(ids) <= EPOCH_MAX
    if is_sound:
        change = FileChange("write", f"{METADATA_DIRECTORY}/{QUORUM_STATE}", data=format_quorum_state(state))
        yield Step("quorum_state_form", change, f"{QUORUM_STATE}: {cause}", "the epoch, the leader and the vote are read from it and stay")


def _name_items(facts: RepairFacts) -> Iterator[Step]:
    for name in sorted(os.listdir(facts.folder)):
        path = os.path.join(facts.folder, name)
        if not os.path.isfile(path):
            continue
        if _has_a_foreign_name(name):
            reason = "no server gives a file this name, and every server exits over it: it is a copy that somebody made"
            yield Step(
                "foreign_name", FileChange("move", f"{METADATA_DIRECTORY}/{name}"), f"{name}: is no name of a file of the log", reason
            )
        elif name.endswith(".txnindex") and (cause := _exit_of(path, is_sane_transaction_index)):
            reason = "a metadata log has no transactions of producers, and Kafka makes an empty file"
            yield Step("transaction_index", FileChange("move", f"{METADATA_DIRECTORY}/{name}"), f"{name}: {cause}", reason)


def _has_a_foreign_name(name: str) -> bool:
    """Whether a server reads the name as that of a file of the log and fails: its first part must be a number, of a checkpoint two."""
    stem = name.partition(".")[0]
    if name.endswith(_CHECKPOINT_ENDINGS):
        return name != BOOTSTRAP_CHECKPOINT and not stem[:20].isdigit()
    return name.endswith(_LOG_ENDINGS) and not (stem.isdigit() and int(stem) < 1 << 63)


def _bootstrap_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    """bootstrap.checkpoint is read at each start, but its records count only while the log is empty."""
    path = os.path.join(facts.own.path, BOOTSTRAP_CHECKPOINT)
    cause = _exit_of(path, read_bootstrap)
    if not cause:
        return
    own = facts.own_log
    image = None if own is None else own.image
    if image is not None and image.features.metadata_version is not None and not image.is_as_formatted:
        reason = f"the log has its own records, metadata.version {image.features.metadata_version} among them"
        yield Step("bootstrap_checkpoint", FileChange("move", BOOTSTRAP_CHECKPOINT), f"{BOOTSTRAP_CHECKPOINT}: {cause}", reason)
        return
    for other in facts.related():
        source = os.path.join(other.path, BOOTSTRAP_CHECKPOINT)
        if os.path.isfile(source) and not _exit_of(source, read_bootstrap):
            reason = f"all nodes of a cluster are formatted with the same records; that of {other.path} is whole"
            yield Step(
                "bootstrap_checkpoint", FileChange("copy", BOOTSTRAP_CHECKPOINT, source=source), f"{BOOTSTRAP_CHECKPOINT}: {cause}", reason
            )
            return
    ways = ("name the directory of another node of the cluster with --from", "or format the directory again: its log is empty")
    yield Refusal("bootstrap_checkpoint", path, cause, ways)
