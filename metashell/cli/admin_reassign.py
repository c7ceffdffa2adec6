"""metashell reassign: plans of which brokers have which replicas, and what carries them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.administering import Work, noun_tool
from metashell.cli.reassign_acts import apply, status
from metashell.cli.reassign_cancel import cancel
from metashell.errors import UsageError
from metashell.options.reassign_tools import REASSIGN

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from metashell.placement import Assignment, Cluster, Goals, Measures, Situation
    from metashell.placement.loads import Load

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
    from metashell.cli.reassign_view import read_sizes_file
    from metashell.placement import Wishes, cluster_of, make_plan
    from metashell.placement.sizes import known_sizes

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
    from metashell.options.reassign_tools import EVEN
    from metashell.placement import Goals

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
    from metashell.cli.reassign_view import situation

    path = work.values.snapshot
    if path is None:
        try:
            return situation(work)
        except UsageError as error:
            if error.argument != "-b":
                raise
            raise UsageError(f"{error}, or metadata on disk (--snapshot PATH)", error.argument) from None
    if work.values.bootstrap_server or work.values.bootstrap_controller:
        raise UsageError("--snapshot and the address of a cluster exclude each other", "--snapshot")
    from metashell.cli.loading import load, report_faults
    from metashell.codec.compression import MAX_DECOMPRESSED
    from metashell.image.newer import lacks_some
    from metashell.placement.of_image import situation_of

    loaded = load(path, certain_only=False, max_decompressed=MAX_DECOMPRESSED)
    report_faults(work.name, loaded, verbose=False)
    if lacks_some(loaded.image):
        work.fail()
    return situation_of(loaded.image)


def _assignment(topic: str, partition: int, replicas: tuple[int, ...], before: tuple[int, ...], topic_id: str) -> Assignment:
    from metashell.placement import Assignment

    return Assignment(topic, partition, replicas, before, topic_id)


def _write_out(work: Work, planned: Sequence[Assignment]) -> bool:
    """Write the plan where --out says; whether that was standard output, where nothing else goes then. Errors: OSError, PathError."""
    from metashell.cli.reassign_view import STDIN
    from metashell.log.outputs import open_output
    from metashell.placement import write_plan

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
    from metashell.placement import measure
    from metashell.placement.loads import loads

    placement = {(one.topic, one.partition): one.replicas for one in planned}
    before, after = measure(cluster, goals, {}), measure(cluster, goals, placement)
    carried = loads(cluster, placement)
    if work.form == "text":
        _show_text(work, cluster, before, after, carried, len(planned), is_sized=is_sized)
    elif work.form == "json":
        work.one(_object(work, before, after, carried, planned, is_sized=is_sized), ())
    else:
        work.rows((_row(one) for one in planned), MOVE_COLUMNS, none="nothing has to move")


def _show_text(
    work: Work, cluster: Cluster, before: Measures, after: Measures, carried: Sequence[Load], count: int, *, is_sized: bool
) -> None:
    from metashell.amounts import duration_text, size_text
    from metashell.forms import aligned, counted

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
    from metashell.placement.loads import seconds_at

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


main = noun_tool("reassign", REASSIGN, {"plan": _plan, "apply": apply, "status": status, "cancel": cancel})
