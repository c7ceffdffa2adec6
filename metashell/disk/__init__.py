"""A node's bytes on disk: the log's segments, checkpoints and small files, and log directories before a server first starts.

Reading: files are streamed with bounded memory. Faults in a file are reported, never raised, and everything readable before them is
returned, and after them if the framing holds. A file that is only read is never locked, written, created or mapped, so a running node's
directory may be read. This wing knows no record's meaning, except that a snapshot starts with its header and ends with its footer, and to
which log a record belongs. For every command, `inputs` resolves paths, and `directory` decides to which log bytes belong.

Writing: `metadata_log.MetadataLog` is a replica's own log, whose directory it locks. Flushed records survive any stop of the machine,
truncated records do not come back, and a snapshot exists as a whole or not at all.

Formatting:

- `format.plan_format` decides what to write, from the configuration, the command line and the files on disk. It writes nothing: a dry run
  is the plan alone.
- `format.write_format` writes a plan. A format that is interrupted at any moment, even by a crash of the machine, leaves either nothing
  that counts, or directories that `info` explains and the next `format` completes: each file is written under another name and synced,
  then renamed. meta.properties comes last, because it alone makes a directory a formatted one. Meanwhile each directory's `.lock` is held,
  with the same kind of lock that a server uses.
- `storage_info.read_info` reports on directories, and `config.config_warnings` warns of settings that Kafka accepts and that fail later.
- `config.load_config` refuses what Kafka's own tool refuses, with the same message.

Only `bootstrap` handles passwords; no message repeats what may be part of one. cli passes in time and random values."""
