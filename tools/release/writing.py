"""Brings into this tree what can be generated from a release: schemas, errors, names of levels, settings."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Final

from metashell.codec.error_codes import MESSAGES
from metashell.codec.releases import NEWEST_LEVEL
from tools import gen_config_definitions, gen_config_keys
from tools.release.facts import Difference, Facts
from tools.release.merging import NotMergedError, merged
from tools.release.tree import ROOT, SCHEMAS

_CODEC: Final = ROOT / "metashell" / "codec"
_GENERATORS: Final = ("tools.gen_stubs", "tools.gen_dispatch")
_RELEASE: Final = re.compile(r"\b\d+\.\d+\.\d+\b")
_WIDTH: Final = 120


def write(release: Facts, found: list[Difference]) -> Iterator[str]:
    """Write what differs, and say what was written and what was not."""
    for one in found:
        if one.area == "messages":
            yield _write_message(one, release)
    yield from _write_errors([one for one in found if one.area == "errors"], release)
    yield from _write_levels([one for one in found if one.area == "levels"])
    settings = [one for one in found if one.area == "settings"]
    if settings:
        gen_config_definitions.main(release.source)
        gen_config_keys.main(release.source)
        yield f"wrote settings: {len(settings)} of them"
    for module in _GENERATORS:
        subprocess.run([sys.executable, "-m", module], cwd=ROOT, check=True)


def _write_message(one: Difference, release: Facts) -> str:
    if one.new is None:
        return f"by hand: {one.name} is gone"
    path = SCHEMAS / f"{one.name}.schema"
    message = release.messages[one.name]
    try:
        text = merged(path.read_text(encoding="utf-8"), message.text, is_partial=message.is_partial) if path.exists() else message.text
    except NotMergedError as reason:
        return f"by hand: {one.name}: {reason}"
    path.write_text(text, encoding="utf-8")
    missing = "; its class does not say `entity`, `ignorable` and `key`" if message.is_partial else ""
    return f"wrote {path.relative_to(ROOT)}{missing}"


def _write_errors(found: list[Difference], release: Facts) -> Iterator[str]:
    if not found:
        return
    path = _CODEC / "error_codes.py"
    source = path.read_text(encoding="utf-8")
    texts = dict(MESSAGES)
    for one in found:
        if one.new is None:
            yield f"by hand: error {one.name} is gone"
            continue
        name, _, texts[int(one.name)] = release.errors[one.name].partition(": ")
        if one.old is None:
            end = [line.end() for line in re.finditer(r"^[A-Z_]+: Final = -?\d+\n", source, re.MULTILINE)][-1]
            source = f"{source[:end]}{name}: Final = {one.name}\n{source[end:]}"
        yield f"wrote error {one.name} {name}"
    head, opening, rest = source.partition("MESSAGES: Final = {\n")
    _, closing, rest = rest.partition("\n}\n")
    source = f"{head}{opening}{''.join(_entry(code, texts[code]) for code in sorted(texts)).rstrip()}{closing}{rest}"
    docstring, end, rest = source.partition("\n\nfrom ")
    path.write_text(_RELEASE.sub(release.source, docstring) + end + rest, encoding="utf-8")


def _entry(code: int, text: str) -> str:
    """A line of the table of messages, or several where it is long."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    if len(quoted) < _WIDTH:
        return f'    {code}: "{quoted}",\n'
    pieces = textwrap.wrap(quoted, _WIDTH - 10, drop_whitespace=False, break_long_words=False)
    return f"    {code}: (\n" + "".join(f'        "{piece}"\n' for piece in pieces) + "    ),\n"


def _write_levels(found: list[Difference]) -> Iterator[str]:
    path = _CODEC / "releases.py"
    source = path.read_text(encoding="utf-8")
    names = {one.name: [None if side is None else _level_name(side[0]) for side in (one.old, one.new)] for one in found}
    for level, (before, name) in names.items():
        if before and name and before != name:
            source = source.replace(f'"{before}"', f'"{name}"', 1)
            yield f"wrote level {level} {name}, before {before}"
    new = [f'"{name}"' for level, (before, name) in names.items() if before is None and int(level) > NEWEST_LEVEL]
    if new:
        end = source.index(")\nOLDEST_LEVEL")
        source = f"{source[:end]}    *({', '.join(new)},),\n{source[end:]}"
        yield f"wrote levels {', '.join(new)}"
    path.write_text(source, encoding="utf-8")


def _level_name(line: str) -> str:
    return line.partition(":")[0].removesuffix(" (unreleased)")
