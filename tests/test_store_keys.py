"""What opens a store, the user and keys in a URI, stands in nothing that a command leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest

from metashell.cli.inspect.checks import VERIFY
from metashell.cli.inspect.dump_log import DUMP_LOG
from metashell.cli.shell_options import KAFKA_SHELL
from metashell.cli.tables.export import EXPORT
from metashell.cli.tables.report import REPORT
from metashell.cli.tables.sql import SQL
from metashell.common.options import ALL_REPORTS
from tests.inspect.dump.making import LOG_NAME
from tests.secret_logs import content_of, write_logs
from tests.secret_runs import run

TABLE_FORMS = EXPORT.option("format").choices


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    write_logs(folder)
    return folder


KEYS = {"user": "AKIAQUOKKA4711", "key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCY", "token": "FwoGZXIvYXdzEBYaDHqa0AP"}


@pytest.fixture
def store(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of a store that holds the logs, with all that opens it; the store quotes it in each of its complaints."""
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    from metashell.tables import remote_files

    def found(uri: str) -> tuple[object, str]:
        place = uri.partition("?")[0].partition("@bucket/")[2]
        if place.startswith("none"):
            raise remote_files.store_error(
                uri, OSError(f"no {uri}: signed with {KEYS['key']} and {quote(KEYS['key'], safe='')} by {KEYS['user']}")
            )
        return SubTreeFileSystem(str(root), LocalFileSystem()), place

    monkeypatch.setattr(remote_files, "file_system", found)
    return f"s3://{KEYS['user']}:{quote(KEYS['key'], safe='')}@bucket/PLACE?region=eu&session_token={KEYS['token']}"


def keys_in(data: bytes) -> set[str]:
    spellings = {name: (key, quote(key, safe=""), key.replace("/", "\\/")) for name, key in KEYS.items()}
    return {name for name, texts in spellings.items() if any(text.encode() in data for text in texts)}


STORED = ["sound/somewhere", "damaged/somewhere", f"odd/somewhere/{LOG_NAME}", "sound"]


@pytest.mark.parametrize("place", ["none", *(pytest.param(place, marks=pytest.mark.slow) for place in STORED)])
def test_no_row_page_manifest_or_message_tells_what_opens_a_store(store: str, tmp_path: Path, place: str) -> None:
    uri = store.replace("PLACE", place)
    lines = [(SQL, ["select file, cluster_id from records union select file, cluster_id from faults", uri, *more]) for more in ON_ERROR]
    lines += [(REPORT, [ALL_REPORTS, uri, "--out", str(tmp_path / "reports"), *more]) for more in ON_ERROR]
    for form, more in product(TABLE_FORMS, ON_ERROR):
        out = tmp_path / f"{form}-{len(more)}"
        lines.append((EXPORT, [uri, "--out", str(out), "--format", form, "--tables", "all", "--jobs", "1", *more]))
    lines += [(tool, [uri]) for tool in (VERIFY, DUMP_LOG)]
    lines += [(VERIFY, ["-o", "json", uri]), (KAFKA_SHELL, ["-s", uri, "ls"]), (EXPORT, [uri, "--out", uri, "--frmat", "csv"])]
    printed = b""
    for tool, words in lines:
        outcome = run(tool, words, tmp_path, False)
        assert (keys_in(outcome.stdout), keys_in(outcome.stderr.encode())) == (set(), set()), words
        printed += outcome.stdout + outcome.stderr.encode()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path: keys for path in files if (keys := keys_in(content_of(path)))} == {}
    assert f"s3://bucket/{place}".encode() in printed + b"".join(map(content_of, files))


ON_ERROR = [["--on-error", choice] for choice in EXPORT.option("on_error").choices]
