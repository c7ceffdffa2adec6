"""The sub-command `metashell storage repair`: shows a plan, carries it out, and takes it back."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any

from metashell.common import options as shared
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import counted, spaced_json, standard_output
from metashell.common.options import Argument, CommandSpec, Option, flag
from metashell.common.terminal import show_progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.disk.format import Given
    from metashell.disk.mend import JournalEntry, TakenBack
    from metashell.inspect.repair.plan import RepairPlan, RepairRequest


_VERBS = {
    "write": ("would write", "wrote"),
    "copy": ("would copy", "copied"),
    "cut": ("would cut", "cut"),
    "move": ("would move", "moved"),
}
REPAIR = CommandSpec(
    "repair",
    "repair the files of a stopped node's log directory in place, with a copy of each and a way back",
    """
        Repairs what the checks of `verify`, `health` and `storage info` find and what can be repaired in place: a torn tail of the metadata
        log, a lost or torn quorum-state or meta.properties, checkpoints that are torn or missing, directories of partitions without their
        topic id, wrong ids, leftovers. Each step is shown with its cause and with what makes it safe. Nothing is guessed: where facts are
        missing or several values would do, the file is left as it is, and the way out is shown. Facts come from the directory, from the
        other directories of the node (-c) and from those of other nodes (--from), which are only read. A directory whose node runs is
        refused. Every changed file is kept as NAME.damaged-N, which no server reads, and --undo takes the last repair back, unless a node
        has run on the directory since.
        """,
    (
        Option(
            names=("--from",),
            metavar="PATH",
            type="path",
            multiple=True,
            kind="file",
            help="a log directory of another node of the cluster, or a checkpoint, to read facts from",
        ),
        shared.CONFIG._replace(help="the node's server.properties: its node.id and its other log directories prove ids"),
        Option(
            names=("--epoch",),
            metavar="N",
            type="int",
            help="the highest epoch that any other voter knows, for a lost quorum-state where their directories are not at hand",
        ),
        flag("--dry-run", help="show the steps, but change nothing"),
        flag("--undo", help="take the last repair back"),
        shared.output("text", "json"),
    ),
    (Argument(name="directory", metavar="DIR", kind="file", help="the log directory"),),
    examples=(
        ("metashell storage repair /var/lib/kafka --dry-run", "what can be repaired, and why that is safe"),
        ("metashell storage repair /var/lib/kafka -c server.properties", "with the ids that the configuration proves"),
        ("metashell storage repair /var/lib/kafka --from node-2 --from node-3", "with the files of the other voters"),
        ("metashell storage repair /var/lib/kafka --undo", "as it was before"),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0  nothing is left to repair\n"
            "1  something is left as it is, or the repair failed and changed nothing\n"
            "2  the command line is wrong",
        ),
    ),
    files=(
        ("DIR/repair.json", "the journal of repairs, which --undo reads"),
        ("NAME.damaged-N", "a file as it was before a repair; remove it when it is no longer needed"),
    ),
)


def run_repair(tool: str, values: SimpleNamespace, given: Given) -> int:
    """Repair a directory, show what would be done, or take the last repair back; return the status."""
    if values.undo and (values.dry_run or values.config or values.epoch is not None or getattr(values, "from")):
        raise UsageError("--undo takes no other option but -o", "--undo")
    if values.undo:
        return _undo(values)
    return _show(tool, values, given) if values.dry_run else _repair(tool, values, given)


def _show(tool: str, values: SimpleNamespace, given: Given) -> int:
    from metashell.disk.file_system import is_locked
    from metashell.disk.mend import read_journal

    if is_locked(values.directory):
        raise MetashellError(f"{values.directory}: in use by a running process, which holds its .lock")
    if any(run.state != "done" for run in read_journal(values.directory)):
        complain(tool, f"{values.directory}: a repair was interrupted; it is taken back first, so the steps may be others then")
    plan = _plan(values, given)
    return _answer(values, _judged(values, given, plan) if not plan.steps else plan, None)


def _repair(tool: str, values: SimpleNamespace, given: Given) -> int:
    import os

    from metashell.disk.file_system import Disk
    from metashell.disk.mend import locked, take_back, write_changes

    if not os.path.isdir(values.directory):
        _plan(values, given)  # raises the error that names the directory
    disk = Disk()
    with locked(values.directory, disk):
        taken = take_back(values.directory, disk)
        if taken is not None:
            complain(tool, _taken_text(values.directory, taken))
        plan = _plan(values, given)
        with show_progress(f"changing {values.directory}"):
            entries = write_changes(values.directory, plan.changes, int(time() * 1000), disk) if plan.steps else ()
        plan = _judged(values, given, plan)
    return _answer(values, plan, entries)


def _plan(values: SimpleNamespace, given: Given) -> RepairPlan:
    from metashell.inspect.repair.plan import plan_repair

    with show_progress(f"reading {values.directory}"):
        return plan_repair(_request(values, given))


def _judged(values: SimpleNamespace, given: Given, plan: RepairPlan) -> RepairPlan:
    """The plan with what would still keep Kafka from a safe start on the directory as it is now."""
    from metashell.inspect.repair.plan import judge_start

    if plan.refusals:
        return plan
    with show_progress(f"checking {values.directory}"):
        return plan._replace(refusals=tuple(judge_start(_request(values, given))))


def _request(values: SimpleNamespace, given: Given) -> RepairRequest:
    from metashell.inspect.repair.plan import RepairRequest

    return RepairRequest(
        path=values.directory,
        sources=tuple(getattr(values, "from")),
        config=values.config,
        epoch=values.epoch,
        date=given.date,
        new_uuid=given.new_uuid,
    )


def _answer(values: SimpleNamespace, plan: RepairPlan, entries: tuple[JournalEntry, ...] | None) -> int:
    """Print the plan; `entries` are what was done, None for a dry run."""
    display = standard_output()
    if values.output == "json":
        display.out.write(display.colored_json(spaced_json(_value(plan, entries))) + "\n")
    else:
        for line in _lines(plan, entries):
            display.line(line)
    return STATUS_FAILED if plan.refusals else STATUS_OK


def _lines(plan: RepairPlan, entries: tuple[JournalEntry, ...] | None) -> Iterator[str]:
    for number, step in enumerate(plan.steps):
        verb = _VERBS[step.change.action][entries is not None]
        more = f" to {step.change.size} bytes" if step.change.action == "cut" else ""
        more += f" from {step.change.source}" if step.change.action == "copy" else ""
        yield f"{verb} {step.change.file}{more}"
        yield f"    cause: {step.cause}"
        yield f"    safe, because: {step.reason}"
        if entries is not None and entries[number].kept_as:
            yield f"    kept as: {entries[number].kept_as}"
    for refusal in plan.refusals:
        yield f"left as it is: {refusal.place} ({refusal.check})"
        yield f"    cause: {refusal.cause}"
        for way in refusal.ways:
            yield f"    next: {way}"
    yield _summary(plan, entries)


def _summary(plan: RepairPlan, entries: tuple[JournalEntry, ...] | None) -> str:
    left = f"; {counted(len(plan.refusals), 'thing is', 'things are')} left as it is" if plan.refusals else ""
    if not plan.steps:
        return f"{plan.path}: nothing {'can be' if plan.refusals else 'to'} repair{'ed' if plan.refusals else ''}{left}"
    if entries is None:
        return f"{plan.path}: {counted(len(plan.steps), 'file')} would be changed{left}"
    return f"{plan.path}: {counted(len(plan.steps), 'file')} changed{left}; metashell storage repair {plan.path} --undo takes it back"


def _value(plan: RepairPlan, entries: tuple[JournalEntry, ...] | None) -> dict[str, Any]:
    return {
        "type": "storage_repair",
        "path": plan.path,
        "dry_run": entries is None,
        "steps": [
            {
                "check": step.check,
                "action": step.change.action,
                "file": step.change.file,
                "size": step.change.size if step.change.action == "cut" else None,
                "source": step.change.source or None,
                "cause": step.cause,
                "reason": step.reason,
                "kept_as": (entries[number].kept_as or None) if entries is not None else None,
            }
            for number, step in enumerate(plan.steps)
        ],
        "left": [{"check": one.check, "place": one.place, "cause": one.cause, "next": list(one.ways)} for one in plan.refusals],
    }


def _undo(values: SimpleNamespace) -> int:
    import os

    from metashell.disk.file_system import Disk
    from metashell.disk.mend import locked, undo

    if not os.path.isdir(values.directory):
        raise MetashellError(f"{values.directory}: {'is not a directory' if os.path.lexists(values.directory) else 'does not exist'}")
    disk = Disk()
    with locked(values.directory, disk), show_progress(f"restoring {values.directory}"):
        taken = undo(values.directory, disk)
    display = standard_output()
    if values.output == "json":
        value = {"type": "storage_undo", "path": values.directory, "files": list(taken.files), "stays": taken.stays}
        display.out.write(display.colored_json(spaced_json(value)) + "\n")
    else:
        display.line(_taken_text(values.directory, taken))
    return STATUS_OK


def _taken_text(path: str, taken: TakenBack) -> str:
    if taken.stays:
        return f"{path}: a repair was interrupted, and a node has run on the directory since: what was repaired stays"
    return f"{path}: {counted(len(taken.files), 'file')} as before the repair: {', '.join(taken.files)}"
