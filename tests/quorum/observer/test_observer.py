"""The observer beside real cores: what it shows is what is committed, and nobody counts it.
Bytes of logs and snapshots on their way to images, and what is damaged in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metashell.codec.batch_writer import KRAFT_VOTERS
from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.codec.framing import checked_batches
from metashell.codec.messages import VotersRecord
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image.differences import Step
from metashell.quorum.observer.observer import ChunkConsumer, ImageConsumer, says_nothing, snapshot_name
from metashell.quorum.raft.messages import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Response,
)
from tests.metadata.image.batches import batch, batch_of_values, control_batch, record
from tests.quorum.observer.world import Watcher, no_op, setting, snapshot_bytes, truncate_away
from tests.quorum.raft.quorum import Quorum


@pytest.fixture(params=["dynamic", "static"])
def quorum(request: pytest.FixtureRequest) -> Quorum:
    made: Quorum = getattr(Quorum, request.param)((1, 2, 3))
    made.elect()
    return made


SETTING = record("ConfigRecord", resource_type=2, resource_name="orders", name="a", value="1")


def alone() -> Quorum:
    """One node, which leads and has committed a setting."""
    quorum = Quorum.dynamic((1,))
    quorum.elect()
    quorum.commit(setting("a"))
    return quorum


def leader_id(quorum: Quorum) -> int:
    leader = quorum.leader()
    assert leader is not None
    return leader.local_id


def describe(quorum: Quorum) -> DescribeQuorumResponse:
    answer = quorum.ask(leader_id(quorum), DescribeQuorumRequest())
    assert isinstance(answer, DescribeQuorumResponse)
    return answer


def test_what_was_committed_before_and_what_is_committed_later_shows(quorum: Quorum):
    quorum.commit(setting("a"), setting("b"))
    watcher = Watcher(quorum)
    assert watcher.run(5_000, lambda: watcher.keys == {"a", "b"})
    quorum.append(setting("c"))
    assert watcher.run(5_000, lambda: watcher.keys == {"a", "b", "c"})
    leader = quorum.leader()
    assert leader is not None and leader.high_watermark is not None
    provenance = watcher.consumer.image.provenance
    assert provenance.certain_to == provenance.end_offset == watcher.observer.end_offset == leader.high_watermark
    assert (provenance.source_kind, provenance.source) == ("quorum", "quorum")
    assert (watcher.observer.leader_id, watcher.observer.epoch) == (leader.local_id, leader.epoch)


def test_what_is_not_committed_never_shows(quorum: Quorum):
    quorum.commit(setting("a"))
    watcher = Watcher(quorum)
    assert watcher.run(5_000, lambda: watcher.keys == {"a"})
    old = leader_id(quorum)
    quorum.cut |= {1, 2, 3} - {old}
    quorum.append(setting("lost"))
    # Its check of the quorum has not expired yet: it still leads, and has appended.
    watcher.run(1_000)
    assert watcher.observer._log.end_offset > watcher.observer.end_offset
    assert watcher.keys == {"a"}
    quorum.cut = {old}
    assert watcher.run(30_000, lambda: quorum.leader() is not None and leader_id(quorum) != old)
    quorum.cut = set()
    quorum.elect()
    quorum.append(setting("kept"))
    assert watcher.run(30_000, lambda: watcher.keys == {"a", "kept"})
    assert all("lost" not in step.after.configs.get((2, "orders"), ()) for step in watcher.steps)


def test_steps_follow_one_another_and_hold_their_batches(quorum: Quorum):
    watcher = Watcher(quorum)
    for number in range(5):
        quorum.append(setting(f"k{number}"))
        assert watcher.run(5_000, lambda number=number: f"k{number}" in watcher.keys)
    for first, second in zip(watcher.steps, watcher.steps[1:], strict=False):
        assert second.before is first.after
        assert second.batches is not None
        assert second.batches[0].header.base_offset == first.after.provenance.end_offset


def test_nobody_counts_an_observer(quorum: Quorum):
    before = describe(quorum)
    watcher = Watcher(quorum)
    quorum.append(setting("a"))
    assert watcher.run(10_000, lambda: watcher.keys == {"a"})
    after = describe(quorum)
    assert [voter.id for voter in after.voters] == [voter.id for voter in before.voters]
    assert after.observers == before.observers == ()
    for send in watcher.sent:
        assert isinstance(send.message, FetchRequest | FetchSnapshotRequest)
        assert (send.message.replica_id, send.message.directory_id) == (-1, bytes(16))


def test_an_observer_does_not_hold_up_a_majority(quorum: Quorum):
    watcher = Watcher(quorum)
    assert watcher.run(10_000, lambda: watcher.observer.end_offset > 0)
    leader = quorum.leader()
    assert leader is not None
    known = leader.high_watermark
    quorum.cut |= {1, 2, 3} - {leader.local_id}
    quorum.append(setting("a"))
    watcher.run(1_400)
    # It fetched the record, and the leader alone is no majority.
    assert watcher.observer._log.end_offset == leader.log_end_offset
    assert leader.high_watermark == known


def test_a_leader_that_dies_is_survived(quorum: Quorum):
    quorum.commit(setting("a"))
    watcher = Watcher(quorum)
    assert watcher.run(5_000, lambda: watcher.keys == {"a"})
    old = leader_id(quorum)
    quorum.stop(old)
    assert watcher.run(30_000, lambda: quorum.leader() is not None and watcher.observer.leader_id == leader_id(quorum) != old)
    quorum.append(setting("b"))
    assert watcher.run(10_000, lambda: watcher.keys == {"a", "b"})
    assert not watcher.consumer.image.faults


def test_all_that_stop_and_start_again_are_found_again(quorum: Quorum):
    quorum.commit(setting("a"))
    watcher = Watcher(quorum)
    assert watcher.run(5_000, lambda: watcher.keys == {"a"})
    for id in (1, 2, 3):
        quorum.stop(id)
    asked = len(watcher.sent)
    watcher.run(10_000)
    # A try every 250 ms is enough, whatever the number of addresses.
    assert 20 < len(watcher.sent) - asked < 150
    for id in (1, 2, 3):
        quorum.start(id)
    quorum.elect()
    quorum.append(setting("b"))
    assert watcher.run(30_000, lambda: watcher.keys == {"a", "b"})


def test_a_node_that_is_no_leader_names_it():
    quorum = Quorum.dynamic((1, 2, 3))
    quorum.elect()
    quorum.commit(setting("a"))
    follower = min({1, 2, 3} - {leader_id(quorum)})
    watcher = Watcher(quorum, follower)
    assert watcher.run(5_000, lambda: watcher.keys == {"a"})
    assert {send.endpoint[0] for send in watcher.sent} == {f"node-{follower}", f"node-{leader_id(quorum)}"}


def test_a_log_that_begins_behind_a_snapshot_is_loaded_from_it():
    quorum = Quorum.dynamic((1,))
    quorum.elect()
    quorum.commit(setting("a"), setting("b"))
    truncate_away(quorum, 1, SETTING)
    watcher = Watcher(quorum)
    assert watcher.run(10_000, lambda: watcher.keys == {"a"})
    assert watcher.steps[0].batches is None
    quorum.append(setting("c"))
    assert watcher.run(10_000, lambda: watcher.keys == {"a", "c"})
    assert any(isinstance(send.message, FetchSnapshotRequest) for send in watcher.sent)


def test_a_log_that_is_cut_away_under_us_is_loaded_from_the_snapshot_and_is_one_step():
    quorum = alone()
    watcher = Watcher(quorum)
    assert watcher.run(5_000, lambda: watcher.keys == {"a"})
    watcher.spoil = lambda response: FetchResponse(top_error=8)  # nothing gets through
    watcher.run(2_000)
    quorum.commit(setting("b"), setting("c"))
    bodies = [record("ConfigRecord", resource_type=2, resource_name="orders", name=name, value="1") for name in ("a", "b", "d")]
    truncate_away(quorum, 1, *bodies)
    watcher.run(2_000)  # What was on its way does not get through either.
    watcher.spoil = lambda response: response
    steps = len(watcher.steps)
    assert watcher.run(10_000, lambda: watcher.keys == {"a", "b", "d"})
    reloaded = watcher.steps[steps]
    assert reloaded.batches is None and reloaded.before is watcher.steps[steps - 1].after
    assert not watcher.consumer.image.faults
    quorum.append(setting("e"))
    assert watcher.run(10_000, lambda: watcher.keys == {"a", "b", "d", "e"})


def test_what_was_consumed_is_forgotten(quorum: Quorum):
    watcher = Watcher(quorum)
    for number in range(30):
        quorum.append(setting(f"k{number}"))
        watcher.run(200)
    assert watcher.run(5_000, lambda: len(watcher.keys) == 30)
    assert len(watcher.observer._log.batches()) <= 2


def test_records_that_say_nothing_leave_the_image_as_it_was_but_for_its_place(quorum: Quorum):
    quorum.commit(setting("a"))
    watcher = Watcher(quorum)
    assert watcher.run(5_000, lambda: watcher.keys == {"a"})
    before = watcher.consumer.image
    quorum.append(no_op())
    assert watcher.run(5_000, lambda: watcher.consumer.image is not before)
    after = watcher.consumer.image
    assert after.topics is before.topics and after.configs is before.configs
    assert after.provenance.offset == before.provenance.offset + 1


def corrupted(response: Response) -> Response:
    if isinstance(response, FetchResponse) and response.records:
        return replace(response, records=response.records[:-1] + bytes([response.records[-1] ^ 1]))
    return response


def foreign_offsets(response: Response) -> Response:
    if isinstance(response, FetchResponse) and response.records:
        return replace(response, records=(10**6).to_bytes(8, "big") + response.records[8:])
    return response


def huge_snapshot_page(response: Response) -> Response:
    if isinstance(response, FetchSnapshotResponse):
        return replace(response, position=response.position + 1)
    return response


@pytest.mark.parametrize("spoil", [corrupted, foreign_offsets])
def test_a_peer_that_lies_is_complained_of_and_nothing_of_it_shows(quorum: Quorum, spoil):
    quorum.commit(setting("a"))
    watcher = Watcher(quorum)
    watcher.spoil = spoil
    watcher.run(3_000)
    assert watcher.keys == set()
    assert watcher.observer.complaint
    watcher.spoil = lambda response: response
    assert watcher.run(10_000, lambda: watcher.keys == {"a"})


def test_another_page_of_a_snapshot_than_the_one_asked_for_is_no_snapshot():
    quorum = alone()
    truncate_away(quorum, 1, SETTING)
    watcher = Watcher(quorum)
    watcher.spoil = huge_snapshot_page
    watcher.run(3_000)
    assert watcher.keys == set() and watcher.observer.complaint
    watcher.spoil = lambda response: response
    assert watcher.run(10_000, lambda: watcher.keys == {"a"})


def test_a_snapshot_that_is_gone_while_it_is_fetched_is_asked_for_anew():
    quorum = alone()
    truncate_away(quorum, 1, SETTING)
    watcher = Watcher(quorum)
    pages: list[Response] = []

    def gone_at_first(response: Response) -> Response:
        if not isinstance(response, FetchSnapshotResponse):
            return response
        pages.append(response)
        return replace(response, error=98, records=b"") if len(pages) == 1 else response

    watcher.spoil = gone_at_first
    assert watcher.run(10_000, lambda: watcher.keys == {"a"})
    assert len(pages) == 2


def test_a_log_that_is_cut_back_to_what_was_consumed_still_knows_its_last_epoch():
    quorum = alone()
    watcher = Watcher(quorum)
    leader = quorum.leader()
    assert leader is not None
    limit = leader.log_end_offset + 1

    def hold_back(response: Response) -> Response:
        if not isinstance(response, FetchResponse):
            return response
        return replace(response, high_watermark=min(response.high_watermark, limit))

    watcher.spoil = hold_back
    # Of two batches the first is said to be committed, when both are here.
    quorum.cut = {1}
    quorum.append(setting("b"))
    quorum.run(100)
    quorum.append(setting("c"))
    quorum.cut = set()
    assert watcher.run(5_000, lambda: watcher.keys == {"a", "b"} and watcher.observer._log.end_offset == limit + 1)

    def cut_back(response: Response) -> Response:
        if not isinstance(response, FetchResponse):
            return response
        watcher.spoil = hold_back
        return replace(response, diverging=OffsetAndEpoch(limit, leader.epoch), records=b"")

    watcher.spoil = cut_back
    assert watcher.run(5_000, lambda: watcher.observer._log.end_offset == limit)
    watcher.spoil = lambda response: response
    assert watcher.run(5_000, lambda: watcher.keys == {"a", "b", "c"})
    assert not watcher.observer.complaint


ID = OffsetAndEpoch(40, 3)


def test_batches_are_cut_where_they_end_and_know_their_place():
    first, second = batch(SETTING), batch(SETTING, SETTING, base_offset=1)
    found = list(checked_batches(first.data + second.data, "q", 100))
    assert [each.data for each in found] == [first.data, second.data]
    assert [(each.position, each.file) for each in found] == [(100, "q"), (100 + len(first.data), "q")]


@pytest.mark.parametrize("size", [1, 12, 60, 61, 80])
def test_a_batch_that_does_not_fit_is_named_by_its_byte(size: int):
    data = batch(SETTING).data
    with pytest.raises(LogCorruptError):
        list(checked_batches(data[:size], "q"))


def test_every_flipped_bit_of_a_batch_is_found_or_harmless():
    data = batch(SETTING).data
    for at in range(len(data) * 8):
        spoiled = bytearray(data)
        spoiled[at // 8] ^= 1 << at % 8
        try:
            (found,) = checked_batches(bytes(spoiled), "q")
        except LogCorruptError:
            continue
        # Neither offset nor leader epoch is covered by the CRC: a leader sets them.
        assert at // 8 < 8 or 12 <= at // 8 < 16
        assert found.data == spoiled


def test_a_damaged_snapshot_is_a_fault_and_what_precedes_it_counts():
    steps: list[Step] = []
    consumer = ImageConsumer("q", steps.append, 1 << 20)
    data = bytearray(snapshot_bytes(40, 3, SETTING))
    data[-1] ^= 1
    consumer.load_snapshot(ID, bytes(data))
    assert dict(consumer.image.configs[2, "orders"]) == {"a": "1"}
    (fault,) = consumer.image.faults
    assert fault.file == "q: 00000000000000000040-0000000003.checkpoint"
    assert "CRC" in fault.reason


def test_an_image_of_a_snapshot_is_certain_up_to_its_end_and_goes_on_from_there():
    steps: list[Step] = []
    consumer = ImageConsumer("q", steps.append, 1 << 20)
    consumer.load_snapshot(ID, snapshot_bytes(40, 3, SETTING))
    provenance = consumer.image.provenance
    assert (provenance.offset, provenance.epoch, provenance.certain_to, provenance.end_offset) == (39, 3, 40, 40)
    # A snapshot older than 4.0 may end inside a batch.
    other = record("ConfigRecord", resource_type=2, resource_name="orders", name="b", value="1")
    consumer.take([batch(SETTING, other, base_offset=39)], 40, 41)
    assert sorted(consumer.image.configs[2, "orders"]) == ["a", "b"]
    assert consumer.image.provenance.certain_to == 41
    assert [step.batches is None for step in steps] == [True, False]


def test_only_a_lone_no_op_says_nothing():
    assert says_nothing(batch(record("NoOpRecord")))
    assert not says_nothing(batch(SETTING))
    assert not says_nothing(batch(record("NoOpRecord"), record("NoOpRecord")))
    assert not says_nothing(control_batch((KRAFT_VOTERS, VotersRecord(voters=()))))
    assert not says_nothing(batch_of_values([None]))
    assert not says_nothing(batch_of_values([b"\x01"]))
    broken = batch(record("NoOpRecord"))
    broken.data = broken.data[:-2]
    assert not says_nothing(broken)


def test_a_slow_reader_of_bytes_holds_back_and_one_that_left_does_not():
    consumer = ChunkConsumer()
    data = batch(SETTING).data
    item = RecordBatch(read_batch_header(data), 0, data)
    for at in range(consumer.chunks.maxsize):
        consumer.take([item], at, at + 1)
    assert consumer.chunks.full()
    consumer.is_closed = True
    consumer.take([item], 0, 1)
    assert consumer.chunks.qsize() == consumer.chunks.maxsize


def test_a_snapshot_has_the_name_of_its_file():
    assert snapshot_name(ID) == "00000000000000000040-0000000003.checkpoint"
