"""The bytes on disk of a node: segments, checkpoints and the small text files beside them.

Promises: files are streamed with bounded memory; whatever a file contains, what is wrong with it is reported, and what is right
before it, and after it where the framing holds, is given. It never locks, writes, creates or maps a file that it
only reads, so it may look at the directory of a running node. It knows no record's meaning, save that a
snapshot starts with its header and ends with its footer, and which log a record is of. `inputs` decides what a path stands for and
`identity` which log bytes belong to, for every command alike; `packed_file` expands compressed copies while they are read.

`metadata_log.MetadataLog` is the part that writes: a replica's own log, whose directory it locks. What it says is flushed survives
whatever stops the machine, what it says is truncated does not come back, and a snapshot is there whole or not at all.
"""
