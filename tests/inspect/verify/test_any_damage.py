"""Any bytes in a directory lead to findings, never to an exception; and no change under a checksum is missed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from metashell.common.errors import MetashellError
from metashell.inspect.verify import Report, VerifyOptions
from metashell.inspect.verify.replicas import digest_of
from tests.inspect.verify.making import MetadataLog, findings_in
from tests.quick import quick

FILES = (
    "00000000000000000000.log",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000008.log",
    "00000000000000000005-0000000001.checkpoint",
    "leader-epoch-checkpoint",
    "quorum-state",
    "partition.metadata",
)


@pytest.fixture
def made(tmp_path: Path) -> MetadataLog:
    return MetadataLog(tmp_path / "node")


@pytest.mark.parametrize("name", quick(FILES, 3))
def test_no_cut_and_no_random_bytes_make_it_fail(made: MetadataLog, name: str):
    chance = Random(name)
    path = made.path / name
    whole = path.read_bytes()
    forms = [whole[:size] for size in range(0, len(whole), 1 + len(whole) // 40)]
    for _ in range(60):
        at = chance.randrange(len(whole))
        forms.append(whole[:at] + chance.randbytes(chance.choice((1, 1, 4, 30))) + whole[at + 1 :])
    forms += [chance.randbytes(200), b"\xff" * 300, b"\x1f\x8b" + whole]
    for form in forms:
        path.write_bytes(form)
        findings_in(made.log_directory, deep=True)
        findings_in(path)
        with suppress(MetashellError):
            digest_of(str(made.log_directory), Report(lambda finding: None), VerifyOptions(paths=()))


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith((".log", ".checkpoint"))])
def test_every_flipped_bit_of_a_log_is_found(made: MetadataLog, name: str):
    chance = Random(name)
    path = made.path / name
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[at] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        # Of a length that leads past the end of the last segment there is information only: so does a write that was cut off.
        assert findings_in(made.log_directory), at


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_or_a_folder_under_the_name_of_a_file_is_found_and_never_waited_for(made: MetadataLog, name: str):
    path = made.path / name
    path.unlink()
    os.mkfifo(path)
    assert any(Path(finding.file).name == name for finding in findings_in(made.log_directory))
    path.unlink()
    path.mkdir()
    assert any(Path(finding.file).name == name for finding in findings_in(made.log_directory))
