"""Kafka Streams' bytes of every version are written and read as its own classes do, damaged ones too: 3 006 golden cases."""

from __future__ import annotations

from metashell.groups.members.version_probing import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from tests.groups.probing.rows import assignment_json, assignment_of, outcome, rows, subscription_json, subscription_of, wanted
from tests.seeds import shows


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_subscription_is_written_as_kafka_streams_writes_it() -> None:
    given = rows("subscription")
    assert len(given) == 208
    for row in given:
        assert outcome(lambda row=row: encode_subscription(subscription_of(row["input"])).hex()) == wanted(row, "hex"), row["input"]  # type: ignore[misc]


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_subscription_is_read_as_kafka_streams_reads_it() -> None:
    for row in rows("subscription"):
        if "hex" in row:
            assert subscription_json(decode_subscription(bytes.fromhex(row["hex"]))) == row["decoded"]


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_assignment_is_written_as_kafka_streams_writes_it() -> None:
    given = rows("assignment")
    assert len(given) == 208
    for row in given:
        assert outcome(lambda row=row: encode_assignment(assignment_of(row["input"])).hex()) == wanted(row, "hex"), row["input"]  # type: ignore[misc]


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_assignment_is_read_as_kafka_streams_reads_it() -> None:
    for row in rows("assignment"):
        if "hex" in row:
            assert assignment_json(decode_assignment(bytes.fromhex(row["hex"]))) == row["decoded"]


@shows("KIP-268/S3")
def test_other_versions_cuts_and_bytes_too_many_are_read_or_refused_in_kafkas_words() -> None:
    given = rows("decode")
    assert len(given) == 2382
    for row in given:
        raw = bytes.fromhex(row["hex"])
        if row["what"] == "subscription":
            got = outcome(lambda raw=raw: subscription_json(decode_subscription(raw)))  # type: ignore[misc]
        else:
            got = outcome(lambda raw=raw: assignment_json(decode_assignment(raw)))  # type: ignore[misc]
        assert got == wanted(row, "decoded"), (row["what"], row["note"], row["hex"])
