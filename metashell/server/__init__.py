"""A replica of the metadata quorum as a process: sockets, disk and clock around the core in `metashell.raft`.

Promises:
- What the core asks for is done in its order: quorum-state is on disk before a message leaves that needs it; answers leave in the order
  of their requests. What is appended is synced beside everything else, in another thread.
- The loop's thread never waits for a write to reach the disk: syncs, renames and removals are done by threads, and a step that cuts the log
  is seen by nobody before that is on disk (`driver`, `metashell.log.disk_work`). How long the loop was held is counted.
- What is decided in one epoch is appended in that epoch or never (`Driver.prepare`).
- A disk that fails stops the replica with one line; nothing leaves afterwards. So does anything wrong with what is committed: a checksum, a
  record that does not decode or does not fit. It is never skipped, or a snapshot without it would be believed by others.
- What peers may make it hold is bounded (connections, requests, answers, frames of 64 KiB, destinations); what they send never raises here.
- What is newer than this release stops the replica too, as it stops Kafka's: in what is committed, and in its own log before it takes part,
  where whoever starts it asks `records.check_log` first.
- It decides nothing that the core could decide.
- An answer at a version that cannot say where the leader is names none once kraft.version is 1 (`hide_leader`).

It does not authorize, its `Application` does: without one, who reaches a listener and passes its authentication may ask whatever raft
answers (votes, epochs, fetches in a voter's name, changes of the voters).

Public names, by module (those that import asyncio are imported inside functions):

- `election_store`: `ElectionStore`, which reads and writes quorum-state and alone makes a `Durable`.
- `replica_server`: `ReplicaServer(Parts(log=..., store=..., ...))`: `await open(*listeners)`, `start(config)`, `await append(values)`,
  `await stop()` (graceful), `await kill()`, `failure` (a future: why it ended), `counters`.
- `driver`: `Driver`, which performs what a step of the core wants, and takes what the application decides to append:
  `prepare(epoch, values) -> offset`, `hold()` and `release()`, `schedule()`, `committed(offset, epoch)` (a future), `resign(epoch)`.
- `links`: `Links`, connections to peers (`peer_security`: how). `inbound`: `Inbound`, requests of peers, and the `Application` that takes
  them.
- `feed`: `Feed`, what a state machine is given; `own_batches`: what the replica itself appended, from memory; `snapshot_maker`: snapshots,
  written in slices beside the feed. `commits`: who waits for a commit; `held`: how long the loop was held.
- `records`: the records of batches as a server may apply them, and `check_log`.
- `durable_log`: the `DurableLog` Protocol, which `metashell.log.metadata_log` fulfils.
- `state_machine`: the `StateMachine` Protocol; `image_machine`: `ImageMachine`, which keeps the metadata image and makes snapshots of it.
"""
