"""Plays stories of a quorum: what each step did, one line a step, messages in the order in which they were sent.

The first line of a story is `run voters=1,2,3 [observers=7] [KEY=VALUE ...]`, settings of every node in ms or bytes. Then, a line each:

    expire ID         its election or fetch timer is over
    deliver [COUNT]   messages arrive, and what they cause, until there are none (or COUNT did)
    append ID TEXT    a leader appends a record
    flush ID          its log is durable; with `run ... flush=0` that does not happen by itself
    cut ID ... / heal nobody reaches these any more / everybody is reached again
    crash ID / start ID   what is not durable is lost
    resign ID         it gives up leadership
    wait MS           time passes: timers, and all messages at once

A line of output: who, its state and epoch; what had to be durable first; then what was written, sent and learned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from metashell.codec.error_codes import error_text
from metashell.quorum.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Ready, Send, SnapshotToLoad, TruncatedTo
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.roles import Follower
from tests.quorum.raft.pump import LISTENER, settings

QUIET_AFTER = 500
HIDDEN = "ApiVersions", "UpdateRaftVoter"


class Teller:
    """One node with its disk; `line` is what its last step did."""

    def __init__(self, story: Story, id: int, log: MemoryLog, election: ElectionState) -> None:
        self.story = story
        self.id = id
        self.log = log
        self.election = election
        self.listener = 0
        self.node = RaftNode(story.config(id), log, election, random=Random(id), now_ms=story.now_ms, wall_ms=1_000_000)
        self.told = (self.node.state_name, self.node.epoch, -1)
        self.work(self.node.take_ready(), self.node.log_end, is_start=True)
        self.listener, ready = self.node.register(story.now_ms)
        self.work(ready, self.node.log_end)

    def step(self, call: Callable[[], Ready]) -> None:
        end = self.log.end_offset
        self.work(call(), end)

    def work(self, ready: Ready, end_before: int, is_start: bool = False) -> None:
        """Work off a Ready, and tell it."""
        parts: list[str] = []
        if ready.election is not None:
            self.election = ready.election
            if not is_start or ready.election.epoch:
                parts.append(f"persist {election_text(ready.election)}")
        parts += [f"truncate to {notice.offset}" for notice in ready.notices if isinstance(notice, TruncatedTo)]
        start = min([end_before, *(notice.offset for notice in ready.notices if isinstance(notice, TruncatedTo))])
        if self.log.end_offset > start:
            parts.append(f"append {start}..{self.log.end_offset - 1}")
        parts += self.send(ready.messages(Durable(self.election, ready.kraft_version)))
        watermark = -1 if self.node.high_watermark is None else self.node.high_watermark
        if watermark not in (-1, self.told[2]):
            parts.append(f"committed to {watermark}")
        parts += [notice_text(notice) for notice in ready.notices if isinstance(notice, LeaderChanged | SnapshotToLoad)]
        now = (self.node.state_name, self.node.epoch, watermark)
        if parts or now[:2] != self.told[:2]:
            self.story.tell(f"{self.id} {now[0]:<11} epoch={now[1]}  {'  '.join(parts)}".rstrip())
        self.told = now
        if ready.flush_to is not None and self.story.flushes:
            self.flush()
        for notice in ready.notices:
            if isinstance(notice, Committed):
                end_offset = notice.end_offset
                self.step(lambda end_offset=end_offset: self.node.consumed(self.listener, end_offset, self.story.now_ms))  # type: ignore[misc]

    def flush(self) -> None:
        self.log.flush_to(self.log.end_offset)
        self.step(lambda: self.node.flushed(self.story.now_ms))

    def send(self, messages: list[Any]) -> list[str]:
        """Put messages on their way; one text for those that say the same."""
        texts: dict[str, list[str]] = {}
        for message in messages:
            target = self.story.at(message.endpoint) if isinstance(message, Send) else message.token[0]
            text = message_text(message.message)
            if target is not None and not text.startswith(HIDDEN):
                texts.setdefault(text, []).append(str(target))
            self.story.queue.append((self, target, message))
        return [f"send {','.join(ids)} {text}" for text, ids in texts.items()]


class Story:
    """A quorum, the messages under way, and what was told so far."""

    def __init__(self, words: list[str]) -> None:
        values = dict(word.split("=", 1) for word in words)
        self.voters = tuple(int(id) for id in values.pop("voters").split(","))
        observers = [int(id) for id in values.pop("observers", "").split(",") if id]
        self.flushes = values.pop("flush", "1") != "0"
        self.settings = {key: int(value) for key, value in values.items()}
        self.now_ms = 1_000
        self.lines: list[str] = []
        self.queue: deque[tuple[Teller, int | None, Any]] = deque()
        self.unreachable: set[int] = set()
        self.tellers: dict[int, Teller] = {}
        for id in (*self.voters, *observers):
            self.tellers[id] = Teller(self, id, MemoryLog(), ElectionState(0))

    def config(self, id: int) -> Any:
        return settings(id, self.voters, **self.settings)

    def tell(self, line: str) -> None:
        self.lines.append(line)

    def at(self, endpoint: tuple[str, int]) -> int | None:
        return next((id for id in (*self.voters, *self.tellers) if self.config(id).listeners[LISTENER] == endpoint), None)

    def play(self, line: str) -> None:
        """Do what one line says."""
        word, *rest = line.split(" ", 2)
        self.tell(f"> {line}")
        match word:
            case "expire":
                teller = self.tellers[int(rest[0])]
                role = teller.node.role
                if isinstance(role, Follower):
                    role.fetch_deadline_ms = self.now_ms
                else:
                    role.election_deadline_ms = self.now_ms  # type: ignore[union-attr]
                teller.step(lambda: teller.node.poll(self.now_ms))
            case "deliver":
                self.deliver(int(rest[0]) if rest else QUIET_AFTER)
            case "append":
                teller = self.tellers[int(rest[0])]
                teller.node.prepare_append(teller.node.epoch, [rest[1].encode()])
                teller.step(lambda: teller.node.schedule_append(self.now_ms))
            case "flush":
                self.tellers[int(rest[0])].flush()
            case "cut":
                self.unreachable |= {int(id) for id in rest}
            case "heal":
                self.unreachable.clear()
            case "crash":
                self.unreachable.add(int(rest[0]))
                self.tellers[int(rest[0])].log.lose_unflushed()
            case "start":
                id = int(rest[0])
                old = self.tellers[id]
                self.unreachable.discard(id)
                self.tellers[id] = Teller(self, id, old.log, old.election)
            case "resign":
                teller = self.tellers[int(rest[0])]
                teller.node.resign(teller.node.epoch)
                teller.step(lambda: teller.node.poll(self.now_ms))
            case "wait":
                self.wait(int(rest[0]))
            case _:
                raise ValueError(f"{line}: no such step")

    def wait(self, duration_ms: int) -> None:
        end = self.now_ms + duration_ms
        while True:
            alive = [teller for teller in self.tellers.values() if teller.id not in self.unreachable]
            due = max(self.now_ms + 1, min(teller.node.next_poll_ms() for teller in alive))
            if due > end:
                self.now_ms = end
                return
            self.now_ms = due
            for teller in alive:
                if teller.node.next_poll_ms() <= due:
                    teller.step(lambda teller=teller: teller.node.poll(self.now_ms))  # type: ignore[misc]
            self.deliver(QUIET_AFTER)

    def deliver(self, count: int) -> None:
        """Let messages arrive; a leader that was just elected writes its first batch in a step of its own."""
        for _ in range(count):
            for teller in self.tellers.values():
                if teller.node.state_name == "leader" and teller.node.next_poll_ms() <= self.now_ms and teller.id not in self.unreachable:
                    teller.step(lambda teller=teller: teller.node.poll(self.now_ms))  # type: ignore[misc]
            if not self.queue:
                return
            self.arrive(*self.queue.popleft())

    def arrive(self, source: Teller, target_id: int | None, message: Any) -> None:
        target = None if target_id is None else self.tellers.get(target_id)
        now = self.now_ms
        if target is None or self.tellers.get(source.id) is not source or {source.id, target.id} & self.unreachable:
            return
        if isinstance(message, Send):
            token = (source.id, message.destination, message.correlation_id)
            target.step(lambda: target.node.handle_request(token, message.message, LISTENER, now))
        else:
            _, destination, correlation_id = message.token
            target.step(lambda: target.node.handle_response(destination, correlation_id, message.message, now))


def election_text(election: ElectionState) -> str:
    leader = f" leader={election.leader_id}" if election.leader_id >= 0 else ""
    voted = f" voted={election.voted.id}" if election.voted is not None else ""
    return f"{election.epoch}{leader}{voted}"


def notice_text(notice: Any) -> str:
    if isinstance(notice, LeaderChanged):
        return "told: no leader" if notice.leader_id < 0 else f"told: {notice.leader_id} leads"
    return f"load snapshot {notice.id.offset}@{notice.id.epoch}"


def message_text(message: Any) -> str:
    """A message in a few words; offsets are `offset@epoch`."""
    name = type(message).__name__
    match message:
        case VoteRequest():
            return f"{'PreVote' if message.pre_vote else 'Vote'} {message.last_offset}@{message.last_epoch}"
        case BeginQuorumEpochRequest():
            return "BeginQuorumEpoch"
        case EndQuorumEpochRequest():
            return f"EndQuorumEpoch to {','.join(str(key.id) for key in message.candidates) or 'nobody'}"
        case FetchRequest():
            return f"Fetch {message.fetch_offset}@{message.last_epoch}"
        case FetchSnapshotRequest():
            return f"FetchSnapshot {message.snapshot_id.offset}@{message.snapshot_id.epoch} from {message.position}"
    if name.endswith("Request"):
        return name.removesuffix("Request")
    if message.error:
        return error_text(message.error).removesuffix(f" ({message.error})")
    match message:
        case VoteResponse():
            return "granted" if message.granted else "rejected"
        case FetchResponse():
            return fetched_text(message)
    return f"{name.removesuffix('Response')} acknowledged"


def fetched_text(message: FetchResponse) -> str:
    if message.diverging is not None:
        return f"diverging {message.diverging.offset}@{message.diverging.epoch}"
    if message.snapshot_id is not None:
        return f"snapshot {message.snapshot_id.offset}@{message.snapshot_id.epoch}"
    return f"{'records' if message.records else 'nothing'}, committed to {message.high_watermark}"


def play(words: list[str], lines: str) -> str:
    """All that a story tells."""
    story = Story(words)
    for line in lines.splitlines():
        story.play(line)
    return "\n".join(story.lines) + "\n"
