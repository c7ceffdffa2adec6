"""Kafka's ControllerServer: the quorum controller of `metashell.controller` on a replica of `metashell.server`.

Promises:
- One loop and one thread decide everything; other threads only wait for disks. Requests, periodic tasks, commits, loads and changes of
  leadership are events of one queue, one at a time; nothing else touches the `QuorumController` while one runs, also between the slices
  of a long one.
- An answer leaves when what it rests on is committed and outside of a transaction, or says why it never will. A leader that is deposed
  answers all that wait NOT_CONTROLLER.
- What deciding raises unforeseen is answered UNKNOWN_SERVER_ERROR, counted, and ends the leadership; what replaying raises ends the
  process.
- Who may ask what is decided over the committed image, for every API, also raft's.
- It does not authenticate (`metashell.net` does) and decides nothing that `metashell.controller` or `metashell.raft` could.

Public names, by module (all of them import asyncio, so they are imported inside functions):

- `config`: `load_config(path)` and `config_of(properties)` give a `ControllerConfig`.
- `server`: `ControllerServer(config)`: `await open()` binds the listeners, `await start()` takes part, `await stop()` leaves gracefully,
  `await kill()` does not, `failure` is done when it ended.
- `machine`: `ControllerMachine`, the state machine that the replica feeds. `queue`: `EventQueue`, the line in which everything waits.
- `apis`: `Apis`, requests of listeners to the controller and to raft, and answers back. `registration`: makes this controller known.
  `leaderless`: says that no leader is known.
- `endpoint`: `await serve_metrics(server, held)`: /metrics, /healthz and /readyz on loopback. `metrics`: what is counted, under Kafka's
  names. `event_log`: `EventLog(form)`, events as text or JSON lines, and `ClusterEvents(server, on_event)`, which tells what changes.
- `credentials`: `ImageCredentials`, the users and tokens of the committed image, for the SCRAM of the listeners.
"""
