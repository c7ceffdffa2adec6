"""Clients of PyPI, of several versions: each forms a group, and stops where it wants messages. Installed beside the others, in a cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.groups.server import topic_requests
from metashell.quorum.embedded import EmbeddedQuorum

pytestmark = pytest.mark.slow
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "metashell-clients"
PROGRAM = Path(__file__).with_name("python_clients.py")
LIMIT_S = 120.0
GROUP = {"assigned": 2, "committed": 5}
CLIENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("confluent", {"plain": "POLICY_VIOLATION", "idempotent": "CLUSTER_AUTHORIZATION_FAILED", "alone": "POLICY_VIOLATION"}),
    "kafka-python==2.0.6": ("kafka-python", {"plain": "PolicyViolationError", "alone": "PolicyViolationError", "configs": 0}),
    "kafka-python==3.0.12": (
        "kafka-python",
        {"plain": "PolicyViolationError", "idempotent": "KafkaError", "alone": "PolicyViolationError"},
    ),
    "aiokafka==0.14.0": ("aiokafka", {"plain": "PolicyViolationError", "idempotent": "ClusterAuthorizationFailedError"}),
}
"""By what pip installs, "" for the client of this environment: the program, and what it finds beside `GROUP`."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A listener that refuses at once who fetches and is in no group."""
    with pytest.MonkeyPatch.context() as patched, EmbeddedQuorum(1, groups=True) as quorum:
        patched.setattr(topic_requests, "PATIENCE_MS", 0)
        quorum.create_topic("t", 2)
        yield quorum.bootstrap_servers


def installed(requirement: str) -> dict[str, str]:
    """Install a client in a folder of its own, once; the environment that has it."""
    if not requirement:
        return {**os.environ}
    folder = CACHE / f"{requirement}-{sys.implementation.cache_tag}"
    if not (folder / "complete").exists():
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--target",
            str(folder),
            "--upgrade",
            requirement,
        ]
        done = subprocess.run(pip, capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode:
            pytest.skip(f"{requirement} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
        (folder / "complete").touch()
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.parametrize("requirement", CLIENTS)
def test_a_client_forms_a_group_and_stops_where_it_wants_messages(server: str, requirement: str) -> None:
    program, wanted = CLIENTS[requirement]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), program, server], env=installed(requirement), capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {**GROUP, **wanted}
