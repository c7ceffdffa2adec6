"""Each step on one small cluster: brokers 1 to 3 in racks a to c, and a topic of three partitions with three replicas."""

from __future__ import annotations

from itertools import pairwise

import pytest

from metashell.codec import messages
from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.error_codes import (
    CONTROLLER_ID_NOT_REGISTERED,
    INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST,
    NOT_CONTROLLER,
    PREFERRED_LEADER_NOT_AVAILABLE,
    UNSUPPORTED_VERSION,
)
from metashell.codec.releases import METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL
from metashell.metadata.image import MetadataDelta, MetadataImage
from metashell.rehearse.outcome import BrokerState, Outcome, Trouble
from metashell.rehearse.rehearsal import Rehearsal, rehearse_change
from metashell.rehearse.single_failures import find_single_failures
from metashell.rehearse.step_checks import check_steps
from metashell.rehearse.steps import (
    AddBroker,
    Assumptions,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    KillBroker,
    LoseController,
    LoseRack,
    Move,
    Reassign,
    RestartBroker,
    RollBrokers,
    Step,
    StepError,
    Unregister,
    UnregisterController,
)
from tests.rehearse.oracle import check
from tests.rehearse.small_images import partition, small_image

RACKS = {1: "a", 2: "b", 3: "c"}
ORDERS = [partition(1, 2, 3), partition(2, 3, 1), partition(3, 1, 2)]


def cluster(**more: object) -> MetadataImage:
    topics = {"orders": ORDERS, **more.pop("topics", {})}  # type: ignore[dict-item]
    return small_image(RACKS, topics, voters=more.pop("voters", (3000, 3001, 3002)), **more)  # type: ignore[arg-type]


def rehearsed(image: MetadataImage, *steps: Step, **assumed: int) -> Outcome:
    outcome = rehearse_change(image, steps, Assumptions(**assumed))  # type: ignore[arg-type]
    check(outcome)
    return outcome


def leaders(outcome: Outcome, topic: str = "orders") -> list[int]:
    return [partition.leader for _, partition in sorted(outcome.after.topics.by_name[topic].partitions.items())]


def test_a_killed_broker_is_fenced_when_its_session_is_over_and_others_lead() -> None:
    outcome = rehearsed(cluster(), KillBroker(1))
    assert outcome.verdict.status == 0
    [failover] = outcome.intervals_of(Trouble.FAILOVER)
    # Nine seconds since its last heartbeat, which was sent within two seconds before it died, and up to a sweep.
    assert failover.to_ms is not None and 7_000 <= failover.to_ms <= 10_200
    assert {(one.partition, one.from_ms, one.to_ms) for one in outcome.intervals_of(Trouble.STALLED)} == {
        (1, 0, failover.to_ms),
        (2, 0, failover.to_ms),
    }
    assert leaders(outcome) == [2, 2, 3]
    assert outcome.steps[0].ended_ms == failover.to_ms


def test_a_lone_replica_goes_offline_with_its_broker_at_once() -> None:
    outcome = rehearsed(cluster(topics={"lone": [partition(2)]}), KillBroker(2, at_ms=5_000))
    [offline] = outcome.intervals_of(Trouble.OFFLINE)
    assert (offline.topic, offline.from_ms, offline.to_ms, offline.cause) == ("lone", 5_000, None, "kill-broker 2")
    assert outcome.verdict.status == 1
    assert outcome.verdict.reasons[0] == "1 partition went offline, and 1 of them still are"


def test_who_could_have_led_and_dies_too_makes_it_an_outage() -> None:
    image = cluster(topics={"pairs": [partition(1, 2, isr=[1], elr=[2])]})
    outcome = rehearsed(image, KillBroker(1), KillBroker(2, at_ms=3_000))
    assert [(one.from_ms, one.to_ms) for one in outcome.intervals_of(Trouble.FAILOVER) if one.topic == "pairs"] == [(0, 3_000)]
    assert [(one.from_ms, one.to_ms) for one in outcome.intervals_of(Trouble.OFFLINE) if one.topic == "pairs"] == [(3_000, None)]


def test_a_restart_is_a_controlled_shutdown_and_everybody_is_back_in_sync() -> None:
    outcome = rehearsed(cluster(), RestartBroker(1, down_ms=5_000, at_ms=1_000))
    assert outcome.verdict.status == 0
    assert not outcome.intervals
    assert leaders(outcome) == [1, 2, 3]
    assert all(len(one.isr) == 3 for one in outcome.after.topics.by_name["orders"].partitions.values())
    states = [span.state for span in outcome.broker_spans if span.broker == 1]
    assert states == [
        BrokerState.SERVING,
        BrokerState.SHUTTING_DOWN,
        BrokerState.DEAD,
        BrokerState.STARTING,
        BrokerState.FENCED,
        BrokerState.SERVING,
    ]


def test_a_broker_that_is_started_within_its_session_has_to_wait_for_the_end_of_it() -> None:
    outcome = rehearsed(cluster(), KillBroker(1), RestartBroker(1, at_ms=100), boot_ms=100, recovery_ms=0)
    registered = [event.at_ms for event in outcome.events if event.text.startswith("broker 1 registers")]
    assert len(registered) == 1
    assert registered[0] > 7_000


def test_a_roll_restarts_all_one_at_a_time() -> None:
    outcome = rehearsed(cluster(), RollBrokers())
    assert outcome.verdict.status == 0
    dead = sorted((span.from_ms, span.to_ms) for span in outcome.broker_spans if span.state is not BrokerState.SERVING)
    down = [(span.broker, span.from_ms, span.to_ms) for span in outcome.broker_spans if span.state is BrokerState.DEAD]
    assert [broker for broker, _, _ in sorted(down, key=lambda one: one[1])] == [1, 2, 3]
    assert len(dead) == 12
    ends = sorted((start, end or 0) for _, start, end in down)
    assert all(first[1] < second[0] for first, second in pairwise(ends))


def test_the_fencing_of_a_broker_that_is_fenced_already_is_said_to_change_nothing() -> None:
    outcome = rehearsed(cluster(), RestartBroker(1))
    fencings = [event.text for event in outcome.events if "fences" in event.text]
    assert fencings == [
        "the controller fences broker 1",
        "the session of broker 1 ends: the controller fences it once more, which changes nothing",
    ]


def test_a_roll_of_two_at_a_time_takes_partitions_of_two_replicas_offline() -> None:
    image = cluster(topics={"pairs": [partition(1, 2)]})
    assert rehearsed(image, RollBrokers(max_offline=1)).verdict.status == 0
    assert rehearsed(image, RollBrokers(max_offline=2)).verdict.tolls[Trouble.OFFLINE].partitions == 1


def test_fewer_in_sync_than_min_insync_replicas_is_reported_and_is_not_offline() -> None:
    image = cluster(settings={(TOPIC_RESOURCE, "orders"): {"min.insync.replicas": "3"}})
    outcome = rehearsed(image, KillBroker(1))
    assert outcome.verdict.status == 0
    assert outcome.verdict.tolls[Trouble.UNDER_MIN_ISR].at_end == 3
    # Writes wait for the dead broker first, and are refused when it has left the ISR.
    assert {one.from_ms for one in outcome.intervals_of(Trouble.UNDER_MIN_ISR)} == {outcome.batches[0].at_ms}


def test_a_rack_is_lost_as_a_whole() -> None:
    outcome = rehearsed(cluster(topics={"pairs": [partition(1, 2), partition(1, 3)]}), LoseRack("a"), LoseRack("b"))
    assert [one.partition for one in outcome.intervals_of(Trouble.OFFLINE)] == [0]
    assert [step.ended_ms is not None for step in outcome.steps] == [True, True]


def with_controllers(image: MetadataImage, *ids: int) -> MetadataImage:
    """The same cluster at the level that can unregister controllers, with these registered."""
    delta = MetadataDelta(image)
    delta.replay(messages.FeatureLevelRecord(name=METADATA_VERSION, feature_level=UNREGISTER_CONTROLLER_LEVEL))
    for id in ids:
        delta.replay(messages.RegisterControllerRecord(controller_id=id, incarnation_id=id.to_bytes(16, "big")))
    return delta.apply()


def test_a_controller_that_is_unregistered_registers_again_if_it_runs() -> None:
    image = with_controllers(cluster(), 3000, 3001, 3002)
    outcome = rehearsed(image, UnregisterController(3001), LoseController(3002), UnregisterController(3002))
    assert outcome.verdict.status == 0
    assert {*outcome.after.cluster.controllers} == {3000, 3001}
    assert outcome.after.cluster.controllers[3001] == image.cluster.controllers[3001]
    assert [name for batch in outcome.batches for record, _ in batch.records if "Controller" in (name := type(record).__name__)] == [
        "UnregisterControllerRecord",
        "RegisterControllerRecord",
        "UnregisterControllerRecord",
    ]


def test_the_controller_refuses_to_unregister_what_is_not_registered_itself_and_anything_below_4_4() -> None:
    image = with_controllers(cluster(), 3000, 3001)
    for at, id, code in (
        (image, 3002, CONTROLLER_ID_NOT_REGISTERED),
        (image, 3000, INVALID_REQUEST),
        (cluster(), 3001, UNSUPPORTED_VERSION),
    ):
        outcome = rehearsed(at, UnregisterController(id))
        assert [(one.thing, one.code) for one in outcome.steps[0].refusals] == [(f"controller {id}", code)]
        assert outcome.verdict.status != 0


def test_a_live_broker_that_is_unregistered_leads_nothing_until_it_is_restarted() -> None:
    outcome = rehearsed(cluster(), Unregister(1))
    assert 1 not in outcome.after.cluster.brokers
    assert leaders(outcome) == [2, 2, 3]
    again = rehearsed(cluster(), Unregister(1), RestartBroker(1))
    assert leaders(again) == [1, 2, 3]


def test_replicas_that_move_are_copied_at_the_rate_and_then_the_old_ones_go() -> None:
    image = cluster(topics={"big": [partition(1)]})
    outcome = rehearse_change(image, [Reassign((Move("big", 0, (2,)),))], Assumptions(copy_rate=1_000_000), {("big", 0): 60_000_000})
    check(outcome)
    assert leaders(outcome, "big") == [2]
    assert outcome.steps[0].ended_ms == 60_000
    [copied] = outcome.copied
    assert (copied.broker, copied.partitions, copied.size_bytes, copied.is_catch_up) == (2, 1, 60_000_000, False)
    by_id = {loads.broker: loads for loads in outcome.brokers}
    assert by_id[1].before is not None and by_id[1].before.size_bytes == 60_000_000
    assert by_id[2].after is not None and by_id[2].after.size_bytes == 60_000_000
    assert outcome.verdict.status == 0


def test_a_throttle_makes_it_slower() -> None:
    image = cluster(topics={"big": [partition(1)]})
    outcome = rehearse_change(image, [Reassign((Move("big", 0, (2,)),), throttle_bytes=1_000)], None, {("big", 0): 60_000})
    assert outcome.steps[0].ended_ms == 60_000


def test_a_throttle_limits_what_one_broker_sends() -> None:
    racks = dict.fromkeys(range(1, 12))
    image = small_image(racks, {"big": [partition(1) for _ in range(10)]}, voters=(3000,))
    moves = tuple(Move("big", number, (number + 2,)) for number in range(10))
    sizes = {("big", number): 1_000_000 for number in range(10)}
    outcome = rehearse_change(image, [Reassign(moves, throttle_bytes=10_000)], None, sizes)
    assert outcome.steps[0].ended_ms == 1_000_000


def test_what_was_copied_before_a_restart_is_not_copied_again() -> None:
    image = cluster(topics={"big": [partition(1), partition(1)]})
    sizes = {("big", 0): 1_000_000_000, ("big", 1): 1_000_000_000}
    steps = [Reassign((Move("big", 0, (2,)), Move("big", 1, (2,)))), RestartBroker(2, at_ms=150_000)]
    outcome = rehearse_change(image, steps, Assumptions(copy_rate=10_000_000), sizes)
    [copied] = [one for one in outcome.copied if not one.is_catch_up]
    assert (copied.partitions, copied.size_bytes) == (2, 2_000_000_000)
    assert outcome.steps[0].ended_ms is not None and 235_000 <= outcome.steps[0].ended_ms <= 245_000


def test_a_move_to_a_dead_broker_never_ends_and_is_reported() -> None:
    outcome = rehearsed(cluster(fenced=[3], topics={"big": [partition(1)]}), Reassign((Move("big", 0, (3,)),)))
    [left] = outcome.steps[0].unfinished
    assert (left.thing, left.message) == ("big-0", "the reassignment waits for broker 3 to get in sync")
    assert outcome.verdict.status == 1


def test_a_roll_does_not_wait_for_partitions_that_nobody_leads() -> None:
    image = cluster(topics={"gone": [partition(1, 2, isr=[], leader=-1, elr=[4])]}, elr=True)
    outcome = rehearsed(image, RollBrokers())
    assert not outcome.steps[0].unfinished
    assert outcome.verdict.status == 0
    assert outcome.verdict.offline_before == 1


def test_a_roll_that_is_stopped_says_where_it_stands() -> None:
    outcome = rehearsed(cluster(), RollBrokers(), KillBroker(1, at_ms=20_000))
    assert [(left.thing, left.message) for left in outcome.steps[0].unfinished] == [
        ("broker 1", "it is dead"),
        ("broker 2", "its turn never came"),
        ("broker 3", "its turn never came"),
    ]
    assert outcome.verdict.status == 1
    assert outcome.verdict.reasons[0] == "a change never finishes: broker 1: it is dead, and 2 more"


def test_the_next_step_does_not_wait_for_the_preferred_election() -> None:
    outcome = rehearsed(cluster(), KillBroker(1), KillBroker(2))
    first, second = outcome.steps
    assert first.ended_ms is not None and second.began_ms - first.ended_ms < 10_000


def test_steps_that_overlap_end_together() -> None:
    outcome = rehearsed(cluster(), KillBroker(1), KillBroker(2, at_ms=1_000))
    assert [step.began_ms for step in outcome.steps] == [0, 1_000]
    assert outcome.steps[0].ended_ms == outcome.steps[1].ended_ms == outcome.batches[-1].at_ms


def test_each_record_is_handed_on_and_the_first_ones_are_kept() -> None:
    seen: list[int] = []
    rehearsal = Rehearsal(cluster(), records_kept=2, on_batch=lambda batch: seen.append(len(batch.records)))
    outcome = rehearsal.run([KillBroker(1)])
    assert sum(seen) == outcome.record_count == 4
    assert len(list(outcome.records())) == 2
    assert outcome.records_left_out == 2


def test_what_the_controller_refuses_is_reported_and_the_status_is_1() -> None:
    outcome = rehearsed(cluster(), CreateTopic("wide", partitions=1, replication_factor=9))
    [refusal] = outcome.steps[0].refusals
    message = "Unable to replicate the partition 9 time(s): The target replication factor of 9 cannot be reached because only 3"
    assert (refusal.thing, refusal.code, refusal.message[: len(message)]) == ("wide", INVALID_REPLICATION_FACTOR, message)
    assert outcome.verdict.status == 1


def test_topics_come_and_go() -> None:
    outcome = rehearsed(cluster(), CreateTopic("new", partitions=2, replication_factor=3), DeleteTopic("orders"))
    assert (outcome.diff.topics_created, outcome.diff.topics_deleted) == (("new",), ("orders",))
    assert outcome.verdict.status == 0


def test_a_new_broker_joins_and_leads_nothing() -> None:
    outcome = rehearsed(cluster(), AddBroker(9, "a"), CreateTopic("on-it", assignments=((9, 1),)))
    assert leaders(outcome, "on-it") == [9]
    assert not outcome.after.cluster.brokers[9].fenced


def test_preferred_leaders_are_elected_on_request() -> None:
    image = cluster(topics={"askew": [partition(1, 2, leader=2)]})
    outcome = rehearsed(image, Elect((("askew", 0),)))
    assert leaders(outcome, "askew") == [1]
    assert outcome.steps[0].ended_ms == 0
    assert not outcome.steps[0].refusals
    # An election that is not needed is none to refuse; one that cannot be held is.
    assert not rehearsed(cluster(), Elect((("orders", 0),))).steps[0].refusals
    [refusal] = rehearsed(cluster(), KillBroker(1), Elect((("orders", 0), ("orders", 1)))).steps[1].refusals
    assert (refusal.thing, refusal.code) == ("orders-0", PREFERRED_LEADER_NOT_AVAILABLE)


def test_an_unclean_election_ends_the_outage_and_is_not_fine() -> None:
    image = cluster(topics={"pairs": [partition(1, 2, isr=[1])]}, elr=False)
    outcome = rehearsed(image, KillBroker(1), Elect((("pairs", 0),), unclean=True))
    assert leaders(outcome, "pairs") == [2]
    assert [one.topic for one in outcome.intervals_of(Trouble.UNCLEAN)] == ["pairs"]
    assert outcome.verdict.status == 1


def test_levels_of_features_change() -> None:
    outcome = rehearsed(cluster(elr=False, voters=()), FeatureUpgrade("eligible.leader.replicas.version", 1))
    assert [(one.feature, one.before, one.after) for one in outcome.diff.features] == [("eligible.leader.replicas.version", 0, 1)]
    refused = rehearsed(cluster(), FeatureUpgrade("metadata.version", 99))
    assert refused.verdict.status == 1
    assert [one.thing for one in refused.steps[0].refusals] == ["metadata.version"]


def test_a_broker_that_does_not_support_what_is_finalized_is_not_registered() -> None:
    made = messages.RegisterBrokerRecord
    before = cluster()
    delta = MetadataDelta(before)
    old = made.BrokerFeature(name=METADATA_VERSION, min_supported_version=1, max_supported_version=20)
    known = {"broker_id": 1, "broker_epoch": 9, "incarnation_id": b"1" * 16, "log_dirs": before.cluster.brokers[1].directories}
    delta.replay(made(**known, fenced=True, features=(old,)))
    outcome = rehearse_change(delta.apply(), [RestartBroker(1)])
    [refusal] = outcome.steps[0].refusals
    assert (refusal.thing, refusal.code) == ("broker 1", UNSUPPORTED_VERSION)
    assert outcome.verdict.status == 1


def test_settings_change_what_is_asked_of_partitions() -> None:
    outcome = rehearsed(cluster(), KillBroker(1), ConfigSet(TOPIC_RESOURCE, "orders", (("min.insync.replicas", "3"),)))
    assert outcome.verdict.tolls[Trouble.UNDER_MIN_ISR].at_end == 3
    [diff] = outcome.diff.configs
    assert (diff.name, diff.before, diff.after) == ("min.insync.replicas", None, "3")


def test_a_lost_controller_is_replaced_and_meanwhile_nothing_fails_over() -> None:
    outcome = rehearsed(cluster(), LoseController(), KillBroker(1, at_ms=0), quorum_failover_ms=5_000)
    [gap] = outcome.quorum_gaps
    assert (gap.from_ms, gap.to_ms) == (0, 5_000)
    [failover] = outcome.intervals_of(Trouble.FAILOVER)
    # The new leader gives every broker a full session.
    assert failover.to_ms is not None and failover.to_ms > 14_000
    assert outcome.verdict.status == 0


def test_without_a_majority_nothing_fails_over_and_the_status_is_1() -> None:
    outcome = rehearsed(cluster(), LoseController(3001), LoseController(3002), KillBroker(1), DeleteTopic("orders"))
    assert [gap.to_ms for gap in outcome.quorum_gaps] == [None]
    assert outcome.intervals_of(Trouble.FAILOVER)[0].to_ms is None
    assert [refusal.code for refusal in outcome.steps[3].refusals] == [NOT_CONTROLLER]
    assert outcome.verdict.status == 1


def test_a_node_that_is_broker_and_controller_dies_as_both() -> None:
    outcome = rehearsed(cluster(voters=(1, 2, 3)), KillBroker(1), KillBroker(2))
    assert outcome.quorum_gaps[-1].to_ms is None
    assert outcome.verdict.status == 1
    back = rehearsed(cluster(voters=(1, 2, 3)), KillBroker(1), RestartBroker(1))
    assert leaders(back) == [1, 2, 3]


def test_a_replica_that_a_reassignment_brings_back_and_that_was_eligible_once_may_lack_everything() -> None:
    coming_back = partition(1, 3, isr=[1], elr=[3])._replace(adding_replicas=(3,))
    outcome = rehearse_change(cluster(topics={"back": [coming_back]}), [KillBroker(1)])
    assert leaders(outcome, "back") == [3]
    assert [one.topic for one in outcome.intervals_of(Trouble.UNCLEAN)] == ["back"]
    assert outcome.verdict.status == 1


def test_an_election_of_the_quorum_begins_anew_when_it_lost_its_majority_meanwhile() -> None:
    steps = LoseController(3000, back_after_ms=1_000), LoseController(3001, at_ms=500)
    outcome = rehearsed(cluster(), *steps, quorum_failover_ms=3_000)
    assert [(gap.from_ms, gap.to_ms) for gap in outcome.quorum_gaps] == [(0, 4_000)]


@pytest.mark.parametrize("elr", [True, False])
def test_unregistering_the_last_broker_in_sync_gives_the_partition_up(elr: bool) -> None:
    last = partition(3, 1, isr=[], leader=-1, elr=[3]) if elr else partition(3, 1, isr=[3], leader=-1)
    outcome = rehearsed(cluster(elr=elr, fenced=[3], topics={"orders": [partition(1, 2)], "last": [last]}), Unregister(3))
    [left] = outcome.steps[0].unfinished
    assert left.thing == "last-0"
    assert outcome.verdict.status == 1


def test_the_controller_of_a_node_whose_broker_is_fenced_counts_as_dead_too() -> None:
    image = cluster(voters=(1, 2, 3), fenced=[3], topics={"orders": [partition(1, 2)]})
    outcome = rehearsed(image, KillBroker(2))
    assert [gap.to_ms for gap in outcome.quorum_gaps] == [None]
    assert outcome.verdict.status == 1
    assert not [loss for loss in find_single_failures(image).losses if loss.voters and 2 in loss.voters and loss.keeps_quorum]
    assert rehearsed(image, RestartBroker(3), KillBroker(2)).verdict.status == 0


def test_controllers_that_are_known_by_their_registrations_vote() -> None:
    made = messages.RegisterControllerRecord(controller_id=1, incarnation_id=bytes(16))
    delta = MetadataDelta(cluster(voters=()))
    delta.replay(made)
    image = delta.apply()
    assert rehearsed(image, KillBroker(1)).verdict.status == 1
    [loss] = [loss for loss in find_single_failures(image).losses if loss.kind == "broker" and loss.name == "1"]
    assert loss.keeps_quorum is False


def test_a_controller_comes_back() -> None:
    outcome = rehearsed(cluster(voters=(3000,)), LoseController(back_after_ms=30_000), KillBroker(1, at_ms=1_000))
    assert [(gap.from_ms, gap.to_ms) for gap in outcome.quorum_gaps] == [(0, 33_000)]
    assert leaders(outcome) == [2, 2, 3]
    assert outcome.verdict.status == 0


def test_a_follower_that_is_dead_leaves_the_isr_by_the_lag_where_its_session_is_longer() -> None:
    outcome = rehearsed(cluster(), KillBroker(1), session_timeout_ms=60_000, replica_lag_ms=30_000)
    assert {one.to_ms for one in outcome.intervals_of(Trouble.STALLED)} == {30_000}
    [failover] = outcome.intervals_of(Trouble.FAILOVER)
    assert failover.to_ms is not None and failover.to_ms > 58_000


def test_what_was_offline_before_is_distinguished() -> None:
    image = cluster(topics={"gone": [partition(2, isr=[2], leader=-1)]}, elr=False, fenced=[2])
    outcome = rehearsed(image, KillBroker(1))
    [offline] = outcome.intervals_of(Trouble.OFFLINE)
    assert offline.was_before
    assert outcome.verdict.offline_before == 1
    assert outcome.verdict.tolls[Trouble.OFFLINE].partitions == 0


@pytest.mark.parametrize(
    ("step", "field_name", "words"),
    [
        (KillBroker(9), "broker", "broker 9 is not registered; the brokers are 1, 2, 3"),
        (LoseRack("z"), "rack", "no broker is in rack 'z'; the racks are a, b, c"),
        (AddBroker(2), "broker", "broker 2 is registered already"),
        (DeleteTopic("nope"), "topic", "there is no topic 'nope'"),
        (CreateTopic("orders"), "topic", "topic 'orders' exists already"),
        (Elect((("orders", 7),)), "partitions", "topic 'orders' has no partition 7"),
        (Reassign((Move("orders", 0, (1, 8)),)), "moves", "broker 8 is not registered; the brokers are 1, 2, 3"),
        (Reassign((Move("orders", 0, (1,)), Move("orders", 0, (2,)))), "moves", "orders-0 is moved twice"),
        (ConfigSet(TOPIC_RESOURCE, "nope", (("retention.ms", "1"),)), "resource_name", "there is no topic 'nope'"),
        (LoseController(1), "controller", "1 is no voter of the quorum; the voters are 3000, 3001, 3002"),
        (RollBrokers(max_offline=0), "max_offline", "max_offline is 0: at least one broker has to be offline at a time"),
    ],
)
def test_a_step_that_cannot_be_meant_is_refused_before_anything_runs(step: Step, field_name: str, words: str) -> None:
    with pytest.raises(StepError) as caught:
        check_steps(cluster(), [KillBroker(1), step])
    assert (caught.value.index, caught.value.field_name, str(caught.value)) == (1, field_name, words)


def test_times_that_go_back_are_refused() -> None:
    with pytest.raises(StepError, match="before the previous one"):
        check_steps(cluster(), [KillBroker(1, at_ms=5_000), KillBroker(2, at_ms=1_000)])
