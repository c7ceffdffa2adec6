"""The quorum controller: requests and events in, decisions out. It only routes; each subject has a module of its own.

`ROUTES` says which function decides about which request, at which versions, and what a sender needs to be allowed. `Schedule` says when the
periodic tasks of the active controller are due.

Source: kafka.server.ControllerApis, org.apache.kafka.controller.QuorumController, PeriodicTaskControlManager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, NONE, NOT_CONTROLLER, TOPIC_AUTHORIZATION_FAILED
from metashell.metadata.image import AclsImage, MetadataImage
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller import (
    acls_and_tokens,
    brokers,
    cluster,
    config_changes,
    config_descriptions,
    elections,
    replicas,
    topic_creation,
    topics,
    users,
)
from metashell.quorum.controller.authorizer import APIS, Authorizer, EnvelopedRequest, Operation, close_envelope, open_envelope
from metashell.quorum.controller.cluster import decide_activation
from metashell.quorum.controller.decision import ApiError, Chance, Decision, Request, Steps, TaskResult, finish_steps, refusal
from metashell.quorum.controller.hints import AclHints
from metashell.quorum.controller.leader_state import Heartbeats
from metashell.quorum.controller.settings import Settings
from metashell.quorum.controller.state import NO_OP, State

HEARTBEAT_KEY = 63
ENVELOPE_KEY = 58


class QuorumController:
    """One controller of a quorum, active or standby. See the package for what it promises and how it is driven."""

    def __init__(
        self, settings: Settings, chance: Chance, bootstrap_records: Sequence[VersionedRecord] = (), *, keeps_objects: bool = False
    ) -> None:
        self.state = State(settings, chance, keeps_objects=keeps_objects)
        self._bootstrap = tuple(bootstrap_records)
        self._schedule = Schedule()
        self._acls: AclsImage | None = None
        self._acl_hints: AclHints | None = None
        self._authorizer: Authorizer | None = None

    @property
    def image(self) -> MetadataImage:
        """The committed image, without open transactions."""
        return self.state.stable

    @property
    def stable_offset(self) -> int:
        return self.state.stable_offset

    def load(self, image: MetadataImage, offset: int) -> None:
        """Begin from a snapshot."""
        finish_steps(self.load_steps(image, offset))

    def load_steps(self, image: MetadataImage, offset: int) -> Steps[None]:
        """Begin from a snapshot; what it has replaces everything in the last step."""
        assert not self.state.is_active, "only a standby loads a snapshot"
        return self.state.load(image, offset)

    def background_steps(self) -> Steps[None] | None:
        """Return background work that makes later decisions quicker, None if there is none.

        It may be left after any step, anything may be called between the steps, and asked again it goes on where it was. After a snapshot
        was loaded, it finds out which broker has which partitions; a `claim` does what is left of that.
        """
        return self.state.background()

    def replay(self, records: Sequence[VersionedRecord], base_offset: int) -> None:
        """Fold a batch into the state, one that this controller appends or one that it follows.

        Errors: ReplayError for records that do not fit; the process must stop then.
        """
        finish_steps(self.replay_steps(records, base_offset))

    def replay_steps(self, records: Sequence[VersionedRecord], base_offset: int) -> Steps[None]:
        """`replay`, a few hundred records a step; the state changes in the last one. A small batch takes one."""
        return self.state.replay(records, base_offset)

    def commit(self, offset: int) -> None:
        """The quorum committed everything up to `offset`."""
        self.state.commit(offset)

    def claim(self, epoch: int, log_end_offset: int, now_ms: int) -> Decision:
        """Become the active controller; return the records to write before any request. Errors: ReplayError; see `decide_activation`."""
        return finish_steps(self.claim_steps(epoch, log_end_offset, now_ms))

    def claim_steps(self, epoch: int, log_end_offset: int, now_ms: int) -> Steps[Decision]:
        """`claim`; the first step makes this controller active, so that the heartbeats of brokers count while others are taken."""
        state = self.state
        state.claim_epoch, state.next_write_offset = epoch, log_end_offset
        state.leader_id = state.settings.node_id
        state.heartbeats = Heartbeats(state.settings.session_timeout_ms)
        for broker in state.settled.image.cluster.brokers.values():
            state.heartbeats.register(broker.id, broker.fenced)
            if not broker.fenced:
                # A full session to find the new leader.
                state.heartbeats.contact(broker.id, broker.epoch, now_ms)
        self._schedule.start(_periodic_tasks(state.settings), now_ms)
        yield from state.make_hints()
        return decide_activation(state, self._bootstrap)

    def renounce(self) -> None:
        """Forget everything that is not committed: another controller leads, or none."""
        self._schedule.stop()
        self.state.renounce()

    def note_leader(self, leader_id: int) -> None:
        """Note the leader of the quorum, -1 for none; other controllers and clients get this id."""
        self.state.leader_id = leader_id

    def wrong_controller_text(self) -> str:
        """Return the message of a refused write that another controller has to take."""
        leader_id = self.state.leader_id
        return "No controller appears to be active." if leader_id < 0 else f"The active controller appears to be node {leader_id}."

    def contact(self, request: Request, now_ms: int) -> None:
        """Note a heartbeat when it arrives, before it queues: a session must not depend on the load of other requests.

        One from somebody who may not send it counts for nothing; to note one twice makes no difference.
        """
        if not self.state.is_active or request.api_key != HEARTBEAT_KEY:
            return
        broker = self.state.image.cluster.brokers.get(request.body.broker_id)
        # Of lives that are over, or never were, nothing is kept: whoever sends them could fill the memory.
        if broker is None or broker.epoch != request.body.broker_epoch:
            return
        if self.current_authorizer().allows_cluster(request, Operation.CLUSTER_ACTION):
            self.state.heartbeats.contact(broker.id, broker.epoch, now_ms)

    def answer_at_once(self, request: Request) -> Any | None:
        """The answer to a request that may be given between the steps of a decision, and needs no commit; None for any other.

        That is a heartbeat of an unfenced broker that wants to stay so: fencing a broker of 10 000 partitions, or a claim, takes long, and
        no living broker should wait for it. It may be called at any time; the caller keeps the answers of a connection in order.
        """
        if not self.state.is_active or request.api_key != HEARTBEAT_KEY or not APIS[HEARTBEAT_KEY].has(request.version):
            return None
        if not self.current_authorizer().allows_cluster(request, Operation.CLUSTER_ACTION):
            return None
        return brokers.unchanged_broker_heartbeat(self.state, request.body)

    def held_up(self, held_ms: int, now_ms: int) -> None:
        """Prolong sessions after the whole process stood still: heartbeats came in meanwhile and were not read."""
        if self.state.is_active:
            self.state.heartbeats.prolong(held_ms, now_ms)

    def decide(self, request: Request, now_ms: int, wall_ms: int | None = None) -> Decision:
        """Return the records to write and the answer.

        Units: `now_ms` is on a clock that never jumps, by which sessions, quotas and deadlines go; `wall_ms` is Unix time, which
        delegation tokens keep in the log, by default the same.
        Errors: KeyError for an API or a version that controllers do not take.
        """
        decision = self.decide_steps(request, now_ms, wall_ms)
        return decision if isinstance(decision, Decision) else finish_steps(decision)

    def decide_steps(self, request: Request, now_ms: int, wall_ms: int | None = None) -> Decision | Steps[Decision]:
        """`decide`; the decision where it takes no time, else the steps to it. Between them only `contact` may be called."""
        if not APIS[request.api_key].has(request.version):
            raise KeyError(f"{APIS[request.api_key].name} version {request.version}")
        if request.api_key == ENVELOPE_KEY:
            return self._decide_enveloped(request, now_ms, wall_ms)
        route = ROUTES[request.api_key]
        self.state.wall_ms = now_ms if wall_ms is None else wall_ms
        self.state.authorizer = self.current_authorizer()
        try:
            self._check_right(route, request)
            self.contact(request, request.received_ms)
            if route.is_write and not self.state.is_active:
                raise ApiError(NOT_CONTROLLER, self.wrong_controller_text())
            decision = route.decide(self.state, request, now_ms)
        except ApiError as error:
            return Decision(route.refuse(request, error.code, error.message))
        return decision if isinstance(decision, Decision) else _answered(route, request, decision)

    def _decide_enveloped(self, envelope: Request, now_ms: int, wall_ms: int | None) -> Decision | Steps[Decision]:
        """Decide about a request that a broker forwards; the answer goes back in an envelope."""
        try:
            if not self.current_authorizer().allows_cluster(envelope, Operation.CLUSTER_ACTION):
                raise ApiError(CLUSTER_AUTHORIZATION_FAILED)
            inner = open_envelope(envelope)
        except ApiError as error:
            return Decision(messages.EnvelopeResponse(response_data=None, error_code=error.code))
        decision = self.decide_steps(inner.request, now_ms, wall_ms)
        return _enveloped(inner, decision) if isinstance(decision, Decision) else _enveloped_steps(inner, decision)

    def refuse(self, request: Request, code: int, message: str | None = None) -> Any:
        """Return the answer that refuses a whole request because leadership ended or our own code failed."""
        if request.api_key == ENVELOPE_KEY:
            try:
                inner = open_envelope(request)
            except ApiError as error:
                return messages.EnvelopeResponse(response_data=None, error_code=error.code)
            return close_envelope(inner, self.refuse(inner.request, code, message))
        route = ROUTES.get(request.api_key)
        return (refusal if route is None else route.refuse)(request, code, message)

    def refusal_ahead(self, request: Request) -> Callable[[Request], Any] | None:
        """Return what makes the answer to a request that is refused whatever its body says, None where the body has to be looked at.

        What is returned reads only the request, so it may run in any thread.
        """
        authorizer = self.current_authorizer()
        if request.api_key == ENVELOPE_KEY:
            is_allowed = authorizer.allows_cluster(request, Operation.CLUSTER_ACTION)
            return None if is_allowed else _refuse_envelope
        route = ROUTES.get(request.api_key)
        if route is None:
            return None
        if route.right is not None and not authorizer.allows_cluster(request, route.right):
            why = route.why_refused
            return lambda whole: route.refuse(whole, CLUSTER_AUTHORIZATION_FAILED, why)
        if route.is_write and not self.state.is_active:
            text = self.wrong_controller_text()
            return lambda whole: route.refuse(whole, NOT_CONTROLLER, text)
        return None if authorizer.may_allow(request) else _REFUSED_BY_ITEM.get(request.api_key)

    def written(self, decision: Decision) -> int:
        """The offset that the answer of a decision waits for, once all its batches were replayed."""
        last_offset = self.state.next_write_offset - 1
        if decision.leaving_broker >= 0:
            self.state.heartbeats.begin_shutdown(decision.leaving_broker, last_offset)
        return last_offset

    def next_due_ms(self) -> int | None:
        """Return the time of the next periodic task, None while this controller is not active."""
        return self._schedule.next_due_ms()

    def shift_task(self, name: str, at_ms: int) -> None:
        """Let a periodic task run next at its first time from `at_ms` on: a rehearsal knows when one finds nothing to do."""
        self._schedule.shift(name, at_ms)

    def next_due_task(self) -> str | None:
        """The name of the periodic task that `run_due` runs next, None while this controller is not active."""
        return self._schedule.next_task()

    def run_due(self, now_ms: int, wall_ms: int | None = None) -> Decision | None:
        """One run of a periodic task that is due, None if none is.

        One that raises is not due again for five minutes; nothing of it counts, and leadership may stay.
        """
        return finish_steps(self.run_due_steps(now_ms, wall_ms))

    def run_due_steps(self, now_ms: int, wall_ms: int | None = None) -> Steps[Decision | None]:
        """`run_due`; between the steps only `contact` may be called."""
        self.state.wall_ms = now_ms if wall_ms is None else wall_ms
        return self._schedule.run(self.state, now_ms)

    def _check_right(self, route: Route, request: Request) -> None:
        if route.right is not None and not self.state.authorizer.allows_cluster(request, route.right):
            raise ApiError(CLUSTER_AUTHORIZATION_FAILED, route.why_refused)

    def current_authorizer(self) -> Authorizer:
        """Return the authorizer over the stable image."""
        acls = self.state.stable.acls
        if self._authorizer is None or acls is not self._acls or self._acl_hints is not self.state.acl_hints:
            settings = self.state.settings
            self._acls, self._acl_hints = acls, self.state.acl_hints
            self._authorizer = Authorizer(
                acls,
                self.state.acl_hints,
                settings.super_users,
                allows_without_acl=settings.allows_without_acl,
                is_configured=settings.has_authorizer,
            )
        return self._authorizer


def _answered(route: Route, request: Request, steps: Steps[Decision]) -> Steps[Decision]:
    try:
        return (yield from steps)
    except ApiError as error:
        return Decision(route.refuse(request, error.code, error.message))


def _enveloped(inner: EnvelopedRequest, decision: Decision) -> Decision:
    if decision.answer is None:
        return decision
    return decision._replace(answer=close_envelope(inner, decision.answer), asked=(inner.request, decision.answer))


def _enveloped_steps(inner: EnvelopedRequest, steps: Steps[Decision]) -> Steps[Decision]:
    return _enveloped(inner, (yield from steps))


def _periodic_tasks(settings: Settings) -> list[PeriodicTask]:
    """The periodic tasks that a configuration switches on."""
    tasks = [PeriodicTask("maybeFenceStaleBroker", max(1, settings.session_timeout_ms // 8), brokers.fence_stale_broker)]
    if settings.value("auto.leader.rebalance.enable"):
        period_ms = settings.number("leader.imbalance.check.interval.seconds") * 1000
        tasks.append(PeriodicTask("electPreferred", period_ms, elections.elect_preferred))
    tasks.append(PeriodicTask("electUnclean", settings.number("unclean.leader.election.interval.ms"), elections.elect_unclean))
    if settings.token_secret is not None:
        period_ms = settings.number("delegation.token.expiry.check.interval.ms")
        tasks.append(PeriodicTask("expireDelegationTokens", period_ms, acls_and_tokens.sweep_expired_tokens))
    idle_ms = settings.number("metadata.max.idle.interval.ms")
    if idle_ms > 0:
        tasks.append(PeriodicTask("writeNoOpRecord", idle_ms, lambda state, now_ms: (Decision(None, [NO_OP]), False)))
    return tasks


Decide = Callable[[State, Request, int], Decision | Steps[Decision]]
Refuse = Callable[[Request, int, str | None], Any]


CLUSTER_REFUSED: Final = "Cluster authorization failed."


class Route(NamedTuple):
    """One API.

    Shape: `right` is what the cluster has to allow before anything else is looked at, None where the function asks for finer rights
    itself; `refuse` makes the answer that refuses the whole request, for which `why` is another reason than the usual one.
    """

    decide: Decide
    right: Operation | None = None
    why: str | None = None
    is_write: bool = True
    refuse: Refuse = refusal

    @property
    def why_refused(self) -> str:
        """Return the message for a sender that lacks the right. Kafka shows the whole request, as its own memory has it."""
        assert self.right is not None, "nobody is refused"
        return self.why or f"Request Request(processor=0, ...) needs {self.right.name} permission."


_ACTION = Operation.CLUSTER_ACTION
_ALTER = Operation.ALTER
_DESCRIBE = Operation.DESCRIBE


def decide_by_raft(state: State, request: Request, now_ms: int) -> Decision:
    """Leave the answer to raft; here only the sender's rights are checked."""
    return Decision(None)


ROUTES: Final[dict[int, Route]] = {
    18: Route(cluster.api_versions, is_write=False),
    19: Route(topic_creation.create_topics),
    20: Route(topics.delete_topics),
    29: Route(acls_and_tokens.describe_acls, _DESCRIBE, is_write=False),
    30: Route(acls_and_tokens.create_acls, _ALTER),
    31: Route(acls_and_tokens.delete_acls, _ALTER),
    32: Route(config_descriptions.describe_configs, is_write=False),
    33: Route(config_changes.alter_configs),
    37: Route(topics.create_partitions),
    38: Route(acls_and_tokens.create_token, refuse=acls_and_tokens.refuse_create_token),
    39: Route(acls_and_tokens.renew_token),
    40: Route(acls_and_tokens.expire_token),
    43: Route(elections.elect_leaders, _ALTER),
    44: Route(config_changes.incremental_alter_configs),
    45: Route(replicas.alter_reassignments, _ALTER),
    46: Route(replicas.list_reassignments, _DESCRIBE, is_write=False),
    49: Route(users.alter_client_quotas, Operation.ALTER_CONFIGS, CLUSTER_REFUSED, refuse=users.refuse_alter_client_quotas),
    51: Route(users.alter_scram_credentials, _ALTER, refuse=users.refuse_alter_scram_credentials),
    55: Route(decide_by_raft, _DESCRIBE, CLUSTER_REFUSED, is_write=False),
    56: Route(replicas.alter_partition, _ACTION),
    57: Route(cluster.update_features, _ALTER),
    60: Route(cluster.describe_cluster, _ALTER, is_write=False),
    62: Route(brokers.register_broker, _ACTION),
    63: Route(brokers.broker_heartbeat, _ACTION),
    64: Route(brokers.unregister_broker, _ALTER),
    67: Route(cluster.allocate_producer_ids, _ACTION),
    70: Route(brokers.register_controller, _ACTION, CLUSTER_REFUSED),
    80: Route(decide_by_raft, _ALTER, CLUSTER_REFUSED, is_write=False),
    81: Route(decide_by_raft, _ALTER, CLUSTER_REFUSED, is_write=False),
    73: Route(replicas.assign_replicas_to_directories, _ACTION),
    94: Route(brokers.unregister_controller, _ALTER),
}


def _refuse_envelope(request: Request) -> Any:
    return messages.EnvelopeResponse(response_data=None, error_code=CLUSTER_AUTHORIZATION_FAILED)


def _refuse_topics(text: str | None) -> Callable[[Request], Any]:
    return lambda request: refusal(request, TOPIC_AUTHORIZATION_FAILED, text)


def _refuse_configs(field: str) -> Callable[[Request], Any]:
    def refuse_all(request: Request) -> Any:
        answer = refusal(request, NONE)
        config_changes.refuse_rights(getattr(answer, field))
        return answer

    return refuse_all


_REFUSED_BY_ITEM: Final[dict[int, Callable[[Request], Any]]] = {
    19: _refuse_topics(topic_creation.NOT_ALLOWED_TEXT),
    20: _refuse_topics(topics.NOT_ALLOWED_TEXT),
    32: _refuse_configs("results"),
    33: _refuse_configs("responses"),
    37: _refuse_topics(None),
    44: _refuse_configs("responses"),
}
"""By api key, for requests whose items need rights, from senders that have none at all."""


MORE_WORK_MS: Final = 10
"""A task that did not finish comes again this soon."""

AFTER_FAILURE_MS: Final = 300_000
"""A task that raised comes again this late."""

Step = Callable[[State, int], TaskResult | Steps[TaskResult]]
"""`(state, now_ms) -> (what to write, whether there may be more to do)`."""


class PeriodicTask(NamedTuple):
    name: str
    period_ms: int
    step: Step


class Schedule:
    """The tasks and their next times; empty while another controller is active."""

    def __init__(self) -> None:
        self._tasks: dict[str, PeriodicTask] = {}
        self._due: dict[str, int] = {}

    def start(self, tasks: list[PeriodicTask], now_ms: int) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._due = {task.name: now_ms + task.period_ms for task in tasks}

    def stop(self) -> None:
        self._tasks.clear()
        self._due.clear()

    def next_due_ms(self) -> int | None:
        """Return the time when `run` has something to do, None for never."""
        return min(self._due.values(), default=None)

    def shift(self, name: str, at_ms: int) -> None:
        """Let a task run next at the first time from `at_ms` on that its period gives it.

        For a rehearsal, which knows that until then it finds nothing to do.
        """
        if name in self._due:
            due_ms, period_ms = self._due[name], self._tasks[name].period_ms
            self._due[name] = due_ms - (due_ms - at_ms) // period_ms * period_ms

    def next_task(self) -> str | None:
        """The task that `run` takes next, None for none."""
        return min(self._due, key=self._due.__getitem__, default=None)

    def run(self, state: State, now_ms: int) -> Steps[Decision | None]:
        """One step of the task that is due the longest; None if none is."""
        name = self.next_task()
        if name is None or self._due[name] > now_ms:
            return None
        task = self._tasks[name]
        self._due[name] = now_ms + AFTER_FAILURE_MS
        made = task.step(state, now_ms)
        decision, has_more = made if isinstance(made, tuple) else (yield from made)
        self._due[name] = now_ms + (MORE_WORK_MS if has_more else task.period_ms)
        return decision
