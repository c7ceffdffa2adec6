"""The settings of a user, for all runs: aliases, defaults, names of sources and colours, from one TOML file.

    ~/.config/metashell/config.toml     below $XDG_CONFIG_HOME where that is set; METASHELL_CONFIG or --settings names another

Commands with Kafka's names never read it. Without the file, `DEFAULTS` apply. A file with an error is refused as a whole, with the line
and the key at fault: half of the settings would be worse than none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from stat import S_ISREG, S_IWOTH
from typing import TYPE_CHECKING, Any, Final

from metashell.common.errors import UsageError
from metashell.common.options import did_you_mean
from metashell.common.terminal import ROLES

if TYPE_CHECKING:
    from pathlib import Path


SOURCE_SIGN = "@"
"""The sign before the name of a source: `kafka-shell @prod`."""
EMACS, VI = "emacs", "vi"
_FORMS = ("text", "json", "jsonl", "table", "csv")
_SIZE_MAX = 1 << 20
_NAME = r"[A-Za-z0-9_.+-]+"
_ATTRIBUTES: Final = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7"}
_COLORS: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_BRIGHT = "bright-"


class SettingsError(UsageError):
    """An error in the file of settings: the file, the line and the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, with defaults for those that the file does not have.

    Shape: `aliases` are texts by name; `sources` are paths or the words of a command line by name. `colors` are SGR parameters (`1;31`)
    by role, empty for no colour. `pager` is a command line, empty for no pager, None for $PAGER.
    """

    aliases: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    colors: Mapping[str, str] = field(default_factory=dict)
    output: str | None = None
    pager: str | None = None
    timing: bool = False
    editing_mode: str = EMACS
    toolbar: bool = True
    source: str | None = None


DEFAULTS: Final = Settings()


def state_folder(environ: Mapping[str, str]) -> Path:
    """The folder of a user's state between runs: `metashell` under $XDG_STATE_HOME, by default ~/.local/state."""
    from pathlib import Path

    state = environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return folder / "metashell"


def read_settings(path: str, check_alias: Callable[[str, str], None] = lambda name, text: None) -> Settings:
    """The settings of a file. `check_alias` raises UsageError for an alias that the shell could not run. Errors: SettingsError."""
    if path == os.devnull:
        return DEFAULTS
    try:
        # Without O_NONBLOCK, opening a named pipe would block for ever.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY)) as opened:
            _check_file(path, os.fstat(opened.fileno()))
            data = opened.read(_SIZE_MAX + 1)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}", path) from None
    if len(data) > _SIZE_MAX:
        raise SettingsError(f"{path}: larger than {_SIZE_MAX} bytes, too large for settings", path)
    try:
        return parse_settings(data.decode("utf-8"), check_alias)
    except UnicodeDecodeError as error:
        line = data.count(10, 0, error.start) + 1
        raise SettingsError(f"{path}: line {line}: not UTF-8", path) from None
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}", path) from None


def _check_file(path: str, found: os.stat_result) -> None:
    """Errors: SettingsError unless it is a file that only its owner may write: it names commands that will be run."""
    if not S_ISREG(found.st_mode):
        raise SettingsError(f"{path}: not a file", path)
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & S_IWOTH:
        raise SettingsError(f"{path}: not yours, or writable by others: it can name commands, so it is not read", path)


def parse_settings(text: str, check_alias: Callable[[str, str], None] = lambda name, text: None) -> Settings:
    """The settings of a text in TOML. Errors: SettingsError that begins with the line."""
    import tomllib

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text) from None
    except RecursionError:
        raise SettingsError("nested too deeply") from None
    chosen: dict[str, Any] = {}
    for table, entries in tables.items():
        if table not in _TABLES:
            raise _error(text, "", table, f"unknown table{did_you_mean(table, [*_TABLES])}")
        if not isinstance(entries, dict):
            raise _error(text, "", table, f"must be a table: [{table}] and lines KEY = VALUE below it")
        for key, value in entries.items():
            try:
                _TABLES[table](chosen, key, value)
                if table == "aliases":
                    check_alias(key, chosen[table][key])
            except UsageError as error:
                raise _error(text, table, key, str(error)) from None
    return Settings(**chosen)


# --- the tables --------------------------------------------------------------------------------------------------------------


def _alias(chosen: dict[str, Any], name: str, value: object) -> None:
    chosen.setdefault("aliases", {})[_name(name, "an alias")] = _line(value)


def _source(chosen: dict[str, Any], name: str, value: object) -> None:
    chosen.setdefault("sources", {})[_name(name, "a source")] = _line(value)


def _color(chosen: dict[str, Any], role: str, value: object) -> None:
    if role not in ROLES:
        raise UsageError(f"unknown; there are {', '.join(ROLES)}{did_you_mean(role, [*ROLES])}")
    chosen.setdefault("colors", {})[role] = sgr_of(_text(value))


def _default(chosen: dict[str, Any], key: str, value: object) -> None:
    if key not in _DEFAULT_KEYS:
        raise UsageError(f"unknown key{did_you_mean(key, [*_DEFAULT_KEYS])}")
    chosen[key.replace("-", "_")] = _DEFAULT_KEYS[key](value)


def sgr_of(words: str) -> str:
    """The SGR parameters for words such as `bold bright-red`, `208` (of 256 colours) or `none`. Errors: UsageError."""
    found = []
    for word in words.split():
        if word in _ATTRIBUTES:
            found.append(_ATTRIBUTES[word])
        elif word.removeprefix(_BRIGHT) in _COLORS:
            found.append(str((90 if word.startswith(_BRIGHT) else 30) + _COLORS.index(word.removeprefix(_BRIGHT))))
        elif re.fullmatch("[0-9]{1,3}", word) and int(word) < 256:
            found.append(f"38;5;{int(word)}")
        elif word != "none":
            known = (*_COLORS, *_ATTRIBUTES, "none")
            raise UsageError(
                f"{word!r} is not a colour{did_you_mean(word, known)}; there are {', '.join(known)}, bright-COLOUR, and 0 to 255"
            )
    return ";".join(found)


def _name(name: str, what: str) -> str:
    if not re.fullmatch(_NAME, name) or name.startswith("-"):
        raise UsageError(f"{name!r} cannot name {what}: letters, digits and _ . + - are allowed, and no - in front")
    return name


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise UsageError("must be a text in quotes")
    return value


def _line(value: object) -> str:
    text = _text(value).strip()
    if not text or not text.isprintable():
        raise UsageError("must be one line of printable text")
    return text


def _pager(value: object) -> str:
    text = _text(value).strip()
    return _line(text) if text else ""


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError("must be true or false")
    return value


def _one_of(*known: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if (text := _text(value)) not in known:
            raise UsageError(f"{text!r} is not one of {', '.join(known)}{did_you_mean(text, known)}")
        return text

    return check


_DEFAULT_KEYS: Final[Mapping[str, Callable[[object], object]]] = {
    "output": _one_of(*_FORMS),
    "pager": _pager,
    "timing": _truth,
    "editing-mode": _one_of(EMACS, VI),
    "toolbar": _truth,
    "source": _line,
}
_TABLES: Final[Mapping[str, Callable[[dict[str, Any], str, object], None]]] = {
    "aliases": _alias,
    "defaults": _default,
    "sources": _source,
    "colors": _color,
}


# --- the place of an error ---------------------------------------------------------------------------------------------------


def _syntax_error(message: str, text: str) -> SettingsError:
    """The TOML parser's message, with the line first."""
    found = re.fullmatch(r"(?s)(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message)
    if found is None:
        return SettingsError(message)
    line = found[2] or str(len(text.splitlines()) or 1)
    column = f", column {found[3]}" if found[3] else ""
    return SettingsError(f"line {line}{column}: {found[1]}")


def _error(text: str, table: str, key: str, what: str) -> SettingsError:
    return SettingsError(f"line {_line_number(text, table, key)}: {f'{table}.{key}' if table else key}: {what}")


def _line_number(text: str, table: str, key: str) -> int:
    """The line of a table or key, by the usual ways to write it; else the first line with the key."""
    current = ""
    named = rf"""["']?{re.escape(key)}["']?\s*[=.]"""
    qualified = rf"""["']?{re.escape(table or key)}["']?\s*[=.]"""
    fallback = 0
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.match(r"""\s*\[+\s*["']?(.*?)["']?\s*\]""", line):
            current = heading[1]
            if (current if table else current.split(".")[0]) == (f"{table}.{key}" if table else key):
                return number
        elif current == table and re.match(rf"\s*{named}", line):
            return number
        elif not fallback and key in line and (not current or re.match(rf"\s*{qualified}", line)):
            fallback = number
    return fallback or 1
