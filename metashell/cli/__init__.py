"""From argv to work: one module for each command, which ends in `main`, a `common.Tool` around the function that does the work.

`common` turns errors into one line and a status. A module imports what its work needs inside functions: `--version` and `--help`
start nothing else. Sources are opened here and handed to the layers below; no other package imports this one.
"""

import sys

if sys.platform == "win32":
    # Before any import of a command, since some of them fail there.
    from metashell.system import refuse_windows

    refuse_windows()
