"""`metashell groups` over logs: what a real 4.3.1 left, what golden conversations left, and what nobody should have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metashell.cli.groups import command
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.messages import GroupMetadataKey, GroupMetadataValue
from metashell.codec.registry import message_type
from tests.golden_cases import golden_root
from tests.groups.golden import scenarios
from tests.groups.log.series_golden import RECORDED
from tests.groups.log.test_fold import offset_key, record_of
from tests.groups.log.written_logs import NAME, golden_batches, write_log
from tests.running import Outcome, run_main

NODE = golden_root() / "4.3.1" / "main" / "data" / "stopped" / "node-4"
VERBS = ("list", "describe", "offsets", "lag", "why", "history", "expiring", "downgrade-check", "streams-upgrade")
OF_A_GROUP = ("describe", "offsets", "lag", "why", "history")


def tell(*words: str | Path) -> Outcome:
    return run_main(command.main, list(map(str, words)), cwd=Path.cwd())


def objects(*words: str | Path) -> list[dict[str, object]]:
    done = tell(*words, "-o", "jsonl")
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def words_of(verb: str, path: Path, group: str = "grp-new") -> list[str | Path]:
    # What is left of an offset's time is of the moment.
    at = ["--at", "2036-01-01"] if verb == "expiring" else []
    return [verb, *at, group, path] if verb in OF_A_GROUP else [verb, *at, path]


# ---- real logs


def test_the_groups_of_a_real_broker_are_listed_with_kind_state_and_offsets() -> None:
    rows = {str(row["group"]): row for row in objects("list", NODE)}
    assert [
        (name, row["group_type"], row["state"], row["offsets"], row["partition"]) for name, row in rows.items() if name != "grp-streams"
    ] == [
        ("grp-classic", "classic", "Empty", 9, 2),
        ("grp-new", "consumer", "Empty", 9, 0),
        ("grp-new-re", "consumer", "Empty", 3, 0),
        ("grp-share", "share", "Empty", 0, 3),
        ("grp-simple", "classic", "Empty", 2, 2),
    ]
    assert tell("list", NODE).stderr == ""


@pytest.mark.parametrize("verb", ["list", "offsets", "lag", "why"])
def test_a_batch_that_is_cut_off_is_said_and_zeros_are_not(tmp_path: Path, verb: str) -> None:
    data = (RECORDED / "__consumer_offsets-0" / NAME).read_bytes()
    path = tmp_path / "__consumer_offsets-0" / NAME
    path.parent.mkdir()
    words = words_of(verb, tmp_path, "well-python")
    path.write_bytes(data[:-7])
    done = tell(*words)
    assert done.status == 0 and done.stderr.count("\n") == 1 and "is cut off" in done.stderr and "not in this answer" in done.stderr
    path.write_bytes(data + bytes(4096))
    assert (tell(*words).status, tell(*words).stderr) == (0, "")


def test_paths_may_stand_before_the_command() -> None:
    assert tell(NODE, "list").stdout == tell("list", NODE).stdout
    assert tell(NODE, "why", "grp-new").stdout == tell("why", "grp-new", NODE).stdout


def test_why_names_causes_and_who_came_last() -> None:
    lines = tell("why", "grp-new", NODE).stdout.decode().splitlines()
    assert lines[0] == "grp-new: 4 rebalances since 2026-11-21T00:23:12.933Z"
    assert [line.split("  ")[0] for line in lines[2:]] == [line[:24] for line in lines[2:]]
    assert lines[3].endswith(
        "  24  consumer epoch 3  2 members, 9 partitions, 0 moved  because static-3 (static member, consumer-grp-new-static-3@127.0.0.1) "
        "joined; settled in 2.7 s; last was consumer-grp-new-1@127.0.0.1, 2.7 s after it began"
    )
    assert len(objects("why", "grp-new", "--last", "2", NODE)) == 2


def test_history_is_in_the_order_of_the_log_and_names_topics() -> None:
    events = objects("history", "grp-new", "--commits", NODE)
    offsets = [int(str(event["offset"])) for event in events]
    assert offsets == sorted(offsets)
    assert any("has orders:0-2" in str(event["text"]) for event in events)
    first = int(str(events[3]["timestamp"]))
    assert len(objects("history", "grp-new", "--since", str(first), NODE)) < len(events)
    assert not objects("history", "grp-new", "--until", "2001-01-01", NODE)


def test_offsets_have_their_lag_where_the_logs_lie_beside() -> None:
    done = tell("offsets", "grp-classic", "--lag", NODE)
    assert "no log of orders-1, orders-2, plain-topic-0" in done.stderr
    rows = {(row["topic"], row["partition"]): row for row in objects("offsets", "grp-classic", "--lag", NODE)}
    assert rows["orders", 0]["lag"] == 0
    assert rows["orders", 1]["lag"] is None


def test_what_expires_is_shown_by_kafkas_rules() -> None:
    rows = objects("expiring", "--at", "2026-11-28T00:23:20", "--within", "20s", NODE)
    assert {str(row["group"]) for row in rows} >= {"grp-simple", "grp-new"}
    assert not objects("expiring", "--at", "2026-11-22T00:00:00", "--within", "1h", NODE)
    assert objects("expiring", "--at", "2026-11-22T00:00:00", "--within", "1h", "--retention", "1h", NODE)


def test_a_downgrade_loses_what_the_older_release_does_not_know() -> None:
    done = tell("downgrade-check", "--to", "3.9", NODE, "-o", "jsonl")
    rows = {str(row["group"]): row for row in map(json.loads, done.stdout.decode().splitlines())}
    assert done.status == 1
    assert rows["grp-share"]["result"] == "lost"
    assert "grp-new" not in rows
    assert tell("downgrade-check", "grp-new", "--to", "3.9", NODE).status == 0
    older = [row["result"] for row in objects("downgrade-check", "grp-classic", "--to", "2.8", NODE)]
    assert older == ["breaks"]
    assert tell("downgrade-check", "--to", "new", NODE).status == 2


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "table", "csv"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_every_form(verb: str, form: str) -> None:
    done = tell(*words_of(verb, NODE), "-o", form)
    assert "Traceback" not in done.stderr
    if form == "json":
        json.loads(done.stdout)


KEYS = {
    "list": "coordinator epoch findings group group_type members offsets partition pending protocol_type state type",
    "describe": "assignment_epoch assignor complete coordinator details epoch findings group group_type leader members missing notes "
    "offsets partition pending protocol_type state type",
    "offsets": "client committed_at expires_at group held_by lag last_stable_offset leader_epoch log_end_offset member metadata offset "
    "partition pending_producer readable_lag topic topic_id type",
    "lag": "behind_ms catch_up_ms client group held_by lag last_stable_offset log_end_offset member offset partition partitions rate_in "
    "rate_out readable_lag topic type verdict why",
    "why": "arrived causes delays epoch group group_type incomplete members missing_epochs moved offset partitions settled_at "
    "settled_offset superseded_by sync_ms timestamp took_ms type",
    "history": "details epoch event group member offset text timestamp type",
    "expiring": "committed_at expires_at group group_type left offset partition state topic type",
    "downgrade-check": "check group group_type result text type",
}


@pytest.mark.parametrize("verb", KEYS)
def test_the_keys_of_the_json_are_a_contract(verb: str) -> None:
    rows = objects(*words_of(verb, NODE))
    assert rows
    assert all(" ".join(sorted(row)) == KEYS[verb] for row in rows)


# ---- logs of golden conversations


def test_streams_of_the_classic_protocol_show_versions_and_progress(tmp_path: Path) -> None:
    subscription = message_type("blobs", "StreamsSubscriptionInfo")
    info = subscription.cls(latest_supported_version=11)
    members = []
    for name in ("a", "b"):
        raw = (11).to_bytes(4, "big") + subscription.write(info, 11)
        joined = message_type("data", "ConsumerProtocolSubscription")
        blob = b"\0\1" + joined.write(joined.cls(topics=("t",), user_data=raw), 1)
        members.append(
            GroupMetadataValue.MemberMetadata(member_id=name, client_id=name, client_host="/h", subscription=blob, assignment=b"")
        )
    write_log(tmp_path, [group_batch(0, "app", "stream", members)])
    rows = objects("streams-upgrade", "app", tmp_path)
    assert [row["result"] for row in rows] == ["ok", "ok", "ok"]
    assert "done: all use version 11" in str(rows[-1]["text"])


def group_batch(offset: int, group: str, protocol: str, members: list[GroupMetadataValue.MemberMetadata]) -> bytes:
    value = GroupMetadataValue(protocol_type="consumer", generation=3, protocol=protocol, leader="a", members=tuple(members))
    key = b"\0\2" + message_type("offsets", "GroupMetadataKey").write(GroupMetadataKey(group=group), 0)
    body = b"\0\3" + message_type("offsets", "GroupMetadataValue").write(value, 3)
    return write_batch(offset, [Record(offset, 1000, key, body)], leader_epoch=0)


def test_a_group_whose_blobs_do_not_decode_is_shown_with_what_is_wrong(tmp_path: Path) -> None:
    member = GroupMetadataValue.MemberMetadata(member_id="a", client_id="c", client_host="/h", subscription=b"\0\1\xff", assignment=b"\xff")
    write_log(tmp_path, [group_batch(0, "g", "range", [member])])
    (row,) = objects("describe", "g", tmp_path)
    (shown,) = row["members"]  # type: ignore[misc, union-attr]
    assert len(shown["findings"]) == 2  # type: ignore[index]
    done = tell("describe", "g", tmp_path)
    assert done.status == 1
    text = done.stdout.decode()
    assert "member a" in text
    assert "finding" in text
    assert objects("downgrade-check", "g", tmp_path)[1]["result"] == "refused"


@pytest.mark.parametrize("name", ["worked-trace", "upgrade-and-downgrade", "txn-commit", "share-life", "regex", "cold-start"])
def test_every_command_reads_the_log_of_a_conversation(name: str, tmp_path: Path) -> None:
    write_log(tmp_path, golden_batches(scenarios()[name]))
    rows = objects("list", tmp_path)
    for row in rows:
        for verb in OF_A_GROUP:
            done = tell(verb, str(row["group"]), tmp_path)
            assert done.status == (verb == "offsets" and row["group_type"] == "share"), done.stderr


# ---- what is wrong


@pytest.mark.parametrize("verb", OF_A_GROUP)
def test_a_group_that_is_not_there_is_an_error_that_names_a_near_one(verb: str) -> None:
    done = tell(verb, "grp-nwe", NODE)
    assert done.status == 1
    assert "grp-nwe: no such group" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_a_path_that_is_not_there_is_one_line(verb: str, tmp_path: Path) -> None:
    done = tell(*words_of(verb, tmp_path / "nothing", "g"))
    assert done.status in (1, 2)
    assert len(done.stderr.splitlines()) == 1


def test_unknown_types_are_skipped_and_told_and_bad_records_are_findings(tmp_path: Path) -> None:
    records = [
        record_of(("commit", 0, 0, 0, 5), 0),
        Record(1, 1000, b"\0\x63\0\1g", b"\0\0"),
        Record(2, 1000, offset_key(1, 0), b"\0\x63rest"),
        Record(3, 1000, b"\0\2\0\1h", b"\0\3\0"),
        Record(4, 1000, None, b"x"),
    ]
    write_log(tmp_path, [write_batch(0, records, leader_epoch=0)])
    done = tell("list", tmp_path)
    assert done.status == 1
    assert "types that are not known were skipped" in done.stderr
    assert "1 record of type 99" in done.stderr
    assert "BAD_RECORD" in done.stderr
    assert done.stdout.decode().splitlines()[1].split()[:3] == ["g", "classic", "Empty"]


def test_a_group_id_cannot_write_to_the_terminal_and_has_one_line(tmp_path: Path) -> None:
    key = offset_key(0, 0).replace(b"\0\1g", b"\0\4\x1b[2J")
    value = record_of(("commit", 0, 0, 0, 5), 0).value
    write_log(tmp_path, [write_batch(0, [Record(0, 1000, key, value)], leader_epoch=0)])
    assert b"\x1b" not in tell("list", tmp_path, "-o", "jsonl").stdout
    assert tell("offsets", "\x1b[2J", tmp_path).status == 0


def test_a_damaged_log_is_told_with_its_place_and_the_rest_is_shown(tmp_path: Path) -> None:
    data = bytearray((NODE / "d1" / "__consumer_offsets-0" / NAME).read_bytes())
    data[200] ^= 1
    (tmp_path / "__consumer_offsets-0").mkdir()
    (tmp_path / "__consumer_offsets-0" / NAME).write_bytes(data)
    done = tell("list", tmp_path)
    assert done.status == 1
    assert "__consumer_offsets-0/" in done.stderr
    assert b"grp-new" in done.stdout


def test_many_groups_are_listed_in_order(tmp_path: Path) -> None:
    value = record_of(("commit", 0, 0, 0, 5), 0).value
    records = [
        Record(number, 1000, offset_key(0, 0).replace(b"\0\1g", b"\0\6" + b"%06d" % (number * 7919 % 20_000)), value)
        for number in range(20_000)
    ]
    write_log(tmp_path, [write_batch(first, records[first : first + 1000], leader_epoch=0) for first in range(0, 20_000, 1000)])
    rows = objects("list", tmp_path)
    assert [row["group"] for row in rows] == [f"{number:06d}" for number in range(20_000)]


@pytest.mark.parametrize("verb", OF_A_GROUP)
def test_the_shown_form_of_an_id_names_the_group_too(verb: str, tmp_path: Path) -> None:
    raw = b"g\nh\x1b[31m"
    key = offset_key(0, 0).replace(b"\0\1g", len(raw).to_bytes(2, "big") + raw)
    write_log(tmp_path, [write_batch(0, [Record(0, 1000, key, record_of(("commit", 0, 0, 0, 5), 0).value)], leader_epoch=0)])
    shown = tell(verb, r"g\nh\x1b[31m", tmp_path)
    assert (shown.status, "no such group" in shown.stderr) == (0, False)
    assert shown == tell(verb, raw.decode(), tmp_path)
    assert [row["result"] for row in objects("downgrade-check", r"g\nh\x1b[31m", tmp_path)][:1] == ["ok"]


def test_nothing_is_said_of_fifty_partitions_where_all_of_fewer_were_read(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"__consumer_offsets-{number}").mkdir()
        (tmp_path / f"__consumer_offsets-{number}" / NAME).write_bytes((NODE / "d1" / "__consumer_offsets-0" / NAME).read_bytes())
    assert tell("describe", "nobody", tmp_path).stderr.endswith("nobody: no such group in the 2 logs named\n")
    done = tell("describe", "nobody", tmp_path / "__consumer_offsets-0")
    assert "in the 1 log named; if the topic has 50 partitions, it is in __consumer_offsets-45" in done.stderr


def test_no_group_in_a_state_is_said_with_the_state() -> None:
    assert tell("list", "--state", "Foo", NODE).stderr.endswith("no group is in state Foo\n")
    assert tell("list", "--group-type", "streams", "--state", "Stable", NODE).stderr.endswith("no streams group is in state Stable\n")


def test_offsets_show_which_member_has_the_partition() -> None:
    assert "CLIENT  MEMBER" in tell("offsets", "grp-classic", NODE).stdout.decode().splitlines()[0]
