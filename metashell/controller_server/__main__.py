"""`python -m metashell.controller_server CONFIG [--allow-plaintext] [--accept-loss] [-v]`, until `metashell server` takes its place."""

from __future__ import annotations

import sys
import time

from metashell.controller_server.config import load_config
from metashell.errors import MetashellError


def main(argv: list[str]) -> int:
    """See the module."""
    import asyncio

    from metashell.controller_server.server import run

    flags = {word for word in argv if word.startswith("-")}
    [path] = [word for word in argv if not word.startswith("-")]

    def tell(line: str) -> None:
        if "-v" in flags:
            print(f"{time.strftime('%H:%M:%S', time.gmtime())} {line}", file=sys.stderr, flush=True)

    try:
        config = load_config(path, allow_plaintext="--allow-plaintext" in flags, accept_loss="--accept-loss" in flags)
        return asyncio.run(run(config, tell))
    except (OSError, MetashellError) as error:
        print(f"controller: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
