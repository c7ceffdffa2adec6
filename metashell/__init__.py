"""metashell: the workbench for a Kafka cluster that keeps its metadata in a Raft log.

The packages, from the bottom up: `codec` (bytes and records), `log` (files), `image` (the state they describe), `nodes` (that
state as directories and leaves), `shell` and `dump` (what people see), `storage` (log directories before a server's first start),
`options` (declared command lines), `cli` (argv and exit statuses). Imports go downward only; tests/test_layers.py holds the table.
"""

__version__ = "0.1.0"
