"""What formatting left for the first leader of a cluster: either layout, static and dynamic, and nothing of it afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import NONE
from metashell.disk.directory import first_records_file
from metashell.disk.source import open_source
from metashell.metadata.image import load_image
from metashell.quorum.server.controller_server import ControllerServer
from tests.quorum.server.controllers import Controllers, ask
from tests.quorum.server.quorum import eventually, run

USER = ("-S", "SCRAM-SHA-256=[name=alice,password=secret]", "-r", "4.2", "-f", "group.version=0")
FIRST = Path("__cluster_metadata-0", "00000000000000000000-0000000000.checkpoint")
LEVELS = {"metadata.version": 29, "transaction.version": 2, "eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1}


def levels_of(server: ControllerServer) -> dict[str, int]:
    features = server.image.features
    return {"metadata.version": features.metadata_version or 0, **features.levels}


def users_of(server: ControllerServer) -> set[str]:
    return {name for users in server.image.scram.values() for name in users}


def removal_of_alice() -> Any:
    made = messages.AlterUserScramCredentialsRequest
    return made(deletions=(made.ScramCredentialDeletion(name="alice", mechanism=1),), upsertions=())


@pytest.mark.parametrize("layout", ["4.4", "4.3"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_the_first_leader_writes_them_and_they_count_no_longer_after_that(layout: str, dynamic: bool, tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, dynamic=dynamic, words=(*USER, "--layout", layout)) as quorum:
            active = await quorum.active()
            for server in quorum.running.values():
                await eventually(lambda server=server: users_of(server) == {"alice"})
                assert levels_of(server) == LEVELS
                assert server.machine.loads == 0, "nothing was taken for a snapshot"
            answer = await ask(active, removal_of_alice())
            assert [result.error_code for result in answer.results] == [NONE]
            for id in list(quorum.running):
                await quorum.stop(id)
            for id in quorum.ports:
                await quorum.start(id)
            for server in quorum.running.values():
                await eventually(lambda server=server: levels_of(server) == LEVELS and not users_of(server))

    run(main)
    with open_source(str(tmp_path / "node-1")) as source:
        assert not any(load_image(source).scram.values())


def test_the_bootstrap_snapshot_counts_where_an_older_format_left_a_file(tmp_path: Path) -> None:
    """As 4.4.0 does it."""

    async def main() -> None:
        older = Controllers(tmp_path / "older", 1, dynamic=False, words=(*USER, "--layout", "4.3"))
        newer = Controllers(tmp_path / "newer", 1, dynamic=False)
        directory = tmp_path / "newer" / "node-1"
        (directory / "bootstrap.checkpoint").write_bytes((tmp_path / "older" / "node-1" / "bootstrap.checkpoint").read_bytes())
        assert first_records_file(str(directory)) == str(directory / FIRST)
        async with newer as quorum:
            active = await quorum.active()
            assert active.image.features.metadata_version == 33 and not users_of(active)
        assert older.configs

    (tmp_path / "older").mkdir()
    (tmp_path / "newer").mkdir()
    run(main)


def test_a_formatted_directory_shows_what_its_cluster_begins_with_and_a_log_shows_itself(tmp_path: Path) -> None:
    quorum = Controllers(tmp_path, 1, dynamic=False, words=(*USER, "--layout", "4.4"))
    directory = tmp_path / "node-1"
    with open_source(str(directory)) as source:
        image = load_image(source)
    assert {name for users in image.scram.values() for name in users} == {"alice"}
    assert (image.features.metadata_version, image.provenance.offset, image.provenance.certain_to) == (29, -1, None)

    async def main() -> None:
        # As 4.3.1 starts on it: without the records.
        (directory / FIRST).rename(tmp_path / FIRST.name)
        async with quorum:
            await quorum.active()
        (tmp_path / FIRST.name).rename(directory / FIRST)

    run(main)
    with open_source(str(directory)) as source:
        image = load_image(source)
    assert image.features.metadata_version == 33 and not any(image.scram.values())
