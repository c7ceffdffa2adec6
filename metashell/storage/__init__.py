"""Log directories before a server first starts: what `format` writes into them, and what `info` finds there.

`plan_format` decides what is to be written, from a configuration, the command line and what is on disk; it writes nothing, so a
dry run is the plan alone. `perform` writes a plan through a thin file layer, so that a format which is interrupted at any
moment, by a crash of the machine too, leaves either nothing that counts, or directories that `info` explains and the
next `format` finishes: everything is written aside and fsynced, then renamed; meta.properties, which alone makes a directory a
formatted one, comes last. Each directory's `.lock` is held meanwhile, by the same kind of lock that a server holds.

Passwords come in, and salts and keys go out, through `scram` only; no message repeats what may be a part of one. Time and chance
are handed in by cli.
"""
