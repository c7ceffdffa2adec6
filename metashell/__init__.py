"""metashell: the workbench for a Kafka cluster that keeps its metadata in a Raft log.

The packages, from the bottom up:

- `codec` (bytes and what they mean), `log` (files), `image` (the state of the cluster), `nodes` (that state as directories and leaves),
  `checks` (the rulebook: what is wrong, judged from facts), `facts` (gathers facts from disks),
  `history` (earlier states, and what changed them);
- `shell` and `dump` (what people see), `verify` (whether a disk is whole), `bundle` (a copy of a log for others),
  `storage` (log directories before a server's first start), `stores` (where output goes: folders here and in object stores),
  `columns` (records as tables), `reports` (questions over those tables), `demo` (a real directory to try them on);
- `net` (Kafka's wire), `raft` (the consensus), `controller` (what the quorum decides), `groups` (what a group coordinator decides),
  `offsets_log` (what the logs of groups tell),
  `server` (a replica on sockets and disk), `controller_server` (the controller on such a replica), `client` (requests to a cluster),
  `group_server` (a broker without data, for clients of groups), `embedded` (a quorum inside a process), `live` (an observer of a quorum),
  `admin` (what an operator asks of a live cluster), `rehearse` (the controller on a copy of a state, on a clock that nobody waits for),
  `placement` (plans of reassignment),
  `rebalance` (groups with their members and coordinator, on such a clock), `page` (HTML that loads and runs nothing);
- `options` (declared command lines), `cli` (argv and exit statuses).

Beside them modules that every package may import: `values`, `ids`, `errors`, `escape` (text that is safe for a terminal), `amounts` (times
and sizes as words), `settings` (what a person has chosen for all runs), `forms` (text, JSON, CSV and tables), `colors` (what colours
mean), `progress` (how far something is), `uncollected` (blocks in which the garbage collector rests), `system` (what differs between
operating systems) and `installed` (how this copy was installed). `__main__` is the command by the name of the package. Imports go downward
only; tests/test_layers.py holds the table.
"""

__version__ = "0.1.0"
