"""The quorum controller as the state machine of its quorums, on the simulated clock, network and disk of the production worlds.

`ControllerMachine`, `EventQueue` and `Apis` run as in a process of their own, above a whole replica. Fake brokers and clients send them
requests over the network: leaders die meanwhile, disks stall and networks are cut. What must hold:

- A1: no answer leaves before all that it rests on is committed on a majority, outside of any transaction (`world`).
- A2: what was answered about one key was right for some order of the requests (`linear`, `models`, `partitions`), and that order ends in
  what is there at the end: nothing that was acknowledged is lost (L9). A leader that was deposed and does not know it yet may say what is
  there, as it was when the next leader came, as in Kafka; it may write nothing.
- A3: no decision raises, and no task does.
- C1: a controller that has applied a later leader's batch is no longer active. S5: at equal offsets all have the same image, also in
  snapshots.
- P1: no two leaders of a partition in one leader epoch. P2: partitions, registrations and transactions are sane record by record.
- V10: once nothing fails any more, all brokers are unfenced and answered, all controllers registered, and all partitions have leaders.

`python -m tests.simulation SEED --controller [--trace]` replays a seed.
"""
