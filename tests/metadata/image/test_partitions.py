"""One partition's state and how changes fold into it; Kafka's PartitionRegistration.merge is the judge."""

from __future__ import annotations

import pytest

from metashell.metadata.image import PartitionRegistration, ReplayError
from metashell.metadata.image.partitions import CLEAR_ELR, check_change, fold_changes, partition_from_record
from tests.metadata.image.batches import record
from tests.seeds import shows

MIGRATING = bytes(16)
D1, D2, D3 = (bytes([n]) * 16 for n in (1, 2, 3))
BASE = PartitionRegistration(replicas=(1, 2), directories=(D1, D2), isr=(1, 2), leader=1, leader_epoch=4, partition_epoch=9)


def change(**fields: object):
    return record("PartitionChangeRecord", **fields)


@shows("KIP-631/leader-epochs")
def test_a_change_that_names_the_same_leader_still_bumps_the_leader_epoch():
    folded = fold_changes(BASE, [change(leader=1)])
    assert (folded.leader, folded.leader_epoch, folded.partition_epoch) == (1, 5, 10)


@shows("KIP-631/partition-records")
def test_every_change_bumps_the_partition_epoch_and_keeps_what_it_does_not_say():
    assert fold_changes(BASE, [change()]) == BASE._replace(partition_epoch=10)
    assert fold_changes(BASE, [change(isr=(1,)), change(isr=(2,))]) == BASE._replace(isr=(2,), partition_epoch=11)


def test_new_replicas_of_the_same_number_keep_the_directories_by_position():
    assert fold_changes(BASE, [change(replicas=(2, 3))]).directories == (D1, D2)


def test_directories_that_are_all_migrating_stretch_to_new_replicas():
    base = BASE._replace(directories=(MIGRATING, MIGRATING))
    assert fold_changes(base, [change(replicas=(1, 2, 3))]).directories == (MIGRATING,) * 3
    assert fold_changes(BASE, [change(directories=())]).directories == (MIGRATING,) * 2


def test_replicas_that_do_not_fit_the_directories_are_refused():
    with pytest.raises(ReplayError, match="2 directories for 3 replicas"):
        fold_changes(BASE, [change(replicas=(1, 2, 3))])
    with pytest.raises(ReplayError, match="3 directories for 2 replicas"):
        fold_changes(BASE, [change(directories=(D1, D2, D3))])


def test_a_change_is_known_to_fit_any_partition_unless_it_sets_replicas_or_directories():
    assert check_change(change(isr=(1,), leader=2, eligible_leader_replicas=()))
    assert not check_change(change(replicas=(1,)))
    assert not check_change(change(directories=(D1,)))
    with pytest.raises(ReplayError):
        check_change(change(replicas=(1,), directories=(D1, D2)))
    with pytest.raises(ReplayError):
        check_change(change(leader_recovery_state=2))


def test_clear_elr_counts_as_a_change_only_where_there_is_something_to_clear():
    with_elr = BASE._replace(elr=(3,), last_known_elr=(4,))
    assert fold_changes(with_elr, [CLEAR_ELR, CLEAR_ELR]) == BASE._replace(partition_epoch=10)
    assert fold_changes(BASE, [CLEAR_ELR]) == BASE


def test_a_record_without_directories_means_migrating_ones():
    made = partition_from_record(record("PartitionRecord", replicas=(1, 2), isr=(1,)))
    assert made.directories == (MIGRATING, MIGRATING)
    with pytest.raises(ReplayError):
        partition_from_record(record("PartitionRecord", replicas=(1, 2), directories=(D1,)))
    with pytest.raises(ReplayError):
        partition_from_record(record("PartitionRecord", leader_recovery_state=9))
