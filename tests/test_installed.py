"""How this copy was installed: from distributions made here, one for each way."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from metashell.common import runtime
from metashell.common.runtime import how_to_add, missing


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with a copy of the package, which `runtime` takes for its own; gives its packages' folder."""
    packages = tmp_path / "env" / "lib"
    (packages / "metashell").mkdir(parents=True)
    monkeypatch.setattr(runtime, "_FOLDER", str(packages / "metashell"))
    monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(sys, "executable", "/env/bin/python")
    return packages


def distribution(packages: Path, installer: str = "pip", **direct_url: object) -> None:
    folder = packages / "metashell-9.9.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: metashell\nVersion: 9.9\n")
    (folder / "INSTALLER").write_text(f"{installer}\n")
    if direct_url:
        (folder / "direct_url.json").write_text(json.dumps(direct_url))


def test_what_came_from_an_index_is_asked_for_there(copy: Path) -> None:
    distribution(copy)
    assert how_to_add("sql") == "/env/bin/python -m pip install 'metashell[sql]'"


def test_what_came_from_a_directory_is_asked_for_there(copy: Path) -> None:
    distribution(copy, url="file:///src/my%20metashell", dir_info={})
    assert how_to_add("sql") == "/env/bin/python -m pip install '/src/my metashell[sql]'"


def test_an_editable_copy_stays_editable(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = copy.parent / "source"
    (source / "metashell").mkdir(parents=True)
    monkeypatch.setattr(runtime, "_FOLDER", str(source / "metashell"))
    distribution(copy, url=source.as_uri(), dir_info={"editable": True})
    assert how_to_add("tls") == f"/env/bin/python -m pip install -e '{source}[tls]'"


def test_what_came_from_an_archive_or_a_repository_names_it(copy: Path) -> None:
    distribution(copy, url="file:///x/metashell-9.9-py3-none-any.whl", archive_info={})
    assert how_to_add("sql").endswith(" -m pip install 'metashell[sql] @ file:///x/metashell-9.9-py3-none-any.whl'")


def test_a_repository_is_named_at_its_commit(copy: Path) -> None:
    distribution(copy, url="https://example.org/m.git", vcs_info={"vcs": "git", "commit_id": "ab12"})
    assert how_to_add("sql").endswith("'metashell[sql] @ git+https://example.org/m.git@ab12'")


def test_pipx_and_uv_are_recognised_by_what_they_leave_in_the_environment(copy: Path) -> None:
    distribution(copy)
    receipt = Path(sys.prefix, "pipx_metadata.json")
    receipt.touch()
    assert how_to_add("sql") == "pipx install --force 'metashell[sql]'"
    receipt.unlink()
    Path(sys.prefix, "uv-receipt.toml").touch()
    assert how_to_add("sql") == "uv tool install --force 'metashell[sql]'"


def test_an_environment_of_uv_is_asked_with_uv(copy: Path) -> None:
    distribution(copy, installer="uv")
    assert how_to_add("sql") == "uv pip install --python /env/bin/python 'metashell[sql]'"


def test_a_source_tree_that_was_never_installed_says_so(copy: Path) -> None:
    expected = f"this copy runs from a source tree: /env/bin/python -m pip install -e '{copy}[sql]'"
    assert how_to_add("sql") == expected


def test_another_copy_of_the_package_is_not_taken_for_this_one(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(copy)
    monkeypatch.setattr(runtime, "_FOLDER", "/elsewhere/metashell")
    assert how_to_add("sql").startswith("this copy runs from a source tree: ")


def test_the_line_names_the_package_the_extra_and_the_command(copy: Path) -> None:
    distribution(copy)
    assert missing("duckdb", "sql") == (
        "duckdb is not installed; it comes with the extra 'sql': /env/bin/python -m pip install 'metashell[sql]'"
    )
