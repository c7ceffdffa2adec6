"""What a place of output must not be."""

from __future__ import annotations

from metashell.codec.uris import URI_MARK, is_uri, shown_uri, spelled_out
from metashell.errors import PathError, UsageError
from metashell.stores.local import path_of_uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMES = ("file", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}


def require_scheme(uri: str) -> None:
    """Errors: UsageError for the URI of a store that we do not know, before anything is loaded."""
    scheme = uri.partition(URI_MARK)[0].lower()
    if scheme not in SCHEMES:
        raise UsageError(f"{shown_uri(uri)}: no store is known for {scheme}://; there are {', '.join(f'{one}://' for one in SCHEMES)}", uri)


def refuse_sources(place: str, sources: Iterable[str]) -> None:
    """Errors: PathError for a folder of output in one of the sources, or on this machine in any directory of logs."""
    read = list(sources)
    if not is_uri(place):
        from metashell.log.outputs import refuse_folder_of_logs

        refuse_folder_of_logs(place, [path for source in read for path in _local(source)])
        return
    own = _parts(place)
    for source in read:
        if is_uri(source) and any(_lies_in(own, _parts(each)) for each in (source, *spelled_out(source))):
            raise PathError(f"{shown_uri(place)}: lies in {shown_uri(source)}, which is only read", shown_uri(place))


def _local(source: str) -> list[str]:
    """The paths of this machine that a source stands for: none for a store, and for a pattern that matches nothing."""
    if is_uri(source):
        return [path_of_uri(source)] if source.partition(URI_MARK)[0].lower() == "file" else []
    from metashell.log.inputs import paths_of

    try:
        return paths_of(source)
    except PathError:
        return []


def _lies_in(own: list[str], parts: list[str]) -> bool:
    """Whether a place is, or lies in, one that the parts of a path stand for, which may be patterns."""
    from fnmatch import fnmatchcase

    if not parts or not own:
        return not parts
    if parts[0] == "**" and (_lies_in(own, parts[1:]) or _lies_in(own[1:], parts)):
        return True
    return (own[0] == parts[0] or fnmatchcase(own[0], parts[0])) and _lies_in(own[1:], parts[1:])


def _parts(uri: str) -> list[str]:
    """The scheme and the parts of a path, without what opens the store."""
    from urllib.parse import unquote

    scheme, _, rest = shown_uri(uri).partition(URI_MARK)
    path = unquote(rest.partition("?")[0])
    return [_SAME.get(scheme.lower(), scheme.lower()), *filter(None, path.split("/"))]
