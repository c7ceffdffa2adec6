"""Clusters that are not there, do not answer, are something else, forbid it, are too old, or lose their leader in the middle."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.cluster import describe_cluster, describe_features, unregister_broker
from metashell.cli.admin.protocol import AdminError, Kind, UncertainError, UnsupportedError, WrongListenerError
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    NONE,
    NOT_CONTROLLER,
    NOT_LEADER_OR_FOLLOWER,
    TOPIC_ALREADY_EXISTS,
)
from metashell.codec.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from metashell.common.errors import UsageError
from metashell.net.addresses import ConnectError
from tests.cli.admin.peers import BROKER_APIS, CONTROLLER_APIS, HangUp, Peer, Silence, peer
from tests.net.test_client import closed_port

UNREGISTER = UnregisterBrokerRequest(broker_id=3)
CREATE = CreateTopicsRequest(topics=(CreateTopicsRequest.CreatableTopic(name="a"), CreateTopicsRequest.CreatableTopic(name="b")))


def cluster_of(active: int, *peers: Peer) -> DescribeClusterResponse:
    """What these peers, with the ids 1 and up, say of themselves."""
    made = DescribeClusterResponse.DescribeClusterBroker
    nodes = tuple(made(broker_id=id, host=one.address.host, port=one.address.port) for id, one in enumerate(peers, 1))
    return DescribeClusterResponse(cluster_id="here", controller_id=active, brokers=nodes)


def created(*codes: int) -> CreateTopicsResponse:
    made = CreateTopicsResponse.CreatableTopicResult
    return CreateTopicsResponse(topics=tuple(made(name=name, error_code=code) for name, code in zip("ab", codes, strict=True)))


def admin_of(*peers: Peer, kind: Kind = Kind.CONTROLLERS, timeout_ms: int = 20_000) -> Admin:
    return Admin(kind, [one.address for one in peers], timeout_ms=timeout_ms)


def unasked(request: Any) -> Any:
    raise AssertionError(f"{request} must not be asked")


# ---- nobody is there


@pytest.mark.parametrize("kind", Kind)
def test_addresses_that_refuse_are_all_named(kind: Kind) -> None:
    with closed_port() as one, closed_port() as two, Admin(kind, [one, two]) as admin:
        for ask in (lambda: admin.ask(UNREGISTER), lambda: admin.ask_active(UNREGISTER), admin.nodes, admin.features):
            with pytest.raises(ConnectError) as caught:
                ask()
            assert str(caught.value) == f"{one}: Connection refused; {two}: Connection refused"


def test_one_that_accepts_and_says_nothing_does_not_keep_the_others_from_being_asked() -> None:
    with peer(unasked, talks=False) as mute, peer(lambda _: cluster_of(1, good)) as good, admin_of(mute, good, timeout_ms=1_000) as admin:
        assert describe_cluster(admin).cluster_id == "here"
        assert admin.skipped == {mute.address: "no answer within 0.5 s"}


def test_one_that_accepts_and_says_nothing_is_told_when_there_is_no_other() -> None:
    with peer(unasked, talks=False) as mute, admin_of(mute, timeout_ms=300) as admin, pytest.raises(ConnectError, match="no answer within"):
        admin.nodes()


# ---- it is something else


def test_a_listener_of_the_wrong_kind_is_named_with_the_option_for_it() -> None:
    with peer(unasked, BROKER_APIS) as broker, peer(unasked, CONTROLLER_APIS) as controller:
        with admin_of(broker) as admin, pytest.raises(WrongListenerError) as caught:
            admin.ask_active(UNREGISTER)
        assert str(caught.value) == f"{broker.address} is a broker's listener: use --bootstrap-server"
        with admin_of(controller, kind=Kind.BROKERS) as admin, pytest.raises(WrongListenerError) as caught:
            admin.ask(UNREGISTER)
        assert str(caught.value) == f"{controller.address} is a controller's listener: use --bootstrap-controller"


def test_an_api_that_the_cluster_lacks_is_named_with_the_release_that_has_it() -> None:
    without = {key: versions for key, versions in CONTROLLER_APIS.items() if key != 60}
    with peer(unasked, without) as old, admin_of(old) as admin, pytest.raises(UnsupportedError) as caught:
        admin.nodes()
    assert str(caught.value) == f"{old.address} does not have DescribeCluster, which controllers have since Kafka 3.7"
    assert (caught.value.api, caught.value.since) == ("DescribeCluster", "3.7")


def test_a_field_that_the_clusters_version_lacks_is_an_old_cluster_too() -> None:
    with peer(unasked, {**BROKER_APIS, 60: (0, 1)}) as old, admin_of(old, kind=Kind.BROKERS) as admin:
        with pytest.raises(UnsupportedError) as caught:
            describe_cluster(admin, fenced=True)
        assert caught.value.java == "Attempted to write a non-default includeFencedBrokers at version 1"


def test_a_node_that_the_cluster_does_not_have_is_named_with_those_that_it_has() -> None:
    says = r"^7: the cluster has no such controller \(it has 1\)$"
    with peer(lambda _: cluster_of(1, only)) as only, admin_of(only) as admin, pytest.raises(UsageError, match=says):
        admin.ask(DescribeClusterRequest(), to=7)


# ---- it is forbidden


def test_who_may_not_list_the_controllers_is_still_answered_by_the_one_that_leads() -> None:
    refused = DescribeClusterResponse(error_code=CLUSTER_AUTHORIZATION_FAILED, error_message="no")

    def follower(request: Any) -> Any:
        return refused if isinstance(request, DescribeClusterRequest) else UnregisterBrokerResponse(error_code=NOT_CONTROLLER)

    def leader(request: Any) -> Any:
        return refused if isinstance(request, DescribeClusterRequest) else UnregisterBrokerResponse()

    with peer(follower) as one, peer(leader) as two, admin_of(one, two) as admin:
        unregister_broker(admin, 3)
        with pytest.raises(AdminError) as caught:
            admin.nodes()
        assert caught.value.name == "CLUSTER_AUTHORIZATION_FAILED"
    with peer(follower) as one, admin_of(one) as admin, pytest.raises(AdminError, match="CLUSTER_AUTHORIZATION_FAILED"):
        unregister_broker(admin, 3)


def test_the_right_that_is_missing_is_named() -> None:
    refused = UnregisterBrokerResponse(error_code=CLUSTER_AUTHORIZATION_FAILED)
    answer = lambda request: cluster_of(1, one) if isinstance(request, DescribeClusterRequest) else refused  # noqa: E731
    with peer(answer) as one, admin_of(one) as admin:
        with pytest.raises(AdminError) as caught:
            unregister_broker(admin, 3)
        assert admin.right_refused == "ALTER on the cluster"
    caught.value.right = admin.right_refused
    assert caught.value.remark == "It needs the right ALTER on the cluster."


def test_a_listener_that_wants_sasl_closes_and_the_line_says_what_to_look_at() -> None:
    def answer(_: Any) -> Any:
        raise HangUp

    with peer(answer) as one, admin_of(one) as admin, pytest.raises(ConnectError, match=r"\(does it want SASL\? see security.protocol\)$"):
        admin.nodes()


# ---- the leader goes


def test_a_controller_that_leads_no_longer_is_followed_to_the_one_that_does() -> None:
    active = [1]

    def answer(id: int) -> Any:
        def answered(request: Any) -> Any:
            if isinstance(request, DescribeClusterRequest):
                return cluster_of(active[0], one, two)
            if id == 1:
                active[0] = 2
                return created(NOT_CONTROLLER, NOT_CONTROLLER)
            return created(NONE, TOPIC_ALREADY_EXISTS)

        return answered

    with peer(answer(1)) as one, peer(answer(2)) as two, admin_of(one) as admin:
        response = admin.ask_active(CREATE)
        assert [item.error_code for item in response.topics] == [NONE, TOPIC_ALREADY_EXISTS]
        # It may have been appended where it was asked first.
        assert admin.again == 1
        assert (one.asked.count("CreateTopics"), two.asked.count("CreateTopics")) == (1, 1)


def test_a_broker_that_hands_on_to_a_controller_that_leads_no_longer_is_passed_over() -> None:
    # As Kafka's do after a failover: the former active controller is back as a follower (golden README, surprise 13).
    def stale(request: Any) -> Any:
        return cluster_of(1, one, two) if isinstance(request, DescribeClusterRequest) else moved

    moved = UnregisterBrokerResponse(error_code=NOT_LEADER_OR_FOLLOWER)
    with peer(stale, BROKER_APIS) as one, peer(lambda _: UnregisterBrokerResponse(), BROKER_APIS) as two:
        with admin_of(one, kind=Kind.BROKERS) as admin:
            unregister_broker(admin, 3)
        assert (one.asked, two.asked) == (["UnregisterBroker", "DescribeCluster"], ["UnregisterBroker"])


def test_when_nobody_leads_the_last_answer_or_the_reason_is_given() -> None:
    def answer(request: Any) -> Any:
        return cluster_of(-1, one) if isinstance(request, DescribeClusterRequest) else UnregisterBrokerResponse(error_code=NOT_CONTROLLER)

    with peer(answer) as one, admin_of(one, timeout_ms=300) as admin, pytest.raises(AdminError, match="broker 3: NOT_CONTROLLER"):
        unregister_broker(admin, 3)


def test_when_the_leader_is_gone_and_stays_gone_everyone_who_was_asked_is_named() -> None:
    def answer(request: Any) -> Any:
        return cluster_of(1, gone, here) if isinstance(request, DescribeClusterRequest) else unasked(request)

    with peer(unasked) as gone, peer(answer) as here:
        gone.close()
        with admin_of(here, timeout_ms=1500) as admin, pytest.raises(ConnectError) as caught:
            unregister_broker(admin, 3)
        assert str(caught.value) == f"{gone.address}: Connection refused; {here.address}: it names {gone.address} as the active controller"


def test_features_need_no_right_that_the_list_of_controllers_needs() -> None:
    with peer(lambda _: DescribeClusterResponse(error_code=CLUSTER_AUTHORIZATION_FAILED)) as one, admin_of(one) as admin:
        assert describe_features(admin).epoch is None


# ---- the connection breaks


def test_a_question_whose_connection_breaks_is_asked_again() -> None:
    times = iter([HangUp, HangUp])

    def answer(_: Any) -> Any:
        if (fault := next(times, None)) is not None:
            raise fault
        return cluster_of(1, one)

    with peer(answer) as one, admin_of(one) as admin:
        assert describe_cluster(admin).cluster_id == "here"
        assert one.asked == ["DescribeCluster"] * 3


@pytest.mark.parametrize("fault", [HangUp, Silence])
def test_a_change_whose_answer_is_lost_is_not_asked_for_again(fault: type[Exception]) -> None:
    def answer(request: Any) -> Any:
        if isinstance(request, DescribeClusterRequest):
            return cluster_of(1, one)
        raise fault

    with peer(answer) as one, admin_of(one, timeout_ms=500) as admin:
        with pytest.raises(UncertainError, match="UnregisterBroker may or may not have been done"):
            unregister_broker(admin, 3)
        assert one.asked.count("UnregisterBroker") == 1


def test_a_connection_that_ended_between_two_questions_is_made_anew() -> None:
    def answer(request: Any) -> Any:
        return cluster_of(1, one) if isinstance(request, DescribeClusterRequest) else UnregisterBrokerResponse()

    with peer(answer) as one, admin_of(one) as admin:
        admin.nodes()
        # Both ends of the connection know that it is over, but our loop has not run since.
        one.hang_up()
        unregister_broker(admin, 3)
        assert one.asked.count("UnregisterBroker") == 1


def test_what_one_request_has_learnt_the_next_one_knows() -> None:
    def answer(request: Any) -> Any:
        return cluster_of(1, one) if isinstance(request, DescribeClusterRequest) else UnregisterBrokerResponse()

    with peer(answer) as one, admin_of(one) as admin:
        unregister_broker(admin, 3)
        unregister_broker(admin, 4)
        assert one.asked == ["DescribeCluster", "UnregisterBroker", "UnregisterBroker"]
        assert (admin.cluster_id, len(one.asked)) == ("here", 3)
