"""The shell over a tree of nodes: commands, scripts and a prompt.

A `Context` is one run of the shell: the tree, the output and its form, and the voice. `run_command` runs one command, `run_script` runs
lines of commands, and `metashell.shell.terminal.prompt.run_prompt` reads them from a person. A command does not know where its line
comes from. Answers are written while the tree is walked; memory holds only the names of one directory.

`grammar` reads a typed line as a whole before any of it runs: steps, pipes, files. Words of a command line and names from data never
become part of such a line, nor of the text for /bin/sh. No output file may be a file that is being read (`disk.file_system`).

Both voices share one walk. With `voice="kafka"` all output, errors too, goes to stdout byte for byte as kafka-metadata-shell 4.4.0
prints it, and the status is 0. Our own voice reports errors on stderr and in the status. Nothing here opens a source or reads argv.

The verbs that change a cluster (`set`, `delete` ...) are off unless cli passes an `Administrator`. `metadata.nodes.places` says what a
path is about, `change_commands` which administration command to run, and `commands.changes` runs it and waits until the tree shows the
change. The shell decides nothing about a change."""

from metashell.shell.context import Context
from metashell.shell.runner import run_command, run_line, run_script

__all__ = ["Context", "run_command", "run_line", "run_script"]
