"""A question asked of bytes has the answer that it has of objects, for one topic and for many at once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.checks import Health, PartitionSurvey
from metashell.metadata.checks import survey as module
from metashell.metadata.checks.survey import SoundColumns
from metashell.metadata.image import ImageLoader, MetadataImage, PartitionRegistration
from tests.metadata.image.batches import batch, record

TOPIC = bytes(range(16))
IDS = st.sampled_from([1, 2, 3])


def everything_but_epochs(partition: PartitionRegistration) -> PartitionRegistration:
    return partition._replace(leader_epoch=0, partition_epoch=0)


@st.composite
def partition_fields(draw: st.DrawFn) -> dict[str, object]:
    replicas = tuple(draw(st.permutations([1, 2, 3]))[: draw(st.integers(1, 3))])
    return {
        "replicas": replicas,
        "isr": replicas[: draw(st.integers(0, 3))],
        "adding_replicas": draw(st.sampled_from([(), (3,)])),
        "removing_replicas": draw(st.sampled_from([(), (1, 2)])),
        "leader": draw(st.sampled_from([-1, 1, 2])),
        "leader_epoch": draw(st.integers(0, 5)),
        "partition_epoch": draw(st.integers(0, 5)),
        "leader_recovery_state": draw(st.integers(0, 1)),
        "directories": draw(st.sampled_from([(), tuple(bytes([id] * 16) for id in replicas)])),
        "eligible_leader_replicas": draw(st.sampled_from([None, (2,)])),
    }


@given(st.lists(st.tuples(partition_fields(), st.integers(1, 12)), max_size=5), st.lists(st.integers(0, 20), max_size=4), st.booleans())
def test_the_answers_of_a_topic_are_those_of_its_partitions_one_by_one(runs, changed, repeats):
    fields = [each for each, times in runs for _ in range(times)]
    bodies = [record("PartitionRecord", partition_id=id, topic_id=TOPIC, **each) for id, each in enumerate(fields)]
    if repeats:
        bodies += bodies[:4]
    bodies += [record("PartitionChangeRecord", partition_id=id, topic_id=TOPIC, leader=2) for id in changed if id < len(fields)]
    loader = ImageLoader()
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=TOPIC), *bodies))
    (topic,) = loader.image().topics
    survey = PartitionSurvey(everything_but_epochs)
    expected = {id: everything_but_epochs(partition) for id, partition in topic.partitions.items()}
    for _ in range(2):  # The second time every shape is known.
        assert survey.by_id(topic) == expected
        assert sorted(survey.answers(topic)) == sorted(expected.values())


def test_partitions_that_are_alike_are_decoded_once():
    bodies = [record("PartitionRecord", partition_id=id, topic_id=TOPIC, replicas=(1, 2), isr=(1, 2), leader=1) for id in range(300)]
    loader = ImageLoader()
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=TOPIC), *bodies))
    (topic,) = loader.image().topics
    asked: list[PartitionRegistration] = []
    survey = PartitionSurvey(lambda partition: len(asked.append(partition) or asked))
    assert len(survey.answers(topic)) == 300
    # Three of a shape are decoded before it is learnt; offset deltas of one and of two bytes are two shapes.
    assert len(asked) <= 2 * 4


SWEEP_IDS = (1, 2, 300, 65534, 65535, 70000)
FENCED, CORDONED = 2, 300
SHARED = bytes([250] * 16)
UNKNOWN = 9


def directory(id: int, number: int = 0) -> bytes:
    return bytes([number + 10]) + id.to_bytes(15, "big")


def brokers(is_rack_aware: bool) -> list[object]:
    return [
        record(
            "RegisterBrokerRecord",
            broker_id=id,
            incarnation_id=bytes(16),
            broker_epoch=5,
            rack=f"r{index // 2}" if is_rack_aware or index else None,
            fenced=id == FENCED,
            log_dirs=(directory(id), directory(id, 1), SHARED),
            cordoned_log_dirs=(directory(id, 1),) if id == CORDONED else None,
        )
        for index, id in enumerate(SWEEP_IDS)
    ]


@st.composite
def partitions(draw: st.DrawFn) -> dict[str, object]:
    """Mostly sound ones; each draw that is not the first makes something wrong or merely different."""
    replicas = tuple(draw(st.permutations(SWEEP_IDS if draw(st.integers(0, 4)) else (*SWEEP_IDS, UNKNOWN)))[:2])
    odd = draw(st.sampled_from(["sound"] * 12 + ["leader", "isr", "adding", "directory", "none", "elr"]))
    directories = [directory(id, draw(st.integers(0, 1))) for id in replicas]
    if odd == "directory":
        directories[1] = draw(st.sampled_from([SHARED, bytes(15) + b"\1", directory(replicas[0]), b"\xff" * 16]))
    return {
        "replicas": replicas,
        "isr": replicas[:1] if odd == "isr" else replicas,
        "leader": -1 if odd == "none" else replicas[1] if odd == "leader" else replicas[0],
        "adding_replicas": replicas[1:] if odd == "adding" else (),
        "directories": tuple(directories),
        "eligible_leader_replicas": (replicas[1],) if odd == "elr" else None,
    }


def image_of(topics: list[list[dict[str, object]]], *, is_rack_aware: bool, first: int = 0, repeats: bool = False) -> MetadataImage:
    loader = ImageLoader()
    bodies = brokers(is_rack_aware)
    for number, partitions in enumerate(topics):
        id = bytes([number] * 16)
        bodies.append(record("TopicRecord", name=f"t{number}", topic_id=id))
        made = [record("PartitionRecord", partition_id=first + at, topic_id=id, **fields) for at, fields in enumerate(partitions)]
        bodies += made
        if repeats:
            bodies += made[:2]
    bodies.append(record("ConfigRecord", resource_type=2, resource_name="t1", name="min.insync.replicas", value="2"))
    loader.load_batch(batch(*bodies))
    return loader.image()


def slowly(health: Health) -> Counter[tuple[str, int]]:
    return Counter((topic.name, bits) for topic in health.image.topics for bits in health.survey(topic).answers(topic))


@pytest.fixture(autouse=True, scope="module")
def columns_at_once():
    """Columns are judged from the first topic on, other than on a cluster where few rows differ."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 0)
        yield


def swept(health: Health) -> Counter[tuple[str, int]]:
    return Counter((topic.name, bits) for topic, answers in health.sweep(health.image.topics) for bits in answers)


@given(st.lists(st.lists(partitions(), max_size=12), min_size=1, max_size=8), st.booleans(), st.sampled_from([0, 0, 5]), st.booleans())
def test_many_topics_at_once_have_the_answers_of_each(topics, is_rack_aware, first, repeats):
    image = image_of(topics, is_rack_aware=is_rack_aware, first=first, repeats=repeats)
    assert swept(Health(image)) == slowly(Health(image))


@given(st.lists(partitions(), min_size=1, max_size=6), st.integers(1, 40))
def test_runs_are_swept_in_pieces_of_any_size(fields, rows_max):
    image = image_of([fields * 5 for _ in range(6)], is_rack_aware=True)
    usual, module._ROWS_MAX = module._ROWS_MAX, rows_max  # type: ignore[misc]
    try:
        assert swept(Health(image)) == slowly(Health(image))
    finally:
        module._ROWS_MAX = usual  # type: ignore[misc]


@pytest.mark.parametrize("is_rack_aware", [True, False])
def test_sound_partitions_are_not_asked_about_one_by_one(is_rack_aware, monkeypatch):
    """All placed differently, as far as that is possible; a shape is learnt from the first three of it."""
    sound = [1, 300]
    fields = [
        {"replicas": (a, b), "isr": (a, b), "leader": a, "directories": (directory(a), directory(b))}
        for a in sound
        for b in (1, 300, 65534)
        if a != b
    ]
    image = image_of([fields * 3 for _ in range(20)], is_rack_aware=is_rack_aware)
    judged: list[int] = []
    odd: list[int] = []
    judge = SoundColumns.judge

    def noted(self, rows, layout):
        bits, found = judge(self, rows, layout)
        judged.append(len(bits))
        odd.extend(found)
        return bits, found

    monkeypatch.setattr(SoundColumns, "judge", noted)
    assert sum(swept(Health(image)).values()) == 20 * len(fields) * 3
    assert sum(judged) >= 15 * len(fields) * 3 and not odd


HIDDEN = {
    "a directory that two brokers have": {"replicas": (1, 300), "directories": (directory(1), SHARED)},
    "one of another broker": {"replicas": (1, 300), "directories": (directory(300), directory(1))},
    "one that nobody has, on the broker whose id stands for none": {"replicas": (65535, 1), "directories": (b"\xff" * 16, directory(1))},
    "a broker of the same last bytes": {"replicas": (70000 & 0xFFFF, 1), "directories": (directory(70000), directory(1))},
    "a cordoned one": {"replicas": (1, CORDONED), "directories": (directory(1), directory(CORDONED, 1))},
    "a fenced leader": {"replicas": (FENCED, 1), "directories": (directory(FENCED), directory(1))},
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_looks_sound_in_some_columns_is_not(name):
    fields = {**HIDDEN[name], "isr": HIDDEN[name]["replicas"], "leader": HIDDEN[name]["replicas"][0]}
    image = image_of([[fields] * 12 for _ in range(10)], is_rack_aware=True)
    assert swept(Health(image)) == slowly(Health(image))
    assert all(bits == 0 for _, bits in swept(Health(image))) == (name == "a directory that two brokers have")


@pytest.mark.parametrize("first", [0, 3])
def test_a_partition_that_is_there_twice_counts_once(first):
    fields = {"replicas": (1, 300), "isr": (1, 300), "leader": 1, "directories": (directory(1), directory(300))}
    image = image_of([[fields] * 12 for _ in range(10)], is_rack_aware=True, first=first, repeats=True)
    assert sum(swept(Health(image)).values()) == sum(len(topic.partitions) for topic in image.topics) == 120


def test_where_few_rows_differ_they_are_remembered_and_from_many_on_judged_by_columns(monkeypatch):
    fields = [{"replicas": (1, 300), "isr": (1, 300), "leader": 1, "directories": (directory(1), directory(300, 0))}] * 12
    others = [{**each, "directories": (directory(1, number % 2), directory(300))} for number, each in enumerate(fields)]
    image = image_of([fields] * 5 + [others] * 5, is_rack_aware=True)
    judged: list[int] = []
    judge = SoundColumns.judge

    def noted(self, rows, layout):
        judged.append(len(rows) // layout.stride)
        return judge(self, rows, layout)

    monkeypatch.setattr(SoundColumns, "judge", noted)
    for few, is_judged in ((1, True), (2, True), (1000, False)):
        judged.clear()
        monkeypatch.setattr(module, "_FEW", few)
        assert swept(Health(image)) == slowly(Health(image))
        assert bool(judged) == is_judged
