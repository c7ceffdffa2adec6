"""What real controllers do on logs that hold something newer than they know, as tests/golden/unknown keeps it.

`python -m tests.interop.test_unknown` prints the lines of that file.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from metashell.disk.source import open_directory
from metashell.metadata.image import load_image
from tests.interop.test_start_safe import start_once
from tests.java import kafka, lone_controllers
from tests.running import REPOSITORY, run_main
from tests.unknown_rows import CLUSTER_ID, ROWS, make_directory, servers
from tools.interop.nodes import controller_settings, free_ports, server_command, write_config

pytestmark = pytest.mark.slow

_NOISE = ("the server has ended", "Failed to read records into memory")
"""What threads say after the first has ended the server."""
_CAUSE = re.compile(r"^(?:Caused by: )?(?:[a-z]+\.)+[A-Z]\w*(?:Exception|Error): (.*)$")
RACES = ("a log with a topic and no level", "the same with bootstrap.checkpoint", "the same with a bootstrap snapshot")
"""A real server mostly ends on these, but for where its first records are committed before its loader shows an image without them."""
RELEASES = ("4.3.1", "4.4.0")


def start_each(folder: Path, version: str) -> list[dict[str, str]]:
    """Start Kafka on each row; a line for each, as the golden file has it."""
    found = []
    for number, row in enumerate(ROWS):
        answer = start_once(make_directory(folder / str(number), row).directory, version)
        matches = map(_CAUSE.match, answer["said"].splitlines())
        causes = [match[1] for match in matches if match is not None and match[1] not in _NOISE]
        said = answer["why"] if answer["did"] == "serves" else _reason(causes, answer["why"])
        found.append({"row": row, "release": version, "did": answer["did"], "said": said.replace(f"{folder}/", "")})
    return found


def _reason(causes: list[str], why: str) -> str:
    """Two threads may find a level at once; what the controller says of it counts."""
    return next((cause for cause in causes if "only supports" in cause), causes[-1] if causes else why)


@pytest.mark.parametrize("version", RELEASES)
def test_what_real_servers_do_is_what_the_golden_file_says(tmp_path: Path, version: str) -> None:
    found = [line for line in start_each(tmp_path, version) if line["row"] not in RACES]
    expected = [line for line in servers() if line["release"] == version and line["row"] not in RACES]
    assert [(one["row"], one["did"]) for one in found] == [(one["row"], one["did"]) for one in expected]
    assert [one["said"] for one in found if one["did"] == "serves"] == [one["said"] for one in expected if one["did"] == "serves"]


def test_ours_ends_before_it_joins_a_real_quorum_at_a_level_that_it_does_not_support(tmp_path: Path) -> None:
    """The level is one that 4.4.0 itself takes only where features that are not stable yet are switched on."""
    ports = free_ports(2)
    found = {"controller.quorum.bootstrap.servers": f"localhost:{ports[0]}"}
    real = write_config(
        tmp_path / "1.properties",
        controller_settings(1, ports[0], tmp_path / "log-1", found),
        {"unstable.feature.versions.enable": "true", "unstable.api.versions.enable": "true"},
    )
    joining = {**found, "controller.quorum.auto.join.enable": "true", "controller.quorum.fetch.timeout.ms": 1000}
    ours = write_config(tmp_path / "2.properties", controller_settings(2, ports[1], tmp_path / "log-2", joining))
    words = ["format", "-t", CLUSTER_ID, "-c"]
    done = kafka("4.4.0", "storage", *words, str(real), "--standalone", "-r", "4.5-IV0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert run_main(kafka_storage, [*words, str(ours), "--no-initial-controllers"], cwd=tmp_path).status == 0
    lone_controllers("4.4.0").start(real)
    for _ in range(2):  # with an empty directory, and with what it has fetched
        ended = subprocess.run(server_command(str(ours)), cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 1
        assert "metadata.version 34 (4.5-IV0) is not supported: 7 to 33 are; no release up to 4.4" in ended.stderr.splitlines()[-1]
    with open_directory(str(tmp_path / "log-1")) as source:
        image = load_image(source)
    lone_controllers("4.4.0").leave(real)
    assert image.features.metadata_version == 34 and set(image.cluster.controllers) == {1}
    assert image.voters is not None and [voter.id for voter in image.voters.voters] == [1]


if __name__ == "__main__":
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as folder:
            for line in start_each(Path(folder), release):
                print(json.dumps(line))
