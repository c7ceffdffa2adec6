"""metashell reassign cancel: moves of a plan, single ones, or all of them are stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.reassign_view import look, read_plan_file
from metashell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metashell.admin.reassign import Place
    from metashell.cli.administering import Work
    from metashell.placement import Plan


def cancel(work: Work) -> None:
    """Stop moves."""
    from metashell.admin.reassign import CHUNK, alter_reassignments
    from metashell.cli.reassign_throttle import clear_throttle, how_to_clear
    from metashell.forms import counted

    words = list(work.values.plan)
    places = _places(words)
    if bool(words) == work.values.all:
        raise UsageError("--all goes with nothing else" if words else "name a plan or partitions (orders:0), or give --all")
    if work.values.throttle is not None and (places or work.values.all):
        raise UsageError("--throttle needs a plan", "--throttle")
    work.values.plan = None if places or work.values.all else words[0]
    plan, moves = _moves_of(work, places)
    if not moves:
        if not places:
            work.note("no move is under way" if plan is None else "no move of the plan is under way")
        if work.values.throttle is not None:
            work.note(f"what is set of its throttle stays until {how_to_clear(work)}")
        return
    warnings = ["moves that others began are stopped too"] if work.values.all else []
    work.confirm(*warnings, question=f"Cancel {counted(len(moves), 'move')}?")
    for chunk in _chunks(moves, CHUNK):
        errors = {} if work.is_dry else alter_reassignments(work.admin, dict.fromkeys(chunk))
        for topic, partition in chunk:
            fields: dict[str, object] = {"type": "reassignment", "topic": topic, "partition": partition}
            error = errors.get((topic, partition))
            if error is not None:
                work.failed(error, **fields)
            else:
                result = "would be cancelled" if work.is_dry else "cancelled"
                work.tell(f"{topic}:{partition}: {result}", **fields, result=result)
    if plan is not None and not work.is_dry:
        clear_throttle(work, plan)
    elif not work.is_dry:
        _tell_throttled(work, moves)


def _places(words: Sequence[str]) -> list[Place]:
    """The partitions that are named one by one, none where a plan is. Errors: UsageError."""
    import os

    from metashell.cli.admin_elect import parse_partitions

    if len(words) == 1 and (":" not in words[0] or os.path.exists(words[0])):
        return []
    named: Mapping[str, set[int] | None] = parse_partitions(words)
    for topic, ids in named.items():
        if ids is None:
            raise UsageError(f"{topic!r} is no partition, and a plan stands alone: write {topic}:0 or {topic}:0,3", topic)
    return sorted((topic, id) for topic, ids in named.items() for id in ids or ())


def _moves_of(work: Work, places: Sequence[Place]) -> tuple[Plan | None, list[Place]]:
    """The moves that are to be cancelled: those that are named, those of the plan whose goal is the plan's, or all."""
    from metashell.admin.errors import AdminError
    from metashell.admin.reassign import list_reassignments
    from metashell.codec.error_codes import NO_REASSIGNMENT_IN_PROGRESS
    from metashell.placement.progress import Stage

    if work.values.plan is None:
        moves = list_reassignments(work.admin, places or None)
        for topic, partition in places:
            if (topic, partition) not in moves:
                error = AdminError(NO_REASSIGNMENT_IN_PROGRESS, None, f"{topic}:{partition}")
                work.failed(error, type="reassignment", topic=topic, partition=partition)
        return None, sorted(moves)
    plan = read_plan_file(work.values.plan)
    standings = look(work, plan)
    for one in standings:
        if one.stage is Stage.CHANGED:
            work.fail(f"{one.wanted.place}: {one.why}")
    return plan, [(one.wanted.topic, one.wanted.partition) for one in standings if one.stage is Stage.MOVING]


def _tell_throttled(work: Work, moves: Sequence[Place]) -> None:
    """Say which of the partitions are still in lists of throttled replicas."""
    from metashell.admin.configs import Resource
    from metashell.admin.throttle import FOLLOWERS, LEADERS
    from metashell.cli.reassign_view import settings
    from metashell.codec.config_types import TOPIC_RESOURCE
    from metashell.errors import MetashellError

    throttled = []
    for resource, values in settings(work, [Resource(TOPIC_RESOURCE, topic) for topic in sorted({topic for topic, _ in moves})]).items():
        if isinstance(values, MetashellError):
            work.note(f"whether {resource} is throttled is not known: {values}")
            continue
        listed = ",".join(values.get(key, "") for key in (LEADERS, FOLLOWERS)).split(",")
        named = {word.partition(":")[0] for word in listed}
        throttled += [f"{topic}:{id}" for topic, id in moves if topic == resource.name and str(id) in named]
    if throttled:
        work.note(f"throttled replicas stay, of {', '.join(throttled)}: `metashell reassign status --clear-throttle` once nothing moves")


def _chunks(places: Sequence[Place], count: int) -> Iterator[Sequence[Place]]:
    for start in range(0, len(places), count):
        yield places[start : start + count]
