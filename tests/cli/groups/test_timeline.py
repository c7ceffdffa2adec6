"""How `metashell groups` shows what it found: on narrow terminals, in tables, and where a part of what was named cannot be read."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from metashell.cli.groups.description import description_lines
from metashell.cli.groups.logs import EXPIRING_COLUMNS
from metashell.cli.groups.timeline import check_lines
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.registry import message_type
from metashell.common.forms import Display, write_objects
from metashell.disk.state_files import format_topic_id
from metashell.groups.log.downgrade_checks import DowngradeCheck
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription
from tests.cli.groups.test_logs import NODE, VERBS, objects, tell, words_of
from tests.groups.golden import scenarios
from tests.groups.log.test_fold import offset_key, record_of
from tests.groups.log.written_logs import golden_batches, write_log


def commits(offset: int, number: int, partition: int = 0) -> bytes:
    return write_batch(offset, [record_of(("commit", 0, partition, 0, number), offset)], leader_epoch=0)


def test_a_commit_past_the_end_has_a_negative_lag_and_is_told(tmp_path: Path) -> None:
    """As kafka-consumer-groups shows it: consumers reset there, which 0 would hide."""
    write_log(tmp_path, [commits(0, 500)])
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(write_batch(99, [Record(99, 1, None, b"x")], leader_epoch=0))
    (row,) = objects("offsets", "g", "--lag", tmp_path)
    assert (row["offset"], row["log_end_offset"], row["lag"]) == (500, 100, -400)
    assert "committed past the end of t-0" in tell("offsets", "g", "--lag", tmp_path).stderr


def test_a_time_is_never_cut_on_a_narrow_terminal() -> None:
    row = {
        "expires_at": "2026-11-28T00:23:12.399Z",
        "left": "overdue",
        "group": "a-group-with-a-long-name",
        "topic": "a-topic-with-a-long-name",
        "partition": 3,
        "offset": 123456,
        "group_type": "classic",
        "state": "Empty",
        "committed_at": "2026-11-21T00:23:12.399Z",
    }
    notes: list[str] = []
    out = StringIO()
    write_objects(Display(out, is_terminal=True, width=80, note=notes.append), "table", [row], columns=EXPIRING_COLUMNS)
    heading, line = out.getvalue().splitlines()
    assert heading.split()[:6] == ["EXPIRES_AT", "LEFT", "GROUP", "TOPIC", "PARTITION", "OFFSET"]
    assert line.startswith("2026-11-28T00:23:12.399Z  overdue  a-gr")
    assert len(line) <= 80
    assert notes


def test_checks_are_text_that_wraps_and_is_not_cut() -> None:
    text = "2 records need 4.0 (CONSUMER_GROUP_REGULAR_EXPRESSION v0): the broker skips them, and the rest of the group stays"
    checks = [DowngradeCheck("g", "consumer", "release 3.9", "lost", text), DowngradeCheck("h", "share", "release 3.9", "lost", "short")]
    assert list(check_lines(checks, None)) == [
        "g (consumer)",
        f"    release 3.9: lost: {text}",
        "h (share)",
        "    release 3.9: lost: short",
    ]
    narrow = list(check_lines(checks, 80))
    assert all(len(line) <= 80 for line in narrow)
    assert " ".join(" ".join(narrow).split()) == f"g (consumer) release 3.9: lost: {text} h (share) release 3.9: lost: short"


def test_checks_do_not_contradict_themselves() -> None:
    rows = {(str(row["group"]), str(row["check"])): row for row in objects("downgrade-check", NODE)}
    for group in ("grp-new", "grp-new-re", "grp-streams", "grp-simple"):
        (row,) = (row for (name, check), row in rows.items() if name == group and check.startswith("to "))
        assert row["result"] == "ok"
        assert "it is empty" in str(row["text"])
    share = rows["grp-share", "to classic protocol"]
    assert share["result"] == "refused"
    assert "not even when it is empty" in str(share["text"])
    (lost,) = objects("downgrade-check", "grp-share", "--to", "3.9", NODE)
    assert "offsets stay" not in str(lost["text"])
    (lost,) = objects("downgrade-check", "grp-streams", "--to", "3.9", NODE)
    assert "its committed offsets stay" in str(lost["text"])


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_group_as_a_table_has_a_row_for_each_member(form: str, tmp_path: Path) -> None:
    batches = golden_batches(scenarios()["worked-trace"])
    write_log(tmp_path, batches[: len(batches) - 4])
    (described,) = objects("describe", "worked-trace", tmp_path)
    members = described["members"]
    assert isinstance(members, list)
    assert members
    lines = tell("describe", "worked-trace", tmp_path, "-o", form).stdout.decode().splitlines()
    assert len(lines) == 1 + len(members)
    assert all("{'" not in line and '{"' not in line for line in lines)
    assert len(tell("describe", "grp-new", NODE, "-o", form).stdout.decode().splitlines()) == 2


@pytest.mark.parametrize("missing", ["nothing", "empty", "no-such-*"])
@pytest.mark.parametrize("verb", VERBS)
def test_one_dead_disk_does_not_hide_the_others(verb: str, missing: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    alone = tell(*words_of(verb, NODE))
    done = tell(*words_of(verb, NODE), tmp_path / missing)
    assert done.stdout == alone.stdout
    assert done.status == 1
    assert str(tmp_path / missing) in done.stderr


def test_verbose_says_what_was_read() -> None:
    assert tell("list", NODE).stderr == ""
    told = tell("list", "-v", NODE).stderr
    assert "__consumer_offsets-0: 1 segment of partition 0" in told
    assert len(told.splitlines()) == 3


def test_a_group_of_any_bytes_is_found_by_what_is_shown(tmp_path: Path) -> None:
    """A coordinator reads an id that is not UTF-8 as text with U+FFFD: two such ids are one group for it, and so they are here."""
    value = record_of(("commit", 0, 0, 0, 5), 0).value
    keys = [offset_key(0, partition).replace(b"\0\1g", b"\0\2g" + byte) for byte, partition in ((b"\xff", 0), (b"\xfe", 0), (b"\xfe", 1))]
    write_log(tmp_path, [write_batch(0, [Record(number, 1000, key, value) for number, key in enumerate(keys)], leader_epoch=0)])
    (row,) = objects("list", tmp_path)
    assert (row["group"], row["offsets"]) == ("g\ufffd", 2)
    for group in ("g\ufffd", "g\udcff"):
        assert [offset["partition"] for offset in objects("offsets", group, tmp_path)] == [0, 1]
        assert tell("describe", group, tmp_path).status == 0
        assert len(objects("history", "--commits", group, tmp_path)) == 1
        assert tell("why", group, tmp_path).status == 0
        assert objects("downgrade-check", group, tmp_path)


def test_a_commit_that_does_not_decode_is_told_and_hides_nothing(tmp_path: Path) -> None:
    """The coordinator skips the bad record and keeps what was committed before it."""
    bad = write_batch(2, [Record(2, 1000, offset_key(0, 0), b"\0\3\0\0"), Record(3, 1000, b"\0\1\0\1g\0\7t", b"\0\3\0\0")], leader_epoch=0)
    write_log(tmp_path, [commits(0, 42), commits(1, 7, partition=1), bad])
    for verb in ("list", "offsets", "describe", "expiring"):
        done = tell(*words_of(verb, tmp_path, "g"))
        assert done.status == 1, verb
        assert "BAD_RECORD" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert [(row["partition"], row["offset"]) for row in objects("offsets", "g", tmp_path)] == [(0, 42), (1, 7)]
    (row,) = objects("list", tmp_path)
    assert (row["offsets"], row["findings"]) == (2, 2)
    (row,) = objects("describe", "g", tmp_path)
    assert len(row["findings"]) == 2  # type: ignore[arg-type]


def test_findings_name_their_file_and_verbose_shows_each(tmp_path: Path) -> None:
    """A record without a key is nobody's: the group "" has nothing to do with it."""
    log = write_log(tmp_path, [commits(0, 42)])
    bad = [Record(5, 1000, None, b"x"), Record(6, 1000, b"\0\2\0\1h", b"\0\3\0"), Record(7, 1000, b"\0\2\0\1i", b"\0\3\0\1")]
    second = log / "00000000000000000005.log"
    second.write_bytes(write_batch(5, bad, leader_epoch=0))
    done = tell("list", tmp_path)
    assert f"{second}: offset 5: BAD_RECORD: the record has no key, and 2 more" in done.stderr
    every = tell("list", "-v", tmp_path).stderr
    assert f"{second}: offset 6: BAD_RECORD: group h: GroupMetadataValue: " in every
    assert f"{second}: offset 7: BAD_RECORD: group i: " in every
    assert "more" not in every
    assert "(s)" not in every
    assert [row["group"] for row in objects("list", tmp_path)] == ["g"]
    assert tell("describe", "g", tmp_path).status == 0


def test_the_group_without_a_name_has_no_part_in_records_without_a_key(tmp_path: Path) -> None:
    value = record_of(("commit", 0, 0, 0, 5), 0).value
    nameless = Record(0, 1000, offset_key(0, 0).replace(b"\0\1g", b"\0\0"), value)
    write_log(tmp_path, [write_batch(0, [nameless, Record(1, 1000, None, b"x")], leader_epoch=0)])
    assert [(row["group"], row["findings"]) for row in objects("list", tmp_path)] == [("", 0)]


def test_partitions_are_written_alike_everywhere_in_a_description() -> None:
    lines = [line.split(maxsplit=1) for line in tell("describe", "grp-share", NODE).stdout.decode().splitlines()[1:]]
    assert ["initializing", "nothing"] in lines
    assert ["initialized", "plain-topic:0-5 orders:0-2"] in lines
    assert 'subtopologies             {"0": ["plain-topic"]}' in tell("describe", "grp-streams", NODE).stdout.decode()


# ---- directories that do not count


def test_a_directory_that_is_being_deleted_counts_neither_for_lag_nor_as_a_copy(tmp_path: Path) -> None:
    write_log(tmp_path, [commits(0, 4)])
    mark = ".0123456789abcdef0123456789abcdef-delete"
    for name, end in (("t-0", 5), (f"t-0{mark}", 1000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "00000000000000000000.log").write_bytes(write_batch(end - 1, [Record(end - 1, 1, None, b"x")], leader_epoch=0))
    dead = write_log(tmp_path / "old", [write_batch(0, [record_of(("commit", 1, 0, 0, 9), 0)], leader_epoch=0)])
    marked = dead.rename(tmp_path / f"__consumer_offsets-0{mark}")
    (row,) = objects("offsets", "g", "--lag", tmp_path)
    assert (row["log_end_offset"], row["lag"]) == (5, 1)
    assert [row["group"] for row in objects("list", tmp_path)] == ["g"]
    assert "read only where it is named itself" in tell("list", tmp_path).stderr
    assert [row["group"] for row in objects("list", marked)] == ["h"]


def test_a_commit_of_a_topic_that_was_made_again_has_no_lag(tmp_path: Path) -> None:
    message = message_type("offsets", "OffsetCommitValue")
    body = message.cls(offset=900, metadata="", commit_timestamp=1, topic_id=bytes(15) + b"\1")
    write_log(tmp_path, [write_batch(0, [Record(0, 1000, offset_key(0, 0), b"\0\4" + message.write(body, 4))], leader_epoch=0)])
    topic = tmp_path / "t-0"
    topic.mkdir()
    (topic / "00000000000000000000.log").write_bytes(write_batch(49, [Record(49, 1, None, b"x")], leader_epoch=0))
    for id, lag in ((b"\1", -850), (b"\2", None)):
        (topic / "partition.metadata").write_bytes(format_topic_id(bytes(15) + id))
        (row,) = objects("offsets", "g", "--lag", tmp_path)
        assert row["lag"] == lag
        assert ("was made again since" in tell("offsets", "g", "--lag", tmp_path).stderr) == (lag is None)


def test_a_downgrade_loses_only_what_records_still_say(tmp_path: Path) -> None:
    """The group went back to the classic protocol: tombstones follow its records of the newer one."""
    write_log(tmp_path, golden_batches(scenarios()["upgrade-and-downgrade"]))
    assert not objects("downgrade-check", "upgrade-and-downgrade", "--to", "3.7", tmp_path)
    assert [row["result"] for row in objects("downgrade-check", "upgrade-and-downgrade", "--to", "2.8", tmp_path)] in ([], ["breaks"])
    assert not objects("downgrade-check", "grp-new-re", "--to", "3.9", NODE)


def test_a_version_that_no_release_knows_breaks_every_one(tmp_path: Path) -> None:
    record = Record(0, 1000, offset_key(0, 0), b"\0\5" + bytes(30))
    write_log(tmp_path, [write_batch(0, [record], leader_epoch=0), commits(1, 5, partition=1)])
    assert objects("downgrade-check", "g", tmp_path)[0]["result"] == "breaks"
    (row,) = objects("downgrade-check", "g", "--to", "4.3", tmp_path)
    assert row["result"] == "breaks"
    assert "a release that we do not know" in str(row["text"])


def test_a_very_long_id_does_not_make_other_rows_long(tmp_path: Path) -> None:
    key, value = offset_key(0, 0), record_of(("commit", 0, 0, 0, 5), 0).value
    long = key.replace(b"\0\1g", (3_000).to_bytes(2, "big") + b"x" * 3_000)
    write_log(tmp_path, [write_batch(0, [Record(0, 1000, key, value), Record(1, 1000, long, value)], leader_epoch=0)])
    for words in (["list"], ["expiring", "--at", "2100-01-01"], ["downgrade-check"]):
        lines = tell(*words, tmp_path).stdout.decode().splitlines()
        assert len([line for line in lines if len(line) > 400]) == 1, words
        assert max(map(len, lines)) >= 3_000, words


# ---- words


def test_why_says_how_many_of_how_many_are_shown() -> None:
    lines = tell("why", "grp-new", "--last", "1", NODE).stdout.decode().splitlines()
    assert lines[0] == "grp-new: the last 1 of 4 rebalances since 2026-11-21T00:23:12.933Z"
    done = tell("why", "grp-new", "--last", "0", NODE)
    assert (done.status, len(done.stderr.splitlines())) == (2, 1)
    assert "'0' is not a number of rebalances" in done.stderr
    assert "SUPERSEDED_BY" in tell("why", "grp-new", NODE, "-o", "table").stdout.decode().splitlines()[0]


@pytest.mark.parametrize("verb", ["why", "history", "expiring", "downgrade-check", "streams-upgrade"])
@pytest.mark.parametrize("option", ["-b", "--bootstrap-controller"])
def test_a_command_that_reads_logs_only_says_so_to_who_names_a_cluster(verb: str, option: str) -> None:
    done = tell(verb, option, "localhost:9092", "grp-new")
    assert done.status == 2
    assert f"{verb} reads logs only, name a log directory" in done.stderr


def test_a_story_may_begin_some_time_ago() -> None:
    assert len(objects("history", "grp-new", "--since", "300d", "--until", "0", NODE)) == len(objects("history", "grp-new", NODE))
    assert not objects("history", "grp-new", "--since", "0", NODE)
    done = tell("history", "grp-new", "--since", "soon", NODE)
    assert (done.status, "how long ago" in done.stderr) == (2, True)


def test_one_commit_takes_no_time(tmp_path: Path) -> None:
    write_log(tmp_path, [commits(0, 42)])
    assert [row["text"] for row in objects("history", "g", "--commits", tmp_path)] == ["1 commit of t:0"]


def test_all_groups_are_no_pattern_in_what_is_told() -> None:
    assert "no group is one of Kafka Streams" in tell("streams-upgrade", NODE / "d1" / "__consumer_offsets-0").stderr


@pytest.mark.parametrize("verb", ["downgrade-check", "streams-upgrade"])
def test_the_usage_says_which_words_may_be_left_out(verb: str) -> None:
    assert f"groups {verb} [OPTIONS] [GROUP] PATH..." in tell(verb, "--help").stdout.decode()


def test_a_static_member_that_is_away_is_explained() -> None:
    away = MemberDescription(member_id="m", member_type="consumer", instance_id="i", epoch=-2)
    description = GroupDescription(summary=GroupSummary(group_id="g", kind="consumer", state="Stable"), members=(away,))
    lines = list(description_lines(description))
    assert any("epoch -2 (it is away, and its place is kept)" in line for line in lines)


def test_a_share_group_commits_no_offsets() -> None:
    """As a live cluster is answered for."""
    done = tell("offsets", "grp-share", NODE)
    assert (done.status, done.stdout) == (1, b"")
    assert "grp-share: a share group commits no offsets" in done.stderr
