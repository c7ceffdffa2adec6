"""What brokers tell is judged as what controllers have in their log; what they do not tell is not judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from metashell.cli.admin.cluster import ClusterDescription
from metashell.cli.admin.protocol import Kind, Node
from metashell.cli.admin.reassign import Moving
from metashell.cli.admin.topics import Partition, Topic, long_transactions
from metashell.cli.cluster import broker_facts
from metashell.cli.cluster.broker_facts import BrokersView, view_of
from metashell.codec.codes import DESCRIBE_CLUSTER
from metashell.codec.messages import DescribeProducersResponse, DescribeTransactionsResponse, ListTransactionsResponse
from metashell.common.errors import MetashellError
from metashell.metadata.checks import Facts, all_checks, judge
from metashell.metadata.checks.facts import IMAGE, BrokerAnswers, Probe, QuorumAnswers
from metashell.net.addresses import Address, ConnectError
from metashell.net.api_versions import NodeFeatures


@dataclass
class Cluster:
    """A cluster as its brokers tell of it; it stands for the connection too."""

    partitions: dict[str, list[Partition]]
    fenced: frozenset[int] = frozenset()
    moves: dict[tuple[str, int], Moving] = field(default_factory=dict)
    min_isr: dict[str, int] = field(default_factory=dict)
    names_fenced: bool = True
    asked: list[str] = field(default_factory=list)

    def ranges(self) -> dict[int, tuple[int, int]]:
        return {DESCRIBE_CLUSTER: (0, 2 if self.names_fenced else 1)}

    def features(self) -> NodeFeatures:
        return NodeFeatures(finalized={"metadata.version": 33, "kraft.version": 1})

    def topics(self) -> list[Topic]:
        return [Topic(name=name, id=name.encode().ljust(16), partitions=tuple(found)) for name, found in sorted(self.partitions.items())]

    def describe(self) -> ClusterDescription:
        nodes = [Node(id, Address(f"host{id}", 9092), None, id in self.fenced) for id in (1, 2, 3)]
        shown = [node for node in nodes if self.names_fenced or not node.is_fenced]
        return ClusterDescription(cluster_id="ours", kind=Kind.BROKERS, nodes=tuple(shown), active_id=None)

    def moving(self) -> dict[tuple[str, int], Moving]:
        self.asked.append("moves")
        return self.moves


def partition(id: int = 0, **fields: Any) -> Partition:
    return Partition(**{"id": id, "leader": 1, "leader_epoch": 0, "replicas": (1, 2), "isr": (1, 2), **fields})


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_facts, "describe_cluster", lambda admin, fenced: admin.describe())
    monkeypatch.setattr(broker_facts, "list_topics", lambda admin: (admin.topics(), []))
    monkeypatch.setattr(broker_facts, "describe_topics", lambda admin, names: ([one for one in admin.topics() if one.name in names], []))
    monkeypatch.setattr(broker_facts, "list_reassignments", lambda admin: admin.moving())
    monkeypatch.setattr(broker_facts, "unseen_topics", lambda admin, seen: [])
    monkeypatch.setattr(broker_facts, "min_isr_of", lambda admin, names: ({name: admin.min_isr.get(name, 1) for name in names}, []))


def viewed(told: Cluster, quorum: QuorumAnswers | None = None) -> BrokersView:
    return view_of(told, told, quorum)  # type: ignore[arg-type]


def found(view: BrokersView) -> dict[str, list[str]]:
    verdict = judge(Facts(health=view.health, told=view.told))
    return {finding.check.id: [one.name for one in finding] for finding in verdict.findings}


SOUND = {"orders": [partition(0), partition(1, leader=2, replicas=(2, 1))]}


@pytest.mark.usefixtures("seen")
def test_a_sound_cluster_has_no_finding_and_says_what_was_not_judged() -> None:
    view = viewed(Cluster(SOUND))
    assert found(view) == {} and view.holes == ()
    not_run = {one.check.id: one.because for one in judge(Facts(health=view.health, told=view.told)).not_run}
    assert not_run["offline_directory"] == not_run["unclean"] == "brokers do not tell it, controllers do (-C)"
    assert view.health.image.features.finalized == {"metadata.version": 33, "kraft.version": 1}


@pytest.mark.usefixtures("seen")
def test_partitions_are_judged_as_in_the_log() -> None:
    told = Cluster(
        {
            "lost": [partition(leader=-1, isr=(3,), replicas=(3,), elr=(3,))],
            "behind": [partition(isr=(1,))],
            "moving": [partition(replicas=(1, 2, 3), isr=(1, 2))],
            "small": [partition(isr=(1,))],
        },
        fenced=frozenset({3}),
        moves={("moving", 0): Moving(topic="moving", partition=0, replicas=(1, 2, 3), adding=(3,), removing=())},
        min_isr={"small": 2},
    )
    troubles = found(viewed(told))
    assert troubles["leaderless"] == ["lost/0"] and troubles["elr"] == ["lost/0"] and troubles["fenced"] == ["3"]
    assert troubles["under_replicated"] == ["behind/0", "small/0"] and troubles["under_min_isr"] == ["small/0"]
    assert troubles["reassigning"] == ["moving/0"] and troubles["stuck_reassignment"] == ["moving/0"]


@pytest.mark.usefixtures("seen")
def test_brokers_before_4_0_do_not_say_who_is_fenced_and_who_is_gone() -> None:
    told = Cluster({"orders": [partition(replicas=(1, 3), isr=(1,))]}, fenced=frozenset({3}), names_fenced=False)
    assert set(found(viewed(told))) == {"under_replicated", "at_min_isr"}


@pytest.mark.usefixtures("seen")
def test_without_a_controller_nobody_waits_for_the_list_of_moves() -> None:
    sound, behind = Cluster(SOUND), Cluster({"orders": [partition(isr=(1,))]})
    assert viewed(sound, QuorumAnswers()).holes == ()
    view = viewed(behind, QuorumAnswers())
    assert sound.asked == behind.asked == [] and view.holes == ("reassignments: brokers ask a controller for them, and none answers",)


def test_a_broker_that_does_not_answer_where_it_says_is_named() -> None:
    def answers(id: int, outcome: str, words: str = "") -> BrokerAnswers:
        return BrokerAnswers(id=id, probe=Probe(f"host{id}:9092", outcome, words, id=id))

    facts = Facts(brokers=(answers(1, "answers"), answers(2, "silent", "Connection refused"), answers(3, "forbidden", "no right")))
    (finding,) = judge(facts, ["unreachable_broker"]).findings
    assert [(one.name, one.cause) for one in finding] == [("broker 2", "host2:9092: Connection refused")]
    assert judge(Facts(brokers=facts.brokers[:1]), ["unreachable_broker"]).findings == ()


def test_what_brokers_are_enough_for_are_checks_of_an_image() -> None:
    of_image = {one.id for one in all_checks() if IMAGE in one.needs}
    assert of_image >= broker_facts.TOLD | broker_facts.FENCED_TOO


# ---- transactions


class Asked:
    """Brokers that answer by the type of the question."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def ask_all(self, requests: dict[int, Any]) -> dict[int, Any]:
        return {id: self.answers[type(request).__name__.removesuffix("Request")] for id, request in requests.items()}


def producers(*found: tuple[int, int, int]) -> Any:
    """Producers of orders/0: id, time of the last record, and where an open transaction starts."""
    make = DescribeProducersResponse
    active = tuple(
        make.ProducerState(producer_id=id, producer_epoch=0, last_timestamp=time, coordinator_epoch=0, current_txn_start_offset=start)
        for id, time, start in found
    )
    partition = make.PartitionResponse(partition_index=0, error_code=0, active_producers=active)
    return make(topics=(make.TopicResponse(name="orders", partitions=(partition,)),))


def test_transactions_hang_that_are_old_and_open() -> None:
    listed = ListTransactionsResponse(
        error_code=0,
        transaction_states=(ListTransactionsResponse.TransactionState(transactional_id="tx", producer_id=8, transaction_state="Ongoing"),),
    )
    make = DescribeTransactionsResponse
    topic = make.TopicData(topic="orders", partitions=(0,))
    state = make.TransactionState(
        error_code=0,
        transactional_id="tx",
        transaction_state="Ongoing",
        transaction_timeout_ms=1,
        transaction_start_time_ms=40,
        producer_id=8,
        producer_epoch=0,
        topics=(topic,),
    )
    asked = Asked(
        DescribeProducers=producers((7, 50, 4), (8, 60, 9), (9, 60, -1), (10, 999, 3)),
        ListTransactions=listed,
        DescribeTransactions=make(transaction_states=(state,)),
    )
    told = long_transactions(asked, {1: {"orders": [0]}}, before_ms=100)[1]  # type: ignore[arg-type]
    assert not isinstance(told, MetashellError)
    assert [(one.producer_id, one.started_ms, one.transactional_id, one.state) for one in told] == [
        (7, 50, "", ""),
        (8, 40, "tx", "Ongoing"),
    ]
    silent = ConnectError([(Address("host1", 9092), "gone")])
    assert long_transactions(Asked(DescribeProducers=silent), {1: {"orders": [0]}}, 100) == {1: silent}  # type: ignore[arg-type]
