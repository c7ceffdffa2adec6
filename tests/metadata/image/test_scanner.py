"""Runs of partition records found by their shape: what is matched decodes, what decodes and is usual is matched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.image.partitions import Span, walk_ids, walk_span
from metashell.metadata.image.scanner import RunMatcher
from tests.metadata.image.batches import batch, batch_of_values, record, value

TOPIC = bytes(range(16))
OTHER = bytes(16)


def partition(id: int, *, topic_id: bytes = TOPIC, **fields: object):
    return record("PartitionRecord", **{"partition_id": id, "topic_id": topic_id, "replicas": (1, 2), "isr": (1, 2), **fields})


def run_of(data: bytes, count: int, matcher: RunMatcher | None = None) -> tuple[int, int]:
    return (matcher or RunMatcher()).run(data, 61, TOPIC, count)


def test_a_run_ends_where_the_topic_does():
    bodies = [*(partition(id) for id in range(40)), *(partition(id, topic_id=OTHER) for id in range(5))]
    data = batch(*bodies).data
    end, taken = run_of(data, len(bodies))
    assert taken == 40
    assert RunMatcher().run(data, end, OTHER, 5) == (len(data), 5)


def test_a_run_goes_on_over_other_shapes_and_wider_offset_deltas():
    shapes = [{}, {"isr": (1,)}, {"leader_recovery_state": 1}, {"eligible_leader_replicas": (3,)}, {"directories": (TOPIC, OTHER)}]
    bodies = [partition(id, **shapes[id % 7 % 5]) for id in range(300)]
    data = batch(*bodies).data
    assert run_of(data, 300) == (len(data), 300)


def test_a_run_takes_no_more_than_it_is_told_to():
    data = batch(*(partition(id) for id in range(50))).data
    matcher = RunMatcher()
    run_of(data, 50, matcher)
    for count in (0, 1, 7, 49, 50, 51):
        end, taken = run_of(data, count, matcher)
        assert taken == min(count, 50)
        span = Span(data, 61, end, taken)
        ids, _, _ = walk_span(span)
        assert ids == list(range(taken)) == walk_ids(span)


def test_a_bad_record_ends_a_run_also_when_its_shape_is_nearly_known():
    for spoil in ({"directories": (TOPIC,)}, {"leader_recovery_state": 3}):
        bodies = [*(partition(id) for id in range(30)), partition(30, **spoil), partition(31)]
        assert run_of(batch(*bodies).data, 32)[1] == 30


def test_records_that_kafka_frames_otherwise_are_no_run():
    values = [value(partition(id)) for id in range(10)]
    assert run_of(batch_of_values(values, timestamp_deltas=[0, 0, 0, 5]).data, 10)[1] == 3
    frame = values[4]
    values[4] = b"\x01\x83\x00" + frame[2:]  # the record type as a varint of two bytes
    assert run_of(batch_of_values(values).data, 10)[1] == 4


@given(st.data())
def test_whatever_bit_is_flipped_all_that_is_matched_still_decodes(data: st.DataObject):
    matcher = RunMatcher()
    bodies = [partition(id, isr=(1, 2)[: id % 2]) for id in range(20)]
    good = batch(*bodies).data
    run_of(good, 20, matcher)
    bad = bytearray(good)
    bit = data.draw(st.integers(61 * 8, len(good) * 8 - 1))
    bad[bit // 8] ^= 1 << bit % 8
    end, taken = run_of(bytes(bad), 20, matcher)
    span = Span(bytes(bad), 61, end, taken)
    for start, stop in zip(*walk_span(span)[1:], strict=True):
        from metashell.metadata.image.partitions import read_partition

        assert len(read_partition(span.buf, start, stop).replicas) == 2
