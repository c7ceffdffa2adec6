"""From argv to work: the five commands, their errors in one line each, and their exit statuses.

A command is `main(argv) -> int` around one function that does the work. `--version` is answered before anything heavy is
imported; sources are opened here and handed to the layers below; nothing imports this package.
"""
