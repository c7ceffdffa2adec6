"""Properties files in bulk: what java.util.Properties reads in them, and what it writes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.disk.properties import format_properties, parse_properties
from tests.java import run_program

PROGRAM = Path(__file__).parent / "java" / "LoadProperties.java"
CASES = 20_000
PIECES = (
    "a", "b", "key", "log.dirs", "=", ":", " ", "\t", "\x0c", "\\", "\\\\", "\\\n", "\\\r\n", "\\\r", "\n", "\r",
    "\r\n", "#", "!", "\\u0041", "\\u00e9", "\\u12", "\\uD83D\\uDE00", "\\u", "\\t", "\\n", "\\ ", "\\=", "\\:", "\\#",
    "\\é", "é", "value with blanks", "a=b", "x:y", "  ", "\n\n", "\\\n  more", "\\\n#no comment", "\x00", "\x85",
    "\xa0", "\\\n\n", "=\\\n", "\\u00zz", '"', "'", "/var/lib/kafka,/d2", "\\u0020",
)  # fmt: skip


def fuzz_files(seed: int, count: int) -> list[bytes]:
    """Files of pieces that mean something to the format, some of them UTF-8, some ISO 8859-1."""
    chance = random.Random(seed)
    files = []
    for _ in range(count):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randrange(12)))
        files.append(text.encode(chance.choice(("utf-8", "latin-1"))))
    return files


def as_java(file: bytes) -> str:
    """Our reading of a file in the form of the Java program's."""
    try:
        values = parse_properties(file)
    except ValueError:
        return "bad"
    return " ".join(f"{_hex(key)}={_hex(value)}" for key, value in sorted(values.items(), key=lambda item: _utf16(item[0])))


def _hex(text: str) -> str:
    return _utf16(text).hex() + "."


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


@pytest.mark.slow
def test_twenty_thousand_files_read_as_java_reads_them_and_values_are_written_as_java_writes_them() -> None:
    files = fuzz_files(1, CASES)
    answers = run_program(PROGRAM, stdin="".join(f"{file.hex()}\n" for file in files).encode()).decode().split("\n")
    assert len(answers) == len(files) + 1
    differing = []
    for file, answer in zip(files, answers, strict=False):
        triples = [word.split("=") for word in answer.split()] if answer != "bad" else []
        read = "bad" if answer == "bad" else " ".join("=".join(triple[:2]) for triple in triples)
        if as_java(file) != read:
            differing.append((file, read, as_java(file)))
        for key, value, line in triples:
            if "d83d" in key + value or "de00" in key + value:
                continue  # Half a pair cannot be written.
            written = format_properties({_text(key): _text(value)}, date="x").split(b"\n", 2)[2].rstrip(b" \t\n\f\r")
            if written.decode("utf-8", "surrogateescape") != _text(line):
                differing.append((file, _text(line), written))
    assert not differing[:5]


def _text(hexadecimal: str) -> str:
    return bytes.fromhex(hexadecimal.removesuffix(".")).decode("utf-16-be", "surrogatepass")


@given(st.dictionaries(st.text(st.characters(max_codepoint=126)), st.text(st.characters(max_codepoint=126)), max_size=4))
def test_what_is_written_is_read_again(values: dict[str, str]) -> None:
    assert parse_properties(format_properties(values, date="now")) == values
