"""The command line: turns argv into one call of the wings below, and is the only package that reads argv and sets an exit status.

`main` hands a command's words to its module, which is loaded by name. Each command stands beside its declaration (`CommandSpec`) in a room
by task: `inspect` (the shell, dumps, checks), `cluster` (a live cluster and plans for one), `groups`, `tables`, `controllers`, and `kafka`
(tools by Kafka's own names). `admin` is the library with which they talk to a live cluster. `tool` runs every command: it prints errors in
one line and gives the status. What a command's work needs is imported when it runs, so `--version` and `--help` start nothing else.

Sources are opened here and handed to the wings below. No other package imports this one."""
