"""`python -m metashell`: the command `metashell`, of this interpreter and this copy."""

import sys

from metashell.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
