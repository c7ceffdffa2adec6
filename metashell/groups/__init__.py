"""Kafka's group coordinator as it is in 4.4.0, without I/O: a request, the state and the time give records and answers.

Promises:
- `GroupCoordinator.decide(request, now_ms)` and `run_due(now_ms)` return a `Decision`: records for one atomic batch of
  `__consumer_offsets`, answers, and effects for others to perform. They do not change what the records describe: `replay` does, after the
  driver has appended them. A classic group is the exception, as in Kafka: its decision changes it (waiting members, timers, membership).
  Its records are then not replayed (`Decision.replays`), because the group knows more than they hold; they serve later readers of the
  log.
- No clock, no chance, no sockets, no files: callers pass `now_ms` and a `Chance`, and read deadlines from `next_due_ms`.
- A decision never raises for a request that decodes. The order of checks, error codes and messages are Kafka's.
- `replay` never raises for what a log holds. Logs are compacted and cut, so a record that does not fit becomes a `Finding` in
  `state.findings`.

Flow of a write:

    decision = coordinator.decide(request, now_ms)
    base_offset = log.append(decision.records)                # one batch; see below for when that fails
    for offset, record in enumerate(decision.records if decision.replays else (), base_offset):
        coordinator.replay(record, Place(offset, now_ms, ...))
    for answer in decision.answers: ...

Nothing else may be decided between `decide` and the replay of its records. A driver with a replicated log sends the answers when the batch
is committed, and makes a new coordinator from its log when it loses what it appended. `Shard` is this loop in memory.

When the batch could not be written, `coordinator.failed(decision, code, now_ms)` returns another decision in its place: a classic group
returns to its former state or begins a rebalance, a timer's work is retried, and the request is answered with the error. The driver reports
new metadata with `topics_changed`. A coordinator begins with `loaded` and ends with `unloaded`,
which answers the requests that still wait.

A request that waits (a join, a sync) has no answer in its own decision; a later decision answers its ticket. Timers, and Kafka's background
work (resolving regular expressions), are timers of `Timers`: `run_due` runs one that is due, the earliest first.

Rooms: `classic`, `consumer` (KIP-848, with the ways to and from classic groups), `share` (as logs have them: nothing decides for share
groups here) and `streams` are the kinds of groups; `assignors` the assignors of clients and brokers; `coordinator` the routing from APIs
to functions, offsets and transactions. A group of each kind fulfils `state.Group`, and other rooms use it through that only. `members` are
clients as state machines, with Kafka Streams' version probing (KIP-268). These rooms do no I/O. `log` reads `__consumer_offsets` from
files, and keeps that of our server; `server` serves clients, `simulation` runs members and a coordinator on a virtual clock.

Public names: `coordinator.coordinator` has `GroupCoordinator` and `Shard`; `decision` has `Request`, `Answer`, `Decision`, `Record` and
`Place`; `state` has `Settings`; `topics` has `Topics`."""
