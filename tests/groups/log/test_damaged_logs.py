"""Every command over logs in which anything may be wrong: batches that are missing, keys and values with changed bytes, odd times."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.cli.groups import command
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.framing import checked_batches
from tests.groups.golden import scenarios
from tests.groups.log.test_timeline import WITH_RECORDS
from tests.groups.log.written_logs import golden_batches, write_log
from tests.running import run_main

SEED = int(os.environ.get("METASHELL_SEED", "0"))
LOGS = 400 if os.environ.get("METASHELL_SOAK") else 16
ODD_TIMES_MS = (0, 0, 0, 1 << 40, -(1 << 41))


@pytest.mark.parametrize("number", range(LOGS))
def test_every_command_says_what_is_wrong_and_ends(number: int, tmp_path: Path) -> None:
    chance = random.Random(f"{SEED}-{number}")
    name = chance.choice(WITH_RECORDS)
    write_log(tmp_path, [b"".join(spoilt(golden_batches(scenarios()[name]), chance))])
    for words in commands(name, str(tmp_path)):
        done = run_main(command.main, words, cwd=tmp_path)
        assert done.status in (0, 1), (words, done.stderr)
        assert "Traceback" not in done.stderr
        assert done.status == 0 or done.stderr or done.stdout, words


def commands(group_id: str, path: str) -> Iterator[list[str]]:
    yield ["list", path]
    yield ["list", path, "-o", "json"]
    yield ["describe", group_id, path]
    yield ["describe", group_id, path, "-o", "json"]
    yield ["offsets", group_id, "--lag", path]
    yield ["why", group_id, path]
    yield ["why", group_id, path, "-o", "json"]
    yield ["history", "--commits", group_id, path]
    yield ["expiring", "--within", "300d", path]
    yield ["downgrade-check", path]
    yield ["downgrade-check", "--to", "3.0", path]
    yield ["streams-upgrade", path]


def spoilt(batches: list[bytes], chance: random.Random) -> Iterator[bytes]:
    """The batches, some of them missing or with other records; their checksums are right, but for a byte that may change at the end."""
    for data in batches:
        if chance.random() < 0.1:
            continue
        (batch,) = checked_batches(data, "log")
        header = batch.header
        records = [
            Record(
                record.offset,
                record.timestamp + chance.choice(ODD_TIMES_MS),
                changed(record.key, chance, 0.15),
                changed(record.value, chance, 0.2),
            )
            for record in batch.records()
        ]
        made = write_batch(
            header.base_offset,
            records,
            leader_epoch=header.leader_epoch,
            producer_id=header.producer_id,
            is_transactional=header.is_transactional,
            is_control=header.is_control,
        )
        yield changed(made, chance, 0.02) or b""


def changed(data: bytes | None, chance: random.Random, part: float) -> bytes | None:
    """The bytes with another one among them, cut, or gone; mostly as they are."""
    if not data or chance.random() > part:
        return data
    at = chance.randrange(len(data))
    kind = chance.random()
    if kind < 0.7:
        return data[:at] + bytes((chance.randrange(256),)) + data[at + 1 :]
    return data[:at] if kind < 0.9 else None
