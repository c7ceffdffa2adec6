"""What the holder of a lock says of itself, so that the one who has to wait knows for whom."""

from __future__ import annotations

import os
from typing import Any


def holder(purpose: str) -> dict[str, Any]:
    """This process: what it does, where it runs, since when."""
    from datetime import UTC, datetime
    from socket import gethostname

    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return {"purpose": purpose, "host": gethostname(), "pid": os.getpid(), "machine": _machine(), "since": since}


def holder_text(purpose: str) -> bytes:
    import json

    return json.dumps(holder(purpose)).encode()


def told(text: bytes) -> dict[str, Any]:
    """What a holder wrote of itself; nothing where that is damaged, or of somebody else."""
    import json

    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def said_by(said: dict[str, Any]) -> str:
    """The holder in a sentence: `metashell export (process 4711 on example) since 2025-01-31 12:00:00Z`."""
    from metashell.escape import terminal_line

    words = {key: terminal_line(str(said.get(key, "?"))) for key in ("purpose", "pid", "host", "since")}
    return f"{words['purpose']} (process {words['pid']} on {words['host']}) since {words['since']}"


def is_dead(said: dict[str, Any]) -> bool:
    """Whether a process of this very machine is known to have ended; of another machine nothing is known."""
    if not said.get("machine") or said.get("machine") != _machine() or not isinstance(said.get("pid"), int):
        return False
    try:
        os.kill(said["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _machine() -> str:
    """What numbers of processes mean something in: a start of a machine, and a name space on it. Empty where that is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
