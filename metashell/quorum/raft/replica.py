"""The state of a replica: its role, log, voters, outbound connections, parked fetches, and the Ready of the step that runs.

The other modules of the core are functions over one `Replica`; `node.RaftNode` is the one that drivers hold. A step begins with
`begin` and ends with `RaftNode._finish`; in between all work for the driver is added to `ready`.

`ParkedFetches` holds the fetches that wait at the leader, by number, token and time: any number of them costs a step no more than the ones
it answers. `Stats` are the replica's figures since it started."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

from metashell.common.values import NO_LEADER, ZERO_UUID, OffsetAndEpoch
from metashell.quorum.raft.messages import (
    Endpoint,
    Endpoints,
    FetchRequest,
    FetchResponse,
    LogClaim,
    PlainRequest,
    RaftConfig,
    Request,
    Response,
    VoteRequest,
)
from metashell.quorum.raft.partition_state import EpochCache, PartitionState
from metashell.quorum.raft.ready import (
    NEVER,
    Connections,
    DurableEnd,
    ElectionState,
    Listener,
    ListenerId,
    LogEnd,
    Notice,
    Ready,
    Reply,
    Send,
    UncountedEnd,
)
from metashell.quorum.raft.replicated_log import PartialSnapshot, ReplicatedLog
from metashell.quorum.raft.roles import Follower, Leader, Role, Unattached
from metashell.quorum.raft.voters import VoterSet

INQUIRIES_BELOW: Final = -(1 << 32) + 1
"""Destinations below are inquiries: one for each node id (`epoch_guard`)."""


class Random(Protocol):
    """The source of random election timeouts: a `random.Random` fits."""

    def randrange(self, stop: int, /) -> int: ...


class Replica:
    """The state of one replica between steps.

    `committed` is the highest high watermark ever known here: nothing below it is ever truncated. `high_watermark` is what the present
    role knows, None where it knows none. `durable_end` is how far the own log is durable, `recovering` why this replica has no vote (None
    where it has). `last_epoch` is that of the last batch, of the latest snapshot where the log is empty, else 0. `has_news` asks for a
    look at the listeners; `ended` is a leadership that this step ended. `complaints` counts what peers sent and must not,
    `last_complaint` says it. `answering` is the address whose answer the step handles; `inquiries` are the requests of `epoch_guard`.
    `misses` is how often voters were not found where they were asked, by destination (`address_of`).
    """

    __slots__ = (
        "answering",
        "committed",
        "complaints",
        "config",
        "connections",
        "durable_end",
        "election",
        "election_version",
        "ended",
        "epochs",
        "freezing",
        "has_new_watermark",
        "has_news",
        "high_watermark",
        "inquiries",
        "is_voter",
        "last_complaint",
        "last_epoch",
        "last_listener_id",
        "listeners",
        "local_id",
        "local_key",
        "log",
        "log_end",
        "misses",
        "next_poll",
        "now_ms",
        "own_endpoints",
        "parked",
        "partition",
        "random",
        "ready",
        "recovering",
        "role",
        "shutdown_deadline_ms",
        "stats",
        "step",
        "voters",
        "wall_offset_ms",
    )

    def __init__(self, config: RaftConfig, log: ReplicatedLog, election: ElectionState, random: Random, now_ms: int, wall_ms: int) -> None:
        self.config = config
        self.log = log
        self.random = random
        self.now_ms = now_ms
        self.wall_offset_ms = wall_ms - now_ms if wall_ms else 0
        self.step = 0
        self.local_key = config.local
        self.local_id = NO_LEADER if config.local is None else config.local.id
        self.own_endpoints: Endpoints = config.listeners
        self.partition = PartitionState(VoterSet.from_static(config))
        self.voters: VoterSet = self.partition.voters
        self.is_voter = False
        self.epochs = EpochCache(log.leader_epochs())
        self.log_end = log.end_offset
        self.last_epoch = 0
        self.durable_end = min(log.flushed_offset, log.end_offset)
        self.high_watermark: int | None = None
        self.committed = 0
        self.has_new_watermark = False
        self.has_news = False
        self.ended: Leader | None = None
        self.freezing: PartialSnapshot | None = None
        self.recovering = log.recovering
        self.parked = ParkedFetches()
        self.listeners: dict[ListenerId, Listener] = {}
        self.last_listener_id = ListenerId(0)
        self.complaints = 0
        self.last_complaint = ""
        self.shutdown_deadline_ms = NEVER
        self.stats = Stats()
        self.next_poll = now_ms
        self.connections = _connections(config, self.own_endpoints, self.local_id, random)
        # An election waits for the answer, and there may be nobody at the address: a candidacy has time for several.
        patience_ms = min(config.request_timeout_ms, config.election_timeout_ms // 4)
        self.inquiries = Connections(patience_ms, patience_ms, (), 0)
        self.answering: Endpoint | None = None
        self.misses: dict[int, int] = {}
        self.role: Role = Unattached(0, NO_LEADER, None, NEVER)
        self.election = election
        self.election_version = 0
        self.ready = Ready(election, 0)

    # What a step wants done

    def begin(self, now_ms: int) -> Ready:
        """Begin a step at `now_ms`; a clock that went backwards stands still."""
        if now_ms > self.now_ms:
            self.now_ms = now_ms
        self.step += 1
        ready = self.ready = Ready(self.election, self.election_version)
        return ready

    def send(self, destination: int, endpoint: Endpoint, message: PlainRequest) -> None:
        """Send a request that does not say how far the log reaches, and await its answer."""
        self._send(destination, endpoint, message)

    def send_claim(self, destination: int, endpoint: Endpoint, message: LogClaim, end: LogEnd) -> None:
        """Send a request that says how far the log reaches, made from the proof `end`, and await its answer."""
        assert message.claimed_end == (end.offset, end.epoch), f"{message} claims another end than {end}"
        self._send(destination, endpoint, message)

    def send_inquiry(self, destination: int, endpoint: Endpoint) -> None:
        """Ask for an epoch and leader by a Fetch that claims no log and is answered by no records (`epoch_guard`)."""
        self._send(destination, endpoint, FetchRequest(self.config.cluster_id, NO_LEADER, ZERO_UUID, 0, 0, 0, 0, 0))

    def _send(self, destination: int, endpoint: Endpoint, message: Request) -> None:
        correlation_id = self.connections_to(destination).sent(destination, endpoint, message, self.now_ms)
        self.ready.add(Send(destination, endpoint, correlation_id, message))

    def connections_to(self, destination: int) -> Connections:
        """Where requests to a destination are awaited: those to inquire of a voter neither block others nor are forgotten with them."""
        return self.connections if destination > INQUIRIES_BELOW else self.inquiries

    def reply(self, token: object, message: Response) -> None:
        self.ready.add(Reply(token, message))

    def notify(self, notice: Notice) -> None:
        self.ready.notices.append(notice)

    def complain(self, text: str) -> None:
        """A peer sent what it must not send: it is counted here and otherwise ignored."""
        self.complaints += 1
        self.last_complaint = text

    def persist(self, role: Role) -> None:
        """`role` is entered: what it means for quorum-state must be durable before any message of this step."""
        state = ElectionState(role.epoch, role.leader_id, role.voted)
        version = self.partition.kraft_version
        if state != self.election or version != self.election_version:
            self.election = state
            self.election_version = version
            self.ready.require(state, version)

    # What others ask

    def wall_ms(self) -> int:
        return self.now_ms + self.wall_offset_ms

    @property
    def quorum_high_watermark(self) -> int | None:
        """Return the leader's last high watermark, which may lie beyond this log; None where no leader has sent one."""
        role = self.role
        if isinstance(role, Follower):
            return None if role.leader_high_watermark < 0 else role.leader_high_watermark
        return self.high_watermark if isinstance(role, Leader) else None

    def has_applied_all(self) -> bool:
        """Whether the application has taken in all that is known to be committed."""
        committed = self.quorum_high_watermark
        return committed is not None and all(listener.next_offset >= committed for listener in self.listeners.values())

    def election_timeout(self) -> int:
        """A new random deadline: between one and two election timeouts from now."""
        timeout = max(self.config.election_timeout_ms, 1)
        return self.now_ms + timeout + self.random.randrange(timeout)

    def fetch_timeout(self) -> int:
        """A new random length of a follower's patience, in ms: between one and one and a half fetch timeouts.

        Two followers that heard the same last word of their leader, within some ms, would else stand together and split the votes, again
        and again (Raft, 5.2). It stays below the time after which a leader without followers resigns, as with Kafka's fixed timeout.
        """
        timeout = self.config.fetch_timeout_ms
        return timeout + self.random.randrange(max(timeout // 2, 1))

    def may_stand(self) -> bool:
        """Whether it may ask for votes now. Epochs are int32: after the last one nobody can."""
        if self.recovering is not None or not self.config.may_stand or self.is_loading():
            return False
        return (self.is_voter or self.is_leaving()) and self.role.epoch < 0x7FFFFFFF

    def is_loading(self) -> bool:
        """Whether the application has not taken in the latest snapshot.

        A replica that stood before that would lead and answer nobody: its claim waits for the snapshot, a million partitions take seconds,
        and a follower that has loaded could have led meanwhile. It votes and fetches as before. It always ends: a snapshot is handed out
        whether or not a leader is known, and what cannot be loaded stops the replica.
        """
        latest = self.latest_snapshot()
        return latest is not None and any(max(listener.next_offset, 0) < latest.offset for listener in self.listeners.values())

    def is_leaving(self) -> bool:
        """Whether the last voter set removed this replica, and is not known to be committed.

        It may be the only one that has this set: a leader that was one of two, or of four with one down, and was stopped while it was
        removed. Its longer log then gives nobody its vote, so it has to lead once more, without counting itself, until the set is committed
        (Ongaro, Consensus, 4.2.2). Kafka's replicas do not, and wait for ever.
        """
        offset = self.partition.voters_offset
        if self.is_voter or offset is None or offset < self.committed:
            return False
        before = self.partition.voters_before()
        return before is not None and before.is_voter(self.local_key)

    def refresh_voters(self) -> None:
        """The log's control records changed: whether this is a voter is read anew."""
        self.voters = self.partition.voters
        self.is_voter = self.voters.is_voter(self.local_key)

    def needs_flush(self) -> bool:
        """Whether what it fetched must be durable before it says so: it is a voter, or may become one."""
        return self.is_voter or self.config.is_controller

    def durable_log_end(self) -> DurableEnd | None:
        """The proof that the whole log is durable; None while some of it is not, and then its fsync is asked for.

        There is none for a part of the log. An end before an unsynced tail would be durable, too, but a replica that waits for the rest
        can be elected one fsync later, and one that cannot sync must not lead.
        """
        if self.durable_end >= self.log_end:
            return DurableEnd(self.log_end, self.last_epoch)
        self.ready.flush_to = self.log_end
        return None

    def log_end_to_claim(self) -> LogEnd | None:
        """Return the log end that a Fetch may name, None while the Fetch has to wait.

        A replica that neither votes nor may become a voter does not sync. Its position commits nothing: leaders count voters only, and an
        AddRaftVoter for it finds no listener that answers.
        """
        if self.needs_flush():
            return self.durable_log_end()
        return UncountedEnd(self.log_end, self.last_epoch)

    def endpoints_of(self, id: int) -> Endpoints:
        """The endpoints of a node as the voter set has them, empty where it does not."""
        return self.voters.endpoints(id)

    def address_of(self, id: int, missed: int) -> Endpoint | None:
        """Return where to ask a voter for its vote or its epoch: at its address in the voter set, and where it is not there at others.

        The set may have a wrong one: the voter has moved, or somebody told the leader so in its name. It puts that right itself as soon as
        there is a leader, but without its vote there may be none. So the addresses of the configuration are tried in turn. A request for a
        vote names its addressee, which nobody else takes for itself; at level 0 it may be of a version that does not.
        """
        config = self.config
        listed = self.voters.endpoint(id, config.default_listener)
        if not missed or self.partition.kraft_version < 1:
            return listed
        named = config.static_voters.get(id)
        own = self.own_endpoints.values()
        known = [named, *(server for server in config.bootstrap_servers if server not in own)]
        others = [endpoint for endpoint in dict.fromkeys(known) if endpoint not in (None, listed)]
        # The listed address is the likely one, also when the voter was only slow.
        return listed if missed % 2 == 0 or not others else others[missed // 2 % len(others)]

    def forget_requests(self) -> None:
        """The state changes: nothing is awaited any more. Who was asked for a vote in good time and was silent may be elsewhere."""
        since_ms = self.now_ms - self.config.election_timeout_ms // 4
        for destination, awaited in self.connections.entries.items():
            if isinstance(awaited.request, VoteRequest) and not awaited.backing_off and awaited.since_ms <= since_ms:
                self.miss(destination)
        self.connections.reset()

    def miss(self, destination: int) -> None:
        """A voter was not found where it was asked."""
        self.misses[destination] = self.misses.get(destination, 0) + 1

    def latest_snapshot(self) -> OffsetAndEpoch | None:
        snapshots = self.log.snapshots()
        return snapshots[-1] if snapshots else None

    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        snapshots = self.log.snapshots()
        return snapshots[0] if snapshots else None

    def is_cluster(self, cluster_id: str | None) -> bool:
        """Whether a request is for this cluster; one that names none is."""
        return cluster_id is None or cluster_id == self.config.cluster_id

    def is_local(self, id: int, directory_id: bytes) -> bool:
        """Whether a request that names its addressee means this replica; -1 and zeros mean whoever reads it."""
        if id < 0:
            return True
        local = self.local_key
        return local is not None and id == local.id and (not any(directory_id) or directory_id == local.directory_id)

    @property
    def is_shutting_down(self) -> bool:
        return self.shutdown_deadline_ms != NEVER


def _connections(config: RaftConfig, own: Endpoints, local_id: int, random: Random) -> Connections:
    # Nobody asks itself, though a list that all nodes share may name it.
    if config.bootstrap_servers:
        numbered = enumerate(config.bootstrap_servers)
        servers = tuple((-2 - index, endpoint) for index, endpoint in numbered if endpoint not in own.values())
    else:
        servers = tuple((id, endpoint) for id, endpoint in sorted(config.static_voters.items()) if id != local_id)
    first = random.randrange(len(servers)) if len(servers) > 1 else 0
    return Connections(config.request_timeout_ms, config.retry_backoff_ms, servers, first)


class Stats:
    """Counts and sums since the replica started; differences give rates.

    Units: latencies are ms; a batch's commit latency is shared among its records, as Kafka's.
    """

    __slots__ = ("appended", "commit_count", "commit_max", "commit_sum", "election_count", "election_max", "election_sum", "fetched")

    def __init__(self) -> None:
        self.commit_count = 0
        self.commit_sum = 0.0
        self.commit_max = 0.0
        self.election_count = 0
        self.election_sum = 0.0
        self.election_max = 0.0
        self.appended = 0
        self.fetched = 0

    def committed(self, latency_ms: int, records: int) -> None:
        """A batch of `records` records was committed `latency_ms` after it was appended."""
        each = latency_ms / records
        self.commit_count += 1
        self.commit_sum += each
        self.commit_max = max(self.commit_max, each)

    def elected(self, latency_ms: int) -> None:
        """An election that this replica took part in ended, with it as leader or as follower."""
        self.election_count += 1
        self.election_sum += latency_ms
        self.election_max = max(self.election_max, latency_ms)


_STALE_MAX: Final = 64
"""Times of fetches that are gone, beside as many as there are fetches, before they are swept out."""


class ParkedFetch:
    """A Fetch that was valid and found nothing; `response` is what it gets when `deadline_ms` comes first."""

    __slots__ = ("deadline_ms", "listener", "request", "response", "token")

    def __init__(self, token: object, request: FetchRequest, listener: str, deadline_ms: int, response: FetchResponse) -> None:
        self.token = token
        self.request = request
        self.listener = listener
        self.deadline_ms = deadline_ms
        self.response = response


class ParkedFetches:
    """In the order in which they came. A token is the object that it is, whatever it equals; several fetches may have the same."""

    __slots__ = ("_by_number", "_by_token", "_last_number", "_times")

    def __init__(self) -> None:
        self._by_number: dict[int, ParkedFetch] = {}
        self._by_token: dict[int, list[int]] = {}
        self._times: list[tuple[int, int]] = []
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[ParkedFetch]:
        return iter(self._by_number.values())

    def add(self, fetch: ParkedFetch) -> None:
        self._last_number += 1
        self._by_number[self._last_number] = fetch
        self._by_token.setdefault(id(fetch.token), []).append(self._last_number)
        heappush(self._times, (fetch.deadline_ms, self._last_number))

    def due_ms(self) -> int | None:
        """Return the deadline of the first, None for none."""
        times = self._times
        while times and times[0][1] not in self._by_number:
            heappop(times)
        return times[0][0] if times else None

    def take_due(self, now_ms: int) -> list[ParkedFetch]:
        """Take out those whose time is up, the earliest first."""
        taken = []
        while (due_ms := self.due_ms()) is not None and due_ms <= now_ms:
            taken.append(self._remove(heappop(self._times)[1]))
        return taken

    def take_all(self) -> list[ParkedFetch]:
        taken = list(self._by_number.values())
        self._by_number.clear()
        self._by_token.clear()
        self._times.clear()
        return taken

    def take_before(self, offset: int) -> list[ParkedFetch]:
        """Take out those that ask for what lies before an offset."""
        numbers = [number for number, fetch in self._by_number.items() if fetch.request.fetch_offset < offset]
        if len(numbers) == len(self._by_number):
            return self.take_all()
        taken = [self._remove(number) for number in numbers]
        self._sweep()
        return taken

    def forget(self, token: object) -> None:
        """Take out all fetches with a token."""
        for number in self._by_token.pop(id(token), ()):
            del self._by_number[number]
        self._sweep()

    def _remove(self, number: int) -> ParkedFetch:
        fetch = self._by_number.pop(number)
        numbers = self._by_token[id(fetch.token)]
        numbers.remove(number)
        if not numbers:
            del self._by_token[id(fetch.token)]
        return fetch

    def _sweep(self) -> None:
        if len(self._times) > 2 * len(self._by_number) + _STALE_MAX:
            self._times = [entry for entry in self._times if entry[1] in self._by_number]
            heapify(self._times)
