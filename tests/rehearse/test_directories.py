"""Disks that fail and come back empty, and where brokers put new replicas; what an empty disk does was seen on Kafka 4.4.0."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.common.values import uuid_text
from metashell.metadata.image import MetadataDelta, MetadataImage
from metashell.rehearse.outcome import Outcome, Trouble
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.render_text import data_losses, verdict_line
from metashell.rehearse.steps import CreateTopic, KillBroker, LoseDirectory, RestartBroker, Step, StepError
from tests.rehearse.small_images import broker_id_bytes, partition, small_image

OTHER = b"O" * 16


def cluster(**topics: list[object]) -> MetadataImage:
    """Brokers 1 to 3; broker 1 has two log directories."""
    image = small_image(dict.fromkeys((1, 2, 3)), topics)  # type: ignore[arg-type]
    delta = MetadataDelta(image)
    known = image.cluster.brokers[1]
    made = messages.BrokerRegistrationChangeRecord
    delta.replay(made(broker_id=1, broker_epoch=known.epoch, log_dirs=(broker_id_bytes(2, 1), OTHER)))
    return delta.apply()


def directory(broker: int) -> str:
    return uuid_text(broker_id_bytes(2, broker))


def rehearsed(image: MetadataImage, *steps: Step) -> Outcome:
    return rehearse_change(image, steps)


def whys(outcome: Outcome) -> list[str]:
    return list(dict.fromkeys(batch.why for batch in outcome.batches))


def test_a_broker_reports_in_which_directory_it_put_new_replicas() -> None:
    """Without that, every topic made on brokers with several directories would be found to have none."""
    outcome = rehearsed(cluster(), CreateTopic("new", assignments=((1, 2), (1, 3), (2, 1))))
    directories = [one.directories[one.replicas.index(1)] for one in outcome.after.topics.by_name["new"].partitions.values()]
    assert sorted(directories) == sorted([broker_id_bytes(2, 1), OTHER, broker_id_bytes(2, 1)]) or sorted(directories) == sorted(
        [OTHER, broker_id_bytes(2, 1), OTHER]
    )
    assert "AssignReplicasToDirs of broker 1" in whys(outcome)


def test_brokers_with_one_directory_have_nothing_to_tell() -> None:
    outcome = rehearsed(cluster(), CreateTopic("new", assignments=((2, 3),)))
    assert not any(why.startswith("Assign") for why in whys(outcome))


def test_of_a_failed_directory_only_its_replicas_are_lost() -> None:
    image = cluster(t=[partition(1, 2), partition(1, 3)._replace(directories=(OTHER, broker_id_bytes(2, 3)))])
    outcome = rehearsed(image, LoseDirectory(1, directory(1)))
    after = outcome.after.topics.by_name["t"].partitions
    assert (after[0].leader, after[0].isr) == (2, (2,))
    assert (after[1].leader, after[1].isr) == (1, (1, 3))
    assert outcome.after.cluster.brokers[1].directories == (OTHER,)
    assert not outcome.after.cluster.brokers[1].fenced
    assert outcome.verdict.status == 0


def test_a_partition_with_one_replica_goes_offline_with_its_directory() -> None:
    outcome = rehearsed(cluster(t=[partition(1)]), LoseDirectory(1, directory(1)))
    assert outcome.verdict.tolls[Trouble.OFFLINE].at_end == 1


def test_a_broker_dies_with_its_last_directory_and_starts_only_with_a_new_one() -> None:
    image = cluster(t=[partition(2, 3)])
    outcome = rehearsed(image, LoseDirectory(2), RestartBroker(2))
    assert outcome.after.cluster.brokers[2].fenced
    assert any("does not start" in event.text for event in outcome.events)
    assert [one.thing for one in outcome.steps[1].unfinished] == ["broker 2"]
    again = rehearsed(image, LoseDirectory(2), RestartBroker(2, empty=()))
    assert not again.after.cluster.brokers[2].fenced
    assert set(again.after.topics.by_name["t"].partitions[0].isr) == {2, 3}
    [copied] = [one for one in again.copied if not one.is_catch_up]
    assert (copied.broker, copied.partitions) == (2, 1)
    assert again.after.cluster.brokers[2].directories != image.cluster.brokers[2].directories


def test_the_last_replica_on_an_empty_disk_leads_at_the_next_election_and_all_records_are_lost() -> None:
    outcome = rehearsed(cluster(t=[partition(2)]), KillBroker(2), RestartBroker(2, empty=()))
    assert outcome.verdict.status == 1
    assert outcome.verdict.tolls[Trouble.UNCLEAN].partitions == 1
    assert outcome.emptied == ("t-0",)
    lost = "partition t-0 lost all records: nobody else had them, and the disk came back empty"
    assert verdict_line(outcome).endswith(f"; {lost}")
    assert lost in data_losses(outcome)
    assert outcome.after.topics.by_name["t"].partitions[0].leader == 2


def test_a_restart_with_its_disk_loses_nothing() -> None:
    outcome = rehearsed(cluster(t=[partition(2), partition(2, 3)]), RestartBroker(2))
    assert not outcome.verdict.tolls[Trouble.UNCLEAN].partitions
    assert not [one for one in outcome.copied if not one.is_catch_up]


def test_of_two_disks_one_may_come_back_empty_and_the_other_keeps_what_it_has() -> None:
    image = cluster(t=[partition(1, 2), partition(1, 3)._replace(directories=(OTHER, broker_id_bytes(2, 3)))])
    outcome = rehearsed(image, KillBroker(1), RestartBroker(1, empty=(directory(1),)))
    new, kept = outcome.after.cluster.brokers[1].directories
    assert kept == OTHER and new not in (OTHER, broker_id_bytes(2, 1))
    assert [one.directories[0] for one in outcome.after.topics.by_name["t"].partitions.values()] == [new, OTHER]
    [copied] = [one for one in outcome.copied if not one.is_catch_up]
    assert (copied.broker, copied.partitions) == (1, 1)
    # A directory that had failed comes back with a new id too.
    again = rehearsed(image, LoseDirectory(1, directory(1)), RestartBroker(1, empty=(directory(1),)))
    assert len(again.after.cluster.brokers[1].directories) == 2 and OTHER in again.after.cluster.brokers[1].directories


def test_a_replica_in_sync_elsewhere_is_copied_to_the_empty_disk() -> None:
    outcome = rehearsed(cluster(t=[partition(2, 3)]), KillBroker(2), RestartBroker(2, empty=()))
    assert not outcome.verdict.tolls[Trouble.UNCLEAN].partitions
    assert set(outcome.after.topics.by_name["t"].partitions[0].isr) == {2, 3}
    assert outcome.after.topics.by_name["t"].partitions[0].directories[0] in outcome.after.cluster.brokers[2].directories


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (LoseDirectory(1), "has not just one log directory"),
        (LoseDirectory(1, uuid_text(b"x" * 16)), "has no log directory"),
        (LoseDirectory(9), "is not registered"),
        (RestartBroker(2, empty=(uuid_text(b"x" * 16),)), "has no log directory"),
    ],
)
def test_directories_that_are_not_there_are_refused(step: Step, words: str) -> None:
    with pytest.raises(StepError, match=words):
        rehearsed(cluster(), step)


@pytest.mark.parametrize(
    ("listed", "rate", "is_held"), [("*", "1", True), ("0:2", "1", True), ("1:2", "1", False), ("*", "100000000", False)]
)
def test_a_throttle_that_the_metadata_holds_holds_back_the_copy(listed: str, rate: str, is_held: bool) -> None:
    """KIP-73: a broker's rate counts for the replicas that the topic lists."""
    settings = {
        (2, "t"): {"follower.replication.throttled.replicas": listed},
        (4, "2"): {"follower.replication.throttled.rate": rate},
    }
    image = small_image(dict.fromkeys((1, 2, 3)), {"t": [partition(2, 3)]}, settings=settings)
    outcome = rehearsed(image, KillBroker(2), RestartBroker(2, empty=()))
    assert (2 not in outcome.after.topics.by_name["t"].partitions[0].isr) == is_held
    assert any("a throttle of 1 B/s holds back t-0 on broker 2" in note for note in outcome.notes) == is_held
    assert outcome.settled
