"""The commands `metashell reassign apply` and `status`, which carry out a plan and show its progress."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from metashell.cli.cluster.reassign_state import compare_with_cluster
from metashell.common.errors import MetashellError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.cli.admin.reassign import Place, Throttle
    from metashell.cli.cluster.noun_tool import Work
    from metashell.rehearse.placement import Plan
    from metashell.rehearse.placement.plan_file import MoveProgress

SHOWN: Final = 20
GRACE_S: Final = 5.0
"""The longest time that a requested move may be missing from what is read, which lags behind the controller."""
STATUS_COLUMNS = ("topic", "partition", "stage", "replicas", "target", "adding", "waits_for", "why")
MOVING_COLUMNS = ("topic", "partition", "target", "replicas", "adding", "removing", "waits_for")


def apply_plan(work: Work) -> None:
    """Start the moves of a plan that are not under way yet. Errors: UsageError; MetashellError."""
    from metashell.cli.cluster.reassign_state import how_to_clear, read_plan_file, set_throttle
    from metashell.common.forms import counted
    from metashell.rehearse.placement.plan_file import Stage

    values = work.values
    for option, number in (("--batch", values.batch), ("--throttle", values.throttle)):
        if number == 0:
            raise UsageError(f"option {option}: 0 would never end", option)
    plan = read_plan_file(values.plan)
    if plan.directories:
        work.note(f"brokers choose directories themselves: the log_dirs of {counted(plan.directories, 'replica')} are ignored")
    standings = compare_with_cluster(work, plan)
    _check_brokers(work, standings)
    if not _is_as_assumed(work, standings):
        return
    waiting = [one for one in standings if one.stage is Stage.WAITING]
    moving = [one for one in standings if one.stage is Stage.MOVING]
    if work.is_dry:
        _rehearse(work, waiting)
        return
    if not waiting and not moving:
        work.tell(f"nothing to do: {_of(plan, standings)}", type="reassignment_plan", result="done", partitions=len(standings))
        if values.throttle is not None:
            work.note(f"a throttle that an earlier `apply` has set stays until {how_to_clear(work)}")
        return
    _confirm(work, waiting)
    throttle = set_throttle(work, plan, [*waiting, *moving])
    _Run(work, plan, waiting, moving, throttle).run()


def _of(plan: Plan, standings: Iterable[MoveProgress]) -> str:
    from metashell.rehearse.placement.plan_file import Stage, count_stages

    done = count_stages(standings)[Stage.DONE]
    total = len(plan.assignments)
    return f"all {total} partitions are where they should be" if done == total else f"{done} of {total} partitions are where they should be"


def _check_brokers(work: Work, standings: Sequence[MoveProgress]) -> None:
    """Raise MetashellError if a move names a broker that is not registered, or one on which it would never end."""
    from metashell.cli.cluster.reassign_state import read_brokers_and_disks
    from metashell.rehearse.placement.plan_file import Stage

    targets = {id for one in standings if one.stage is Stage.WAITING for id in one.adding}
    known = {one.id: one for one in read_brokers_and_disks(work, targets)}
    for standing in standings:
        if standing.stage is not Stage.WAITING or standing.now is None:
            continue
        for id in standing.wanted.replicas:
            why = ""
            if id not in known:
                why = f"broker {id} is not registered (the cluster has {', '.join(map(str, known))})"
            elif id not in standing.now.replicas and known[id].trouble:
                why = f"broker {id} {known[id].trouble}, and a move to it would not end"
            if why:
                raise MetashellError(f"{standing.wanted.place}: {why}; nothing was begun")


def _is_as_assumed(work: Work, standings: Sequence[MoveProgress]) -> bool:
    """Report the partitions that have changed since the plan was made; return whether to go on."""
    from metashell.common.forms import counted
    from metashell.rehearse.placement.plan_file import Stage

    changed = [one for one in standings if one.stage is Stage.CHANGED]
    for one in changed[:SHOWN]:
        work.failed(MetashellError(f"{one.wanted.place}: {one.why}"), **_fields(one), why=one.why)
    if len(changed) > SHOWN:
        work.fail(f"and {len(changed) - SHOWN} more")
    if changed and not work.values.skip_changed:
        what = f"{counted(len(changed), 'partition')} of {len(standings)} not as the plan assumed"
        work.fail(f"nothing was begun: {what}; make a new plan, or do the others with --skip-changed")
        return False
    return True


def _fields(one: MoveProgress) -> dict[str, object]:
    return {
        "type": "reassignment",
        "topic": one.wanted.topic,
        "partition": one.wanted.partition,
        "replicas": None if one.now is None else list(one.now.replicas),
        "target": list(one.wanted.replicas),
    }


def _rehearse(work: Work, waiting: Sequence[MoveProgress]) -> None:
    """Rehearse the moves on a copy of the metadata, and report their results."""
    from metashell.cli.admin.protocol import AdminError
    from metashell.cli.cluster.cluster_view import rehearse_steps
    from metashell.rehearse.steps import Move, Reassign

    if not waiting:
        work.note("no partition would begin to move")
        return
    moves = tuple(Move(one.wanted.topic, one.wanted.partition, one.wanted.replicas) for one in waiting)
    outcome = rehearse_steps(work, [Reassign(moves=moves, throttle_bytes=work.values.throttle)])
    refused = {refusal.thing: refusal for refusal in outcome.steps[0].refusals}
    for one in waiting:
        refusal = refused.get(f"{one.wanted.topic}-{one.wanted.partition}")
        if refusal is not None:
            work.failed(AdminError(refusal.code, refusal.message, one.wanted.place), **_fields(one))
        else:
            work.tell(f"{one.wanted.place}: {_ways(one)}: would be moved", **_fields(one), result="would be moved")


def _confirm(work: Work, waiting: Sequence[MoveProgress]) -> None:
    from metashell.common.forms import counted

    fewer = [one for one in waiting if one.now is not None and len(one.wanted.replicas) < len(one.now.goal)]
    places = ", ".join(one.wanted.place for one in fewer[:SHOWN]) + (" ..." if len(fewer) > SHOWN else "")
    warnings = [f"these get fewer replicas than they have: {places}"] if fewer else []
    copied = sum(len(one.adding) for one in waiting)
    if copied and work.values.throttle is None:
        work.note(f"{counted(copied, 'replica')} will be copied as fast as brokers can: --throttle sets a limit")
    work.confirm(*warnings, question=f"Begin to move {counted(len(waiting), 'partition')}?")


class _Run:
    """A run of a plan's moves: it starts them, waits for their end, and if it is stopped reports where it is."""

    def __init__(
        self, work: Work, plan: Plan, waiting: Sequence[MoveProgress], moving: Sequence[MoveProgress], throttle: Throttle | None
    ) -> None:
        self._work = work
        self._plan = plan
        self._waiting = list(waiting)
        self._moving = {_key(one): one for one in moving}
        self._throttle = throttle
        self._asking: list[MoveProgress] = []
        self._done = 0
        self._unseen: dict[Place, float] = {}
        # One deadline for all batches.
        self._ends_at = None if work.values.wait is None else time.monotonic() + int(work.values.wait)

    def run(self) -> None:
        """Run the moves. Errors: MetashellError, after a report of what was done until then."""
        try:
            self._run()
        except (KeyboardInterrupt, MetashellError):
            self._tell_stopped()
            raise

    def _run(self) -> None:
        from metashell.cli.admin.reassign import CHUNK

        values = self._work.values
        while self._waiting:
            self._work.renew_time()
            if values.batch is not None:
                self._wait(values.batch - 1)
            room = CHUNK if values.batch is None else min(CHUNK, values.batch - len(self._moving))
            chunk, self._waiting = self._waiting[:room], self._waiting[room:]
            self._begin(self._still_waiting(chunk))
        if values.wait is not None or values.batch is not None:
            self._wait(0)
            self._end()
        elif self._throttle is not None:
            from metashell.cli.cluster.reassign_state import how_to_clear

            self._work.note(f"the throttle stays until {how_to_clear(self._work)}")

    def _still_waiting(self, chunk: Sequence[MoveProgress]) -> list[MoveProgress]:
        """Return the moves of a chunk that are still to be started: a new move would silently replace one that began meanwhile."""
        from metashell.rehearse.placement.plan_file import Stage

        found = []
        for one in compare_with_cluster(self._work, self._plan, chunk):
            if one.stage is Stage.WAITING:
                found.append(one)
            elif one.stage is Stage.MOVING:
                self._moving[_key(one)] = one
            elif one.stage is Stage.CHANGED:
                self._work.failed(MetashellError(f"{one.wanted.place}: {one.why}"), **_fields(one), why=one.why)
            else:
                self._done += 1
        return found

    def _begin(self, chunk: list[MoveProgress]) -> None:
        from metashell.cli.admin.reassign import alter_reassignments

        if not chunk:
            return
        self._asking = chunk
        errors = alter_reassignments(self._work.admin, {_key(one): one.wanted.replicas for one in chunk})
        self._asking = []
        for one in chunk:
            error = errors.get(_key(one))
            if error is not None:
                self._work.failed(error, **_fields(one))
                continue
            self._moving[_key(one)] = one
            self._work.tell(f"{one.wanted.place}: {_ways(one)}", **_fields(one), result="begun")

    def _wait(self, left: int) -> None:
        """Wait until at most `left` moves are under way. Errors: MetashellError after --wait."""
        from metashell.cli.cluster.noun_tool import POLL_MAX_S

        while True:
            self._work.renew_time()
            self._count()
            if len(self._moving) <= left:
                return
            if self._ends_at is not None and time.monotonic() > self._ends_at:
                raise MetashellError(f"not within {self._work.values.wait} s: {len(self._moving)} partitions are still being moved")
            self._work.progress(f"{self._done} moved, {len(self._moving)} being moved, {len(self._waiting)} to come")
            time.sleep(min(POLL_MAX_S, 0.1 + len(self._moving) / 1000))

    def _count(self) -> None:
        """Drop the moves that have ended from those under way; count those that are done, and report the others."""
        from metashell.rehearse.placement.plan_file import Stage

        for one in compare_with_cluster(self._work, self._plan, list(self._moving.values())) if self._moving else ():
            key = _key(one)
            if one.stage is Stage.MOVING:
                self._unseen.pop(key, None)
            elif one.stage is Stage.DONE:
                self._done += 1
                del self._moving[key]
            elif time.monotonic() - self._unseen.setdefault(key, time.monotonic()) > GRACE_S:
                why = one.why or "its move was cancelled"
                self._work.failed(MetashellError(f"{one.wanted.place}: {why}"), **_fields(one), why=why)
                del self._moving[key]

    def _end(self) -> None:
        from metashell.cli.cluster.reassign_state import clear_throttle
        from metashell.common.forms import counted

        if self._throttle is not None:
            clear_throttle(self._work, self._plan, self._throttle)
        if self._done:
            self._work.tell(f"{counted(self._done, 'partition')} moved", type="reassignment_plan", result="done", partitions=self._done)

    def _tell_stopped(self) -> None:
        """Report what was done and what was not, and the command that goes on."""
        from shlex import quote

        from metashell.cli.cluster.reassign_state import how_to_clear

        total = len(self._plan.assignments)
        parts = [f"{len(self._moving)} of {total} partitions are being moved, which goes on in the cluster"] if self._moving else []
        if self._done:
            parts.append(f"{self._done} are moved")
        if self._asking:
            parts.append(f"{len(self._asking)} may have been begun")
        parts.append(f"{len(self._waiting)} were not begun")
        if self._throttle is not None:
            parts.append(f"the throttle stays until {how_to_clear(self._work)}")
        self._work.note(f"stopped: {'; '.join(parts)}. `metashell reassign apply {quote(self._work.values.plan)}` goes on")


def _key(one: MoveProgress) -> Place:
    return one.wanted.topic, one.wanted.partition


def _ways(one: MoveProgress) -> str:
    before = () if one.now is None else one.now.goal
    return f"{_ids(before)} -> {_ids(one.wanted.replicas)}"


def _ids(replicas: Iterable[int]) -> str:
    return ",".join(map(str, replicas))


# ---- status


def show_status(work: Work) -> None:
    """Show the moves under way, or the progress of a plan, or clear its throttle. Errors: UsageError; MetashellError."""
    from metashell.cli.cluster.reassign_state import STDIN, read_plan_file

    path, is_cleared = work.values.plan, work.values.clear_throttle
    if work.values.throttle is not None and not is_cleared:
        raise UsageError("--throttle goes with --clear-throttle", "--throttle")
    if path is None:
        if is_cleared:
            _clear_without_plan(work)
            return
        work.watch(work.values.watch, partial(_show_moves, work))
        return
    if path == STDIN and work.values.watch is not None:
        raise UsageError("--watch needs a plan in a file", "--watch")
    plan = read_plan_file(path)
    if is_cleared:
        _clear_when_done(work, plan)
        return
    work.watch(work.values.watch, partial(_show_plan, work, plan))


def _clear_without_plan(work: Work) -> None:
    from metashell.cli.cluster.reassign_state import clear_all_throttles

    if work.values.throttle is not None or work.values.watch is not None:
        option = "--watch" if work.values.throttle is None else "--throttle"
        raise UsageError(f"{option} needs a plan beside --clear-throttle", option)
    clear_all_throttles(work)


def _show_moves(work: Work) -> bool:
    from metashell.cli.cluster.reassign_state import left_throttle_lines, read_moves, read_waits

    moves = read_moves(work)
    waits = read_waits(work, {place: one.adding for place, one in moves.items()})
    rows = [
        {
            "type": "reassignment",
            "topic": one.topic,
            "partition": one.partition,
            "target": [id for id in one.replicas if id not in one.removing],
            "replicas": list(one.replicas),
            "adding": list(one.adding),
            "removing": list(one.removing),
            "waits_for": waits[place],
        }
        for place, one in sorted(moves.items())
    ]
    work.rows(rows, MOVING_COLUMNS, none="no move is under way")
    for line in left_throttle_lines(work) if not rows else ():
        work.note(line)
    return True


def _show_plan(work: Work, plan: Plan) -> bool:
    """Show the progress of a plan; return whether it is not done yet."""
    from metashell.cli.cluster.reassign_state import read_waits
    from metashell.rehearse.placement.plan_file import Stage, count_stages

    standings = compare_with_cluster(work, plan)
    counts = count_stages(standings)
    is_done = counts[Stage.DONE] == len(standings)
    if not is_done:
        work.fail()
    total = {"type": "reassignment_plan", **{stage.value: count for stage, count in counts.items()}}
    waits = read_waits(work, {_key(one): one.adding for one in standings if one.stage is Stage.MOVING})
    rows = [
        {
            **_fields(one),
            "stage": one.stage.value,
            "adding": list(one.adding),
            "waits_for": waits.get(_key(one), []),
            "why": one.why or None,
        }
        for one in standings
        if one.stage is not Stage.DONE
    ]
    if work.form == "text":
        words = ", ".join(f"{count} {stage.value}" for stage, count in counts.items() if count)
        work.display.line(f"{len(standings)} partitions: {words}")
        if rows:
            work.rows(rows, STATUS_COLUMNS)
    elif work.form in ("table", "csv"):
        work.rows(rows, STATUS_COLUMNS, none=_of(plan, standings))
    else:
        work.rows([total, *rows])
    return not is_done


def _clear_when_done(work: Work, plan: Plan) -> None:
    from metashell.cli.cluster.reassign_state import clear_throttle
    from metashell.rehearse.placement.plan_file import Stage

    standings = compare_with_cluster(work, plan)
    moving = [one for one in standings if one.stage is Stage.MOVING]
    if moving:
        work.fail(f"the throttle stays: {len(moving)} of {len(standings)} partitions are being moved")
        return
    found = clear_throttle(work, plan)
    if found.errors:
        return
    if found.notes:
        work.tell("the rest of the throttle is removed", type="throttle", result="removed in part", kept=list(found.kept))
    else:
        work.tell("the throttle is removed", type="throttle", result="removed")
