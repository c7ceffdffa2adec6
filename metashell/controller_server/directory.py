"""A controller's directories, held against its configuration, and what formatting left in them for a new cluster.

Source: kafka.server.KafkaRaftServer.initializeLogDirs, org.apache.kafka.metadata.bootstrap.BootstrapDirectory.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from metashell.codec.checked_batches import checked_batches
from metashell.codec.messages import FeatureLevelRecord
from metashell.codec.metadata_version import METADATA_VERSION
from metashell.controller_server.config import ControllerConfig
from metashell.errors import MetashellError
from metashell.image.loss import VersionedRecord
from metashell.log.first_records import first_records_file
from metashell.log.meta_properties import META_PROPERTIES
from metashell.log.metadata_log import MetadataLog
from metashell.log.names import BOOTSTRAP_CHECKPOINT, METADATA_DIRECTORY
from metashell.server.records import records_of
from metashell.storage.ensemble import load_ensemble, verify_ensemble
from metashell.values import BOOTSTRAP_SNAPSHOT_ID


class Formatted(NamedTuple):
    """Whose directory it is."""

    cluster_id: str
    directory_id: bytes


def formatted_for(config: ControllerConfig) -> Formatted:
    """The meta.properties of the metadata directory, held against the configuration and all other directories.

    Errors: MetashellError, in Kafka's words.
    """
    node = config.node
    ensemble = load_ensemble(node.log_directories)
    if not ensemble.formatted:
        raise MetashellError(f"No readable meta.properties files found. ({', '.join(node.log_directories)}: not formatted)")
    clusters = [meta.cluster_id for _, meta in sorted(ensemble.formatted.items()) if meta.cluster_id is not None]
    if not clusters:
        raise MetashellError(f"{config.directory}: {META_PROPERTIES} has no cluster.id")
    verify_ensemble(ensemble, clusters[0], node.node_id)
    if config.directory in ensemble.errors:
        raise MetashellError(f"Encountered I/O error in metadata log directory {config.directory}. Cannot continue.")
    for directory in sorted(ensemble.formatted):
        # A log that is left alone would be an empty cluster in place of the one that was.
        elsewhere = os.path.join(directory, METADATA_DIRECTORY)
        if directory != config.directory and os.path.exists(elsewhere):
            where = f"`{elsewhere}` (the configured metadata directory is {config.directory})"
            raise MetashellError(f"Found unexpected metadata location in data directory {where}.")
    if ensemble.empty:
        why = "(have you run `kafka-storage.sh` to format the directory?)"
        raise MetashellError(f"No `meta.properties` found in {min(ensemble.empty)} {why}")
    meta = ensemble.formatted[config.directory]
    if meta.node_id is None or meta.directory_id is None:
        raise MetashellError(f"{config.directory}: {META_PROPERTIES} has no {'node.id' if meta.node_id is None else 'directory.id'}")
    return Formatted(clusters[0], meta.directory_id)


def bootstrap_records(directory: str, log: MetadataLog) -> list[VersionedRecord]:
    """The first records of a new cluster, as formatting left them; none where it left no file.

    Errors: LogCorruptError, also for what this release must not run on; MetashellError for records without a metadata.version; OSError.
    """
    # Behind a newer snapshot nobody looks into the bootstrap snapshot any more.
    is_new = log.snapshots()[-1:] == [BOOTSTRAP_SNAPSHOT_ID]
    path = first_records_file(directory) if is_new else os.path.join(directory, BOOTSTRAP_CHECKPOINT)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    records = [record for batch in checked_batches(data, path) if not batch.header.is_control for record in records_of(batch)]
    if not any(isinstance(body, FeatureLevelRecord) and body.name == METADATA_VERSION for body, _ in records):
        # Who led with these would lead without a metadata.version.
        raise MetashellError(f"{path}: No FeatureLevelRecord for {METADATA_VERSION} was found in the bootstrap metadata")
    return records


def open_log(config: ControllerConfig) -> MetadataLog:
    """The metadata log, recovered and locked. Errors: MetashellError, OSError."""
    segment_size, segment_ms = config.number("metadata.log.segment.bytes"), config.number("metadata.log.segment.ms")
    # Kafka's own tests set it, below what the other one may be.
    segment_size = config.node.values.maybe_number("internal.metadata.log.segment.bytes") or segment_size
    try:
        return MetadataLog.open(config.directory, segment_size=segment_size, segment_ms=segment_ms, accept_loss=config.accept_loss)
    except BlockingIOError:
        where = f"Failed to acquire lock on file .lock in {config.directory}."
        raise MetashellError(f"{where} A Kafka instance in another process or thread is using this directory.") from None
