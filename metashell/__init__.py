"""metashell: the workbench for a Kafka cluster that keeps its metadata in a Raft log.

The wings, from the bottom up; each imports only wings above it in this list:

- `common`: values, errors, safe text, output forms, progress, and the core of options.
- `codec`: bytes of Kafka and what they mean: messages, record batches, control records, secrets.
- `disk`: the files of a log directory (segments, indexes, checkpoints, quorum-state, meta.properties), and what a server needs there
  before its first start.
- `metadata`: the state of the cluster as an image, that image as directories, its history, and the checks that judge it.
- `net`: Kafka's wire: frames, connections, SASL, TLS, and a client.
- `groups`: what a group coordinator decides, the logs of groups, a server for clients of groups, and simulations of rebalances.
- `quorum`: Raft, the controller, their servers, an observer of a live quorum, and a quorum inside a process.
- `inspect`: answers about files: dump-log, verify, bundle.
- `rehearse`: what a change would do: the controller on a copy of a state, and plans of reassignment.
- `tables`: records as tables: columns, export, SQL, reports, and where output goes.
- `shell`: the prompt and its commands.
- `cli`: from argv to one of the above.

`demo` holds a real log directory to try them on; `__main__` is the command by the name of the package. tests/test_layers.py holds the table
of who may import whom."""

__version__ = "0.1.0"
