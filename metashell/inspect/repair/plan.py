"""Plans the repair of a log directory in place: its steps, each with cause and proof, and what cannot be repaired, with the ways out.

A step never guesses: each value follows from facts, and where it does not, the file is left and the facts that are missing are named. The
rules and their reasons stand with the steps: `log`, `election`, `identity`, `topics`, `small_files`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.disk.mend import NEW_SUFFIX, FileChange
from metashell.disk.names import METADATA_DIRECTORY, parse_name
from metashell.inspect.repair.election import quorum_state_items
from metashell.inspect.repair.facts import Refusal, RepairFacts, RepairRequest, Step, read_repair_facts
from metashell.inspect.repair.identity import identity_step
from metashell.inspect.repair.log import checkpoint_items, tail_items
from metashell.inspect.repair.log_state import judge_log
from metashell.inspect.repair.small_files import small_file_items
from metashell.inspect.repair.topics import topic_items
from metashell.inspect.verify.output import start_of
from metashell.metadata.checks import judge_disks
from metashell.metadata.checks.model import BAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.metadata.checks.facts import Facts
    from metashell.metadata.checks.model import Found


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
