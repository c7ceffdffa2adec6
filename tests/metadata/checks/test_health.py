"""Each kind of trouble is found where it was planted, and nothing else is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import LEADER_CHANGE
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.checks import PARTITION_GROUPS, Facts, Health, count_partitions, judge
from metashell.metadata.checks.facts import QuorumAnswers, Replica
from metashell.metadata.checks.partitions import PartitionJudge
from metashell.metadata.image import ImageLoader, MetadataImage, ReplayError, load_image
from metashell.metadata.image.partitions import partition_from_record, partition_reader
from metashell.metadata.nodes.places import paths_of
from tests.metadata.image.batches import batch, control_batch, record
from tests.metadata.image.test_image import image_of

TOPIC = bytes(range(16))
DIRECTORIES = {id: bytes([id] * 16) for id in (1, 2, 3, 4)}
RACKS = {1: "a", 2: "b", 3: "c", 4: "a"}
SOUND = {"replicas": (1, 2, 3), "isr": (2, 1, 3), "leader": 1}


def broker(id: int, **fields: object) -> object:
    usual = {"incarnation_id": bytes(16), "broker_epoch": 5, "rack": RACKS[id], "fenced": False, "log_dirs": (DIRECTORIES[id],)}
    return record("RegisterBrokerRecord", **{"broker_id": id, **usual, **fields})


def partition(id: int, **fields: object) -> object:
    usual = {"partition_id": id, "topic_id": TOPIC, **SOUND, **fields}
    directories = tuple(DIRECTORIES.get(id, bytes([id] * 16)) for id in usual["replicas"])
    return record("PartitionRecord", **{"directories": directories, **usual})


def config(type: int, name: str, value: str) -> object:
    return record("ConfigRecord", resource_type=type, resource_name=name, name="min.insync.replicas", value=value)


def cluster(*bodies: object, brokers: tuple[object, ...] = ()) -> MetadataImage:
    loader = ImageLoader()
    registered = {body.broker_id: body for body in (*map(broker, RACKS), *brokers)}
    topic = record("TopicRecord", name="orders", topic_id=TOPIC)
    loader.load_batch(batch(*registered.values(), topic, partition(0), partition(1), *bodies))
    return loader.image()


def found(image: MetadataImage, **thresholds: Any) -> dict[str, list[str]]:
    """The names of what is found, by kind."""
    return found_by(Health(image, **thresholds))


def found_by(health: Health) -> dict[str, list[str]]:
    verdict = judge(Facts(health=health))
    answer = {finding.check.id: [one.name for one in finding] for finding in verdict.findings}
    assert all(len(answer[finding.check.id]) == finding.count for finding in verdict.findings)
    return answer


def test_nothing_is_wrong_with_a_sound_cluster():
    assert found(cluster()) == {}


def fields_of(body: object) -> dict[str, object]:
    return {name: getattr(body, name) for name in type(body).__slots__ if not name.startswith("_")}


def test_what_formatting_left_where_an_older_kafka_ignores_it_is_named():
    loader = ImageLoader()
    loader.load_snapshot_batch(batch(record("FeatureLevelRecord", name="metadata.version", feature_level=30)))
    image = loader.image()
    for kind, end_offset, is_hidden in (("directory", 0, True), ("directory", 1, False), ("bootstrap", 0, False)):
        placed = image._replace(provenance=image.provenance._replace(source_kind=kind, end_offset=end_offset))
        assert found(placed).get("first_records") == (["metadata.version 30 (4.3-IV0)"] if is_hidden else None)


def test_what_formatting_left_at_a_level_that_no_older_kafka_supports_is_no_finding():
    loader = ImageLoader()
    loader.load_snapshot_batch(batch(record("FeatureLevelRecord", name="metadata.version", feature_level=33)))
    image = loader.image()
    placed = image._replace(provenance=image.provenance._replace(source_kind="directory", end_offset=0))
    assert "first_records" not in found(placed)


def test_metadata_that_no_node_has_written_is_no_sound_cluster():
    loader = ImageLoader()
    loader.load_batch(batch(record("FeatureLevelRecord", name="metadata.version", feature_level=20)))
    assert found(loader.image()) == {"empty": ["neither a leader nor a node nor a topic"]}


def test_a_topic_whose_name_another_has_taken_is_named_by_its_id():
    later = record("TopicRecord", name="orders", topic_id=bytes(15) + b"\7")
    image = cluster(partition(7, leader=-1), later)
    assert found(image)["leaderless"] == ["AAECAwQFBgcICQoLDA0ODw/7"]
    assert paths_of(("partition", TOPIC, 7), image) == [("image", "topics", "byId", "AAECAwQFBgcICQoLDA0ODw", "7")]


def test_a_partition_on_few_racks_has_those_that_it_is_not_on():
    health = Health(cluster(partition(7, replicas=(1, 2, 4), isr=(1, 2, 4))))
    ((topic, partition_id),) = health.partitions_of("racks")
    assert (partition_id, health.racks_without(topic, 7), health.racks_without(topic, 0)) == (7, ["c"], [])


CASES = {
    "leaderless": (partition(7, leader=-1), {"leaderless"}),
    "not led by the first": (partition(7, leader=2), {"not_preferred"}),
    "one behind": (partition(7, isr=(1, 2)), {"under_replicated"}),
    "one left": (partition(7, isr=(1,)), {"under_replicated", "at_min_isr"}),
    "none left": (partition(7, isr=(), leader=-1), {"leaderless", "under_replicated", "under_min_isr"}),
    "adding": (partition(7, replicas=(1, 2, 3, 4), adding_replicas=(4,), isr=(1, 2, 3)), {"reassigning"}),
    "removing": (partition(7, removing_replicas=(3,)), {"reassigning"}),
    "unclean": (partition(7, leader_recovery_state=1), {"unclean"}),
    # Its broker came back after an unclean shutdown: it led before.
    "unclean, alone": (partition(7, replicas=(1,), isr=(1,), leader=1, leader_recovery_state=1), set()),
    "elr": (partition(7, isr=(1,), eligible_leader_replicas=(2,)), {"elr", "under_replicated", "at_min_isr"}),
    "no directory yet": (partition(7, directories=(DIRECTORIES[1], bytes(15) + b"\1", DIRECTORIES[3])), {"unassigned_directory"}),
    "lost directory": (partition(7, directories=(DIRECTORIES[1], bytes(15) + b"\2", DIRECTORIES[3])), {"offline_directory"}),
    "directory that is gone": (partition(7, directories=(DIRECTORIES[1], bytes([9] * 16), DIRECTORIES[3])), {"offline_directory"}),
    "before directories": (partition(7, directories=()), set()),
    "one rack twice": (partition(7, replicas=(1, 2, 4), isr=(1, 2, 4)), {"racks"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_partition_is_judged(name):
    body, expected = CASES[name]
    answer = found(cluster(body))
    assert answer.keys() == expected
    assert all(names == ["orders/7"] for names in answer.values())


@pytest.mark.parametrize("count", (1, 13))
@pytest.mark.parametrize(
    ("racks", "replicas", "is_found"),
    (
        ("abaa", (1, 3), True),
        ("abaa", (1, 3, 4), True),
        ("abaa", (1, 2), False),
        ("abaa", (3, 2, 4), False),
        ("abaa", (3,), False),
        ("abca", (1, 4, 2), True),
        ("abca", (1, 2), False),
        ("abca", (1, 4), True),
        # One rack is none to choose from, and where a broker has no rack Kafka looks at none.
        ("aaaa", (1, 3), False),
        ("ab.a", (1, 4), False),
    ),
)
def test_a_partition_spans_as_many_racks_as_it_can(racks: str, replicas: tuple[int, ...], is_found: bool, count: int):
    brokers = tuple(broker(id, rack=rack if rack != "." else None) for id, rack in enumerate(racks, 1))
    loader = ImageLoader()
    bodies = [partition(id, replicas=replicas, isr=replicas, leader=replicas[0]) for id in range(count)]
    loader.load_batch(batch(*brokers, record("TopicRecord", name="orders", topic_id=TOPIC), *bodies))
    assert found(loader.image()).get("racks", []) == [f"orders/{id}" for id in range(count) if is_found]


def test_partitions_on_a_broker_that_is_not_there_name_it():
    answer = found(cluster(partition(7, replicas=(1, 2, 8))))
    assert answer == {"unregistered_replica": ["orders/7"], "vanished": ["8"]}


def test_a_broker_whose_replicas_were_moved_away_is_named_no_more():
    was = partition(2, replicas=(1, 7), isr=(1,))
    moved = record(
        "PartitionChangeRecord", partition_id=2, topic_id=TOPIC, replicas=(1, 2), isr=(1, 2), directories=(DIRECTORIES[1], DIRECTORIES[2])
    )
    assert Health(cluster(was)).vanished == [7]
    assert Health(cluster(was, moved)).vanished == []
    assert Health(cluster(was, partition(3, replicas=(1, 7), isr=(1,)), moved)).vanished == [7]


def test_fenced_brokers_lead_nothing_and_hold_up_what_moves_to_them():
    moving = partition(7, replicas=(2, 1, 3, 4), adding_replicas=(4,), leader=2)
    answer = found(cluster(moving, partition(8, leader=4, replicas=(4, 2, 3), isr=(4, 2, 3)), brokers=(broker(4, fenced=True),)))
    assert answer == {
        "offline": ["orders/8"],
        "stuck_reassignment": ["orders/7"],
        "fenced": ["4"],
        "reassigning": ["orders/7"],
    }


def test_a_broker_in_controlled_shutdown_is_unusual():
    assert found(cluster(brokers=(broker(4, in_controlled_shutdown=True),))) == {"shutting_down": ["4"]}


def test_a_replica_in_a_cordoned_directory_is_unusual():
    answer = found(cluster(brokers=(broker(3, cordoned_log_dirs=(DIRECTORIES[3],)),)))
    assert answer == {"cordoned_directory": ["orders/0", "orders/1"]}


def test_min_isr_is_that_of_the_topic_then_that_of_all_brokers_then_the_one_given():
    one_left, two_left = partition(7, isr=(1,)), partition(8, isr=(1, 2))
    given_two = found(cluster(one_left, two_left), static_min_isr=2)
    assert (given_two["under_min_isr"], given_two["at_min_isr"]) == (["orders/7"], ["orders/8"])
    of_brokers = found(cluster(one_left, two_left, config(4, "", "2")))
    assert of_brokers == given_two
    of_topic = found(cluster(one_left, two_left, config(4, "", "3"), config(2, "orders", "2")))
    assert of_topic == given_two
    assert "under_min_isr" not in found(cluster(partition(9, replicas=(1,), isr=(1,)), config(4, "", "3")))


def test_min_isr_may_be_that_of_the_broker_that_leads():
    """As Kafka resolves it: the topic's, else that of the leader, else that of all brokers."""
    bodies = (partition(7, isr=(1,)), partition(8, isr=(2,), leader=2), config(4, "", "1"), config(4, "2", "2"))
    assert found(cluster(*bodies))["under_min_isr"] == ["orders/8"]
    assert "under_min_isr" not in found(cluster(*bodies, config(2, "orders", "1")))


@pytest.mark.parametrize("text", ["two", "1_0", "", "0", "-1", "2.0", "2147483648", "\N{ARABIC-INDIC DIGIT TWO}"])
def test_a_min_isr_that_is_no_number_gives_way_to_the_next_and_is_bad_itself(text):
    answer = found(cluster(partition(7, isr=(1,)), config(2, "orders", text), config(4, "", " +2 ")))
    assert answer["under_min_isr"] == ["orders/7"]
    assert answer["unreadable_min_isr"] == [f"topic:orders = {text!r}"]


def test_a_leader_of_its_own_min_isr_does_not_count_where_nobody_leads():
    image = cluster(partition(7, isr=(1,), leader=-1), config(4, "1", "2"))
    assert "under_min_isr" not in found(image)


def test_a_pass_that_was_interrupted_leaves_nothing_behind(monkeypatch):
    """Ctrl-C at any call: what is asked next has the answer of an image that nobody has looked at."""
    bodies = [record("TopicRecord", name=f"t{number}", topic_id=bytes([number] * 16)) for number in range(3)]
    bodies += [partition(0, topic_id=bytes([number] * 16), leader=-1) for number in range(3)]
    image = cluster(*bodies)
    expected = found(image)
    assert expected["leaderless"] == ["t0/0", "t1/0", "t2/0"]
    for calls in range(1, 5):
        health = Health(image)
        left = calls
        survey = Health.survey

        def interrupted(self, topic, survey=survey):
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return survey(self, topic)

        with monkeypatch.context() as patch:
            patch.setattr(Health, "survey", interrupted)
            with pytest.raises(KeyboardInterrupt):
                health.counts()
        assert found_by(health) == expected


def test_a_log_that_begins_late_is_incomplete_and_nothing_else_is_claimed():
    loader = ImageLoader()
    late = batch(record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, leader=-1), broker(1, fenced=True), base_offset=251)
    loader.load_batch(late)
    assert found(loader.image()).keys() == {"incomplete", "fault"}


def test_voters_of_a_compacted_log_are_those_that_somebody_else_knows():
    image = cluster(record("FeatureLevelRecord", name="metadata.version", feature_level=15))
    assert "unregistered_voter" not in found(image)
    assert found(image, voter_ids=lambda: (2, 1))["unregistered_voter"] == ["1", "2"]


def test_what_a_live_leader_says_of_its_replicas_is_a_finding():
    leader = Replica(1, None, 10, 60_000, 60_000)
    replicas = {"voters": (leader, Replica(2, None, 10, 60_000, 55_000)), "observers": (Replica(3, None, 5, 60_000, 45_000),)}
    quorum = QuorumAnswers(leader_id=1, **replicas)
    verdict = judge(Facts(health=Health(cluster()), quorum=quorum), {"lagging"})
    assert [one.name for finding in verdict.findings for one in finding] == ["observer 3: it is 5 records behind, had everything 15 s ago"]
    leaderless = QuorumAnswers(**replicas)
    assert judge(Facts(quorum=leaderless), {"lagging"}).findings == ()


def test_reassignments_that_last_too_long_are_stuck_beside_those_to_a_fenced_broker():
    moving = {"replicas": (2, 1, 3, 4), "leader": 2, "removing_replicas": (3,)}
    bodies = [partition(id, **moving) for id in (7, 8)]
    to_fenced = partition(9, **{**moving, "removing_replicas": (), "adding_replicas": (4,)})
    image = cluster(*bodies, to_fenced, brokers=(broker(4, fenced=True),))
    health = Health(image)
    # One that is over meanwhile is not stuck.
    slow = health.with_slow([(TOPIC, 8), (TOPIC, 0)])
    assert found_by(slow)["stuck_reassignment"] == ["orders/8", "orders/9"]
    assert found_by(health)["stuck_reassignment"] == ["orders/9"]


def test_a_level_that_a_node_does_not_support_is_bad():
    features = (record("FeatureLevelRecord", name="share.version", feature_level=1),)
    answer = found(cluster(*features))
    assert answer == {"unsupported_feature": [f"broker {id}: share.version 1, supports 0-0" for id in RACKS]}


def supporting(id: int, high: int) -> object:
    feature = message_type("metadata", "RegisterBrokerRecord").structs["BrokerFeature"]
    return broker(id, features=(feature(name="metadata.version", min_supported_version=7, max_supported_version=high),))


def test_levels_are_shown_by_name_and_nodes_that_hold_back_an_upgrade_are_named():
    level = record("FeatureLevelRecord", name="metadata.version", feature_level=30)
    newer = [supporting(id, 33) for id in (1, 2, 4)]
    answer = found(cluster(level, brokers=(*newer, supporting(3, 30))))
    assert answer == {"holds_upgrade": ["broker 3: metadata.version 30 (4.3-IV0) at most, others 33 (4.4-IV2)"]}
    answer = found(cluster(level, brokers=(*newer, supporting(3, 29))))
    assert answer["unsupported_feature"] == ["broker 3: metadata.version 30 (4.3-IV0), supports 7-29"]
    # What all support holds nothing back, and neither does what is finalized already.
    assert found(cluster(level, brokers=(*newer, supporting(3, 33)))) == {}


def entry(number: int, host: str) -> object:
    fields = {"resource_type": 2, "resource_name": "orders", "pattern_type": 3, "operation": 3, "permission_type": 3}
    return record("AccessControlEntryRecord", id=bytes([number] * 16), principal="User:alice", host=host, **fields)


def test_an_acl_that_begins_to_match_with_4_4_is_said_before():
    levels = {number: record("FeatureLevelRecord", name="metadata.version", feature_level=number) for number in (31, 32)}
    old = [broker(id, features=()) for id in RACKS]
    acls = (entry(1, "10.1.0.0/16"), entry(2, "*"), entry(3, "10.1.0.1"))
    answer = found(cluster(levels[31], *acls, brokers=tuple(old)))
    assert answer["acl_range"] == ["ALLOW READ for User:alice from 10.1.0.0/16 on TOPIC orders"]
    assert "acl_range" not in found(cluster(levels[32], *acls, brokers=tuple(old)))


def test_a_log_of_a_leader_without_a_metadata_version_is_bad():
    loader = ImageLoader()
    leader = message_type("control", "LeaderChangeMessage").cls(leader_id=1)
    loader.load_batch(control_batch((LEADER_CHANGE, leader)))
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=TOPIC), base_offset=1))
    assert found(loader.image()) == {"no_metadata_version": ["metadata.version"]}


def test_what_is_newer_is_no_record_that_could_not_be_applied():
    answers = {kind: found(image_of(kind)) for kind in ("record", "tag", "version", "level")}
    assert answers["record"]["newer_record"] == ["record type 63 (2 records, the first at offset 11): any answer may lack what it says"]
    assert answers["tag"].keys() == {"incomplete", "newer_record"}
    assert answers["version"]["newer_level"] == ["TOPIC_RECORD version 1 (1 record, at offset 11)"]
    assert answers["level"]["newer_level"] == ["metadata.version 40"]
    assert not any("fault" in answer for answer in answers.values())


def test_faults_are_bad():
    answer = found(cluster(record("UnregisterBrokerRecord", broker_id=99, broker_epoch=1)))
    assert answer.keys() == {"fault"}


@pytest.mark.parametrize("name", CASES)
def test_a_partition_is_judged_the_same_in_a_run_of_many(name):
    body, expected = CASES[name]
    bodies = [partition(id, **{**fields_of(body), "partition_id": id}) for id in range(7, 20)]
    answer = found(cluster(*bodies))
    assert answer.keys() == expected
    assert all(names == [f"orders/{id}" for id in range(7, 20)] for names in answer.values())


@given(st.data())
def test_a_row_that_looks_sound_is_sound(data):
    """What is judged as bytes is judged as the partition would be: rows are sound ones with a byte or two changed."""
    body = partition(7, leader_epoch=0, partition_epoch=0)
    raw = bytearray(message_type("metadata", "PartitionRecord").write(body, 2)[20:])
    places = [index for index in range(len(raw)) if not 29 <= index < 37]
    for index in data.draw(st.lists(st.sampled_from(places), max_size=2)):
        raw[index] = data.draw(st.sampled_from([0, 1, 2, 3, 4, 5]))
    image = cluster(brokers=(broker(3, cordoned_log_dirs=(DIRECTORIES[3],)), broker(4, fenced=True)))
    judge = PartitionJudge(image, 2, {}, set())
    quick = judge.sound_row((bytes(raw[:32]), bytes(raw[40:])))
    whole = bytes(20) + bytes(raw)
    try:
        read = partition_from_record(partition_reader(2)(whole, 0, len(whole)))
    except (DecodeError, ReplayError):
        return  # No such record is ever in a span.
    assert quick in (None, judge(read))


@pytest.fixture(scope="module")
def image() -> MetadataImage:
    with open_source(demo_directory()) as source:
        return load_image(source)


def test_each_replica_counts_by_broker_and_by_rack(image):
    by_broker = Counter(id for _, _, partition in image.topics.iter_partitions() for id in partition.replicas)
    assert count_partitions(Health(image), image.topics, "broker") == by_broker
    racks: Counter[str | None] = Counter()
    for id, count in by_broker.items():
        racks[image.cluster.brokers[id].rack] += count
    assert count_partitions(Health(image), image.topics, "rack") == racks


def test_each_partition_counts_once_by_anything_else(image):
    for by in set(PARTITION_GROUPS) - {"broker", "rack"}:
        assert sum(count_partitions(Health(image), image.topics, by).values()) == 36, by


def test_a_field_has_the_value_that_the_partition_has(image):
    expected = Counter(partition.isr for _, _, partition in image.topics.iter_partitions())
    assert count_partitions(Health(image), image.topics, "isr") == expected


def test_a_partition_counts_for_the_worst_that_is_wrong_with_it(image):
    assert count_partitions(Health(image), image.topics, "state") == {"sound": 35, "reassigning": 1}
