"""The commands of `metashell reassign` that plan the placement of replicas and cancel moves. `reassign_apply` carries out plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.cluster.reassign_apply import apply_plan, show_status
from metashell.cli.cluster.reassign_state import compare_with_cluster, read_plan_file
from metashell.cli.connection import DRY_RUN, WAIT, WATCH, YES, command, noun
from metashell.common.errors import UsageError
from metashell.common.options import Option, file_option, flag, path_argument

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from metashell.cli.admin.reassign import Place
    from metashell.rehearse.placement import Assignment, Cluster, Goals, Measures, Plan, Situation
    from metashell.rehearse.placement.working_plan import Load


EVEN = ("topics", "replicas", "leaders")
_THROTTLE = Option(
    names=("--throttle",), metavar="BYTES", type="size", help="let no broker send or receive more than this a second for the moves: 50M"
)
_CLEARED = _THROTTLE._replace(help="the rate that apply was given: only this rate is removed from brokers; without it all rates stay")
_PLAN = path_argument("plan", "PLAN", "1", "a plan: from `reassign plan`, or from kafka-reassign-partitions; - is standard input")

PLAN = command(
    "plan",
    "compute which brokers should have which replicas",
    """
        Computes a plan from a live cluster or, with --snapshot, from the metadata on disk. No replica stays on brokers that are left,
        each partition gets as many racks as it can, each topic's replicas and leaders become even over the brokers, and so do all
        together; as little as possible moves for it. Leaders become even by the order of replicas alone.

        It shows how the cluster is before and after, and what has to be copied. --out writes the plan, in the JSON that
        kafka-reassign-partitions takes too. Nothing is changed.
        """,
    options=(
        Option(names=("--off",), metavar="IDS", help="move everything off these brokers: 3,4"),
        Option(names=("--brokers",), metavar="IDS", help="only these brokers take replicas, all others are left; by default all do"),
        Option(names=("--topic", "-t"), metavar="TOPIC", multiple=True, help="change only this topic; by default all"),
        Option(
            names=("--even",),
            metavar="WHAT",
            default=",".join(EVEN),
            help=f"what to even out, of {','.join(EVEN)}; none: move only what has to",
        ),
        flag("--ignore-racks", help="do not look at racks"),
        file_option("--sizes", help="output of kafka-log-dirs --describe: small partitions move first, and sizes are shown"),
        _THROTTLE._replace(help="with --sizes, say how long the copies take at so many bytes a second for each broker"),
        file_option("--out", help="write the plan to this file; - is standard output, in place of the figures"),
        file_option("--snapshot", "-s", metavar="PATH", help="a checkpoint, segment or metadata directory, in place of a live cluster"),
    ),
    examples=(
        ("metashell reassign plan --off 3 --out plan.json -b localhost:9092", "empty broker 3"),
        ("metashell reassign plan -s /var/lib/kafka --sizes sizes.json --throttle 50M", "what would evening out cost?"),
        ("metashell reassign plan --even none --off 3 --topic orders --out - -C localhost:9093", "one topic, and only what has to move"),
    ),
)
APPLY = command(
    "apply",
    "carry a plan out, or go on with it",
    """
        Begins the moves of a plan. Before anything is begun, every partition is compared with what the plan assumed; what is done
        or under way already is left alone, so that `apply` again goes on after it was stopped. If a partition was changed since,
        nothing is done without --skip-changed. Moves go on in the cluster when this command ends.

        With --batch only so many partitions move at a time. --throttle limits the copies: rates on the brokers that take part, and the
        replicas that move in lists of their topics. It is removed at the end with --wait or --batch, else by
        `status --clear-throttle --throttle RATE`. Brokers that are down, and that nothing is copied to, get no rate.
        With --dry-run the plan is rehearsed on a copy of the cluster's metadata.
        """,
    options=(
        _THROTTLE,
        Option(names=("--batch",), metavar="N", type="int", help="move so many partitions at a time, and wait for them"),
        flag("--force", help="also where the disks of the brokers that get replicas cannot be seen"),
        flag("--skip-changed", help="leave out what is not as the plan assumed, and do the rest; the status is 1"),
        WAIT,
        DRY_RUN,
        YES,
    ),
    arguments=(_PLAN,),
    examples=(
        ("metashell reassign apply plan.json --throttle 50M --batch 20 --wait 3600 -b localhost:9092", "20 partitions at a time"),
        ("metashell reassign apply plan.json --dry-run -C localhost:9093", "what would happen"),
    ),
)
STATUS = command(
    "status",
    "show moves that are under way, or how far a plan is",
    """
        With a plan: each partition that is not where it should be, and why; the status is 0 when all are. Without: all moves under
        way in the cluster. Each move has what it waits for: brokers that are gone or fenced, log directories that failed, throttles, or the
        records that are left to copy (which brokers alone know, -b).

        --clear-throttle removes the throttled replicas of the plan, and with --throttle RATE this rate from the plan's brokers. Any other
        rate is somebody else's: it stays, and the brokers are named. So do all rates without --throttle, and what moves under way need.
        Without a plan it removes every throttle of replication from all brokers and topics, and says what it was, if nothing is being
        moved: where a tool died before it removed its own, `status` names them. If a broker's settings cannot be read or changed, the
        status is 1, and the same command again goes on.
        """,
    options=(
        WATCH,
        flag(
            "--clear-throttle",
            help="remove the plan's throttled replicas, and --throttle's rate, if none of it is being moved; without plan all",
        ),
        _CLEARED,
    ),
    arguments=(_PLAN._replace(nargs="?"),),
    examples=(
        ("metashell reassign status plan.json --watch -b localhost:9092", "look until it is done"),
        ("metashell reassign status plan.json --clear-throttle --throttle 50M -b localhost:9092", "remove what apply has set"),
        ("metashell reassign status --clear-throttle -b localhost:9092", "remove what a tool has left behind"),
        ("metashell reassign status -C localhost:9093 -o jsonl", "every move under way"),
        ("metashell reassign status /var/lib/kafka", "the moves that a disk has, and what they wait for"),
    ),
    reads=True,
)
CANCEL = command(
    "cancel",
    "stop moves that are under way, and go back",
    """
        Cancels the moves of a plan, single ones (orders:0), or with --all every move: the replicas that were being added are dropped, the
        old ones stay. What is done already stays done. Moves of the plan's partitions to other brokers than the plan's are left alone. The
        plan's throttled replicas are removed too, and with --throttle RATE this rate from its brokers; without it rates stay, and the
        brokers are named.
        """,
    options=(flag("--all", help="every move under way in the cluster"), _CLEARED, DRY_RUN, YES),
    arguments=(_PLAN._replace(nargs="*", metavar="PLAN|TOPIC:IDS", help=f"{_PLAN.help}; or partitions: orders:0 or orders:0,3"),),
    examples=(
        ("metashell reassign cancel orders:0 orders:3 -b localhost:9092", "stop the moves of two partitions"),
        ("metashell reassign cancel plan.json --throttle 50M -b localhost:9092", "stop a plan, and remove its throttle"),
        ("metashell reassign cancel --all --yes -b localhost:9092", "stop everything"),
    ),
)
_COMMANDS = (PLAN, APPLY, STATUS, CANCEL)

REASSIGN = noun(
    "reassign",
    "move replicas between brokers: plan, apply, status, cancel",
    """
        Plans which brokers have which replicas, and carries plans out. Plans are the JSON of kafka-reassign-partitions, with two more
        keys that it passes over: where each partition was, and its topic's id.
        """,
    _COMMANDS,
)


def cancel_moves(work: Work) -> None:
    """Cancel the moves of a plan, of named partitions, or all. Errors: UsageError; MetashellError."""
    from metashell.cli.admin.reassign import CHUNK, alter_reassignments
    from metashell.cli.cluster.reassign_state import clear_throttle, how_to_clear
    from metashell.common.forms import counted

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
    """Return the partitions that the words name; empty if the only word is a plan. Errors: UsageError."""
    import os

    from metashell.cli.cluster.elect import parse_partitions

    if len(words) == 1 and (":" not in words[0] or os.path.exists(words[0])):
        return []
    named: Mapping[str, set[int] | None] = parse_partitions(words)
    for topic, ids in named.items():
        if ids is None:
            raise UsageError(f"{topic!r} is no partition, and a plan stands alone: write {topic}:0 or {topic}:0,3", topic)
    return sorted((topic, id) for topic, ids in named.items() for id in ids or ())


def _moves_of(work: Work, places: Sequence[Place]) -> tuple[Plan | None, list[Place]]:
    """Return the plan, if one is named, and the moves to cancel: the named ones, those with the plan's goal, or all."""
    from metashell.cli.admin.protocol import AdminError
    from metashell.cli.admin.reassign import list_reassignments
    from metashell.codec.error_codes import NO_REASSIGNMENT_IN_PROGRESS
    from metashell.rehearse.placement.plan_file import Stage

    if work.values.plan is None:
        moves = list_reassignments(work.admin, places or None)
        for topic, partition in places:
            if (topic, partition) not in moves:
                error = AdminError(NO_REASSIGNMENT_IN_PROGRESS, None, f"{topic}:{partition}")
                work.failed(error, type="reassignment", topic=topic, partition=partition)
        return None, sorted(moves)
    plan = read_plan_file(work.values.plan)
    standings = compare_with_cluster(work, plan)
    for one in standings:
        if one.stage is Stage.CHANGED:
            work.fail(f"{one.wanted.place}: {one.why}")
    return plan, [(one.wanted.topic, one.wanted.partition) for one in standings if one.stage is Stage.MOVING]


def _tell_throttled(work: Work, moves: Sequence[Place]) -> None:
    """Note which of the partitions are still in lists of throttled replicas."""
    from metashell.cli.admin.configs import Resource
    from metashell.cli.admin.reassign import FOLLOWERS, LEADERS
    from metashell.cli.cluster.reassign_state import throttle_settings
    from metashell.codec.codes import TOPIC_RESOURCE
    from metashell.common.errors import MetashellError

    throttled = []
    for resource, values in throttle_settings(
        work, [Resource(TOPIC_RESOURCE, topic) for topic in sorted({topic for topic, _ in moves})]
    ).items():
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


MEASURES = {
    "replica_spread": "replicas: most minus least of a broker",
    "leader_spread": "preferred leaders: the same",
    "topic_replica_spread": "replicas of the least even topic",
    "topic_leader_spread": "leaders of the least even topic",
    "racks_missing": "racks that partitions could be in and are not",
    "left_behind": "replicas on brokers to be left",
}
MOVE_COLUMNS = ("topic", "partition", "replicas", "replicas_before", "adding", "removing")


def _plan(work: Work) -> None:
    from metashell.cli.cluster.reassign_state import read_sizes_file
    from metashell.rehearse.placement import Wishes, cluster_of, make_plan
    from metashell.rehearse.placement.plan_file import known_sizes

    values = work.values
    goals = _goals(values.even, ignores_racks=values.ignore_racks)
    off = _ids("--off", values.off)
    wishes = Wishes(off, None if values.brokers is None else _ids("--brokers", values.brokers), frozenset(values.topic) or None)
    if values.throttle == 0:
        raise UsageError("option --throttle: 0 bytes a second would never end", "--throttle")
    sizes = {} if values.sizes is None else read_sizes_file(values.sizes)
    before = _situation(work)
    sizes, remark = known_sizes(sizes, {one.topic for one in before.partitions}, values.sizes)
    if remark:
        work.note(remark)
    cluster, notes = cluster_of(before, wishes, sizes)
    for note in notes:
        work.note(note)
    topic_ids = {(one.topic, one.partition): one.topic_id for one in before.partitions}
    planned = [
        _assignment(one.topic, one.partition, replicas, one.replicas, topic_ids[one.topic, one.partition])
        for one, replicas in make_plan(cluster, goals)
    ]
    if _write_out(work, planned):
        return
    _show(work, cluster, goals, planned, is_sized=bool(sizes))


def _goals(words: str, *, ignores_racks: bool) -> Goals:
    from metashell.rehearse.placement import Goals

    named = [word.strip() for word in words.split(",") if word.strip()]
    if named == ["none"]:
        named = []
    for word in named:
        if word not in EVEN:
            raise UsageError(f"option --even: {word!r} is not one of {', '.join(EVEN)} or none", "--even")
    return Goals("topics" in named, "replicas" in named, "leaders" in named, not ignores_racks)


def _ids(option: str, text: str | None) -> Sequence[int]:
    found: list[int] = []
    for word in (text or "").split(",") if text is not None else ():
        if not (word.strip().isascii() and word.strip().isdigit() and len(word.strip()) < 10):
            raise UsageError(f"option {option}: {word!r} is not the id of a broker (give them as 3,4)", option)
        if int(word) in found:
            raise UsageError(f"option {option}: broker {int(word)} is there twice", option)
        found.append(int(word))
    return found


def _situation(work: Work) -> Situation:
    from metashell.cli.cluster.reassign_state import read_situation

    path = work.values.snapshot
    if path is None:
        try:
            return read_situation(work)
        except UsageError as error:
            if error.argument != "-b":
                raise
            raise UsageError(f"{error}, or metadata on disk (--snapshot PATH)", error.argument) from None
    if work.values.bootstrap_server or work.values.bootstrap_controller:
        raise UsageError("--snapshot and the address of a cluster exclude each other", "--snapshot")
    from metashell.cli.images import load_image, report_faults
    from metashell.codec.primitives import MAX_DECOMPRESSED
    from metashell.metadata.image.image import lacks_some
    from metashell.rehearse.placement.cluster import situation_of

    loaded = load_image(path, certain_only=False, max_decompressed=MAX_DECOMPRESSED)
    report_faults(work.name, loaded, verbose=False)
    if lacks_some(loaded.image):
        work.fail()
    return situation_of(loaded.image)


def _assignment(topic: str, partition: int, replicas: tuple[int, ...], before: tuple[int, ...], topic_id: str) -> Assignment:
    from metashell.rehearse.placement import Assignment

    return Assignment(topic, partition, replicas, before, topic_id)


def _write_out(work: Work, planned: Sequence[Assignment]) -> bool:
    """Write the plan to --out. Return whether that is standard output, which then gets nothing else. Errors: OSError, PathError."""
    from metashell.cli.cluster.reassign_state import STDIN
    from metashell.disk.file_system import open_output
    from metashell.rehearse.placement import write_plan

    path = work.values.out
    if path is None:
        return False
    text = write_plan(planned)
    if path == STDIN:
        work.display.out.write(text)
        return True
    source = work.values.snapshot
    with open(open_output(path, sources=[source] if source else ()), "w", encoding="utf-8") as file:
        file.write(text)
    return False


def _show(work: Work, cluster: Cluster, goals: Goals, planned: Sequence[Assignment], *, is_sized: bool) -> None:
    from metashell.rehearse.placement import measure
    from metashell.rehearse.placement.working_plan import plan_loads

    placement = {(one.topic, one.partition): one.replicas for one in planned}
    before, after = measure(cluster, goals, {}), measure(cluster, goals, placement)
    carried = plan_loads(cluster, placement)
    if work.form == "text":
        _show_text(work, cluster, before, after, carried, len(planned), is_sized=is_sized)
    elif work.form == "json":
        work.one(_object(work, before, after, carried, planned, is_sized=is_sized), ())
    else:
        work.rows((_row(one) for one in planned), MOVE_COLUMNS, none="nothing has to move")


def _show_text(
    work: Work, cluster: Cluster, before: Measures, after: Measures, carried: Sequence[Load], count: int, *, is_sized: bool
) -> None:
    from metashell.common.forms import aligned, counted
    from metashell.common.values import duration_text, size_text

    rows = [["", "BEFORE", "AFTER"]]
    rows += [[text, str(getattr(before, name)), str(getattr(after, name))] for name, text in MEASURES.items()]
    for line in aligned(rows, right=(1, 2)):
        work.display.line(line)
    work.display.line("")
    heads = ["BROKER", "RACK", "REPLICAS", "AFTER", "LEADERS", "AFTER", "GETS", *(("RECEIVES", "SENDS") if is_sized else ())]
    cells = []
    for one in carried:
        sizes = (size_text(one.bytes_in), size_text(one.bytes_out)) if is_sized else ()
        counts = (one.replicas_before, one.replicas_after, one.leaders_before, one.leaders_after, one.replicas_in)
        cells.append([str(one.broker), one.rack or "-", *map(str, counts), *sizes])
    for line in aligned([heads, *cells], right=range(2, len(heads))):
        work.display.line(line)
    work.display.line("")
    total = sum(len(partition.replicas) for partition in cluster.partitions)
    sized = f" ({size_text(after.bytes_moved)})" if is_sized else ""
    copied = f"{after.replicas_moved} of {counted(total, 'replica')} are copied{sized}"
    work.display.line(f"{counted(count, 'partition')} of {len(cluster.partitions)} change; {copied}")
    seconds = _seconds(work, carried, is_sized=is_sized)
    if seconds is not None:
        work.display.line(f"at {size_text(work.values.throttle)}/s for each broker that takes at least {duration_text(seconds * 1000)}")
    if count and work.values.out is None:
        work.note("nothing was written: --out FILE writes the plan")


def _seconds(work: Work, carried: Sequence[Load], *, is_sized: bool) -> int | None:
    from metashell.rehearse.placement.working_plan import seconds_at

    if work.values.throttle is None:
        return None
    if not is_sized:
        work.note("how long it takes is not known without --sizes")
        return None
    return seconds_at(work.values.throttle, list(carried))


def _object(
    work: Work, before: Measures, after: Measures, carried: Sequence[Load], planned: Sequence[Assignment], *, is_sized: bool
) -> dict[str, object]:
    return {
        "type": "reassignment_plan",
        "before": {name: getattr(before, name) for name in MEASURES},
        "after": {name: getattr(after, name) for name in MEASURES},
        "replicas_moved": after.replicas_moved,
        "bytes_moved": after.bytes_moved if is_sized else None,
        "seconds": _seconds(work, carried, is_sized=is_sized),
        "brokers": [one._asdict() for one in carried],
        "partitions": [_row(one) for one in planned],
    }


def _row(one: Assignment) -> dict[str, object]:
    before: Collection[int] = one.before or ()
    return {
        "type": "reassignment",
        "topic": one.topic,
        "partition": one.partition,
        "replicas": list(one.replicas),
        "replicas_before": list(before),
        "adding": [id for id in one.replicas if id not in before],
        "removing": [id for id in before if id not in one.replicas],
    }


main = noun_tool("reassign", REASSIGN, {"plan": _plan, "apply": apply_plan, "status": show_status, "cancel": cancel_moves})
