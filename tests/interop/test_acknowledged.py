"""The proof beside meta.properties on a directory that Kafka's controllers and ours run on in turn."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metashell.disk.names import ACKNOWLEDGED
from metashell.disk.properties import Acknowledged, read_acknowledged
from tests.java import lone_controllers
from tests.running import REPOSITORY
from tools.interop.nodes import controller_settings, format_directories, free_ports, server_command, write_config

pytestmark = pytest.mark.slow


@contextmanager
def ours(config: Path) -> Iterator[list[str]]:
    """Our controller, from when it leads; what it said."""
    process = subprocess.Popen(server_command(str(config)), cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said: list[str] = []
    try:
        while "the active controller of epoch" not in "".join(said[-1:]):
            line = process.stderr.readline()
            assert line, said
            said.append(line)
        yield said
    finally:
        process.terminate()
        process.communicate(timeout=120)


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
def test_kafka_runs_on_a_directory_with_a_proof_and_ours_after_it(tmp_path: Path, version: str) -> None:
    (port,) = free_ports(1)
    config = write_config(
        tmp_path / "1.properties",
        controller_settings(1, port, tmp_path / "log", {"controller.quorum.voters": f"1@localhost:{port}"}),
    )
    format_directories(config, "-r", version.rpartition(".")[0])
    directory = str(tmp_path / "log")
    # Formatted, and run by Kafka first: it gets its proof at our first start.
    kafka = lone_controllers(version)
    kafka.start(config)
    kafka.leave(config, waits=True)
    assert read_acknowledged(directory) is None
    proofs: list[Acknowledged] = []
    for _ in range(2):
        with ours(config) as said:
            assert not any("has no vote" in line or "recovery" in line for line in said)
            found = read_acknowledged(directory)
            assert found is not None and found.has_records and found.epoch > (proofs[-1].epoch if proofs else 0)
        found = read_acknowledged(directory)
        assert found is not None
        proofs.append(found)
        before = (tmp_path / "log" / ACKNOWLEDGED).read_bytes()
        kafka.start(config)
        kafka.leave(config, waits=True)
        assert (tmp_path / "log" / ACKNOWLEDGED).read_bytes() == before
    assert proofs[1].offset > proofs[0].offset > 0
