"""Arbitrary bytes where a file of ours is expected: an answer or one line about the fault, never a crash."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import ConfigError, MetashellError
from metashell.disk.bootstrap import parse_scram, parse_voters
from metashell.disk.config import config_of, load_config
from metashell.disk.config_values import config_keys
from metashell.disk.properties import load_ensemble
from metashell.disk.storage_info import read_info
from tests.disk.config_table import BASES

LINES = st.lists(
    st.sampled_from(
        (
            *("version=1", "version=0", "version=", "node.id=1", "node.id=\\u12", "cluster.id=c"),
            *("directory.id=JEXY6aqzQY-32P5TStzaFg", "a\\", "="),
        )
    )
).map(lambda lines: "\n".join(lines).encode())


@given(st.binary(max_size=60) | LINES)
def test_any_meta_properties_is_reported_and_never_a_crash(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("any") / "d1"
    folder.mkdir()
    (folder / "meta.properties").write_bytes(data)
    info = read_info([str(folder)])
    assert info.directories[0].state in ("formatted", "unreadable")
    found = load_ensemble([str(folder)])
    assert bool(found.formatted) == (info.directories[0].state == "formatted")


@given(st.binary(max_size=200))
def test_any_file_as_configuration_is_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "server.properties"
    path.write_bytes(data)
    with suppress(MetashellError):
        load_config(str(path))


@given(st.sampled_from(list(BASES)), st.dictionaries(st.sampled_from(sorted(config_keys())), st.text(max_size=12), max_size=3))
def test_any_value_of_any_key_is_taken_or_refused(base: str, changes: dict[str, str]) -> None:
    with suppress(ConfigError):
        config_of({**BASES[base], **changes})


@given(st.text(st.sampled_from("@:[],1a.=-é "), max_size=30))
def test_any_voter_list_is_taken_or_refused(text: str) -> None:
    with suppress(MetashellError):
        parse_voters(text)


@given(st.text(st.sampled_from('SCRAM-H256=[],"namepsworditl*é '), max_size=40).map(lambda text: f"SCRAM-SHA-256=[{text}]"))
def test_any_credential_is_taken_or_refused(text: str) -> None:
    with suppress(MetashellError):
        parse_scram(text, lambda: b"salt")
