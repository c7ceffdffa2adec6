"""A broker that came back on another disk: which partitions nobody else had then, read from the log of that moment."""

from __future__ import annotations

from pathlib import Path

from metashell.metadata.checks import judge
from metashell.metadata.facts import gather_facts
from tests.metadata.checks.situations import broker, partition, topic
from tests.metadata.image.batches import batch, record

OLD, NEW = bytes([3] * 16), bytes([33] * 16)


def written(path: Path, *bodies: object) -> str:
    """A log directory whose metadata log has a batch for each record."""
    folder = path / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"".join(bytes(batch(body, base_offset=at).data) for at, body in enumerate(bodies)))
    return str(path)


def log(path: Path, second: object, *later: object, alone: tuple[int, ...] = (3,)) -> str:
    sole = partition(0, (3, 1), isr=alone)
    return written(path, broker(1), broker(3), topic("orders"), sole, partition(1, (3, 1)), second, *later)


def test_what_only_the_old_disk_had_is_lost_once_somebody_leads(tmp_path: Path) -> None:
    placed = partition(0, (3, 1), isr=(3,), leader=3, directories=(NEW, bytes([1] * 16)))
    facts = gather_facts([log(tmp_path, broker(3, process=1, disks=(33,)), placed)])
    lost = ((bytes([100] * 16), 0),)
    assert [(one.broker, one.offset, one.gone, one.alone) for one in facts.replaced] == [(3, 5, frozenset({OLD}), lost)]
    (finding,) = judge(facts, {"lost_records"}).findings
    assert [(one.name, one.evidence[0].offset) for one in finding] == [("orders/0", 5)]


def test_who_was_last_to_be_eligible_had_it_all(tmp_path: Path) -> None:
    """As a controller with eligible leader replicas writes it when the broker is fenced, and when it comes back."""
    for number, last in enumerate(({"eligible_leader_replicas": (3,)}, {"last_known_elr": (3,)})):
        fenced = partition(0, (3, 1), isr=(), leader=-1, **last)
        facts = gather_facts([log(tmp_path / str(number), fenced, broker(3, process=1, disks=(33,)))])
        assert [one.alone for one in facts.replaced] == [((bytes([100] * 16), 0),)]


def test_others_had_it_all_too(tmp_path: Path) -> None:
    facts = gather_facts([log(tmp_path, broker(3, process=1, disks=(33,)), alone=(3, 1))])
    assert [one.alone for one in facts.replaced] == [()]


def test_a_restart_a_failed_disk_and_one_more_disk_replace_nothing(tmp_path: Path) -> None:
    for number, disks in enumerate(((3,), (3, 4), ())):
        again = broker(3, process=1, disks=disks) if disks else record("UnregisterBrokerRecord", broker_id=3, broker_epoch=5)
        assert gather_facts([log(tmp_path / str(number), again)]).replaced == ()
    two = written(tmp_path / "two", broker(3, disks=(3, 4)), broker(3, process=1, disks=(3,)))
    assert gather_facts([two]).replaced == ()
