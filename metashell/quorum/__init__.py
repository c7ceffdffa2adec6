"""The metadata quorum: consensus, the controller, their servers, an observer, and a quorum inside a Python process.

- `raft`: KRaft consensus as a core without I/O.
- `controller`: the quorum controller as a core without I/O.
- `server`: a controller as a process: sockets, disk and clock around both cores. It decides nothing that they could.
- `observer`: follows a live quorum as a broker does and publishes what is committed.
- `embedded`: a quorum of controllers inside a Python process, for tests and tools, with a pytest fixture.

`raft` and `controller` import no disk, asyncio, clock or random: time and chance are handed in, and what they need of a log is a Protocol.
Modules that import asyncio are imported inside functions by those outside. Nothing here imports inspect, tables, shell or cli."""
