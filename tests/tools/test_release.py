"""What a release changed is found, and brought into texts that know older versions."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.releases import NEWEST_RELEASE
from metashell.codec.schema import parse_schema
from tools.release import __main__ as command
from tools.release import writing
from tools.release.decisions import decisions
from tools.release.definitions import class_schema, definition, json_schema
from tools.release.facts import AREAS, Facts, Message, differences
from tools.release.lines import meaning, read_lines, schema_text
from tools.release.merging import NotMergedError, merged
from tools.release.tree import FAMILIES, SCHEMAS

STORED = Path(__file__).parent / "release-4.2.1-4.3.1.txt"
DEFINITION = """
// http://www.apache.org
{ "apiKey": 9002, "type": "request", "listeners": ["broker", "controller"], "name": "RackLabelRequest",
  "latestVersionUnstable": true, "validVersions": "1-2", "flexibleVersions": "1+",
  // a remark with "words"
  "fields": [
    { "name": "Url", "type": "string", "versions": "0+", "nullableVersions": "2+", "default": "null", "about": "http://x" },
    { "name": "Old", "type": "[]int32", "versions": "0-1", "entityType": "brokerId", "ignorable": true },
    { "name": "Links", "type": "[]Link", "taggedVersions": "2+", "tag": 0, "default": null, "fields": [
      { "name": "Peer", "type": "string", "versions": "2+", "mapKey": true },
      { "name": "Data", "type": "Data", "versions": "2+" } ] } ],
  "commonStructs": [ { "name": "Data", "versions": "2+", "fields": [
      { "name": "Is", "type": "bool", "versions": "2+", "default": true } ] } ]
}
"""
THEIRS = """\
request RackLabelRequest key 9002 versions 1-2 flexible 1+ latest-unstable listeners broker,controller
    Url    string         0+     nullable 2+ default null
    Old    []int32        0-1    ignorable entity brokerId
    Links  []Link         2+     tag 0 2+
        Peer  string         2+     key
        Data  Data           2+
    struct Data 2+
        Is  bool           2+     default true
"""
OURS = """\
request RackLabelRequest key 9002 versions 0-1 flexible 1+ listeners broker
    Url     string         0+     default null
    Zk      Node           0
        Id  int32          0+
    Old     []int32        0+     entity brokerId
    Oldest  bool           0
"""
MERGED = """\
request RackLabelRequest key 9002 versions 0-2 flexible 1+ latest-unstable listeners broker,controller
    Url     string         0+     nullable 2+ default null
    Zk      Node           0
        Id  int32          0+
    Old     []int32        0-1    ignorable entity brokerId
    Links   []Link         2+     tag 0 2+
        Peer  string         2+     key
        Data  Data           2+
    Oldest  bool           0
    struct Data 2+
        Is  bool           2+     default true
"""


def test_a_definition_of_kafkas_is_a_text_of_ours() -> None:
    read = definition(DEFINITION)
    assert read is not None
    assert json_schema(read, "request") == THEIRS
    assert definition('{"validVersions": "none"}') is None


def test_texts_of_classes_have_the_fields_of_all_versions_in_their_places() -> None:
    rows = [
        ["message", "org.apache.kafka.common.metadata.RackRecord", "99", "0", "1"],
        ["field", "0", "0", "id", "int32", "false", "", "-1"],
        ["field", "0", "0", "gone", "string", "false", "", ""],
        ["field", "1", "0", "id", "int32", "false", "", "-1"],
        ["field", "1", "0", "links", "[]Link", "true", "", ""],
        ["field", "1", "1", "peerId", "int16", "false", "", ""],
        ["flexible", "1", "1"],
        ["field", "1", "0", "last", "bool", "false", "", ""],
        ["flexible", "1", "0"],
        ["field", "1", "0", "tagged", "string", "true", "0", "null"],
        ["field", "0", "0", "last", "bool", "false", "", ""],
    ]
    assert class_schema(rows, "metadata") == (
        "metadata RackRecord key 99 versions 0-1 flexible 1+\n"
        "    Id      int32          0+     default -1\n"
        "    Gone    string         0\n"
        "    Links   []Link         1+     nullable 1+\n"
        "        PeerId  int16          1+\n"
        "    Last    bool           0+\n"
        "    Tagged  string         1+     nullable 1+ tag 0 1+ default null\n"
    )


def test_the_texts_of_the_tree_are_written_as_they_were_read() -> None:
    for family in FAMILIES:
        for path in (SCHEMAS / family).glob("*.schema"):
            assert schema_text(read_lines(path.read_text())) == path.read_text(), path.name


def test_a_release_keeps_the_versions_before_its_own() -> None:
    assert merged(OURS, THEIRS) == MERGED
    assert meaning(MERGED, 1, 2) == meaning(THEIRS, 1, 2)
    assert [line for line in meaning(MERGED, 0, 0)[1:] if "Old" not in line] == [
        line for line in meaning(OURS, 0, 0)[1:] if "Old" not in line
    ]


def test_a_release_that_has_all_our_versions_is_taken_as_it_is() -> None:
    assert merged(OURS.replace("versions 0-1", "versions 1"), THEIRS) == THEIRS


def test_every_text_of_the_tree_merges_with_its_own_newest_version() -> None:
    """As a release that dropped all versions but the newest would bring it."""
    for family in FAMILIES:
        for path in (SCHEMAS / family).glob("*.schema"):
            text = path.read_text()
            low, high = parse_schema(text).versions.low, parse_schema(text).versions.high
            head, _, rest = text.partition("\n")
            newest = f"{head.replace(f'versions {low}-{high}', f'versions {high}')}\n{rest}"
            made = merged(text, newest)
            assert meaning(made, low, high) == meaning(text, low, high), path.name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("A int32 0+\n    B int32 0+", "B int32 0+\n    A int32 0+"),
        ("A int32 0+", "A int32 2+"),
        ("A int32 0+ default 7", "A int32 0+"),
        ("A int32 0+", "A int64 0+"),
    ],
    ids=["order", "gap", "default", "type"],
)
def test_what_two_texts_contradict_each_other_about_is_left_to_a_person(ours: str, theirs: str) -> None:
    with pytest.raises(NotMergedError):
        merged(f"data X versions 0-1 flexible none\n    {ours}\n", f"data X versions 1-2 flexible none\n    {theirs}\n")


def facts(**areas: Any) -> Facts:
    made = Facts("9.9.9")
    for name, value in areas.items():
        setattr(made, name, value)
    return made


def test_only_what_differs_is_shown_and_a_long_line_from_its_change_on() -> None:
    words = "x" * 300
    old = facts(
        errors={"1": "A: a", "2": "B: b"}, settings={"topic k": f"INT 1\n{words}"}, messages={"request/RackLabelRequest": Message(OURS)}
    )
    new = facts(
        errors={"1": "A: a", "3": "C: c"}, settings={"topic k": f"INT 1\n{words}y"}, messages={"request/RackLabelRequest": Message(THEIRS)}
    )
    shown = [line for one in differences(old, new, ("messages", "errors", "settings")) for line in one.lines()]
    assert shown == [
        "messages request/RackLabelRequest",
        "    - request RackLabelRequest key 9002 versions 1-1 flexible 1+ broker",
        "    - Url string 1+ default null",
        "    - Old []int32 1+",
        "    + request RackLabelRequest key 9002 versions 1-2 flexible 1+ broker controller latest-unstable",
        "    + Url string 1+ nullable 2+ default null",
        "    + Old []int32 1 ignorable",
        "    + Links []Link 2+ tag 0 2+",
        "    + Data.Is bool 2+ default true",
        "    + Link.Peer string 2+",
        "    + Link.Data Data 2+",
        "errors 2: gone",
        "    - B: b",
        "errors 3: new",
        "    + C: c",
        "settings topic k",
        f"    - ...{'x' * 40}",
        f"    + ...{'x' * 40}y",
    ]


def test_a_new_record_a_new_api_and_a_new_level_ask_for_decisions() -> None:
    release = facts(
        messages={
            "metadata/RackRecord": Message("metadata RackRecord key 30 versions 0 flexible 0+\n    Id int32 0+\n", is_partial=True),
            "metadata/TopicRecord": Message("metadata TopicRecord key 2 versions 0-1 flexible 0+\n    Name string 0+\n", is_partial=True),
            "request/RackLabelRequest": Message(THEIRS),
        },
        levels={"99": "9.9-IV0"},
        questions={"99": "isRackSupported"},
        features={"metadata.version": "7-99", "share.version 3": "default from 99", "rack.version 0": "default from 7"},
    )
    told = "\n".join(decisions(differences(facts(), release, ("messages", "levels", "features")), release))
    for words in (
        "RackRecord: since which release",
        "RackRecord: what it does to an image",
        "RackRecord version 0: its first level",
        "TopicRecord version 1: its first level",
        "RackLabelRequest (api 9002, broker, controller): who answers it",
        "level 99 (9.9-IV0): what begins there; Kafka says isRackSupported",
        "RELEASES of codec/releases.py: it supports 7-99",
        "share.version level 3",
        "the feature rack.version is new",
        f"--controllers ours,9.9.9,{NEWEST_RELEASE.patch} --release {NEWEST_RELEASE.name}",
    ):
        assert words in told, told
    assert list(decisions([], facts())) == []


def test_what_can_be_generated_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = tmp_path / "metashell" / "codec"
    shutil.copytree(SCHEMAS.parent, codec, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(writing, "ROOT", tmp_path)
    monkeypatch.setattr(writing, "_CODEC", codec)
    monkeypatch.setattr(writing, "SCHEMAS", codec / "schemas")
    monkeypatch.setattr(writing, "_GENERATORS", ())
    release = facts(
        messages={"request/RackLabelRequest": Message(THEIRS), "data/X": Message("data X versions 0 flexible none\n    A int64 0\n")},
        errors={"3": "UNKNOWN_TOPIC_OR_PARTITION: No such topic.", "999": f"RACK_FULL: The rack {'is full ' * 20}\\ it says."},
        levels={"99": "9.9-IV0: x"},
    )
    (codec / "schemas" / "request" / "RackLabelRequest.schema").write_text(OURS)
    old = facts(
        messages={"request/RackLabelRequest": Message(OURS)},
        errors={"3": "UNKNOWN_TOPIC_OR_PARTITION: This server does not host this topic-partition."},
    )
    said = list(writing.write(release, differences(old, release, ("messages", "errors", "levels"))))
    assert said == [
        "wrote metashell/codec/schemas/data/X.schema",
        "wrote metashell/codec/schemas/request/RackLabelRequest.schema",
        "wrote error 3 UNKNOWN_TOPIC_OR_PARTITION",
        "wrote error 999 RACK_FULL",
        'wrote levels "9.9-IV0"',
    ]
    assert (codec / "schemas" / "request" / "RackLabelRequest.schema").read_text() == merged(OURS, THEIRS)
    made: dict[str, Any] = {}
    exec((codec / "error_codes.py").read_text(), made)
    assert made["RACK_FULL"] == 999
    assert made["error_message"](3) == "No such topic."
    assert made["error_message"](999) == f"The rack {'is full ' * 20}\\ it says."
    assert "Errors of 9.9.9" in made["__doc__"]
    assert '    *("9.9-IV0",),\n)\nOLDEST_LEVEL' in (codec / "releases.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("area", ["messages", "apis", "levels", "features", "errors", "settings", "help"])
def test_the_tree_has_what_the_newest_release_has(area: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([NEWEST_RELEASE.patch, "--only", area]) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_what_4_3_1_changed_in_4_2_1_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """STORED was read line by line beside what is known of 4.3: cordoned directories, times and epochs of assignments."""
    areas = [word for area in AREAS if area != "help" for word in ("--only", area)]
    assert command.main(["4.3.1", "--against", "4.2.1", *areas]) == 1
    assert capsys.readouterr().out == STORED.read_text()
