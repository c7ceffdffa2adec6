"""Where Spark is to run: what `--master` names is checked before Java is started: it would take a minute where nobody answers."""

from __future__ import annotations

import re
import socket
from typing import Final

from metashell.errors import MetashellError, UsageError, reason_of

_KNOWN: Final = re.compile(r"local|local\[(?:[1-9]\d*|\*)(?:, *\d+)?\]|local-cluster\[[\d, ]+\]|yarn|spark://.+|k8s://.+")
_DEFAULT_PORT: Final = 7077
_TIMEOUT_S: Final = 10.0


def check_master(master: str | None) -> None:
    """Errors: UsageError for what is no master; MetashellError where none of the masters of a standalone cluster answers."""
    if master is None:
        return
    if master.startswith("sc://"):
        reason = "jobs make a session of their own; Spark Connect serves the data source (docs/spark.md)"
        raise UsageError(f"--master {master}: {reason}", "--master")
    if not _KNOWN.fullmatch(master):
        raise UsageError(f"--master {master}: Spark knows local, local[N], local[*], spark://HOST, yarn and k8s://URL", "--master")
    if master.startswith("spark://"):
        _require_answer(master)


def _require_answer(master: str) -> None:
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":") if ":" in address else (address, "", str(_DEFAULT_PORT))
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UsageError(f"--master {master}: {address} is not HOST:PORT", "--master")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S).close()
        except OSError as error:
            reasons.append(f"{address}: {reason_of(error)}")
        else:
            return
    raise MetashellError(f"--master {master}: no master answers: {'; '.join(reasons)}")
