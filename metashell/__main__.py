"""`python -m metashell`: the command `metashell`, of this interpreter and this copy."""

import sys

if __name__ == "__main__":
    try:
        from metashell.cli.main import main

        status = main()
    except KeyboardInterrupt:  # while modules are imported
        status = 130
    sys.exit(status)
