"""An observer of a live quorum: it fetches the metadata log as a broker does, and publishes what is committed as images.

Promises:
- It fetches with replica id -1 and no directory id, so that no leader counts it: no high watermark moves and no quorum is held
  because somebody looks. It never votes and never listens. Nothing is written anywhere.
- Only what the leader says is committed is shown. A new leader, a restart or a snapshot in place of a log that was cut away
  shows as nothing but later images.
- One thread has the sockets and a loop of its own. It publishes by swapping one reference, so a reader has a value that never
  changes. Each step from image to image can be subscribed to.
- Where it cannot attach it says so in one line that names each address that was tried and why it failed.

Public names: `attach` and `LiveSource` (`attach`), `Target` and `AttachError` (`controllers`). Parts: `observer` drives the consensus core
without I/O and turns what is committed into images or hands it on as bytes, `controllers` keeps the connections, `follow_loop` is the loop,
`attach` has the subscriptions, `probes` asks each controller for itself. asyncio is imported by the functions that start the thread."""
