"""What a one-shot command may import without paying for sockets and TLS."""

from __future__ import annotations

import subprocess
import sys

CHEAP = ("net", "net.security", "net.addresses", "net.client_connection", "net.server_connection", "net.client_config")
DEAR = ("asyncio", "ssl", "socket", "cryptography")


def test_only_what_opens_a_socket_imports_asyncio_and_ssl() -> None:
    program = f"import sys\nimport {', '.join(f'metashell.{name}' for name in CHEAP)}\nprint([n for n in {DEAR!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
