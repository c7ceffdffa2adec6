"""Places of output: a folder on this machine, or one in an object store or HDFS.

`open_store(place)` gives a `Store` for a path or URI: `LocalStore` for paths and `file://`, `RemoteStore` for `s3://` (also `s3a://`),
`gs://`, `abfs://` and `hdfs://`, through pyarrow. Names in it are relative, with "/" between.

Promises: a file is there under its name whole, or not at all, whatever ends the process. Nothing is written below a source or in a
directory of logs. `require_writable` fails before the work where writing would fail after it. An error is one line that names the place
without credentials. A request that fails now and then is repeated, if it may be repeated.

A store is a small value that can be pickled: workers and executors open it again by its place. Only `remote` and
`file_systems` know pyarrow, and they are imported when a URI is opened: local folders need the base install.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metashell.common.errors import UsageError
from metashell.common.uris import is_uri, without_credentials
from metashell.tables.stores.local import LocalStore, path_of_uri, refuse_sources, require_scheme
from metashell.tables.stores.store import Held, Store, StoreFile

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Held", "Store", "StoreFile", "open_store"]

_ONE_SLASH = re.compile(r"(?:s3a?|s3n|gs|gcs|abfss?|wasbs?|hdfs|viewfs|file):(?!//)", re.IGNORECASE)


def open_store(place: str, *, sources: Iterable[str] = (), only_reads: bool = False) -> Store:
    """Return the store of a path or URI. Nothing is created and no request is sent yet: see `require_writable`.

    Errors: UsageError for a URI that no store has; PathError for a place in one of the `sources` or in a directory of logs, unless the
    caller `only_reads`.
    """
    if not is_uri(place):
        if _ONE_SLASH.match(place):
            shown = without_credentials(place)
            advice = f"; for a folder of that name say ./{place}" if shown == place else ""
            raise UsageError(f"{shown}: the URI of a store has two slashes behind its scheme{advice}", shown)
        if not only_reads:
            refuse_sources(place, sources)
        return LocalStore(place)
    scheme = place.partition("://")[0].lower()
    if scheme == "file":
        path = path_of_uri(place)
        if not only_reads:
            refuse_sources(path, sources)
        return LocalStore(path)
    require_scheme(place)
    refuse_sources(place, sources)
    from metashell.tables.stores.remote import RemoteStore

    return RemoteStore(place)
