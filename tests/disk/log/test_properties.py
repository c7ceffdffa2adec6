"""Java properties, read as Java reads them."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest

from metashell.disk.properties import format_properties, parse_properties
from tests.java import run_program


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"a=b", {"a": "b"}),
        (b"a:b\nc d\n e = f ", {"a": "b", "c": "d", "e": "f "}),
        (b"# x\n! y\n\n  # z\na", {"a": ""}),
        (b"a=1\na=2", {"a": "2"}),
        (b"long=one\\\n   two\\\r\n\tthree\nnext=x", {"long": "onetwothree", "next": "x"}),
        (b"k\\ e\\=y=v\\:\\#\\n\\u00e9", {"k e=y": "v:#\n\xe9"}),
        (b"caf\xe9=\xff", {"caf\xe9": "\xff"}),
        (b"end=here\\", {"end": "here"}),
        (b"= v", {"": "v"}),
        (b"a\\\\=b", {"a\\": "b"}),
    ],
)
def test_a_line_means_what_it_means_to_java(text: bytes, values: dict[str, str]) -> None:
    assert parse_properties(text) == values


def test_what_is_written_is_read_again() -> None:
    values = {"a key": "a value", " b": " v ", "c=d:e#f!": "=:#!", "g": "", "h\\": "\\", "i\tj": "\n\r\f", "k": "  "}
    written = format_properties(values, date="today")
    assert parse_properties(written) == values
    assert written.startswith(b"#\n#today\na\\ key=a value\n\\ b=\\ v \n")


def test_a_broken_unicode_escape_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\\uxxxx"):
        parse_properties(b"a=\\u12g4")


@pytest.mark.slow
def test_random_files_read_as_java_reads_them(tmp_path: Path) -> None:
    chance = random.Random(631)
    pieces = [b"a", b"b", b"=", b":", b" ", b"\t", b"\f", b"\\", b"\n", b"\r", b"\r\n", b"#", b"!", b"\\u0041", b"\\u00", b"\xe9", b"\\t"]
    files = [b"".join(chance.choices(pieces, k=chance.randrange(25))) for _ in range(5000)]
    program = tmp_path / "Load.java"
    program.write_text(_LOAD)
    answers = run_program(program, stdin=b"".join(base64.b64encode(file) + b"\n" for file in files)).splitlines()
    for file, answer in zip(files, answers, strict=True):
        try:
            ours = sorted(parse_properties(file).items())
        except ValueError:
            assert answer == b"error", file
            continue
        words = [base64.b64decode(word).decode("utf-16-be") for word in answer.decode("ascii").split(" ")[1:]]
        assert ours == sorted(zip(words[::2], words[1::2], strict=True)), file


_LOAD = """
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class Load {
    static String word(String text) {
        return " " + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_16BE));
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line; (line = in.readLine()) != null; out.append('\\n')) {
            Properties properties = new Properties();
            try {
                properties.load(new ByteArrayInputStream(Base64.getDecoder().decode(line)));
                out.append("ok");
                properties.forEach((key, value) -> out.append(word((String) key)).append(word((String) value)));
            } catch (IllegalArgumentException e) {
                out.append("error");
            }
        }
        System.out.print(out);
    }
}
"""
