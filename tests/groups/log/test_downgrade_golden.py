"""`groups downgrade-check` says of each record what real coordinators of old releases did with it (tests/golden/groups/downgrade.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metashell.groups.log.downgrade_checks import Census, downgrade_checks, release_of
from metashell.groups.log.queries import load_logs
from tests.groups.log.written_logs import write_log
from tools.make_downgrade_golden import OUT, WITNESS_OFFSET, log_of, variants

ANSWERS: dict[str, dict[str, dict[str, Any]]] = json.loads(OUT.read_text())
LOGS = variants(lambda number: f"group-{number}")


@pytest.mark.parametrize("release", ANSWERS)
def test_a_broker_loads_a_partition_where_the_check_finds_nothing_that_breaks(tmp_path: Path, release: str) -> None:
    assert ANSWERS[release].keys() == LOGS.keys()
    for number, (name, pairs) in enumerate(LOGS.items()):
        census = Census()
        loaded = load_logs([str(write_log(tmp_path / name, [log_of(pairs, "witness")]))], wants=census.takes)
        checks = downgrade_checks(loaded, census, "*", release_of(release))
        answer = ANSWERS[release][name]
        results = {check.result for check in checks}
        assert ("breaks" in results) == (answer["witness"] != str(WITNESS_OFFSET)), (name, checks)
        if name == "share-group":
            # Without an offset, a group that is skipped is gone.
            assert bool(results) == (not answer["listed"]), (name, checks)
        if "breaks" in results:
            # The coordinators of 3.x take the partition for empty, the newer ones refuse its groups.
            is_silent = any("gone without an error" in check.text for check in checks)
            assert is_silent == (answer["witness"] == "-1"), (name, checks)
        assert all(check.group_id == f"group-{number}" for check in checks)


def test_a_release_without_its_patch_is_the_first_of_its_kind() -> None:
    assert release_of("3.4") == release_of("3.4.0") < release_of("3.4.1") < release_of("3.9")


def test_a_deleted_group_of_a_newer_protocol_stops_a_broker_that_skips_no_types(tmp_path: Path) -> None:
    from metashell.codec.batch_writer import write_batch
    from metashell.codec.batches import Record

    (key, value), _ = LOGS["consumer-group"]
    batches = [write_batch(offset, [Record(offset, 0, key, body)], leader_epoch=0) for offset, body in enumerate((value, None))]
    census = Census()
    loaded = load_logs([str(write_log(tmp_path, batches))], wants=census.takes)
    (check,) = downgrade_checks(loaded, census, "*", release_of("3.4.0"))
    assert check.result == "breaks" and "CONSUMER_GROUP_METADATA (deleted)" in check.text and check.kind == "deleted"
    assert not downgrade_checks(loaded, census, "*", release_of("3.4.1"))
