"""Which of several surviving logs wins, what the others have that it lacks, and when they are not of one history."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import MetashellError, UsageError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.state_files import QuorumState
from metashell.inspect.surviving_logs import read_survivor
from metashell.inspect.survivors import Choice, compare, first_difference
from metashell.metadata.image import load_image
from tests.inspect.surviving import BROKER, CLUSTER_ID, LATE_ID, TOPIC_ID, MadeLog, make_source, usual_log


def choose(*folders: Path) -> Choice:
    return compare([read_survivor(str(folder)) for folder in folders])


def test_of_one_epoch_the_longest_log_wins(tmp_path: Path) -> None:
    short = make_source(tmp_path / "short", usual_log())
    long = make_source(tmp_path / "long", usual_log().pad(5, 4), node_id=2)
    choice = choose(short, long)
    assert choice.best.label == str(long)
    assert (choice.best.last_epoch, choice.best.end_offset) == (5, 24)
    assert choice.lacks == choice.conflicts == ()


def test_a_later_epoch_wins_over_a_longer_log_and_the_difference_is_named(tmp_path: Path) -> None:
    long = make_source(tmp_path / "long", usual_log().pad(5, 10))
    later = make_source(tmp_path / "later", usual_log().lead(7, 2).pad(7, 1), node_id=2)
    choice = choose(long, later)
    assert choice.best.label == str(later)
    (lack,) = choice.lacks
    assert (lack.survivor.label, lack.first, lack.end, lack.last_epoch, lack.is_replaced) == (str(long), 20, 30, 5, True)
    assert choice.conflicts == ()


def test_a_later_epoch_that_ends_before_the_difference_names_what_follows(tmp_path: Path) -> None:
    alone = make_source(tmp_path / "alone", usual_log().pad(5, 10))
    later = make_source(tmp_path / "later", None, node_id=2, checkpoints=[OffsetAndEpoch(15, 6)])
    choice = choose(alone, later)
    assert choice.best.label == str(later)
    (lack,) = choice.lacks
    assert (lack.first, lack.end, lack.is_replaced) == (15, 30, False)


def test_records_that_a_checkpoint_has_and_the_best_log_contradicts_are_two_histories(tmp_path: Path) -> None:
    other = make_source(tmp_path / "other", usual_log().pad(5, 10), checkpoints=[OffsetAndEpoch(25, 5)])
    later = make_source(tmp_path / "later", usual_log().lead(7, 2).pad(7, 9), node_id=2)
    (conflict,) = choose(other, later).conflicts
    assert "differ at offset 20: epoch 5 and epoch 7" in conflict
    assert "before offset 25 is committed" in conflict


def test_committed_records_that_the_best_log_does_not_reach_are_two_histories(tmp_path: Path) -> None:
    other = make_source(tmp_path / "other", None, checkpoints=[OffsetAndEpoch(40, 5)])
    later = make_source(tmp_path / "later", usual_log().lead(7, 2).pad(7, 9), node_id=2)
    (conflict,) = choose(other, later).conflicts
    assert "ends at offset 30 in epoch 7" in conflict
    assert "before offset 40 is committed" in conflict


def test_a_checkpoint_whose_epoch_is_another_one_in_the_best_log_is_another_history(tmp_path: Path) -> None:
    other = make_source(tmp_path / "other", None, checkpoints=[OffsetAndEpoch(18, 4)])
    later = make_source(tmp_path / "later", usual_log(), node_id=2)
    (conflict,) = choose(other, later).conflicts
    assert "ends at offset 18 in epoch 4" in conflict
    assert "has epoch 5 there" in conflict


def test_two_batches_of_one_epoch_at_one_offset_are_two_histories(tmp_path: Path) -> None:
    one = make_source(tmp_path / "one", usual_log().pad(5, 3))
    log = usual_log()
    log.add(5, [*_topics()]).pad(5, 2)
    other = make_source(tmp_path / "other", log, node_id=2)
    (conflict,) = choose(one, other).conflicts
    assert "two histories" in conflict


def _topics() -> list[object]:
    from metashell.codec.messages import TopicRecord

    return [TopicRecord(name="late", topic_id=LATE_ID)]


def test_sources_of_two_clusters_are_refused(tmp_path: Path) -> None:
    one = make_source(tmp_path / "one", usual_log())
    other = make_source(tmp_path / "other", usual_log(), cluster_id="other-cluster")
    with pytest.raises(MetashellError, match=f"several clusters: .*one is of cluster {CLUSTER_ID}; .*other is of cluster other-cluster"):
        choose(one, other)


def test_what_a_majority_of_the_voters_has_in_the_latest_epoch_is_committed(tmp_path: Path) -> None:
    one = make_source(tmp_path / "one", usual_log().pad(5, 8))
    assert choose(one).certain_to is None
    two = make_source(tmp_path / "two", usual_log().pad(5, 3), node_id=2)
    assert choose(one, two).certain_to == 23
    # A broker's copy is no vote, and neither is a directory that only has a voter's id.
    broker = make_source(tmp_path / "broker", usual_log().pad(5, 8), node_id=BROKER)
    assert choose(one, broker).certain_to is None
    three = make_source(tmp_path / "three", usual_log().pad(5, 6), node_id=3)
    assert choose(one, two, three).certain_to == 26
    older = make_source(tmp_path / "older", usual_log().pad(5, 8).lead(6, 2), node_id=3)
    assert choose(one, two, older).certain_to is None


def test_the_highest_offset_and_epoch_are_those_of_any_file(tmp_path: Path) -> None:
    one = make_source(tmp_path / "one", usual_log(), election=QuorumState(leader_epoch=31, data_version=1))
    two = make_source(tmp_path / "two", usual_log(), node_id=2)
    (two / "__cluster_metadata-0" / "00000000000000000090-0000000008.checkpoint").write_bytes(b"")
    choice = choose(one, two)
    assert choice.seen == OffsetAndEpoch(90, 31)


def test_a_log_may_differ_from_where_the_checkpoint_of_the_other_ends(tmp_path: Path) -> None:
    # Nothing says that the other's records from offset 20 on were committed: the checkpoint ends there.
    other = make_source(tmp_path / "other", usual_log().pad(5, 10), checkpoints=[OffsetAndEpoch(20, 5)])
    later = make_source(tmp_path / "later", usual_log().lead(7, 2).pad(7, 1), node_id=2)
    choice = choose(other, later)
    assert choice.conflicts == ()
    (lack,) = choice.lacks
    assert (lack.first, lack.end) == (20, 30)
    # A log that ends where they differ has nothing that the best one lacks.
    short = make_source(tmp_path / "short", usual_log())
    assert choose(short, later).lacks == ()


def test_the_epoch_of_a_record_is_known_in_the_log_and_at_the_end_of_the_checkpoint(tmp_path: Path) -> None:
    log = usual_log().lead(7, 2).pad(7, 4)
    found = read_survivor(str(make_source(tmp_path / "one", log, checkpoints=[OffsetAndEpoch(15, 5)])))
    assert [found.epoch_before(offset) for offset in (0, 1, 15, 20, 21, 25, 26)] == [None, 5, 5, 5, 7, 7, None]
    alone = read_survivor(str(make_source(tmp_path / "two", None, checkpoints=[OffsetAndEpoch(15, 6)])))
    assert [alone.epoch_before(offset) for offset in (14, 15, 16)] == [None, 6, None]
    tail = MadeLog(15).pad(5, 3)
    rest = read_survivor(str(make_source(tmp_path / "rest", tail, checkpoints=[OffsetAndEpoch(15, 4)])))
    assert [rest.epoch_before(offset) for offset in (14, 15, 16, 18, 19)] == [None, 4, 5, 5, None]


def test_the_highest_offset_that_is_known_to_be_committed_counts(tmp_path: Path) -> None:
    one = make_source(tmp_path / "one", usual_log().pad(5, 8), checkpoints=[OffsetAndEpoch(15, 5)])
    two = make_source(tmp_path / "two", usual_log().pad(5, 3), node_id=2)
    assert choose(one, two).certain_to == 23
    three = make_source(tmp_path / "three", usual_log().pad(5, 9), node_id=BROKER, checkpoints=[OffsetAndEpoch(27, 5)])
    assert choose(one, two, three).certain_to == 27


def test_of_equal_logs_one_with_secrets_wins(tmp_path: Path) -> None:
    bundle, whole = (make_source(tmp_path / name, usual_log()) for name in ("bundle", "whole"))
    for name in ("README.md", "status.json", "verify.txt"):
        (bundle / name).write_text("")
    choice = choose(bundle, whole)
    assert (choice.best.label, choice.others[0].kind) == (str(whole), "bundle")


def test_a_checkpoint_at_the_end_of_the_best_log_is_no_conflict(tmp_path: Path) -> None:
    other = make_source(tmp_path / "other", None, checkpoints=[OffsetAndEpoch(20, 5)])
    best = make_source(tmp_path / "best", usual_log().pad(5, 0), node_id=2)
    for sources in ((other, best), (best, other)):
        choice = choose(*sources)
        assert (choice.conflicts, choice.lacks, choice.certain_to) == ((), (), 20)


def test_of_equal_logs_the_first_that_is_named_wins(tmp_path: Path) -> None:
    one, two = (make_source(tmp_path / name, usual_log()) for name in ("one", "two"))
    assert choose(two, one).best.label == str(two)


def test_logs_that_begin_at_different_offsets_are_compared_where_both_have_batches(tmp_path: Path) -> None:
    whole = read_survivor(str(make_source(tmp_path / "whole", usual_log().pad(5, 5))))
    tail = MadeLog(18).pad(5, 7)
    rest = read_survivor(str(make_source(tmp_path / "rest", tail, node_id=2, checkpoints=[OffsetAndEpoch(18, 5)])))
    assert first_difference(whole, rest) is None
    differs = MadeLog(18).pad(5, 3).lead(6).pad(6, 2)
    other = read_survivor(str(make_source(tmp_path / "other", differs, node_id=2, checkpoints=[OffsetAndEpoch(18, 5)])))
    assert first_difference(whole, other) == (21, 5, 6)


def test_an_image_is_loaded_from_the_source(tmp_path: Path) -> None:
    found = read_survivor(str(make_source(tmp_path / "one", usual_log())))
    with found.open() as source:
        assert load_image(source).topics.by_id[TOPIC_ID].name == "orders"


def test_nothing_is_a_source_that_has_no_metadata(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_survivor("-")
