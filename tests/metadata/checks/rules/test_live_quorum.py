"""What is found of a live quorum: each trouble with its words, and a sound quorum without any."""

from __future__ import annotations

from dataclasses import replace

from metashell.metadata.checks import Facts, Health, all_checks, judge
from metashell.metadata.checks.facts import QUORUM, Probe, QuorumAnswers, Replica
from metashell.metadata.checks.rules.live_quorum import is_settled, may_fail
from tests.metadata.checks.test_health import broker, cluster

NOW_MS = 1_700_000_000_000
PLACES = {1: "host1:9093", 2: "host2:9093", 3: "host3:9093"}
IDS = [one.id for one in all_checks() if one.needs == (QUORUM,)]


def voter(id: int, ago_ms: int | None = 0) -> Replica:
    """A voter that fetched, and had everything, so long ago."""
    moment = None if ago_ms is None else NOW_MS - ago_ms
    return Replica(id, bytes([id] * 16), 100, moment, moment)


def answer(of: int, **fields: object) -> Probe:
    usual = {"voter_id": of, "source": "voters", "id": of, "leader_id": 1, "epoch": 5, "cluster_id": "ours"}
    return Probe(str(fields.pop("address", PLACES[of])), "answers", **(usual | fields))  # type: ignore[arg-type]


def missing(id: int, outcome: str = "refused", words: str = "Connection refused", **fields: object) -> Probe:
    usual = {"voter_id": id, "source": "voters"}
    return Probe(str(fields.pop("address", PLACES[id])), outcome, words, **(usual | fields))  # type: ignore[arg-type]


SOUND = QuorumAnswers(
    leader_id=1,
    epoch=5,
    high_watermark=100,
    now_ms=NOW_MS,
    voters=(voter(1), voter(2, 300), voter(3, 300)),
    observers=(voter(7, 100),),
    probes=(answer(1), answer(2, id=None), answer(3, id=None)),
)


def found(quorum: QuorumAnswers) -> dict[str, list[tuple[str, str]]]:
    verdict = judge(Facts(quorum=quorum), IDS)
    return {finding.check.id: [(one.name, one.cause) for one in finding] for finding in verdict.findings}


def test_a_sound_quorum_has_no_finding() -> None:
    assert found(SOUND) == {} and is_settled(SOUND) and may_fail(SOUND) == 1
    alone = replace(SOUND, voters=(voter(1),), probes=(answer(1),))
    assert found(alone) == {} and may_fail(alone) == 0
    # A listener for other clients is a listener.
    assert found(replace(SOUND, probes=(answer(1), missing(2, "tls", "TLS"), missing(3, "plain", "no TLS")))) == {}
    # Before Kafka 3.3 no leader said when a voter fetched.
    silent = tuple(voter(id, None) for id in (1, 2, 3))
    assert "no_spare_voter" not in found(replace(SOUND, voters=silent, now_ms=None))
    # Of brokers nobody probes the voters.
    assert found(replace(SOUND, probes=())) == {}


def test_voters_with_wrong_addresses_let_no_controller_fail() -> None:
    wrong = replace(
        SOUND,
        probes=(
            answer(1),
            missing(2, address="localhost:1"),
            missing(3, "unresolved", "the name kafka-old.invalid is not known", address="kafka-old.invalid:9093"),
        ),
    )
    told = found(wrong)
    assert list(told) == ["unreachable_voter", "no_spare_voter"] and may_fail(wrong) == 0 and not is_settled(wrong)
    runs = "; it fetches from the leader, so it runs: the address is wrong, or closed to this machine"
    assert told["unreachable_voter"] == [
        ("voter 2", f"localhost:1: Connection refused{runs}"),
        ("voter 3", f"kafka-old.invalid:9093: the name kafka-old.invalid is not known{runs}"),
    ]
    assert told["no_spare_voter"][0][1].startswith("1 of 3 voters could elect a leader, 2 have to agree")
    (first, *_) = judge(Facts(quorum=wrong), IDS).findings
    assert first.first(1)[0].steps == ("put advertised.listeners of controller 2 right and restart it while controller 1 leads",)


def test_a_voter_that_is_gone_has_not_fetched() -> None:
    gone = replace(SOUND, voters=(voter(1), voter(2), voter(3, 60_000)), probes=(answer(1), answer(2), missing(3)))
    told = found(gone)
    assert told["unreachable_voter"] == [("voter 3", "host3:9093: Connection refused; it has not fetched for 1 min")]
    assert list(told) == ["unreachable_voter", "no_spare_voter", "lagging"]
    one_of_five = replace(
        gone, voters=(*gone.voters, voter(4), voter(5)), probes=(*gone.probes, answer(1, voter_id=4, id=4), answer(1, voter_id=5, id=5))
    )
    assert "no_spare_voter" not in found(one_of_five) and may_fail(one_of_five) == 1


def test_a_voter_that_does_not_fetch_counts_for_no_election_though_nobody_probed_it() -> None:
    """So brokers' answers and controllers' agree before the ten seconds of a lag are over."""
    gone = replace(SOUND, voters=(voter(1), voter(2), voter(3, 2_500)), probes=())
    assert found(gone) == {
        "silent_voter": [("voter 3", "it has not fetched for 2.5 s")],
        "no_spare_voter": [("quorum", "2 of 3 voters could elect a leader, 2 have to agree: none may fail")],
    }
    assert may_fail(gone) == 0 and not is_settled(gone)
    assert found(replace(gone, voters=(voter(1), voter(2), voter(3, 1_500)))) == {}
    tried = replace(gone, probes=(answer(1), answer(2), missing(3)))
    assert list(found(tried)) == ["unreachable_voter", "no_spare_voter"]


def test_a_fenced_broker_is_told_once() -> None:
    """That it fetches no metadata either is no second trouble; where nobody told who is fenced, it is one."""
    late = replace(SOUND, observers=(voter(4, 60_000),))
    health = Health(cluster(brokers=(broker(4, fenced=True),)))
    verdict = judge(Facts(quorum=late, health=health), ("fenced", "lagging"))
    assert [one.check.id for one in verdict.findings] == ["fenced"]
    assert "lagging" in found(late)
    told = judge(Facts(quorum=late, health=health, told=frozenset()), ("fenced", "lagging"))
    assert [one.check.id for one in told.findings] == ["lagging"]


def test_who_is_on_another_network_than_the_leader_says_nothing_of_voters() -> None:
    """The leader was reached by a forwarded port, and nobody where the voter set says."""
    far = replace(SOUND, probes=(answer(1, voter_id=None, address="localhost:9093"), *(missing(id, "unresolved", "?") for id in (1, 2, 3))))
    assert [name for name, _ in found(far)["voter_out_of_sight"]] == ["voter 1", "voter 2", "voter 3"]
    assert list(found(far)) == ["voter_out_of_sight"] and may_fail(far) == 1
    alone = replace(far, voters=(voter(1),), observers=(), probes=far.probes[:2])
    assert list(found(alone)) == ["voter_out_of_sight"]


def test_without_a_leader_each_answer_is_told() -> None:
    lost = QuorumAnswers(
        epoch=9,
        probes=(
            missing(1, source="registered"),
            missing(2, address="localhost:1", source="registered"),
            answer(3, leader_id=None, epoch=9, source="registered"),
            answer(2, voter_id=None, address="host2:9094", leader_id=None, epoch=9, source="typed"),
        ),
    )
    told = found(lost)
    assert list(told) == ["unreachable_voter", "no_leader"] and may_fail(lost) is None
    assert told["unreachable_voter"][1][1] == (
        "localhost:1: registered there; Connection refused; it answers at host2:9094, where no voter looks for it"
    )
    ((name, cause),) = told["no_leader"]
    assert name == "quorum" and cause == (
        "1 of 3 voters reached where the others look for them, 2 have to agree; "
        "controller 3 at host3:9093 answers, knows no leader in epoch 9; controller 2 at host2:9094 answers, knows no leader in epoch 9"
    )


def test_where_voters_are_known_an_address_is_that_of_the_voter_set() -> None:
    for source in ("registered", "voters"):
        told = found(replace(SOUND, probes=(answer(1), answer(2), missing(3, source=source))))
        assert told["unreachable_voter"][0][1].startswith("host3:9093: Connection refused")


def test_addresses_that_are_no_controllers_are_told_with_what_to_do() -> None:
    for outcome, word in (("broker", "-b"), ("tls", "security.protocol=SSL"), ("plain", "PLAINTEXT"), ("refused", "runs")):
        nobody = QuorumAnswers(probes=(Probe("host:1", outcome, "words", source="typed"),))
        (finding,) = judge(Facts(quorum=nobody), IDS).findings
        (one,) = finding.first(5)
        assert (finding.check.id, one.name, one.cause) == ("no_answer", "host:1", "words") and word in one.steps[0]
        beside = replace(SOUND, probes=(*SOUND.probes, *nobody.probes))
        assert found(beside) == {"wrong_address": [("host:1", "words")]}


def test_controllers_that_contradict_one_another_are_named() -> None:
    other = replace(SOUND, probes=(answer(1), answer(2, leader_id=None, epoch=7), answer(3)))
    assert found(other) == {
        "other_leader": [
            ("controller 2 at host2:9093", "answers, knows no leader in epoch 7; controller 1 leads in epoch 5"),
        ]
    }
    mixed = replace(SOUND, probes=(*SOUND.probes, Probe("far:1", "wrong_cluster", "it is of cluster theirs, not of ours", source="typed")))
    assert found(mixed) == {"mixed_clusters": [("far:1", "it is of cluster theirs, not of ours")]}
    swapped = replace(SOUND, probes=(answer(1), answer(2, id=3), answer(3)))
    assert found(swapped) == {"other_node": [("voter 2", "controller 3 answers at host2:9093")]}
    twice = replace(SOUND, probes=(answer(1), answer(2, id=None), answer(3, id=None, address=PLACES[2])))
    assert [name for name, _ in found(twice)["other_node"]] == ["voter 2", "voter 3"]


def test_who_has_just_started_is_waited_for() -> None:
    young = QuorumAnswers(probes=(missing(1, "not_loaded", "it has not loaded the metadata yet", source="typed", voter_id=None),))
    assert set(found(young)) == {"no_leader", "not_loaded"}


def test_two_looks_tell_who_fetches() -> None:
    """A voter that died a moment ago has fetched a moment ago."""
    twice = replace(SOUND, probes=(answer(1), answer(2), missing(3)), fetched=frozenset({1, 2, 7}))
    assert found(twice)["unreachable_voter"] == [("voter 3", "host3:9093: Connection refused; it has not fetched for 300 ms")]
    assert "the address is wrong" in found(replace(twice, fetched=frozenset({1, 2, 3})))["unreachable_voter"][0][1]
