"""The shell over a tree of nodes: commands, scripts and a prompt.

`Context` is one run of it: the tree, where output goes and in which form, and in whose format. `run_command` runs one command,
`run_script` lines of them, `metashell.shell.terminal.prompt.run_prompt` asks a person. A command knows nothing of where its lines
come from. Answers are written while the tree is walked; what is kept in memory are the names of one directory.

A typed line is read as a whole before any of it runs (`grammar`): steps, pipes, files. Words of a command line and names from data
never become part of one, nor of the text for /bin/sh. Nothing is written where something is read (`disk.outputs`).

One walk for both formats: with `voice="kafka"` everything, complaints too, is printed on stdout byte for byte as kafka-metadata-shell 4.4.0
prints it, and the status is 0; our own format reports errors on stderr and in the status. Nothing here opens a source or reads argv.

The verbs that change a cluster (`set`, `delete` ...) are off unless cli hands in an `Administrator`. `metadata.nodes.places` says what a
path is about, `change_commands` which administration command that makes, and `commands.changes` runs it and waits until the tree shows it:
the shell decides nothing about a change.
"""

from metashell.shell.context import Context
from metashell.shell.runner import run_command, run_line, run_script

__all__ = ["Context", "run_command", "run_line", "run_script"]
