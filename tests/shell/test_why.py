"""why: what led to a state, on logs that are made here as a controller of Kafka writes them: a decision is a batch."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.forms import Display
from metashell.disk.source import open_source
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from metashell.metadata.image import load_image
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context, run_line
from tests.metadata.image.batches import record, value

TOPIC = bytes(range(16))
LOST = bytes(15) + b"\x02"
FENCED = "no heartbeat within its session timeout, and no controlled shutdown before"


def registered(id: int, process: int = 1, **fields: Any) -> Any:
    return record("RegisterBrokerRecord", broker_id=id, incarnation_id=bytes([process]) * 16, broker_epoch=process, **fields)


def broker(id: int, process: int = 1, **fields: Any) -> Any:
    return record("BrokerRegistrationChangeRecord", broker_id=id, broker_epoch=process, **fields)


def change(number: int = 0, **fields: Any) -> Any:
    return record("PartitionChangeRecord", topic_id=TOPIC, partition_id=number, **fields)


TOPIC_MADE = [
    record("TopicRecord", name="orders", topic_id=TOPIC),
    record("PartitionRecord", topic_id=TOPIC, partition_id=0, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=0, partition_epoch=0),
]
BEGIN = [[registered(1)], [registered(2)], [broker(1, fenced=-1), broker(2, fenced=-1)], TOPIC_MADE]
"""Offsets 0 to 5."""


def context(folder: Path, *batches: list[Any], form: str = "text") -> Context:
    path = folder / "00000000000000000000.log"
    data, offset = b"", 0
    for number, bodies in enumerate(batches):
        records = [Record(offset + at, number * 1000, None, value(body)) for at, body in enumerate(bodies)]
        data += write_batch(offset, records, leader_epoch=1, base_timestamp=number * 1000)
        offset += len(bodies)
    path.write_bytes(data)
    with open_source(str(path)) as source:
        image = load_image(source)
    past = Past(opener_of(str(path)))

    def make_root(image, before):
        return build_root(image, voice="own", local=LocalInfo(version="0", commit_id="0"), before=before)

    display = Display(StringIO())
    root = make_root(image, None)
    return Context(
        root=root, image=image, display=display, err=StringIO(), output=form, source_label="log", make_root=make_root, past=lambda: past
    )


def answer(folder: Path, line: str, *batches: list[Any]) -> list[str]:
    ctx = context(folder, *BEGIN, *batches)
    assert run_line(ctx, line) == 0, ctx.err.getvalue()
    return ctx.display.out.getvalue().splitlines()


def cause(folder: Path, *batches: list[Any], line: str = "why -n 1 orders/0") -> tuple[str, str]:
    """What the last change was, and its cause."""
    lines = answer(folder, line, *batches)
    at = max(number for number, text in enumerate(lines) if text.strip().startswith("cause: "))
    return lines[at - 1].split("  ", 2)[2].strip(), lines[at].strip().removeprefix("cause: ")


def test_a_broker_that_was_fenced_is_the_cause_in_its_own_batch(tmp_path: Path):
    # As handleBrokerFenced writes it: the partitions first, the broker's registration last.
    assert cause(tmp_path, [change(leader=2, isr=(2,)), broker(1, fenced=1)]) == (
        "leader 1 -> 2; ISR 1,2 -> 2",
        f"broker 1 was fenced (offset 7): {FENCED}",
    )


def test_a_large_decision_has_several_batches_of_one_time(tmp_path: Path):
    ctx = context(tmp_path, *BEGIN, [change(leader=2, isr=(2,))], [broker(1, fenced=1)])
    path = tmp_path / "00000000000000000000.log"
    data = path.read_bytes()
    first = write_batch(6, [Record(6, 9000, None, value(change(leader=2, isr=(2,))))], leader_epoch=1, base_timestamp=9000)
    second = write_batch(7, [Record(7, 9000, None, value(broker(1, fenced=1)))], leader_epoch=1, base_timestamp=9000)
    path.write_bytes(data[: len(data) - len(first) - len(second)] + first + second)
    assert run_line(ctx, "why -n 1 orders/0") == 0
    assert "broker 1 was fenced (offset 7)" in ctx.display.out.getvalue()


@pytest.mark.parametrize(
    ("records", "what", "why"),
    [
        (
            [broker(1, in_controlled_shutdown=1), change(leader=2, isr=(2,))],
            "leader 1 -> 2; ISR 1,2 -> 2",
            "broker 1 began a controlled shutdown (offset 6)",
        ),
        (
            [change(leader=2, isr=(2,)), record("UnregisterBrokerRecord", broker_id=1, broker_epoch=1)],
            "leader 1 -> 2; ISR 1,2 -> 2",
            "broker 1 was unregistered (offset 7)",
        ),
        ([change(isr=(1,))], "ISR 1,2 -> 1", "leader 1 took 2 out of the ISR (AlterPartition): behind for replica.lag.time.max.ms"),
        ([change(leader=2)], "leader 1 -> 2", "an election of the leader (asked for, or auto.leader.rebalance.enable)"),
        (
            [change(replicas=(3, 1, 2), adding_replicas=(3,), removing_replicas=(1,))],
            "replicas 1,2 -> 3,1,2; adding - -> 3; removing - -> 1",
            "a reassignment was asked for (AlterPartitionReassignments)",
        ),
        (
            [change(leader=2, isr=(2,), leader_recovery_state=1)],
            "leader 1 -> 2; ISR 1,2 -> 2; elected uncleanly",
            "an unclean election: unclean.leader.election.enable, or asked for (ElectLeaders); 2 was in neither ISR nor ELR, and"
            " what it lacks is lost",
        ),
        (
            [record("ConfigRecord", resource_type=2, resource_name="orders", name="min.insync.replicas", value="2")],
            "min.insync.replicas unset -> 2",
            "asked for (IncrementalAlterConfigs)",
        ),
        # Another broker that went at the same time explains nothing.
        (
            [change(isr=(1,)), broker(1, cordoned_log_dirs=(TOPIC,))],
            "ISR 1,2 -> 1",
            "leader 1 took 2 out of the ISR (AlterPartition): behind for replica.lag.time.max.ms",
        ),
        (
            [registered(2, 9), change(isr=(1,))],
            "ISR 1,2 -> 1",
            "broker 2 registered anew, epoch 1 -> 9 (offset 6)",
        ),
    ],
)
def test_the_cause_of_a_partition_s_change(tmp_path: Path, records: list[Any], what: str, why: str):
    assert cause(tmp_path, records) == (what, why)


def test_a_reassignment_ends_or_is_cancelled(tmp_path: Path):
    begun = [change(replicas=(3, 1, 2), adding_replicas=(3,), removing_replicas=(1,))]
    done = [change(replicas=(3, 2), isr=(3, 2), leader=3, adding_replicas=(), removing_replicas=())]
    assert cause(tmp_path, begun, done)[1] == "the reassignment is complete"
    cancelled = [change(replicas=(1, 2), adding_replicas=(), removing_replicas=())]
    assert cause(tmp_path, begun, cancelled)[1] == "the reassignment was cancelled"


def test_directories_that_failed_are_the_cause(tmp_path: Path):
    ids = (b"a" * 16, b"b" * 16)
    batches = [
        [registered(3, 3, log_dirs=ids)],
        [change(replicas=(3, 2), isr=(3, 2), leader=3, directories=(ids[0], ids[1]))],
        [change(leader=2, isr=(2,)), broker(3, 3, log_dirs=ids[1:])],
    ]
    assert cause(tmp_path, *batches)[1] == "broker 3 lost log directories YWFhYWFhYWFhYWFhYWFhYQ (offset 9)"


def test_the_way_out_names_the_replicas_that_have_all(tmp_path: Path):
    lines = answer(
        tmp_path,
        "why -n 1 orders/0",
        [change(isr=(1,)), broker(2, fenced=1)],
        [change(leader=-1, isr=(), eligible_leader_replicas=(1,)), broker(1, fenced=1)],
    )
    assert lines[-4:] == [
        "now: leader none, ISR -, ELR 1, replicas 1,2",
        "       replica 1 (ELR): fenced since 1970-01-01T00:00:05Z (offset 9: fenced)",
        "       replica 2: fenced since 1970-01-01T00:00:04Z (offset 7: fenced)",
        "       it has a leader again when 1 is back: it has all of it",
    ]


def test_the_story_of_a_broker(tmp_path: Path):
    def told(*batches: list[Any]) -> tuple[str, str]:
        return cause(tmp_path, *batches, line="why -n 1 broker 2")

    assert told([broker(2, fenced=1)]) == ("fenced", FENCED)
    shut = [broker(2, in_controlled_shutdown=1)]
    assert told(shut, [broker(2, fenced=1)]) == ("fenced", "its controlled shutdown ended")
    assert told(shut, [broker(2, fenced=1)], [registered(2, 9)])[1] == "its process started again after a controlled shutdown"
    assert told([registered(2, 9)]) == (
        "registered anew, epoch 1 -> 9",
        "another process came while this one was active: it died within its session, or two processes have one id",
    )
    lines = answer(tmp_path, "why broker 1", [broker(2, fenced=1)])
    assert not any("fenced" in line for line in lines if "unfenced" not in line)
    assert lines[-1].startswith("now: active since")


def test_what_never_was_is_status_1(tmp_path: Path):
    ctx = context(tmp_path, *BEGIN)
    for words in ("orders/9", "nope", "broker 9", "voter 9", "controller 9"):
        assert run_line(ctx, f"why {words}") == 1
    assert run_line(ctx, "why /image/acls") == 2


def test_objects_have_cause_and_offset(tmp_path: Path):
    ctx = context(tmp_path, *BEGIN, [change(leader=2, isr=(2,)), broker(1, fenced=1)], form="jsonl")
    assert run_line(ctx, "why orders/0") == 0
    *_, last, state = map(json.loads, ctx.display.out.getvalue().splitlines())
    assert (last["kind"], last["offset"], last["cause_offset"], last["path"]) == ("change", 6, 7, "/image/topics/byName/orders/0")
    assert (state["kind"], state["type"], state["what"][0]) == ("state", "partition", "leader 2, ISR 2, replicas 1,2")
