"""A rehearsal writes what real clusters wrote: brokers that were killed, stopped and started again, in logs of three releases.

Each case is a batch of a real log. The image before it is rehearsed with the step that led to it, and the batch that the rehearsal writes
must say the same. The order inside a batch is not compared: Kafka walks through hash maps of random topic ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from metashell.codec.batches import walk_records
from metashell.codec.metadata_records import read_metadata_record
from metashell.disk.source import open_source
from metashell.metadata.image import Batch, ImageLoader, MetadataImage
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.steps import Assumptions, KillBroker, RestartBroker, Step
from tests.golden_cases import golden_root

SWEEP = "maybeFenceStaleBroker"
LOGS = {"3.3.2": ("0",), "3.9.2": ("0", "277"), "4.3.1": ("0", "251"), "4.4.0": ("0", "274", "573")}


class Case(NamedTuple):
    """The batch at `offset`, what led to it from the image before `from_offset`, and for what the rehearsal writes it."""

    version: str
    offset: int
    from_offset: int
    step: Step | None
    why: str
    number: int = 0


CASES = [
    # kill -9 of broker 5, whose session ends
    Case("3.9.2", 316, 316, KillBroker(5), SWEEP),
    Case("4.3.1", 306, 306, KillBroker(5), SWEEP),
    # broker 6 is stopped, while 5 is dead
    Case("3.9.2", 341, 341, RestartBroker(6), "heartbeat of broker 6"),
    Case("3.9.2", 365, 365, None, "heartbeat of broker 6"),
    Case("4.3.1", 330, 330, RestartBroker(6), "heartbeat of broker 6"),
    Case("4.3.1", 355, 355, None, "heartbeat of broker 6"),
    # ... and with all others alive
    Case("3.3.2", 119, 119, RestartBroker(6), "heartbeat of broker 6"),
    Case("3.9.2", 191, 191, RestartBroker(5), "heartbeat of broker 5"),
    # the session of broker 5, when 6 is stopped already
    Case("3.3.2", 140, 140, KillBroker(5), SWEEP),
    # they start again: registration and unfencing
    Case("3.3.2", 160, 160, RestartBroker(5), "registration of broker 5"),
    Case("3.3.2", 162, 160, RestartBroker(5), "heartbeat of broker 5"),
    Case("3.9.2", 372, 372, RestartBroker(5), "registration of broker 5"),
    Case("3.9.2", 392, 392, RestartBroker(6), "registration of broker 6"),
    Case("3.9.2", 394, 392, RestartBroker(6), "heartbeat of broker 6"),
    Case("4.3.1", 367, 367, RestartBroker(5), "registration of broker 5"),
    Case("4.3.1", 382, 367, RestartBroker(5), "heartbeat of broker 5"),
    Case("4.3.1", 383, 367, RestartBroker(5), "heartbeat of broker 5", 1),
    Case("4.3.1", 402, 402, RestartBroker(6), "registration of broker 6"),
    # Here the broker said which directories are cordoned with the heartbeat that unfenced it; a rehearsal lets it do so before.
    Case("4.3.1", 404, 402, RestartBroker(6), "heartbeat of broker 6", 1),
    Case("4.4.0", 573, 573, RestartBroker(6), "heartbeat of broker 6"),
    Case("4.4.0", 617, 617, RestartBroker(5), "registration of broker 5"),
    Case("4.4.0", 637, 617, RestartBroker(5), "heartbeat of broker 5", 1),
    Case("4.4.0", 659, 659, RestartBroker(6), "registration of broker 6"),
    Case("4.4.0", 662, 659, RestartBroker(6), "heartbeat of broker 6", 1),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.version}-{case.offset}")
def test_what_a_rehearsal_writes_is_what_the_real_cluster_wrote(case: Case) -> None:
    outcome = rehearse_change(image_before(case.version, case.from_offset), [case.step] if case.step else [], Assumptions())
    ours = [batch for batch in outcome.batches if batch.why == case.why]
    assert ours
    told = [*told_records((type(record).__name__, version, record) for record, version in ours[case.number].records)]
    real = [*told_records(records_at(case.version, case.offset))]
    if len(real) > 1:
        real = [one for one in real if dict(one[2]).get("cordoned_log_dirs") is None]
    assert Counter(told) == Counter(real)


def told_records(records: Any) -> Iterator[tuple[Any, ...]]:
    """Records as values, without what a life of a broker makes anew."""
    for name, version, record in records:
        if name == "NoOpRecord":
            continue
        fields = {field: getattr(record, field) for field in type(record).__slots__}
        if name == "RegisterBrokerRecord":
            fields["incarnation_id"] = None
            fields["features"] = frozenset((one.name, one.min_supported_version, one.max_supported_version) for one in record.features)
            fields["end_points"] = frozenset((one.name, one.host, one.port, one.security_protocol) for one in record.end_points)
        yield name, version, tuple(sorted((field, tuple(value) if isinstance(value, list) else value) for field, value in fields.items()))


@cache
def batches(version: str) -> tuple[Batch, ...]:
    """The batches of a real log, from its first one."""
    folder = golden_root() / version / "main/data/stopped/node-1/d1/__cluster_metadata-0"
    found: list[Batch] = []
    for name in LOGS[version]:
        with open_source(str(folder / f"{name:0>20}.log")) as source:
            found += source.log_batches(0)
    return tuple(found)


def image_before(version: str, offset: int) -> MetadataImage:
    loader = ImageLoader()
    for batch in batches(version):
        if batch.header.base_offset >= offset:
            break
        loader.load_batch(batch, 0)
    return loader.finish()


def records_at(version: str, offset: int) -> Iterator[tuple[str, int, Any]]:
    [batch] = [batch for batch in batches(version) if batch.header.base_offset == offset]
    buf, start, end = batch.records_area(1 << 27)
    for fields in walk_records(buf, start, end, batch.header.count):
        read = read_metadata_record(buf, fields[4], fields[4] + max(fields[5], 0))
        yield type(read.body).__name__, read.version, read.body
