"""The log directories of one node, as they are found: formatted, empty, or not to be read.

Source: org.apache.kafka.metadata.properties.MetaPropertiesEnsemble.
"""

import os
from typing import TYPE_CHECKING, Final

from metashell.codec.java_hash import string_hash_order
from metashell.errors import LogCorruptError
from metashell.log.meta_properties import META_PROPERTIES, MetaProperties, read_meta_properties
from metashell.storage.errors import ConfigError
from metashell.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ASIDE_SUFFIX: Final = ".tmp"
"""The suffix of a file until it is whole and on disk."""
PREPARED: Final = META_PROPERTIES + ASIDE_SUFFIX
_RESERVED_IDS = 100


class Ensemble:
    """Directories by class; `errors` has the reason, `prepared` what an interrupted format had ready for a directory."""

    def __init__(self) -> None:
        self.formatted: dict[str, MetaProperties] = {}
        self.empty: list[str] = []
        self.errors: dict[str, str] = {}
        self.prepared: dict[str, MetaProperties] = {}

    def is_unfinished(self, cluster_id: str, node_id: int) -> bool:
        """Whether a format of this very node was cut off after its first directory and before its last.

        Then every directory that is not formatted holds what the same run had ready for it.
        """
        expected = (cluster_id, node_id)
        return bool(
            self.formatted
            and self.empty
            and all(path in self.prepared for path in self.empty)
            and all((m.cluster_id, m.node_id) == expected for m in (*self.formatted.values(), *self.prepared.values()))
        )


def load_ensemble(directories: "Iterable[str]") -> Ensemble:
    """The directories, each read once; those that are missing count as empty."""
    found = Ensemble()
    for path in directories:
        match read_meta(path):
            case None:
                found.empty.append(path)
                if isinstance(prepared := read_meta(path, PREPARED), MetaProperties):
                    found.prepared[path] = prepared
            case str(reason):
                found.errors[path] = reason
            case meta:
                found.formatted[path] = meta
    return found


def read_meta(path: str, name: str = META_PROPERTIES) -> MetaProperties | str | None:
    """The meta.properties of a directory: None where there is none, the reason where it cannot be read."""
    try:
        return read_meta_properties(os.path.join(path, name))
    except FileNotFoundError:
        return None
    except LogCorruptError as error:
        return error.reason
    except OSError as error:
        return error.strerror or str(error)


def verify_ensemble(ensemble: Ensemble, cluster_id: str, node_id: int) -> None:
    """Check that the formatted directories belong to the node, and to each other.

    Errors: ConfigError in Kafka's words.
    """
    seen: dict[bytes, str] = {}
    for path in sorted(ensemble.formatted):
        meta = ensemble.formatted[path]
        _verify_ids(os.path.join(path, META_PROPERTIES), meta, cluster_id, node_id)
        if meta.directory_id is not None:
            _verify_directory_id(path, meta.directory_id, seen)


def _verify_ids(file: str, meta: MetaProperties, cluster_id: str, node_id: int) -> None:
    if meta.cluster_id is not None and meta.cluster_id != cluster_id:
        raise ConfigError(f"Invalid cluster.id in: {file}. Expected {cluster_id}, but read {meta.cluster_id}")
    if meta.node_id is not None and meta.node_id != node_id:
        raise ConfigError(
            f"Stored node id {meta.node_id} doesn't match previous node id {node_id} in {file}. If you moved your data, make sure your "
            "configured node id matches. If you intend to create a new node, you should remove all data in your data directories."
        )


def _verify_directory_id(path: str, directory_id: bytes, seen: dict[bytes, str]) -> None:
    text = uuid_text(directory_id)
    if int.from_bytes(directory_id, "big") < _RESERVED_IDS:
        raise ConfigError(f"Invalid reserved directory ID {text} found in {path}")
    if directory_id in seen:
        raise ConfigError(f"Duplicate directory ID Optional[{text}] found. It was the ID of {seen[directory_id]}, but also of {path}")
    seen[directory_id] = path


def in_hash_order(paths: "Sequence[str]") -> list[str]:
    """The paths as a Java HashMap hands them out, which is the order of Kafka's own output."""
    return list(string_hash_order(paths))
