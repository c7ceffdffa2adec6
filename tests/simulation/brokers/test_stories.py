"""Single failures of a cluster with Kafka's default times, step by step: leases, fencing, lives, shutdowns, ISRs, ELR, self-fencing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from metashell.metadata.image import PartitionRegistration
from tests.seeds import shows
from tests.simulation.brokers.broker import Broker, State
from tests.simulation.brokers.cluster import Cluster, links_of
from tests.simulation.brokers.costs import LEASE_MS, options_of

KEY = ("t0", 0)
SESSION_MS = 9_000
HEARTBEAT_MS = 2_000


class Story:
    """A cluster at work, and the first partition of its first topic."""

    def __init__(self, *, lease_ms: int = 0, lag_ms: int = 30_000) -> None:
        self.cluster = Cluster(replace(options_of(1, lease_ms), lag_ms=lag_ms))
        self.cluster.begin()
        self.pass_time(6_000)

    def pass_time(self, ms: int) -> None:
        """Let so much time pass; a rule that breaks ends the test."""
        self.cluster.world.run(self.cluster.world.now + ms)

    def pass_until(self, holds: Callable[[], bool]) -> None:
        """Let time pass until something holds, which it does within a minute."""
        for _ in range(60_000):
            if holds():
                return
            self.pass_time(1)
        raise AssertionError("not within a minute")

    @property
    def partition(self) -> PartitionRegistration:
        return self.cluster.quorum.image.topics.by_name[KEY[0]].partitions[KEY[1]]

    @property
    def leader(self) -> Broker:
        return self.cluster.brokers[self.partition.leader]

    def is_fenced(self, broker: Broker) -> bool:
        return self.cluster.quorum.image.cluster.brokers[broker.id].fenced

    def cut(self, broker: Broker, what: str, for_ms: int) -> None:
        self.cluster.world.cut(links_of(self.cluster, broker, what), for_ms)

    def count(self, what: str) -> int:
        return self.cluster.world.counts[what]

    def others(self, *gone: Broker) -> list[Broker]:
        return [self.cluster.brokers[id] for id in self.partition.replicas if self.cluster.brokers[id] not in gone]

    def end(self) -> None:
        """Everything heals; all that was promised is there."""
        self.cluster.heal()
        self.pass_time(40_000)
        self.cluster.stop_writing()
        self.pass_time(35_000)
        self.cluster.checks.at_rest()
        assert self.cluster.world.violation is None


@shows("KIP-631/lease", "KIP-631/fencing", "KIP-343/controller-timeout", "KIP-343/motivation")
def test_a_broker_that_no_controller_hears_is_fenced_when_its_session_is_over_and_others_lead() -> None:
    story = Story()
    silent = story.leader
    epoch = story.partition.leader_epoch
    story.cut(silent, "controllers", 60_000)

    story.pass_time(SESSION_MS - HEARTBEAT_MS - 500)
    assert not story.is_fenced(silent)
    story.pass_time(HEARTBEAT_MS + 500 + SESSION_MS // 8 + 100)

    assert story.is_fenced(silent)
    assert story.leader is not silent and story.partition.leader_epoch == epoch + 1
    assert silent.id not in story.partition.isr
    story.end()


@shows("KIP-631/unfencing", "KIP-343/reactivation")
def test_a_fenced_broker_that_is_heard_again_is_unfenced_and_leaders_take_it_back_into_their_isrs() -> None:
    story = Story()
    silent = story.leader
    story.cut(silent, "controllers", 15_000)
    story.pass_time(14_000)
    assert story.is_fenced(silent)

    story.pass_time(4_000)

    assert not story.is_fenced(silent) and silent.state is State.RUNNING
    assert silent.id in story.partition.isr
    assert story.leader is not silent
    story.end()


@shows("KIP-631/incarnation", "KIP-343/incarnation")
def test_a_broker_that_restarts_at_once_waits_for_the_session_of_its_former_life() -> None:
    story = Story()
    broker = story.leader
    former = broker.epoch
    broker.die(power=False)
    story.pass_time(100)
    broker.come_back()

    story.pass_time(4_000)
    assert story.count("registrations refused: 101")
    assert story.cluster.quorum.image.cluster.brokers[broker.id].epoch == former
    story.pass_time(SESSION_MS)

    assert broker.state is State.RUNNING and broker.epoch > former
    story.end()


@shows("KIP-631/broker-states", "KIP-631/sockets")
def test_a_broker_starts_recovers_and_serves_nobody_before_it_is_unfenced() -> None:
    story = Story()
    broker = story.others(story.leader)[0]
    broker.leave()
    story.pass_until(lambda: not broker.is_up)
    broker.come_back()
    seen: list[State] = []
    for _ in range(20_000):
        story.pass_time(1)
        if not seen or seen[-1] is not broker.state:
            seen.append(broker.state)
        assert not broker.is_serving or not story.is_fenced(broker)
        if broker.state is State.RUNNING:
            break

    assert seen == [State.STARTING, State.RECOVERY, State.RUNNING]
    story.end()


@pytest.mark.slow
@shows("KIP-631/controlled-shutdown", "KIP-343/stopping")
def test_a_broker_that_leaves_in_order_leads_nothing_when_it_goes_and_nobody_waits() -> None:
    story = Story()
    broker = story.leader
    story.cluster.times.forget()

    broker.leave()
    story.pass_time(2_000)

    assert story.cluster.quorum.image.cluster.brokers[broker.id].in_controlled_shutdown
    assert story.leader is not broker and broker.id not in story.partition.isr
    story.pass_time(4_000)
    assert story.count("shutdowns by heartbeat") == 1
    assert story.cluster.times.unwritable_ms == story.cluster.times.unreadable_ms == 0
    story.end()


@pytest.mark.slow
@shows("KIP-631/shutdown-offset")
def test_a_broker_that_leaves_waits_for_one_that_has_not_read_who_leads_instead() -> None:
    story = Story()
    broker = story.leader
    deaf = next(other for other in story.cluster.brokers.values() if other is not broker)
    story.cut(deaf, "controllers", 6_000)
    story.pass_time(10)

    broker.leave()
    story.pass_time(5_000)
    assert broker.state is State.LEAVING
    story.pass_time(6_000)

    assert story.count("shutdowns by heartbeat") == 1
    story.end()


@pytest.mark.slow
@shows("KIP-631/alter-isr", "KIP-343/isr-change")
def test_a_leader_asks_the_controllers_to_take_a_follower_out_that_lags_and_in_that_has_caught_up() -> None:
    story = Story(lag_ms=3_000)
    leader = story.leader
    slow = story.others(leader)[0]
    epoch = story.partition.partition_epoch
    story.cut(slow, "brokers", 8_000)

    story.pass_time(6_000)
    assert slow.id not in story.partition.isr and not story.is_fenced(slow)
    assert story.partition.partition_epoch > epoch
    assert story.leader is leader
    story.pass_time(5_000)

    assert slow.id in story.partition.isr
    story.end()


@pytest.mark.slow
@shows("KIP-343/self-fencing", "KIP-343/broker-timeout", "KIP-343/inactive-brokers")
def test_a_self_fencing_broker_serves_nobody_before_the_controllers_fence_it() -> None:
    story = Story(lease_ms=LEASE_MS)
    silent = story.leader
    story.cut(silent, "controllers", 30_000)

    story.pass_time(LEASE_MS + 10)
    assert not silent.is_serving and not story.is_fenced(silent)
    story.pass_time(15_000)

    assert story.is_fenced(silent) and story.leader is not silent
    assert story.count("stale reads") == story.count("stale writes") == 0
    story.end()


@pytest.mark.slow
@shows("KIP-343/self-fencing")
def test_without_a_lease_a_broker_that_is_cut_off_serves_what_is_stale_and_acknowledges_to_all_nothing_that_is_lost() -> None:
    story = Story()
    silent = story.leader
    story.cut(silent, "controllers", 30_000)

    story.pass_time(25_000)

    assert silent.is_serving and story.is_fenced(silent)
    assert story.count("stale reads") and story.count("stale writes")
    story.end()
    assert story.count("acks=1 writes that were lost") and not story.count("acks=all writes that were lost")


@pytest.mark.slow
@shows("KIP-343/self-fencing", "KIP-343/reactivation")
def test_a_broker_whose_lease_was_over_reads_who_leads_before_it_serves_again() -> None:
    story = Story(lease_ms=LEASE_MS)
    silent = story.leader
    story.cut(silent, "controllers", 20_000)
    story.pass_time(19_000)
    for _ in range(6_000):
        story.pass_time(1)
        if silent.is_serving:
            break

    assert silent.is_serving
    assert silent.replicas[KEY].epoch == story.partition.leader_epoch
    story.end()


@pytest.mark.slow
@shows("KIP-631/leaders-wait-for-controllers", "KIP-343/no-controller")
def test_without_a_controller_todays_brokers_go_on_and_self_fencing_ones_stop() -> None:
    going = {}
    for lease_ms in (0, LEASE_MS):
        story = Story(lease_ms=lease_ms)
        story.cluster.quorum.depose()
        story.pass_time(LEASE_MS + 1_000)
        going[lease_ms] = [broker.is_serving for broker in story.cluster.brokers.values()]
        story.end()

    assert going == {0: [True] * 4, LEASE_MS: [False] * 4}


@pytest.mark.slow
@shows("KIP-631/failover")
def test_a_new_controller_gives_all_brokers_a_whole_session_and_goes_on_where_the_last_one_was() -> None:
    story = Story()
    story.cluster.quorum.depose()
    story.pass_time(8_500)
    story.cluster.elect_controller()
    story.pass_time(6_000)

    assert not any(story.is_fenced(broker) for broker in story.cluster.brokers.values())
    story.end()


@pytest.mark.slow
@shows("KIP-966/elr", "KIP-966/empty-isr")
def test_the_last_ones_in_sync_stay_eligible_and_one_of_them_leads_again() -> None:
    story = Story()
    members = story.others()
    for broker in members:
        story.cut(broker, "controllers", 45_000)
        story.pass_time(SESSION_MS + 3_000)
    assert (story.partition.leader, story.partition.isr) == (-1, ())
    assert len(story.partition.elr) == 2, "those who were in sync when the ISR fell below its minimum"

    story.pass_time(35_000)

    assert story.partition.leader != -1 and story.partition.leader_recovery_state == 0
    assert not story.cluster.checks.history(KEY).is_excused
    story.end()


@pytest.mark.slow
@shows("KIP-966/unclean-shutdown")
def test_a_member_whose_power_failed_is_neither_in_sync_nor_eligible_when_it_comes_back() -> None:
    story = Story()
    first, second = story.others(story.leader)
    story.cut(first, "controllers", 60_000)
    story.pass_time(SESSION_MS + 3_000)
    story.cut(second, "controllers", 3_000)
    second.die(power=True)
    story.pass_time(SESSION_MS + 3_000)
    assert set(story.partition.elr) >= {second.id}

    second.come_back()
    registered = len(second.incarnations)
    known = second.incarnations[registered - 1]
    story.pass_until(lambda: story.cluster.quorum.image.cluster.brokers[second.id].incarnation_id == known)

    assert second.id not in (*story.partition.isr, *story.partition.elr)
    story.end()


@pytest.mark.slow
@shows("KIP-966/min-isr")
def test_nothing_counts_as_written_while_too_few_are_in_sync() -> None:
    story = Story(lag_ms=3_000)
    leader = story.leader
    for broker in story.others(leader):
        story.cut(broker, "brokers", 30_000)
    story.pass_time(8_000)
    assert story.partition.isr == (leader.id,)
    mark, end = leader.replicas[KEY].high_watermark, leader.replicas[KEY].end

    story.pass_time(5_000)

    assert leader.replicas[KEY].high_watermark == mark
    assert leader.replicas[KEY].end > end, "acks=1 goes on"
    assert story.count("not written: NOT_ENOUGH_REPLICAS")
    story.end()
