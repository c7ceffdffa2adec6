"""The metadata hash is Kafka's: XXH3 over the topics, as hash4j of 4.3.1 computes it."""

from __future__ import annotations

import pytest

from metashell.groups.topics import KnownTopics, Topic, group_hash, xxh3_64
from tests.groups.golden import RACKS, play, scenarios

# Of bytes `(37 * index + 11) % 256`, from hash4j 0.22.0: at both sides of every length where the way changes.
HASHES = {
    0: 3244421341483603138, 1: 5350621376133947991, 3: 5787434222265441294, 4: 4569053481933687505, 7: 2438053470628116450,
    8: 10660337044374955633, 9: 410669025747389870, 15: 13842630515147155285, 16: 3333606979071008306, 17: 17729637540463134877,
    32: 7370251699274313670, 33: 12293012106472150698, 64: 10264940500813530997, 65: 10248715245439863818, 96: 15963030467105891797,
    97: 14561281643101798500, 128: 6659336990027547961, 129: 5042549241329645129, 144: 8849830925504792699, 160: 5053211898214408239,
    239: 11666640579686457277, 240: 13869226650535514414, 241: 9628072216995847292, 256: 2997356976477998354, 512: 14997585875737488615,
    1023: 17536256624619911744, 1024: 9076987773545721203, 1025: 3003284996326237778, 1088: 12783132408139401554,
    2048: 17924866018974457306, 2049: 2400724123465586071, 5000: 4315010409551155122,
}  # fmt: skip


@pytest.mark.parametrize("size", HASHES)
def test_xxh3_gives_what_hash4j_gives(size: int) -> None:
    assert xxh3_64(bytes((37 * index + 11) % 256 for index in range(size))) == HASHES[size]


@pytest.mark.parametrize("name", ["subscriptions", "regex", "conversions-of-empty-groups", "walk-consumer-1"])
def test_the_hashes_that_are_written_are_those_of_kafka(name: str) -> None:
    golden = scenarios()[name]
    ours = play(golden)

    def hashes(scenario: dict[str, list[dict[str, list[dict[str, object]]]]]) -> list[object]:
        records = [record for step in scenario["steps"] for record in step["records"] if record.get("type") == 3]
        return [value.get("metadataHash", 0) for record in records if isinstance(value := record["value"], dict)]

    assert hashes(golden) == hashes(ours)
    assert any(hashes(golden))


def test_a_topic_that_does_not_exist_makes_no_difference() -> None:
    topics = KnownTopics([Topic(b"\x01" * 16, "here", (RACKS,) * 3)])
    assert group_hash(["here", "gone"], topics) == group_hash(["here"], topics) != 0
    assert group_hash(["gone"], topics) == 0


@pytest.mark.parametrize(
    "other",
    [
        Topic(b"\x02" * 16, "here", (RACKS,) * 3),
        Topic(b"\x01" * 16, "hera", (RACKS,) * 3),
        Topic(b"\x01" * 16, "here", (RACKS,) * 4),
        Topic(b"\x01" * 16, "here", (RACKS, RACKS, ("rack-2",))),
        Topic(b"\x01" * 16, "here", (RACKS, RACKS, ("rack-1", "rack-1"))),
    ],
)
def test_every_part_of_a_topic_counts(other: Topic) -> None:
    topic = Topic(b"\x01" * 16, "here", (RACKS,) * 3)
    assert group_hash([topic.name], KnownTopics([topic])) != group_hash([other.name], KnownTopics([other]))
