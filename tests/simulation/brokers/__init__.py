"""Brokers, their clients, and the controllers that they ask: leases, fencing, ISRs and what is promised to who writes.

The controllers are those of `metashell/quorum/controller`, several over one log whose consensus is given (`quorum`). Brokers do what
Kafka's do (`broker`, `replica`, `leading`): they register, send heartbeats, read the metadata, lead and follow partitions with logs of
their own, ask for other ISRs, leave in order, die, lose what was not on disk, and come back. The network cuts every link between brokers
and controllers, brokers and brokers, brokers and clients apart, also one way only. Clients write with acks=all and acks=1, and read.

`checks` has the rules. The heartbeat table is read a second time in `heartbeat_table`, and its rows are counted. With `lease_ms` brokers
fence themselves, as KIP-343 wanted: `costs` measures what that buys and what it costs.

`python -m tests.simulation.brokers` prints the table of `costs`.
"""
