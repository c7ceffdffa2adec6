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

from tests.interop.test_start_safe import PROGRAM
from tests.java import program_command
from tests.unknown_rows import ROWS, make_directory, servers
from tools.interop.nodes import controller_settings, write_config

pytestmark = pytest.mark.slow

_NOISE = ("the server has ended", "Failed to read records into memory")
"""What threads say after the first has ended the server."""
_CAUSE = re.compile(r"^(?:Caused by: )?(?:[a-z]+\.)+[A-Z]\w*(?:Exception|Error): (.*)$")
RELEASES = ("4.3.1", "4.4.0")


def start_each(folder: Path, version: str) -> list[dict[str, str]]:
    """Start Kafka on each row; a line for each, as the golden file has it."""
    left = {}
    for number, row in enumerate(ROWS):
        place = make_directory(folder / str(number), row)
        settings = controller_settings(1, 0, place.directory, {"controller.quorum.voters": "1@localhost:9093"})
        left[str(write_config(folder / f"{number}.properties", settings))] = row
    found = []
    while left:
        given = "".join(f"{config}\n" for config in left).encode()
        done = subprocess.run(program_command(PROGRAM, version=version), input=given, capture_output=True, timeout=300, check=True)
        causes: list[str] = []
        before = len(left)
        for line in done.stdout.decode().splitlines():
            match = _CAUSE.match(line)
            if match is not None and match[1] not in _NOISE:
                causes.append(match[1])
            if line.count("\t") == 2 and line.partition("\t")[0] in left:
                config, did, why = line.split("\t")
                said = why if did == "serves" else _reason(causes, why)
                found.append({"row": left.pop(config), "release": version, "did": did, "said": said.replace(f"{folder}/", "")})
                causes.clear()
        assert len(left) < before, done.stdout.decode()
    return found


def _reason(causes: list[str], why: str) -> str:
    """Two threads may find a level at once; what the controller says of it counts."""
    return next((cause for cause in causes if "only supports" in cause), causes[-1] if causes else why)


@pytest.mark.parametrize("version", RELEASES)
def test_what_real_servers_do_is_what_the_golden_file_says(tmp_path: Path, version: str) -> None:
    found = start_each(tmp_path, version)
    expected = [line for line in servers() if line["release"] == version]
    assert [(one["row"], one["did"]) for one in found] == [(one["row"], one["did"]) for one in expected]
    assert [one["said"] for one in found if one["did"] == "serves"] == [one["said"] for one in expected if one["did"] == "serves"]


if __name__ == "__main__":
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as folder:
            for line in start_each(Path(folder), release):
                print(json.dumps(line))
