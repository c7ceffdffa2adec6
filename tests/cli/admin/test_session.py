"""Who is asked, in which order and how often, and how long each may take: on a clock that the test holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from metashell.cli.admin.protocol import AdminError, Kind, UncertainError, WrongListenerError
from metashell.cli.admin.session import Session, has_moved
from metashell.codec import messages
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    NONE,
    NOT_CONTROLLER,
    NOT_LEADER_OR_FOLLOWER,
    TOPIC_AUTHORIZATION_FAILED,
    UNSUPPORTED_VERSION,
)
from metashell.common.errors import UsageError
from metashell.net.addresses import Address, ConnectError
from metashell.net.client import AsyncClient
from metashell.net.frames import api_key_of
from metashell.net.transport import ConnectionFailedError

BROKER, CONTROLLER = {3: (0, 13), 60: (0, 2)}, {52: (0, 2), 60: (0, 2)}
READ = messages.ListGroupsRequest()
CHANGE = messages.UnregisterBrokerRequest(broker_id=3)


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock goes on only where everybody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self._selector.select = self._skip  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now

    def _skip(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "nothing will ever happen"
        self.now += timeout
        return []


class Cluster:
    """Stands for the client of a session: nodes by their host, each with its answers or faults; `log` has what each was sent, and when."""

    def __init__(self, *bootstrap: str, apis: dict[int, tuple[int, int]] | None = None) -> None:
        self.bootstrap = [Address(host, 1) for host in bootstrap]
        self.nodes: dict[int, Address] = {}
        self.apis = dict.fromkeys(bootstrap, BROKER if apis is None else apis)
        self.down: set[str] = set()
        self.slow: set[str] = set()
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.log: list[tuple[str, str, float]] = []
        self.loop = Loop()

    def learn(self, rows: Iterable[tuple[int, str, int]], cluster_id: str) -> None:
        self.nodes = {id: Address(host, port) for id, host, port in rows}

    async def connection(self, address: Address) -> Any:
        self._note(address, "connect")
        if address.host in self.slow:
            await asyncio.sleep(3600)
        if address.host in self.down:
            raise ConnectionFailedError("refused")
        ranges = self.apis.get(address.host, next(iter(self.apis.values())))
        core = SimpleNamespace(peer_ranges=ranges, version_of=lambda key: 0)
        return SimpleNamespace(core=core, versions={60: ranges[60][1]}, request=self._request(address))

    def _request(self, address: Address) -> Callable[..., Awaitable[Any]]:
        async def request(request: Any, *, version: int, timeout_s: float) -> Any:
            self._note(address, type(request).__name__.removesuffix("Request"))
            answer = self.answers[address.host](request)
            if answer is None:
                await asyncio.sleep(timeout_s)
                raise ConnectionFailedError("no answer", sent=True, timed_out=True)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return request

    def _note(self, address: Address, what: str) -> None:
        self.log.append((address.host, what, round(self.loop.time() - 1000, 3)))

    def session(self, kind: Kind = Kind.BROKERS, timeout_s: float = 60.0, **more: Any) -> Session:
        return Session(kind, cast("AsyncClient", self), timeout_s, **more)

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def asked(self, what: str = "connect") -> list[tuple[str, float]]:
        found = [(host, at) for host, each, at in self.log if each == what]
        self.log.clear()
        return found


def nodes(*rows: tuple[int, str, bool], active: int = -1, **more: Any) -> messages.DescribeClusterResponse:
    made = messages.DescribeClusterResponse
    brokers = tuple(made.DescribeClusterBroker(broker_id=id, host=host, port=1, is_fenced=fenced) for id, host, fenced in rows)
    return made(cluster_id="c", controller_id=active, brokers=brokers, **more)


@pytest.fixture
def made() -> Iterator[list[Cluster]]:
    found: list[Cluster] = []
    yield found
    for each in found:
        each.loop.close()


@pytest.fixture
def cluster(made: list[Cluster]) -> Callable[..., Cluster]:
    def make(*bootstrap: str, **more: Any) -> Cluster:
        made.append(Cluster(*bootstrap, **more))
        return made[-1]

    return make


def test_fenced_brokers_are_named_and_never_asked(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a")
    here.answers["a"] = lambda request: nodes((3, "c", False), (1, "f", True), (2, "b", False))
    session = here.session()
    assert [(node.id, node.is_fenced) for node in here.run(session.nodes(fenced=True))] == [(1, True), (2, False), (3, False)]
    here.asked()
    here.down = {"a", "b", "c"}
    with pytest.raises(ConnectError) as caught:
        here.run(session.ask(READ))
    assert str(caught.value) == "a:1: refused; b:1: refused; c:1: refused"
    # Three rounds, with longer and longer pauses between them.
    assert here.asked() == [(host, at) for at in (0, 0.05, 0.15) for host in "abc"]


@pytest.mark.parametrize(("high", "wants"), [(1, False), (2, True)])
def test_only_a_broker_that_can_name_fenced_ones_is_asked_for_them(cluster: Callable[..., Cluster], high: int, wants: bool) -> None:
    asked: list[Any] = []
    here = cluster("a", apis={**BROKER, 60: (0, high)})
    here.answers["a"] = lambda request: asked.append(request) or nodes()
    for fenced in (True, False):
        here.run(here.session().nodes(fenced=fenced))
    assert [request.include_fenced_brokers for request in asked] == [wants, False]
    assert {request.endpoint_type for request in asked} == {1}


def test_the_one_that_answered_last_is_asked_first(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b")
    here.answers = {"b": lambda request: messages.ListGroupsResponse()}
    here.down = {"a"}
    session = here.session()
    here.run(session.ask(READ))
    assert here.asked() == [("a", 0), ("b", 0)]
    here.run(session.ask(READ))
    assert here.asked() == [("b", 0)]


def test_of_several_nodes_each_gets_half_of_the_time_that_is_left(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b", "c")
    here.answers = dict.fromkeys("abc", lambda request: None)
    with pytest.raises(ConnectError) as caught:
        here.run(here.session(timeout_s=8).ask(READ))
    assert str(caught.value) == "a:1: no answer; b:1: no answer; c:1: no answer"
    # A node that said nothing is not asked once more.
    assert here.asked("ListGroups") == [("a", 0), ("b", 4), ("c", 6)]


@pytest.mark.parametrize(("timeout_s", "waits"), [(60.0, 30.0), (8.0, 8.0)])
def test_of_one_node_an_answer_is_waited_for_as_kafkas_clients_wait(
    cluster: Callable[..., Cluster], timeout_s: float, waits: float
) -> None:
    here = cluster("a")
    here.answers["a"] = lambda request: None
    with pytest.raises(ConnectError):
        here.run(here.session(timeout_s=timeout_s).ask(READ))
    assert here.loop.now == pytest.approx(1000 + waits)


def test_no_node_is_waited_for_longer_than_ten_seconds_where_others_are(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b")
    here.answers = {"a": lambda request: None, "b": lambda request: messages.ListGroupsResponse()}
    here.run(here.session().ask(READ))
    assert here.asked("ListGroups") == [("a", 0), ("b", 10)]


def test_a_change_gets_all_the_time_and_is_not_sent_twice(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b")
    here.answers = dict.fromkeys("ab", lambda request: None)
    session = here.session(timeout_s=45)
    with pytest.raises(
        UncertainError, match=r"^a:1: no answer; UnregisterBroker may or may not have been done: look before you try again$"
    ):
        here.run(session.ask(CHANGE))
    assert here.asked("UnregisterBroker") == [("a", 0)] and here.loop.now == pytest.approx(1045)
    # What was under way is known to whoever is interrupted, and forgotten with an answer.
    assert session.under_way == "a:1: UnregisterBroker may or may not have been done: look before you try again"
    here.answers["a"] = lambda request: messages.UnregisterBrokerResponse()
    here.run(session.ask(CHANGE))
    assert session.under_way == ""


def test_a_slow_connection_is_waited_for_longer_each_time(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b")
    here.slow = {"a"}
    here.answers["b"] = lambda request: messages.ListGroupsResponse()
    session = here.session()
    for patience in (1.5, 5.0, 10.0, 10.0):
        session._last = None
        before = here.loop.now
        here.run(session.ask(READ))
        assert here.loop.now - before == pytest.approx(patience)
        assert session.skipped == {Address("a", 1): f"no answer within {patience:.3g} s"}
    here.slow.clear()
    here.answers["a"] = here.answers["b"]
    session._last = None
    here.run(session.ask(READ))
    assert session.skipped == {}


def test_a_question_is_repeated_and_counted(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a")
    faults = iter([ConnectionFailedError("cut", sent=True), ConnectionFailedError("cut", sent=True)])
    here.answers["a"] = lambda request: next(faults, messages.ListGroupsResponse())
    session = here.session()
    here.run(session.ask(READ))
    assert session.again == 2
    here.run(session.ask(READ))
    assert session.again == 0
    for ask in (session.ask_all({}), session.ask_active(READ)):
        session.again = 2
        here.run(ask)
        assert session.again == 0


@pytest.mark.parametrize(
    ("has_sasl", "timed_out", "has_answered", "told"),
    [(False, False, False, True), (True, False, False, False), (False, True, False, False), (False, False, True, False)],
)
def test_who_closes_at_once_may_want_a_login(
    cluster: Callable[..., Cluster], has_sasl: bool, timed_out: bool, has_answered: bool, told: bool
) -> None:
    here = cluster("a")
    answers = iter([messages.ListGroupsResponse()] * has_answered)
    here.answers["a"] = lambda request: next(answers, ConnectionFailedError("cut", sent=True, timed_out=timed_out))
    session = here.session(has_sasl=has_sasl)
    if has_answered:
        here.run(session.ask(READ))
    with pytest.raises(ConnectError) as caught:
        here.run(session.ask(READ))
    assert ("does it want SASL?" in str(caught.value)) is told


@pytest.mark.parametrize(("flag", "count"), [("authentication", 1), ("another_node", 1), ("", 6)])
def test_who_refuses_the_login_is_not_asked_again_nor_is_anybody_else(cluster: Callable[..., Cluster], flag: str, count: int) -> None:
    here = cluster("a", "b")
    fault = ConnectionFailedError("no", **({flag: True} if flag else {}))
    here.answers = dict.fromkeys("ab", lambda request: fault)
    with pytest.raises(ConnectError) as caught:
        here.run(here.session().ask(READ))
    assert len(here.asked("ListGroups")) == count and caught.value.authentication is (flag == "authentication")


@pytest.mark.parametrize(
    ("kind", "apis", "is_wrong"),
    [
        (Kind.BROKERS, BROKER, False),
        (Kind.BROKERS, CONTROLLER, True),
        (Kind.CONTROLLERS, BROKER, True),
        (Kind.CONTROLLERS, CONTROLLER, False),
        (Kind.BROKERS, {60: (0, 2)}, False),
        (Kind.CONTROLLERS, {60: (0, 2)}, False),
    ],
)
def test_a_node_of_the_other_kind_is_refused(cluster: Callable[..., Cluster], kind: Kind, apis: Any, is_wrong: bool) -> None:
    here = cluster("a", apis=apis)
    if is_wrong:
        with pytest.raises(WrongListenerError):
            here.run(here.session(kind).connection())
    else:
        assert here.run(here.session(kind).connection()).core.peer_ranges == apis


def test_a_node_is_asked_by_its_id_or_its_address(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a")
    rows = [(7, "b", False), (8, "c", False)]
    here.answers = dict.fromkeys("ab", lambda request: nodes(*rows) if api_key_of(request) == 60 else messages.ListGroupsResponse())
    session = here.session()
    here.run(session.ask(READ, to=7))
    assert here.asked("ListGroups") == [("b", 0)]
    here.run(session.ask(READ, to=Address("b", 1)))
    assert here.asked() == [("b", 0)]
    with pytest.raises(UsageError, match=r"^9: the cluster has no such broker \(it has 7, 8\)$"):
        here.run(session.ask(READ, to=9))
    rows.clear()
    with pytest.raises(UsageError, match=r"\(it has none\)$"):
        here.run(session.ask(READ, to=9))


def test_nodes_without_an_address_are_left_out(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a")
    made = messages.DescribeClusterResponse
    rows = ((1, "", 1), (2, "h", 0), (3, "h", -1), (4, "h", 65536), (5, "h", 65535), (6, "h", 1))
    brokers = tuple(made.DescribeClusterBroker(broker_id=id, host=host, port=port) for id, host, port in rows)
    here.answers["a"] = lambda request: made(cluster_id="c", brokers=brokers)
    assert [node.id for node in here.run(here.session().nodes())] == [5, 6]


def test_a_controller_that_has_read_nothing_yet_is_passed_over(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b", apis=CONTROLLER)
    new = messages.DescribeClusterResponse(error_code=UNSUPPORTED_VERSION)
    here.answers = {"a": lambda request: new, "b": lambda request: nodes((1, "a", False), (2, "b", False), active=2)}
    session = here.session(Kind.CONTROLLERS)
    assert [node.id for node in here.run(session.nodes())] == [1, 2]
    assert (session.active, session.cluster_id) == (Address("b", 1), "c")
    here.answers["b"] = here.answers["a"]
    with pytest.raises(AdminError, match="DescribeCluster: UNSUPPORTED_VERSION"):
        here.run(here.session(Kind.CONTROLLERS).nodes())


def test_the_next_broker_in_turn_is_asked_where_one_does_not_know_the_leader(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b", "c")
    moved = messages.UnregisterBrokerResponse(error_code=NOT_CONTROLLER)

    def answer(request: Any) -> Any:
        return nodes((1, "a", False), (2, "b", False), (3, "c", False)) if api_key_of(request) == 60 else moved

    here.answers = dict.fromkeys("abc", answer)
    session = here.session(timeout_s=2, leaderless_s=1)
    assert here.run(session.ask_active(CHANGE)) is moved
    # The last answer, after the time that a leader may take; each pause is twice as long until it is half a second.
    assert here.asked("UnregisterBroker") == [("a", 0), ("b", 0.05), ("c", 0.1), ("a", 0.2), ("b", 0.3), ("c", 0.4), ("a", 0.6), ("b", 0.8)]
    assert session.again == 8


def test_the_active_controller_is_asked_at_once_and_by_its_connection_alone(cluster: Callable[..., Cluster]) -> None:
    here = cluster("a", "b", apis=CONTROLLER)

    def answer(request: Any) -> Any:
        is_list = api_key_of(request) == 60
        return nodes((1, "a", False), (2, "b", False), active=2) if is_list else messages.UnregisterBrokerResponse()

    here.answers = dict.fromkeys("ab", answer)
    session = here.session(Kind.CONTROLLERS)
    for _ in range(2):
        here.run(session.ask_active(CHANGE))
    assert here.asked("UnregisterBroker") == [("b", 0), ("b", 0)]


@pytest.mark.parametrize("leader", "abc")
def test_each_controller_has_its_turn_where_they_may_not_be_listed(cluster: Callable[..., Cluster], leader: str) -> None:
    here = cluster("a", "b", "c", apis=CONTROLLER)
    done = messages.UnregisterBrokerResponse()

    def answer(host: str) -> Callable[[Any], Any]:
        moved = messages.UnregisterBrokerResponse(error_code=NOT_CONTROLLER)
        refused = messages.DescribeClusterResponse(error_code=CLUSTER_AUTHORIZATION_FAILED)
        return lambda request: refused if api_key_of(request) == 60 else done if host == leader else moved

    here.answers = {host: answer(host) for host in "abc"}
    assert here.run(here.session(Kind.CONTROLLERS).ask_active(CHANGE)) is done
    assert [host for host, _ in here.asked("UnregisterBroker")] == list("abc"[: "abc".index(leader) + 1])


@pytest.mark.parametrize(
    ("codes", "moved"),
    [
        ((NOT_CONTROLLER, NOT_CONTROLLER), True),
        ((NOT_LEADER_OR_FOLLOWER,), True),
        ((NOT_CONTROLLER, NONE), False),
        ((NONE,), False),
        ((), False),
    ],
)
def test_a_node_does_not_lead_where_all_its_codes_say_so(codes: tuple[int, ...], moved: bool) -> None:
    made = messages.CreateTopicsResponse
    answer = made(topics=tuple(made.CreatableTopicResult(name="a", error_code=code) for code in codes))
    assert has_moved(answer) is moved


@pytest.mark.parametrize(
    ("key", "answer", "refused"),
    [
        (10, messages.FindCoordinatorResponse(error_code=TOPIC_AUTHORIZATION_FAILED), 10),
        (35, messages.DescribeLogDirsResponse(error_code=TOPIC_AUTHORIZATION_FAILED), -1),
    ],
)
def test_the_request_that_lacked_a_right_is_kept_but_for_answers_of_any_length(
    cluster: Callable[..., Cluster], key: int, answer: Any, refused: int
) -> None:
    here = cluster("a")
    here.answers["a"] = lambda request: answer
    session = here.session()
    here.run(session.ask({10: messages.FindCoordinatorRequest(), 35: messages.DescribeLogDirsRequest()}[key]))
    assert session.refused == refused
