"""The file of settings: what it may say, and where it is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.cli.tool import chosen_settings
from metashell.common.settings import DEFAULTS, Settings, SettingsError, parse_settings, read_settings, sgr_of

WHOLE = """
[aliases]
ll = "ls -l"
bad = "health | less"

[defaults]
output = "jsonl"
pager = ""
timing = true
editing-mode = "vi"
toolbar = false
source = "@prod"

[sources]
prod = "-C c1:9093,c2:9093 -c client.properties"
lab = "~/kafka"

[colors]
bad = "bold bright-red"
dim = "none"
key = "208"
"""


def test_everything_that_can_be_chosen() -> None:
    assert parse_settings(WHOLE) == Settings(
        aliases={"ll": "ls -l", "bad": "health | less"},
        sources={"prod": "-C c1:9093,c2:9093 -c client.properties", "lab": "~/kafka"},
        colors={"bad": "1;91", "dim": "", "key": "38;5;208"},
        output="jsonl",
        pager="",
        timing=True,
        editing_mode="vi",
        toolbar=False,
        source="@prod",
    )
    assert parse_settings("") == DEFAULTS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defaults]\noutput = jsonl\n", "line 2, column 10: Invalid value"),
        ("[defaults", "line 1: Expected ']' at the end of a table declaration"),
        (
            '[defaults]\n\noutput = "jsn"\n',
            "line 3: defaults.output: 'jsn' is not one of text, json, jsonl, table, csv (did you mean json?)",
        ),
        ("[defaults]\ntimng = true\n", "line 2: defaults.timng: unknown key (did you mean timing?)"),
        ('[defaults]\ntiming = "yes"\n', "line 2: defaults.timing: must be true or false"),
        ("defaults.timing = 1\n", "line 1: defaults.timing: must be true or false"),
        ('[defaults]\npager = "less\\nrm"\n', "line 2: defaults.pager: must be one line of printable text"),
        ("[alias]\n", "line 1: alias: unknown table (did you mean aliases?)"),
        ("\ncolors = 3\n", "line 2: colors: must be a table: [colors] and lines KEY = VALUE below it"),
        (
            '[aliases]\n"a b" = "ls"\n',
            "line 2: aliases.a b: 'a b' cannot name an alias: letters, digits and _ . + - are allowed, and no - in front",
        ),
        ('[aliases]\nx = ""\n', "line 2: aliases.x: must be one line of printable text"),
        ("[aliases]\nok = 'ls'\n[sources]\nok = 3\n", "line 4: sources.ok: must be a text in quotes"),
        (
            '[colors]\nbad = "rde"\n',
            "line 2: colors.bad: 'rde' is not a colour (did you mean red?); there are black, red, green, yellow, blue, magenta, cyan,"
            " white,"
            " bold, dim, italic, underline, reverse, none, bright-COLOUR, and 0 to 255",
        ),
        ('[colors]\nworst = "red"\n', "line 2: colors.worst: unknown; there are bad, unusual, good, directory, heading, key, dim"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_key(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_settings(text)
    assert str(error.value) == message


@given(st.text(max_size=60), st.integers(0, len(WHOLE)))
def test_no_text_is_more_than_an_error(junk: str, at: int) -> None:
    try:
        parse_settings(WHOLE[:at] + junk + WHOLE[at:])
    except SettingsError as error:
        assert str(error).startswith("line ")


def test_what_is_no_file_of_settings_is_refused_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for make, what in (
        (path.mkdir, "Is a directory"),
        (lambda: path.write_bytes(b"[aliases]\nx = '\xff'"), "line 2: not UTF-8"),
        (lambda: path.write_bytes(b"#" * ((1 << 20) + 1)), "larger than 1048576 bytes, too large for settings"),
    ):
        make()
        with pytest.raises(SettingsError) as error:
            read_settings(str(path))
        assert str(error.value) == f"{path}: {what}"
        path.rmdir() if path.is_dir() else path.unlink()
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="not a file"):
        read_settings(str(path))
    path.unlink()
    with pytest.raises(SettingsError, match="No such file or directory"):
        read_settings(str(path))
    assert read_settings("/dev/null") == DEFAULTS


def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("")
    path.chmod(0o646)
    with pytest.raises(SettingsError, match="not yours, or writable by others"):
        read_settings(str(path))
    path.chmod(0o664)
    assert read_settings(str(path)) == DEFAULTS


def test_a_usual_file_that_is_wrong_is_told_and_a_named_one_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert chosen_settings("kafka-shell") is None
    path = tmp_path / "metashell" / "config.toml"
    path.parent.mkdir()
    path.write_text("[defaults]\ntiming = true\n")
    assert chosen_settings("kafka-shell") == Settings(timing=True)
    path.write_text("[defaults]\ntiming = 1\n")
    assert chosen_settings("kafka-shell") is None
    told = f"kafka-shell: {path}: line 2: defaults.timing: must be true or false (nothing of this file is used)\n"
    assert capsys.readouterr().err == told
    for named in (str(path), None):
        monkeypatch.setenv("METASHELL_CONFIG", str(path))
        with pytest.raises(SettingsError, match="must be true or false"):
            chosen_settings("kafka-shell", named)
    assert chosen_settings("kafka-shell", "/dev/null") == DEFAULTS


def test_colours_are_words() -> None:
    assert (sgr_of("red"), sgr_of("bold underline cyan"), sgr_of("bright-black"), sgr_of("0"), sgr_of("none")) == (
        "31",
        "1;4;36",
        "90",
        "38;5;0",
        "",
    )
