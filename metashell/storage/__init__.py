"""Log directories before a server first starts: what `format` writes into them, and what `info` finds there.

- `plan.plan_format` decides what to write, from a configuration, the command line and what is on disk. It writes nothing: a dry run is
  the plan alone.
- `perform.perform` writes a plan. A format that is interrupted at any moment, even by a crash of the machine, leaves either nothing that
  counts, or directories that `info` explains and the next `format` completes: each file is written under another name and fsynced,
  then renamed, and meta.properties, which alone makes a directory a formatted one, comes last. Meanwhile each directory's `.lock` is
  held, by the same kind of lock that a server uses.
- `info.read_info` reports what is there, and `surprises.surprises` warns of settings that Kafka accepts and that surprise later.
- `config.load_config` refuses what Kafka's own tool refuses, with the same message.

Only `scram` handles passwords; no message repeats what may be part of one. Time and chance come from cli.
"""
