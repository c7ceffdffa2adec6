"""Ask a real Kafka which values of configurations it hides, and write that down.

    python -m tools.make_sensitive_golden

A node of the newest release starts on a first checkpoint that sets, for a topic, a group, client metrics, a broker and all brokers, keys
that it knows, passwords, and keys that nobody knows, as another release or a plug-in may have left them. `kafka-configs --describe` then
says of each whether it is sensitive. Needs Java. Shape: resource type, name, key, true or false.
"""

from __future__ import annotations

import re
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.metadata_records import read_metadata_record
from metashell.disk.bootstrap import first_checkpoint
from metashell.disk.source import open_source
from tests.java import KAFKA, kafka, kafka_command
from tools.interop.nodes import cluster, combined_settings, format_directories, free_ports, write_config

FILE: Final = Path(__file__).parents[1] / "tests" / "golden" / "secrets" / "kafka-configs.tsv"
UNKNOWN: Final = ("custom.token", "my.plugin.secret", "listener.name.sasl.my.plugin.secret")
PASSWORDS: Final = ("ssl.keystore.password", "sasl.jaas.config", "listener.name.sasl.ssl.key.password")
ASKED: Final = (
    (TOPIC_RESOURCE, "topics", "t", ("retention.ms", "message.format.version", *PASSWORDS, *UNKNOWN)),
    (GROUP_RESOURCE, "groups", "g", ("consumer.session.timeout.ms", *PASSWORDS, *UNKNOWN)),
    (CLIENT_METRICS_RESOURCE, "client-metrics", "m", ("interval.ms", *PASSWORDS, *UNKNOWN)),
    (BROKER_RESOURCE, "brokers", "1", ("log.cleaner.threads", *PASSWORDS, *UNKNOWN)),
    (BROKER_RESOURCE, "brokers", "", ("log.cleaner.threads", *PASSWORDS, *UNKNOWN)),
)
VALUES: Final = {
    "retention.ms": "60000",
    "message.format.version": "3.0",
    "consumer.session.timeout.ms": "50000",
    "interval.ms": "60000",
    "log.cleaner.threads": "1",
    "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}


def main() -> int:
    """See the module."""
    rows = []
    with tempfile.TemporaryDirectory() as name, cluster(partial(kafka_command, KAFKA), Path(name)) as place:
        folder = Path(name)
        ports = free_ports(3)
        quorum = {"controller.quorum.voters": f"1@localhost:{ports[2]}"}
        config = write_config(folder / "node.properties", combined_settings(1, ports, folder / "log", quorum))
        format_directories(config)
        set_all(folder / "log" / "__cluster_metadata-0" / f"{0:020d}-{0:010d}.checkpoint")
        place.start(config)
        server = ("--bootstrap-server", f"localhost:{ports[0]}")
        made = ("topics", *server, "--create", "--topic", "t", "--if-not-exists")
        place.wait_until("a topic is made", lambda: kafka(KAFKA, *made).returncode == 0)
        time.sleep(1)
        for _, kind, resource, keys in ASKED:
            words = ("--entity-name", resource) if resource else ("--entity-default",)
            done = kafka(KAFKA, "configs", *server, "--describe", "--all", "--entity-type", kind, *words)
            assert done.returncode == 0, done
            told = dict(re.findall(r"^  (\S+?)=.* sensitive=(true|false) ", done.stdout.decode(), re.MULTILINE))
            rows += [f"{kind}\t{resource}\t{key}\t{told.get(key, 'not told')}\n" for key in keys]
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("".join(rows), "utf-8")
    return 0


def set_all(path: Path) -> None:
    """Put the settings behind the records of a first checkpoint."""
    with open_source(str(path)) as source:
        batches = [batch for batch in source.snapshot_batches() if not batch.header.is_control]
        known = [read_metadata_record(record.value).body for batch in batches for record in batch.records()]
    record = messages.ConfigRecord
    more = [
        record(resource_type=kind, resource_name=name, name=key, value=VALUES.get(key, "x"))
        for kind, _, name, keys in ASKED
        for key in keys
    ]
    path.chmod(0o600)
    path.write_bytes(first_checkpoint(0, int(time.time() * 1000), (), [*known, *more]))


if __name__ == "__main__":
    raise SystemExit(main())
