"""A controller as a process: sockets, disk and clock around the cores `metashell.quorum.raft` and `metashell.quorum.controller`.

Promises of the replica:
- What the core asks for is done in its order: quorum-state is on disk before a message leaves that needs it; answers leave in the order
  of their requests. What is appended is synced beside everything else, in another thread.
- The loop's thread never waits for a write to reach the disk: syncs, renames and removals are done by threads, and a step that cuts the log
  is seen by nobody before that is on disk (`driver`, `metashell.disk.log`). How long the loop was held is counted.
- What is decided in one epoch is appended in that epoch or never (`Driver.prepare`).
- A disk that fails stops the replica with one line; nothing leaves afterwards. So does anything wrong with what is committed: a checksum, a
  record that does not decode or does not fit. It is never skipped, or a snapshot without it would be believed by others.
- What peers may make it hold is bounded (connections, requests, answers, frames of 64 KiB, destinations); what they send never raises here.
- What is newer than this release stops the replica too, as it stops Kafka's: in what is committed, and in its own log before it takes part,
  where whoever starts it asks `records.check_log` first.
- An answer at a version that cannot say where the leader is names none once kraft.version is 1 (`hide_leader`).
- It does not authorize, its `Application` does: without one, who reaches a listener and passes its authentication may ask whatever raft
  answers (votes, epochs, fetches in a voter's name, changes of the voters).

Promises of the controller around it, Kafka's ControllerServer:
- One loop and one thread decide everything; other threads only wait for disks. Requests, periodic tasks, commits, loads and changes of
  leadership are events of one queue, one at a time; nothing else touches the `QuorumController` while one runs, also between the slices
  of a long one.
- An answer leaves when what it rests on is committed and outside of a transaction, or says why it never will. A leader that is deposed
  answers all that wait NOT_CONTROLLER.
- What deciding raises unforeseen is answered UNKNOWN_SERVER_ERROR, counted, and ends the leadership; what replaying raises ends the
  process.
- Who may ask what is decided over the committed image, for every API, also raft's.
- It does not authenticate (`metashell.net` does) and decides nothing that the cores could.

Public names, by module (those that import asyncio are imported inside functions):

- `config`: `load_config(path)` and `controller_config(properties)` give a `ControllerConfig`; the directories it names, and
  `ElectionStore`, which reads and writes quorum-state and alone makes a `Durable`.
- `controller_server`: `ControllerServer(config)`: `await open()` binds the listeners, `await start()` takes part, `await stop()` leaves
  gracefully, `await kill()` does not, `failure` is done when it ended.
- `controller_machine`: `ControllerMachine`, the state machine that the replica feeds. `event_queue`: `EventQueue`, in which everything
  waits.
- `apis`: `Apis`, requests of listeners to the controller and to raft, and `ImageCredentials`, the users and tokens of the committed image.
- `audit`: `Audit`, who changed what, and `ToldClients`, who asks wrongly. `posture`: `posture_of(config)`, who may log in how, and what is
  weak.
- `registration`: makes this controller known, and says that no leader is known.
- `endpoint`: /metrics, /healthz and /readyz on loopback, and events as lines. `metrics`: what is counted, under Kafka's names.
- `replica_server`: `ReplicaServer(Parts(log=..., store=..., ...))`: `await open(*listeners)`, `start(config)`, `await append(values)`,
  `await stop()` (graceful), `await kill()`, `failure` (a future: why it ended), `counters`.
- `driver`: `Driver`, which performs what a step of the core wants, and takes what the application decides to append: `prepare(epoch,
  values) -> offset`, `hold()` and `release()`, `schedule()`, `committed(offset, epoch)` (a future), `resign(epoch)`.
- `links`: `Links`, connections to peers, and `Inbound`, requests of peers, with the `Application` that takes them.
- `feed`: `Feed`, what a state machine is given; `ImageMachine`, which keeps the metadata image; `SnapshotMaker`, which writes snapshots.
- `records`: the records of batches as a server may apply them, `check_log`, and the `StateMachine` Protocol."""
