"""The fixed part of the tree, and what each voice shows of it."""

from __future__ import annotations

from metashell.metadata.nodes import build_root
from tests.metadata.nodes.stand_in import LOCAL, at, image, kafka_root, own_root, topic_image, walk

KAFKA_IMAGE = [
    "acls",
    "clientQuotas",
    "cluster",
    "configs",
    "delegationToken",
    "features",
    "producerIds",
    "provenance",
    "scram",
    "topics",
]
VIEW = ["acl", "brokers", "client-quotas", "configs", "features", "metadataQuorum", "producerIds", "topicIds", "topics"]


def test_kafkas_root_has_image_and_local_and_nothing_of_the_second_view_resolves():
    root = kafka_root()
    assert root.child_names() == ["image", "local"]
    assert at(root, "image").child_names() == KAFKA_IMAGE
    assert all(root.child(name) is None for name in VIEW)


def test_our_root_shows_the_second_view_and_marks_it():
    root = own_root()
    assert root.child_names() == sorted([*VIEW, "image", "local"])
    assert [node.name for node in root.iter_children() if node.is_view] == VIEW
    assert at(root, "image").child_names() == sorted([*KAFKA_IMAGE, "faults", "voters"])


def test_all_directories_of_the_fixed_part_are_there_without_records():
    paths = ["/" + "/".join(path) for path, _ in walk(kafka_root())]
    assert paths == [
        "/",
        "/image",
        "/image/acls",
        "/image/acls/byId",
        "/image/clientQuotas",
        "/image/cluster",
        "/image/cluster/brokers",
        "/image/cluster/controllers",
        "/image/configs",
        "/image/delegationToken",
        "/image/features",
        "/image/features/metadataVersion",
        "/image/producerIds",
        "/image/producerIds/nextProducerId",
        "/image/provenance",
        "/image/scram",
        "/image/scram/SCRAM-SHA-256",
        "/image/scram/SCRAM-SHA-512",
        "/image/topics",
        "/image/topics/byId",
        "/image/topics/byName",
        "/local",
        "/local/commitId",
        "/local/version",
    ]


def test_local_is_this_software():
    assert at(kafka_root(), "local/version").kafka_text() == "1.2.3"
    assert at(own_root(), "local/commitId").value() == "abcdef"


def test_producer_ids_in_both_views():
    root = own_root()
    assert at(root, "image/producerIds/nextProducerId").value() == 5000
    assert {leaf.name: leaf.value() for leaf in at(root, "producerIds").iter_children()} == {
        "lastBlockBrokerEpoch": 17,
        "lastBlockBrokerId": 4,
        "nextBlockStartId": 5000,
    }


def test_a_walk_can_leave_the_second_view_out():
    assert not any(path and path[0] in VIEW for path, _ in walk(own_root(), views=False))
    assert any(path and path[0] in VIEW for path, _ in walk(own_root()))


def test_names_below_a_leaf_or_of_nothing_give_no_node():
    for path in ("nope", "image/nope", "image/provenance/x", "image/topics/byName/nope/0", "image/acls/nope"):
        assert at(own_root(), path) is None


def test_names_that_were_sorted_are_kept_only_where_the_topics_are_the_same():
    first = image(topics=[topic_image("b", bytes(16)), topic_image("a", bytes(15) + b"\1")])
    other = image(topics=[topic_image("c", bytes(16))])
    for voice in ("own", "kafka"):
        root = build_root(first, voice=voice, local=LOCAL)
        assert at(root, "image/topics/byName").child_names() == ["a", "b"]
        for later, names in ((first, ["a", "b"]), (other, ["c"]), (image(), [])):
            after = build_root(later, voice=voice, local=LOCAL, before=root)
            assert list(at(after, "image/topics/byName").child_names()) == names
            assert len(list(at(after, "image/topics/byId").child_names())) == len(names)
