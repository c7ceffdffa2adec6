"""Voter sets: membership by key, one change at a time, and equality.
Control batches byte for byte, and what parsing refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch, write_control_record
from metashell.codec.batches import Record, read_batch_header
from metashell.codec.messages import EndTxnMarker, KRaftVersionRecord, VotersRecord
from metashell.common.errors import DecodeError
from metashell.common.values import ReplicaKey
from metashell.quorum.raft.messages import RaftConfig
from metashell.quorum.raft.voters import (
    SNAPSHOT_TYPES,
    ControlValue,
    KRaftVersion,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    VoterSet,
    read_control_batch,
    write_control_batch,
)
from tests.quorum.raft.made import NO_VOTERS

AB = bytes(15) + b"\xab"
CD = bytes(15) + b"\xcd"


def voter(id: int, directory_id: bytes = AB, port: int = 9093) -> Voter:
    return Voter(ReplicaKey(id, directory_id), {"CONTROLLER": (f"h{id}", port)}, 0, 1)


THREE = VoterSet([voter(3), voter(1), voter(2)])


def test_ids_are_ascending_whatever_order_the_voters_came_in():
    assert THREE.ids == (1, 2, 3)


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(count: int, majority: int):
    assert VoterSet(voter(id) for id in range(count)).majority_size == majority


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        (ReplicaKey(1, AB), ReplicaKey(1, AB), True),
        (ReplicaKey(1, AB), ReplicaKey(1, CD), False),
        (ReplicaKey(1, AB), ReplicaKey(1), False),
        (ReplicaKey(1), ReplicaKey(1, CD), True),
        (ReplicaKey(1), ReplicaKey(1), True),
        (ReplicaKey(2, AB), ReplicaKey(1, AB), False),
    ],
)
def test_a_key_is_a_voter_if_the_directory_ids_agree_where_the_set_knows_one(known: ReplicaKey, asked: ReplicaKey, expected: bool):
    voters = VoterSet([Voter(known, {})])
    assert voters.is_voter(asked) is expected
    assert voters.is_only_voter(asked) is expected


def test_who_has_no_id_is_no_voter():
    assert not THREE.is_voter(None)


def test_a_voter_is_not_added_under_an_id_that_is_there():
    assert THREE.with_voter(voter(2, CD)) is None
    grown = THREE.with_voter(voter(4))
    assert grown is not None and grown.ids == (1, 2, 3, 4) and THREE.ids == (1, 2, 3)


def test_a_voter_is_removed_by_its_whole_key_and_the_last_one_never():
    assert THREE.without(ReplicaKey(2, CD)) is None
    assert THREE.without(ReplicaKey(2)) is None
    assert THREE.without(ReplicaKey(9, AB)) is None
    rest = THREE.without(ReplicaKey(2, AB))
    assert rest is not None and rest.ids == (1, 3)
    assert VoterSet([voter(1)]).without(ReplicaKey(1, AB)) is None


def test_an_update_needs_the_voter_and_by_id_takes_a_new_directory_too():
    assert THREE.updated(voter(2, CD)) is None
    assert THREE.updated(voter(4)) is None
    assert THREE.updated_by_id(voter(4)) is None
    moved = THREE.updated(voter(2, port=1))
    assert moved is not None and moved.endpoint(2, "CONTROLLER") == ("h2", 1) and moved != THREE
    other = THREE.updated_by_id(voter(2, CD))
    assert other is not None and other.keys[1] == ReplicaKey(2, CD)


def test_an_update_of_a_voter_without_directory_id_gives_it_one():
    static = VoterSet([Voter(ReplicaKey(1), {})])
    updated = static.updated(voter(1))
    assert updated is not None and updated.keys == (voter(1).key,) and static.keys == (ReplicaKey(1),)


def test_the_order_of_listeners_does_not_count_for_equality_and_endpoints_do():
    endpoints = {"A": ("h", 1), "B": ("h", 2)}
    one = VoterSet([Voter(ReplicaKey(1, AB), endpoints)])
    other = VoterSet([Voter(ReplicaKey(1, AB), dict(reversed(endpoints.items())))])
    assert one == other and hash(one) == hash(other)
    assert one != VoterSet([Voter(ReplicaKey(1, AB), {"A": ("h", 1)})])
    assert one != VoterSet([Voter(ReplicaKey(1, AB), endpoints, 0, 1)])


def test_the_static_set_has_one_endpoint_each_and_supports_level_0_only():
    config = RaftConfig(cluster_id="c", local=None, static_voters={2: ("b", 2), 1: ("a", 1)})
    voters = VoterSet.from_static(config)
    assert voters.ids == (1, 2) and voters.endpoint(2, "CONTROLLER") == ("b", 2) and voters.endpoint(2, "OTHER") is None
    assert voters.supports(0) and not voters.supports(1)
    assert voters.endpoints(3) == {} and voters.endpoint(3, "CONTROLLER") is None


def test_no_voters_have_no_majority():
    assert len(NO_VOTERS) == 0 and not NO_VOTERS.is_voter(ReplicaKey(1)) and NO_VOTERS.majority_size == 1


@given(st.sets(st.integers(0, 5), min_size=1), st.sets(st.integers(0, 5), min_size=1))
def test_sets_overlap_exactly_if_neither_has_two_that_the_other_lacks(left: set[int], right: set[int]):
    overlaps = VoterSet(map(voter, left)).overlaps(VoterSet(map(voter, right)))
    assert overlaps == (len(left - right) <= 1 and len(right - left) <= 1)


@given(st.sets(st.integers(0, 5), min_size=1), st.integers(0, 5))
def test_all_majorities_before_and_after_one_change_meet(ids: set[int], changed: int):
    before = VoterSet(map(voter, ids))
    after = before.without(ReplicaKey(changed, AB)) if changed in ids else before.with_voter(voter(changed))
    if after is None:
        return
    assert before.overlaps(after)
    union = len(set(before.ids) | set(after.ids))
    assert before.majority_size + after.majority_size > union


LEADER_CHANGE = LeaderChange(leader_id=1, voters=(1, 2, 3), granting=(1, 3))
LEADER_CHANGE_BATCH = (
    "00000000000000000000005e0000000102ad08196200200000000000000000000003e800000000000003e8ffffffffffffffffffffffffffff"
    "00000001580000000800000002440000000000010400000001000000000200000000030003000000010000000003000000"
)


def read(data: bytes, allowed: frozenset[int] | None = None) -> list[ControlValue]:
    header = read_batch_header(data)
    return read_control_batch(data, header) if allowed is None else read_control_batch(data, header, allowed)


def test_the_batch_of_a_leader_change_is_kafkas_byte_for_byte():
    assert write_control_batch(0, 1, 1000, [LEADER_CHANGE]).hex() == LEADER_CHANGE_BATCH
    assert read(bytes.fromhex(LEADER_CHANGE_BATCH)) == [LEADER_CHANGE]


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        (LEADER_CHANGE, "00000000000104000000010000000002000000000300030000000100000000030000"),
        (SnapshotHeader(0), "0000000000000000000000"),
        (SnapshotFooter(), "000000"),
        (KRaftVersion(1), "0000000100"),
        (
            VoterSet([Voter(ReplicaKey(1, AB), {"CONTROLLER": ("h1", 9093)}, 0, 1)]),
            "00000200000001000000000000000000000000000000ab020b434f4e54524f4c4c455203683123850000000001000000",
        ),
    ],
)
def test_each_value_is_the_vector_of_the_specification(value: ControlValue, raw: str):
    # It ends the batch, but for the number of the record's headers.
    assert write_control_batch(0, 1, 0, [value]).endswith(bytes.fromhex(raw) + bytes(1))


VOTERS = st.builds(
    VoterSet,
    st.lists(
        st.builds(
            Voter,
            st.builds(ReplicaKey, st.integers(0, 9), st.binary(min_size=16, max_size=16)),
            st.dictionaries(st.sampled_from(["A", "B"]), st.tuples(st.text(max_size=5), st.integers(0, 65535))),
            st.integers(0, 1),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda voter: voter.key.id,
    ),
)
IDS = st.lists(st.integers(0, 1 << 31 - 1), max_size=4).map(tuple)
VALUES = st.one_of(
    VOTERS,
    st.builds(LeaderChange, leader_id=st.integers(0, 9), voters=IDS, granting=IDS),
    st.sampled_from([KRaftVersion(0), KRaftVersion(1), SnapshotFooter()]),
    st.builds(SnapshotHeader, st.integers(0, 1 << 62)),
)


@given(st.lists(VALUES, min_size=1, max_size=5), st.integers(0, 1 << 60), st.integers(0, 1 << 31 - 1))
def test_what_is_written_is_read_again(values: list[ControlValue], base_offset: int, epoch: int):
    data = write_control_batch(base_offset, epoch, 5, values)
    assert read(data, frozenset(range(2, 7))) == values


@given(st.lists(VALUES, min_size=1, max_size=2), st.integers(0, 10_000), st.integers(0, 255))
def test_a_changed_byte_is_an_error_or_another_value_and_never_another_exception(values: list[ControlValue], index: int, byte: int):
    data = bytearray(write_control_batch(0, 1, 5, values))
    index = 61 + index % (len(data) - 61)
    data[index] = byte
    try:
        read(bytes(data), frozenset(range(2, 7)))
    except DecodeError as error:
        assert str(error) and "\n" not in str(error)


def batch(key: bytes | None, value: bytes, timestamp: int = 5, offset: int = 0, headers: tuple[tuple[str, bytes], ...] = ()) -> bytes:
    record = Record(offset, timestamp, key, value, headers)
    return write_batch(0, [record], leader_epoch=1, base_timestamp=5, last_offset_delta=0, is_control=True)


LEVEL_KEY, LEVEL_VALUE = write_control_record(5, KRaftVersionRecord(version=0, k_raft_version=1))


def voters_record(*ids: int) -> tuple[bytes, bytes]:
    return write_control_record(6, VotersRecord(voters=tuple(VotersRecord.Voter(voter_id=id, voter_directory_id=AB) for id in ids)))


REFUSED = {
    "an unknown type": batch(b"\0\0\0\7", b"\0\0"),
    "a negative type": batch(b"\0\0\xff\xff", b"\0\0"),
    "a transaction marker": batch(*write_control_record(1, EndTxnMarker(coordinator_epoch=1))),
    "a snapshot's header in the log": write_control_batch(0, 1, 5, [SnapshotHeader(0)]),
    "no key": batch(None, LEVEL_VALUE),
    "a short key": batch(b"\0\0\0", LEVEL_VALUE),
    "a timestamp delta": batch(LEVEL_KEY, LEVEL_VALUE, timestamp=6),
    "headers": batch(LEVEL_KEY, LEVEL_VALUE, headers=(("a", b"b"),)),
    "another offset than its place": batch(LEVEL_KEY, LEVEL_VALUE, offset=1),
    "a value that is cut off": batch(LEVEL_KEY, LEVEL_VALUE[:-1]),
    "no value": batch(LEVEL_KEY, b""),
    "a level that is not known": batch(*write_control_record(5, KRaftVersionRecord(k_raft_version=2))),
    "a negative level": batch(*write_control_record(5, KRaftVersionRecord(k_raft_version=-1))),
    "no voters": batch(*voters_record()),
    "a voter twice": batch(*voters_record(1, 1)),
    "a negative voter": batch(*voters_record(-1, 1)),
    "fewer records than offsets": write_batch(
        0, [Record(0, 5, LEVEL_KEY, LEVEL_VALUE)], leader_epoch=1, last_offset_delta=1, is_control=True
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_batch_is_refused_in_one_line_for(name: str):
    with pytest.raises(DecodeError) as caught:
        read(REFUSED[name])
    assert "\n" not in str(caught.value)


def test_a_leader_change_is_refused_in_a_snapshot():
    with pytest.raises(DecodeError, match="type 2"):
        read(write_control_batch(0, 1, 5, [LEADER_CHANGE]), SNAPSHOT_TYPES)


def test_listener_names_are_upper_cased():
    endpoint = VotersRecord.Endpoint(name="controller", host="h", port=1)
    key, value = write_control_record(6, VotersRecord(voters=(VotersRecord.Voter(voter_id=1, endpoints=(endpoint,)),)))
    [voters] = read(batch(key, value))
    assert isinstance(voters, VoterSet) and voters.endpoint(1, "CONTROLLER") == ("h", 1)
