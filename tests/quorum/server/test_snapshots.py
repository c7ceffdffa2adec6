"""Snapshots that controllers make, by size and by time, and what begins from them."""

from __future__ import annotations

from pathlib import Path

from metashell.codec.error_codes import NONE
from metashell.disk.source import FileSource, open_directory
from metashell.metadata.image import load_image
from metashell.metadata.image.writer import image_digest
from tests.quorum.server.controllers import QUICK, Controllers, add_broker, create, create_at, topics_of
from tests.quorum.server.quorum import eventually, run
from tests.seeds import shows

SMALL = {"metadata.log.max.record.bytes.between.snapshots": 2000}
OFTEN = {"metadata.log.max.snapshot.interval.ms": 300, "metadata.max.idle.interval.ms": 50}


def snapshots(folder: Path, id: int) -> list[Path]:
    return sorted(path for path in (folder / f"node-{id}").rglob("*.checkpoint") if not path.name.startswith(("0" * 20, "bootstrap")))


@shows("KIP-631/snapshots")
def test_every_controller_makes_snapshots_by_size_and_begins_from_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, settings={**SMALL, **QUICK}) as quorum:
            await add_broker(await quorum.active(), 1)
            names = {f"t{n}" for n in range(60)}
            for name in sorted(names):
                await create_at(quorum, name)
            await eventually(lambda: all(snapshots(tmp_path, id) for id in quorum.ports))
            standby = next(id for id in quorum.running if not quorum.running[id].is_active)
            await quorum.kill(standby)
            back = await quorum.start(standby)
            await eventually(lambda: topics_of(back) == names)
            assert back.machine.loads == 1
            # It can lead from there.
            dead = (await quorum.active(but=standby)).config.node.node_id
            await quorum.kill(dead)
            heir = await create_at(quorum, "later", but=dead)
            assert topics_of(heir) == {*names, "later"}

    run(main)


@shows("KIP-631/snapshots")
def test_a_snapshot_by_time_holds_what_the_log_holds(tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, 1, settings=OFTEN) as quorum:
            active = await quorum.active()
            await add_broker(active, 1)
            assert await create(active, "a") == NONE
            await eventually(lambda: len(snapshots(tmp_path, 1)) > 1)
            await quorum.stop(1)

    run(main)
    newest = snapshots(tmp_path, 1)[-1]
    end = int(newest.name[:20])
    with FileSource(str(newest)) as source:
        of_snapshot = load_image(source)
    for path in snapshots(tmp_path, 1):
        path.unlink()
    with open_directory(str(tmp_path / "node-1")) as source:
        of_log = load_image(source, end_offset=end)
    assert set(of_snapshot.topics.by_name) == {"a"}
    assert image_digest(of_snapshot) == image_digest(of_log)
