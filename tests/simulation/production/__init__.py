"""The production path on a simulated clock, network and disk: the same seed is the same run, to the last byte.

Nothing of `metashell.quorum.server` and `metashell.net` is replaced: a `ReplicaServer` with its Driver, Feed, Inbound and Links, an
`ElectionStore`, a `MetadataLog` and an `ImageMachine` run as in a process of their own. What is replaced lies below them:

- `loop`: the asyncio event loop of one process. Its clock is the world's, and may run fast or slow. When the process dies, it just ends.
  Its `system` stands for the few calls that the server makes on the system and not on asyncio: to listen, for the time, for descriptors.
- `network`: `create_connection` and sockets that listen, in memory. Streams are slow, come in pieces, stall, are cut or reset. No TLS.
- `workers`: `run_in_executor` runs its call on a thread that only goes on when the world lets it, from one step on the disk to the next.
- `disk`: `metashell.disk.file_system.Disk` on files below a scratch folder, with what of them is durable. Syncs take time, hang or fail. A
  killed process leaves the page cache; a loss of power leaves what was synced, and some of the rest.

`replica` puts a server into a process and has the core simulation's checkers look at each step, `images` compares what the machines have,
`clients` remembers what was acknowledged. `python -m tests.simulation SEED --production [--trace]` replays a seed.
"""
