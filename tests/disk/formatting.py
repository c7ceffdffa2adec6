"""A node to format in a working folder, and the two voices of the storage tool there."""

from __future__ import annotations

from pathlib import Path

from metashell.cli.controllers.storage import main as storage
from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from tests.running import Outcome, run_main

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
CONFIG = """process.roles=controller
node.id=1
controller.listener.names=CONTROLLER
listeners=CONTROLLER://localhost:9093
controller.quorum.bootstrap.servers=localhost:9093
log.dirs={directories}
"""
FORMAT = ("format", "-t", CLUSTER_ID, "-c", "server.properties")
FIRST = "d1/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"


def configured(folder: Path, directories: str) -> Path:
    (folder / "server.properties").write_text(CONFIG.format(directories=directories))
    return folder


def ours(folder: Path, *words: str, stdin: str = "") -> Outcome:
    return run_main(storage, words, cwd=folder, stdin=stdin)


def kafkas(folder: Path, *words: str, stdin: str = "") -> Outcome:
    return run_main(kafka_storage, words, cwd=folder, stdin=stdin)
