"""A broker without data: clients of groups find their coordinator here, and topics that hold nothing. For tests only.

Promises:
- What consumers ask between their start and their end is answered as Kafka 4.4.0 answers it: versions, metadata, coordinator, joins,
  heartbeats, commits, fetches of offsets, positions in logs. What decides is `metashell.groups`, on one loop, one request at a time.
- Whatever ApiVersions offers is answered in each of its versions. A client that means another node or cluster learns so (ApiVersions v5).
- Streams groups are those of a broker without a plug-in for descriptions of topologies: none is asked for, and their API (93) is not
  served. Tags for racks are not looked at: Kafka's assignor does not look at them either.
- Groups and offsets are in memory, and are lost with the process. The offsets topic is what was decided, and can be fetched.
- Topics are those of the metadata image. No partition has a record, and none can be produced to: the end of each log is the largest
  offset that a group has committed for it, so that a consumer continues where it was.
- Topics are made and changed by the active controller, which gets such requests as they come.
- It does not authorize, and it listens on loopback unless its listener says otherwise. Frames, connections and requests that wait are
  bounded (`metashell.net`), and what waits ends with its connection. Groups are not, nor is the log of the offsets topic, which is never
  compacted: a batch for each commit, some 450 bytes, and once more as bytes when somebody fetches it.

Modules (those that import asyncio are imported inside functions):

- `config`: `read_config(values)` gives a `GroupServerConfig`, from the names that Kafka's brokers have.
- `server`: `GroupServer`: `await open()` binds, `look()` takes the newest image, `await close()` ends it.
- `machine`: `GroupMachine` drives the coordinator: requests, timers, answers, effects.
- `cluster`: the cluster as its one broker shows it; `metadata`, `reading`: the answers that need no coordinator; `image_topics`: the image
  as `metashell.groups` wants it; `offsets_log`: the batches of the offsets topic.
"""
