"""Kafka's group coordinator as it is in 4.4.0, without I/O: a request, the state and the time give records and answers.

Promises:
- `GroupCoordinator.decide(request, now_ms)` and `run_due(now_ms)` give a `Decision`: records for one atomic batch of `__consumer_offsets`,
  answers, and what else has to be done. They change nothing that the records say: that is done by `replay`, when the driver has
  appended them. Only a classic group is changed by its decision, as in Kafka: who waits, timers, its members. Its records are then not
  replayed (`Decision.replays`), as the group knows more than they say: they are for who reads the log later.
- No clock, no chance, no sockets, no files: `now_ms` and a `Chance` are handed in, deadlines are handed out (`next_due_ms`).
- A decision never raises for a request that decodes. Order of checks, error codes and messages are Kafka's.
- `replay` never raises for what a log holds: what does not fit is a `Finding` in `state.findings`, as logs are compacted and cut.

Flow of a write:

    decision = coordinator.decide(request, now_ms)
    base_offset = log.append(decision.records)                # one batch; see below for when that fails
    for offset, record in enumerate(decision.records if decision.replays else (), base_offset):
        coordinator.replay(record, Place(offset, now_ms, ...))
    for answer in decision.answers: ...

Nothing else may be decided between `decide` and the replay of its records; a driver whose log is replicated sends the answers when the
batch is committed, and makes a new coordinator from its log when it loses what it appended. `Shard` is this loop in memory.

When the batch could not be written, `coordinator.failed(decision, code, now_ms)` gives another decision in its place: a classic group goes
back to where it was or begins a rebalance, a timer's work is tried again, and who asked is answered with the error. When an effect of
a decision was performed, the driver says so with `effect_done`; when the metadata changed, with `topics_changed`. A coordinator begins with
`loaded` and ends with `unloaded`, which answers those who still wait.

A request that waits (a join, a sync) is not in its decision's answers; a later decision answers its ticket. Timers, and what Kafka does in
the background (resolving regular expressions), are timers of `Timers`: `run_due` runs one of those that are due, the earliest first.

Kinds of groups lie in rooms: `classic`, `consumer` (KIP-848, and both ways between it and classic), `share`, `streams`; beside them
`offsets` (commits, transactions, expiry) and `assignors` (client and server side). A kind's group fulfils `group.Group`, and only through
it does another room look at a group. `members` are clients as machines, `probing` is KIP-268. `coordinator` has the table from APIs to
functions, and only routes.

Public names, by module: `coordinator.coordinator.GroupCoordinator`, `coordinator.shard.Shard`, `request.Request`, `request.Answer`,
`decision.Decision`, `record.Record`, `record.Place`, `settings.Settings`, `topics.Topics`.
"""
