"""Where the image comes from, its voters, its faults."""

from __future__ import annotations

from metashell.codec.registry import message_type
from metashell.metadata.image.provenance import Fault, Leader, Voter, VoterEndpoint, VoterSet, voter_set
from tests.metadata.nodes.stand_in import at, kafka_root, own_root

VOTERS = VoterSet(138, (Voter(1, bytes(16), (VoterEndpoint("C", "h", 1),), 0, 1), Voter(10, bytes(16)), Voter(2, bytes(16))))
FAULT = Fault("x.log", 7, 99, "PARTITION_RECORD", "unknown topic")


def test_kafka_prints_the_position_in_the_file():
    assert at(kafka_root(), "image/provenance").kafka_text() == "offset 80, epoch 2, time 2026-11-21T00:21:38.6Z[UTC]"


def test_our_voice_gives_the_position_of_the_image_and_how_far_it_is_certain():
    assert at(own_root(faults=(FAULT,)), "image/provenance").value() == {
        "offset": 138,
        "epoch": 1,
        "timestamp": 1795220498440,
        "source_kind": "checkpoint",
        "source": "x.checkpoint",
        "certain_to": 139,
        "end_offset": 139,
        "faults": 1,
    }


def test_faults_are_listed_with_their_places():
    leaf = at(own_root(faults=(FAULT,)), "image/faults")
    assert leaf.value() == [{"file": "x.log", "offset": 7, "position": 99, "record_type": "PARTITION_RECORD", "reason": "unknown topic"}]
    assert at(own_root(), "image/faults").value() == []


def test_voters_are_the_json_of_their_control_record_with_its_offset():
    message = message_type("control", "VotersRecord")
    voter, endpoint = message.structs["Voter"], message.structs["Endpoint"]
    record = message.cls(
        voters=(
            voter(
                voter_id=1,
                voter_directory_id=bytes(range(16)),
                endpoints=(endpoint(name="C", host="h", port=9093),),
                k_raft_version_feature=message.structs["KRaftVersionFeature"](min_supported_version=0, max_supported_version=1),
            ),
        )
    )
    value = at(own_root(voters=voter_set(record, 5)), "image/voters").value()
    assert value.pop("offset") == 5
    json_value = message.to_json_value(record, 0)
    assert value == {"voters": json_value["voters"]}
    assert at(own_root(), "image/voters").value() is None


def test_neither_voters_nor_faults_are_in_kafkas_tree():
    names = at(kafka_root(voters=VOTERS, faults=(FAULT,)), "image").child_names()
    assert "voters" not in names and "faults" not in names


def test_the_second_view_has_the_quorum():
    root = own_root(voters=VOTERS, leader=Leader(3, 7))
    assert at(root, "metadataQuorum").child_names() == ["leader", "offset", "voters"]
    assert at(root, "metadataQuorum/offset").value() == 138
    assert at(root, "metadataQuorum/leader").value() == {"leaderId": 3, "leaderEpoch": 7}
    assert at(root, "metadataQuorum/voters").child_names() == ["1", "10", "2"]
    assert at(root, "metadataQuorum/voters/1").value()["endpoints"] == [{"name": "C", "host": "h", "port": 1}]
    assert at(own_root(), "metadataQuorum").child_names() == ["offset"]
