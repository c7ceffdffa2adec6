"""One real broker on a quorum in this process: what only brokers answer, with a single start of a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from metashell.quorum.embedded import EmbeddedQuorum
from tests.java import KAFKA, kafka_command
from tools.interop.nodes import broker_settings, cluster, format_directories, free_ports, write_config

BROKER_ID: Final = 7


@dataclass(frozen=True, slots=True)
class OneBroker:
    """A quorum, a real broker on it, which is `BROKER_ID`, and fake ones beside it that serve nothing."""

    quorum: EmbeddedQuorum
    bootstrap: str
    directory: Path


@contextmanager
def one_broker(
    folder: Path,
    *,
    fake_brokers: int = 2,
    version: str = KAFKA,
    metadata_version: str | None = None,
    properties: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[OneBroker]:
    """Start all, and wait until the broker is unfenced; everything has ended when the block does.

    `properties` are those of the quorum, `settings` further ones of the broker, where `{port}` is its port.
    """
    with (
        EmbeddedQuorum(
            controllers=3 if properties is None else 1,
            fake_brokers=fake_brokers,
            metadata_version=metadata_version,
            properties=dict(properties or {}),
        ) as quorum,
        cluster(partial(kafka_command, version), folder) as place,
    ):
        config, one = format_broker(quorum, folder, metadata_version=metadata_version, settings=settings)
        place.start(config)

        def is_unfenced() -> bool:
            broker = quorum.image.cluster.brokers.get(BROKER_ID)
            return broker is not None and not broker.fenced

        place.wait_until(f"broker {BROKER_ID} is unfenced", is_unfenced)
        yield one


def format_broker(
    quorum: EmbeddedQuorum, folder: Path, *, metadata_version: str | None = None, settings: Mapping[str, object] | None = None
) -> tuple[Path, OneBroker]:
    """The settings of a broker on a formatted directory, which is not started, and what it will be."""
    (port,) = free_ports(1)
    directory = folder / "broker"
    # Fake brokers copy nothing, and stay in sync however long a test takes.
    more = {"replica.lag.time.max.ms": "3600000"}
    more |= {name: str(value).replace("{port}", str(port)) for name, value in (settings or {}).items()}
    servers = {"controller.quorum.bootstrap.servers": quorum.bootstrap_controllers}
    config = write_config(folder / "broker.properties", broker_settings(BROKER_ID, port, directory, servers), more)
    release = ("-r", metadata_version) if metadata_version else ()
    format_directories(config, "--no-initial-controllers", *release, cluster_id=quorum.cluster_id)
    return config, OneBroker(quorum, f"localhost:{port}", directory)
