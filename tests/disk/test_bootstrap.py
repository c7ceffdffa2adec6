"""Voters, SCRAM words and release texts: what Kafka's own parsers make of them, ours do."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.codec.releases import metadata_version_name
from metashell.common.errors import MetashellError
from metashell.disk.bootstrap import parse_scram, parse_voters, release_level
from tests.java import run_program

PROGRAM = Path(__file__).parent / "java" / "Parsers.java"
ID = "JEXY6aqzQY-32P5TStzaFg"

VOTERS = (
    "", ",", " ", f"1@localhost:9093:{ID}", f" 1@localhost:9093:{ID} ,, ", f"2@b:2:{ID},1@a:1:MvDxzVmcRsaTz33bUuRU6A",
    f"1@a:1:{ID},1@b:2:{ID}", "1", "@", "1@", f"@h:1:{ID}", f"x@h:1:{ID}", f"-1@h:1:{ID}", f"+1@h:1:{ID}", f"2147483648@h:1:{ID}",
    "1@h", "1@h:", "1@h:1", "1@h:1:", f"1@h:x:{ID}", f"1@h:-1:{ID}", f"1@h:65535:{ID}", f"1@h:65536:{ID}", f"1@h:0:{ID}", f"1@:1:{ID}",
    f"1@[::1]:1:{ID}", "1@[::1", "1@[::1]", f"1@[::1]x:1:{ID}", f"1@[2001:db8::ff00:42:8329]:1:{ID}", f"1@[fe80::1]:1:{ID}",
    f"1@127.0.0.1:1:{ID}", f"1@host.example:1:{ID}", f"1@host_x:1:{ID}", "1@h:1:zz", f"1@h:1:{ID}=", f"1@h:1:{ID}==", f"1@h:1:{ID}x",
    "1@h:1:AAAAAAAAAAAAAAAAAAAAAA", "1@h:1:not a uuid at all, no", f"1@[h]:1:{ID}", f"1@h:01:{ID}", f"01@h:1:{ID}", f"1@a@b:1:{ID}",
    f"1@[]:1:{ID}", f"1@[::ffff:1.2.3.4]:1:{ID}", f"1@127.1:1:{ID}", f"1@1:1:{ID}", f"1@010.0.0.1:1:{ID}", f"1@256.0.0.1:1:{ID}",
)  # fmt: skip
SCRAM = (
    "SCRAM-SHA-256=[name=alice,salt=N3E=,password=alice-secret]",
    "SCRAM-SHA-512=[name=alice,salt=N3E=,password=alice-secret]",
    " SCRAM-SHA-256=[name=alice,salt=N3E=,password=p] ",
    'SCRAM-SHA-256=[name="alice",salt="N3E=",password="p",iterations=8192]',
    'SCRAM-SHA-256=[name=",salt=N3E=,password=p]',
    'SCRAM-SHA-256=[name="",salt=N3E=,password=p]',
    "SCRAM-SHA-256=[name= alice,salt=N3E=,password=p ]",
    "SCRAM-SHA-256=[name=alice,salt=N3E=,password=päß]",
    "SCRAM-SHA-256=[name=alice,salt=N3E=,password=]",
    "SCRAM-SHA-256=[name=alice,salt=N3E=,password=a=b]",
    "SCRAM-SHA-256=[name=alice,salt=N3E=,saltedpassword=YCE=]",
    "SCRAM-SHA-256=[name=alice,salt=N3E=,saltedpassword=YCE=,password=p]",
    "SCRAM-SHA-256=[name=alice,salt=,password=p]",
    "SCRAM-SHA-256=[name=alice,salt=N3E,password=p]",
    "SCRAM-SHA-256=[name=alice,salt=N3E==,password=p]",
    "SCRAM-SHA-256=[name=alice,salt=*,password=p]",
    "SCRAM-SHA-256=[name=alice,salt=N,password=p]",
    "SCRAM-SHA-256=[name=alice,salt=N3E=,password=p,]",
    "SCRAM-SHA-256=[name=alice,salt=N3E=,password=p,,]",
    "SCRAM-SHA-256=[,name=alice,salt=N3E=,password=p]",
    "SCRAM-SHA-256=[name=a,name=b,salt=N3E=,password=p]",
    "SCRAM-SHA-256=[]",
    "SCRAM-SHA-256=[",
    "SCRAM-SHA-256=",
    "SCRAM-SHA-256",
    "scram-sha-256=[name=a,password=p]",
    "PLAIN=[name=a,password=p]",
    "=[name=a,password=p]",
    "SCRAM-SHA-256=name=a,password=p]",
    "SCRAM-SHA-256=[name=a,password=p",
    "SCRAM-SHA-256=[name=a]",
    "SCRAM-SHA-256=[password=p]",
    "SCRAM-SHA-256=[name=a,saltedpassword=YCE=]",
    "SCRAM-SHA-256=[name=a,salt=N3E=,saltedpassword=*]",
    "SCRAM-SHA-256=[name=a,salt=N3E=,password=p,x=1,y=2]",
    *(
        f"SCRAM-SHA-256=[name=a,salt=N3E=,password=p,iterations={count}]"
        for count in ("4095", "4096", "16384", "16385", "x", "", "-1", "+4096", "0")
    ),
)  # fmt: skip
RELEASES = (
    "3.3", "3.9", "4.3", "4.4", "4.3-IV0", "4.4-IV0", "3.7.1", "3.7.1.2", "3.7-IV4.2", "3.7-IV9", "3.3-IV2", "3.2", "4", "4.", "4.3.",
    "4.3.x", "0.10.2", "3.7-iv4", "", ".", "..", "4.3.1", "3.0", " 3.7", "3.7 ", "x",
)  # fmt: skip


def voters(word: str) -> str:
    return ",".join(voter.text for voter in parse_voters(word))


def scram(word: str) -> str:
    record = parse_scram(word, lambda: b"chance")
    secrets = (b64encode(part).decode() for part in (record.salt, record.stored_key, record.server_key))
    return "\t".join([record.name, str(record.mechanism), *secrets, str(record.iterations)])


def release(word: str) -> str:
    return metadata_version_name(release_level(word, unstable=False))


CASES: tuple[tuple[str, Callable[[str], str], tuple[str, ...]], ...] = (
    ("voters", voters, VOTERS),
    ("scram", scram, SCRAM),
    ("release", release, RELEASES),
)


@pytest.mark.slow
def test_words_mean_what_they_mean_to_kafka() -> None:
    words = [(kind, parse, word) for kind, parse, many in CASES for word in many]
    printed = run_program(PROGRAM, stdin="".join(f"{kind} {word}\n" for kind, _, word in words).encode()).decode().split("\n")
    differing = []
    for (kind, parse, word), line in zip(words, printed, strict=False):
        try:
            answer = f"ok\t{parse(word)}"
        except MetashellError as error:
            # What may hold a part of a password is not repeated by ours.
            answer = "no" if kind == "scram" else f"no\t{error}"
        expected = "no" if kind == "scram" and line.startswith("no") else line
        if answer != expected:
            differing.append((kind, word, expected, answer))
    assert not differing


def test_a_fresh_salt_is_taken_only_where_none_is_given() -> None:
    assert parse_scram("SCRAM-SHA-256=[name=a,password=p]", lambda: b"fresh").salt == b"fresh"
    assert parse_scram("SCRAM-SHA-256=[name=a,salt=N3E=,password=p]", lambda: b"fresh").salt == b"7q"
