"""Topics and partitions, and what looking at some of them costs."""

from __future__ import annotations

from types import SimpleNamespace

from tests.metadata.nodes.stand_in import at, image, kafka_root, own_root, topic_image, walk

PARTITION = SimpleNamespace(
    replicas=(2, 1),
    directories=(bytes(16), bytes(15) + b"\x01"),
    isr=(2,),
    removing_replicas=(1,),
    adding_replicas=(3,),
    elr=(1,),
    last_known_elr=(2,),
    leader=-1,
    leader_recovery_state=1,
    leader_epoch=3,
    partition_epoch=4,
)
ORDERS = topic_image("orders", bytes(range(16)), dict.fromkeys(range(11), PARTITION))
ORDERS_ID = "AAECAwQFBgcICQoLDA0ODw"


class CountedTopics(dict):
    """Topics that count how often one is read, and each time all names are walked."""

    def __init__(self, *args):
        super().__init__(*args)
        self.reads = 0
        self.walks = 0

    def get(self, key, default=None):
        self.reads += 1
        return super().get(key, default)

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_a_partition_is_written_as_java_writes_it():
    leaf = at(kafka_root(topics=[ORDERS]), "image/topics/byName/orders/10")
    assert leaf.kafka_text() == (
        "PartitionRegistration(replicas=[2, 1], directories=[AAAAAAAAAAAAAAAAAAAAAA, AAAAAAAAAAAAAAAAAAAAAQ], isr=[2]"
        ", removingReplicas=[1], addingReplicas=[3], elr=[1], lastKnownElr=[2], leader=-1"
        ", leaderRecoveryState=RECOVERING, leaderEpoch=3, partitionEpoch=4)"
    )


def test_a_partitions_value_has_the_fields_of_its_record():
    from metashell.codec.registry import message_type

    leaf = at(own_root(topics=[ORDERS]), f"image/topics/byId/{ORDERS_ID}/10")
    record = message_type("metadata", "PartitionRecord")
    fields = record.to_json_value(
        record.cls(leader_recovery_state=1, eligible_leader_replicas=(1,), last_known_elr=(2,)), record.versions[1]
    )
    assert list(leaf.value()) == list(fields)
    assert leaf.value()["directories"] == ["AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"]
    assert leaf.value()["topicId"] == ORDERS_ID
    assert leaf.type == "partition"
    assert leaf.envelope_info == {"topic": "orders"}


def test_partitions_are_listed_as_texts_and_found_as_numbers():
    topic = at(kafka_root(topics=[ORDERS]), "image/topics/byName/orders")
    assert topic.child_names() == ["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9", "id", "name"]
    assert topic.child("007").kafka_text() == topic.child("+7").kafka_text() == topic.child("7").kafka_text()
    for name in ("11", "-1", "", "x", "4294967296", "name "):
        assert topic.child(name) is None


def test_topics_are_found_by_padded_ids_too():
    topics = at(kafka_root(topics=[ORDERS]), "image/topics/byId")
    assert topics.child(ORDERS_ID + "==").child("name").kafka_text() == "orders"
    assert topics.child(ORDERS_ID).child("id").kafka_text() == ORDERS_ID
    for name in (ORDERS_ID[:-1], ORDERS_ID + "=", ORDERS_ID[:-1] + "+", "AAAAAAAAAAAAAAAAAAAAAA", ""):
        assert topics.child(name) is None


def test_hostile_names_of_topics_resolve_in_our_voice():
    names = ["a/b", ".", "..", "", "%", "\x1b[2J", "<default>", "\U0001f600", "\uff5e"]
    topics = [topic_image(name, bytes([number]) * 16) for number, name in enumerate(names)]
    by_name = at(own_root(topics=topics), "image/topics/byName")
    assert sorted(child.child("name").value() for child in by_name.iter_children()) == sorted(names)
    assert [child.name for child in by_name.iter_children()] == list(by_name.child_names())
    assert by_name.child("%2E%2E").child("name").value() == ".."


def test_prefixes_are_found_by_bisection_in_the_order_of_names():
    names = [f"topic-{number}" for number in range(300)] + ["tool", "zoo", "\U0001f600x", "\uff5ey"]
    topics = [topic_image(name, number.to_bytes(16)) for number, name in enumerate(names)]
    by_name = at(own_root(topics=topics), "image/topics/byName")
    assert by_name.names_with_prefix("topic-29") == ["topic-29", *(f"topic-29{digit}" for digit in range(10))]
    assert by_name.names_with_prefix("to", 2) == ["tool", "topic-0"]
    assert by_name.names_with_prefix("\uff5e") == ["\uff5ey"]
    assert by_name.names_with_prefix("\U0001f600") == ["\U0001f600x"]
    assert by_name.names_with_prefix("x") == []
    assert by_name.names_with_prefix("") == list(by_name.child_names())


def test_children_are_made_one_by_one_and_names_sorted_once():
    topics = CountedTopics({f"t{number}": topic_image(f"t{number}", number.to_bytes(16)) for number in range(1000)})
    content = image()
    content.topics.by_name = topics
    from metashell.metadata.nodes import build_root
    from tests.metadata.nodes.stand_in import LOCAL

    root = build_root(content, voice="own", local=LOCAL)
    children = at(root, "image/topics/byName").iter_children()
    assert [next(children).name for _ in range(3)] == ["t0", "t1", "t10"]
    assert topics.reads == 3
    at(root, "image/topics/byName").child_names()
    at(root, "topics").names_with_prefix("t99")
    assert topics.walks == 1


def test_looking_at_a_broker_touches_no_topic():
    topics = CountedTopics({"t": topic_image("t", bytes(16))})
    content = image(brokers={4: SimpleNamespace(id=4)})
    content.topics.by_name = topics
    from metashell.metadata.nodes import build_root
    from tests.metadata.nodes.stand_in import LOCAL

    assert at(build_root(content, voice="own", local=LOCAL), "image/cluster/brokers/4") is not None
    assert (topics.reads, topics.walks) == (0, 0)


def test_a_walk_decodes_no_partition():
    class Undecoded(dict):
        def __getitem__(self, key):
            raise AssertionError("a partition was decoded")

    topic = topic_image("t", bytes(16), Undecoded({0: None, 1: None}))
    paths = ["/".join(path) for path, _ in walk(at(own_root(topics=[topic]), "image/topics"))]
    assert paths[1:6] == ["byId", "byId/AAAAAAAAAAAAAAAAAAAAAA", *(f"byId/AAAAAAAAAAAAAAAAAAAAAA/{n}" for n in ("0", "1", "id"))]


def test_the_second_view_has_partitions_as_directories_with_data():
    root = own_root(topics=[ORDERS])
    assert at(root, "topics/orders/3").child_names() == ["data"]
    assert at(root, "topics/orders/3").type == "partition"
    assert at(root, "topics/orders/3/data").value() == at(root, "image/topics/byName/orders/3").value()
    assert at(root, f"topicIds/{ORDERS_ID}/name").value() == "orders"
