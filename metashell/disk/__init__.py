"""The bytes on disk of a node: the log's segments, checkpoints and small files, and log directories before a server first starts.

Reading: files are streamed with bounded memory; whatever a file contains, what is wrong with it is reported, and what is right before it,
and after it where the framing holds, is returned. A file that is only read is never locked, written, created or mapped, so the directory
of a running node may be read. No record's meaning is known here, except that a snapshot starts with its header and ends with its footer,
and which log a record is of. For every command alike, `inputs` decides what a path stands for, and `directory` which log bytes belong to.

Writing: `metadata_log.MetadataLog` is a replica's own log, whose directory it locks. What it reports as flushed survives whatever stops
the machine, what it reports as truncated does not come back, and a snapshot is there whole or not at all.

Formatting:

- `format.plan_format` decides what to write, from a configuration, the command line and what is on disk. It writes nothing: a dry run is
  the plan alone.
- `format.write_format` writes a plan. A format that is interrupted at any moment, even by a crash of the machine, leaves either nothing
  that counts, or directories that `info` explains and the next `format` completes: each file is written under another name and fsynced,
  then renamed, and meta.properties, which alone makes a directory a formatted one, comes last. Meanwhile each directory's `.lock` is held,
  by the same kind of lock that a server uses.
- `storage_info.read_info` reports what is there, and `config.config_warnings` warns of settings that Kafka accepts and that fail later.
- `config.load_config` refuses what Kafka's own tool refuses, with the same message.

Only `bootstrap` handles passwords; no message repeats what may be part of one. cli passes in time and random values."""
