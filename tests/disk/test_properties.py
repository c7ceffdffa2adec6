"""Java properties, read as Java reads them."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError
from metashell.common.values import uuid_text
from metashell.disk.properties import MetaProperties, format_meta_properties, format_properties, parse_properties, read_meta_properties
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


# ---- the file that says whose a log directory is


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "meta.properties"


def test_version_1_names_cluster_node_and_directory(path: Path) -> None:
    path.write_text("#\n#Sat Nov 21\nnode.id=4\nversion=1\ncluster.id=Y3V0\ndirectory.id=Y3V0LW9mZi1sZWFkZXItAw\n")
    found = read_meta_properties(str(path))
    assert (found.version, found.cluster_id, found.node_id) == (1, "Y3V0", 4)
    assert uuid_text(found.directory_id or b"") == "Y3V0LW9mZi1sZWFkZXItAw"


def test_version_0_called_the_node_a_broker_and_had_no_directory_id(path: Path) -> None:
    path.write_text("version=0\nbroker.id=7\n")
    assert read_meta_properties(str(path)) == MetaProperties(version=0, node_id=7)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version=x", "Invalid meta.properties version string 'x'"),
        ("version=2", "Unknown meta.properties version number 2"),
        ("version=1\ncluster.id=c", "Failed to find node.id"),
        ("version=1\nnode.id=1", "cluster.id was not found."),
        ("version=1\nnode.id=one\ncluster.id=c", "Unable to read node.id as a base-10 number."),
        ("version=1\nnode.id=2147483648\ncluster.id=c", "Unable to read node.id as a base-10 number."),
        ("version=1\nnode.id=-2147483649\ncluster.id=c", "Unable to read node.id as a base-10 number."),
        ("broker.id=one", "Unable to read broker.id as a base-10 number."),
        ("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=zz", "Unable to read directory.id as a Uuid: uuid text"),
    ],
)
def test_a_broken_file_is_one_line_that_names_it(path: Path, text: str, reason: str) -> None:
    path.write_text(text)
    with pytest.raises(LogCorruptError, match=reason) as caught:
        read_meta_properties(str(path))
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_file_is_told_as_such(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_meta_properties(str(path))


def test_every_node_of_the_golden_clusters_is_told(golden: Path) -> None:
    files = sorted(golden.glob("*/*/data/*/node-*/*/meta.properties"))
    assert files
    for file in files:
        node = next(part for part in file.parts if part.startswith("node-"))
        assert read_meta_properties(str(file)).node_id == int(node.removeprefix("node-"))


def test_written_meta_properties_are_read_again(path: Path) -> None:
    meta = MetaProperties(version=1, cluster_id=" a=b:c#d!e\\f", node_id=7, directory_id=bytes(range(16)))
    path.write_bytes(format_meta_properties(meta, date="Fri Nov 20 12:25:33 UTC 2026"))
    assert path.read_text().splitlines()[:2] == ["#", "#Fri Nov 20 12:25:33 UTC 2026"]
    assert read_meta_properties(str(path)) == meta


def test_a_file_without_a_version_is_one_of_version_0(path: Path) -> None:
    path.write_text("broker.id=3\n")
    assert read_meta_properties(str(path)) == MetaProperties(version=0, node_id=3)
