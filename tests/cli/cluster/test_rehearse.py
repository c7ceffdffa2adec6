"""metashell rehearse: its command line, its forms, its statuses, and what a wrong one gets."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from metashell.cli.cluster.rehearse import main
from metashell.cli.cluster.rehearse_subject import SECTIONS
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.rehearse.render_rows import SECTIONS as ROWS
from tests.administering import on_terminal
from tests.running import Outcome, run_main

KILL = ("kill-broker", "6")


def rehearse(*words: str, cwd: Path = Path()) -> Outcome:
    return run_main(main, ["--demo", *words], cwd=cwd)


def text(outcome: Outcome) -> list[str]:
    return outcome.stdout.decode().splitlines()


# ---- answers


def test_the_first_line_is_the_verdict_and_the_status_says_the_same() -> None:
    done = rehearse(*KILL)
    assert (done.status, text(done)[0], done.stderr) == (1, "NOT SAFE: 3 partitions go offline and stay so", "")
    done = rehearse("lose-controller")
    assert (done.status, text(done)[0]) == (0, "SAFE: nothing goes offline; no active controller for 3 s")


def test_options_may_stand_before_among_and_after_the_words_of_a_step() -> None:
    plain = rehearse("-o", "json", "roll-brokers", "4", "--down", "5s")
    assert rehearse("roll-brokers", "-o", "json", "4", "--down", "5s") == plain
    assert rehearse("roll-brokers", "4", "--down", "5s", "-ojson") == plain
    assert json.loads(plain.stdout)["steps"][0]["step"] == "roll-brokers 4 --down 5s"


def test_json_has_the_verdict_and_all_parts() -> None:
    done = rehearse(*KILL, "-o", "json")
    value = json.loads(done.stdout)
    assert list(value) == ["type", "verdict", *SECTIONS]
    assert value["verdict"]["status"] == done.status == 1
    assert value["verdict"]["troubles"]["offline"] == {"partitions": 3, "longest_ms": None, "at_end": 3}
    assert len(value["records"]) == value["verdict"]["record_count"] == 25
    change = next(row for row in value["records"] if row["record"] == "PartitionChangeRecord")
    assert {"topicId", "partitionId"} <= set(change["data"])


def test_json_lines_have_the_same_objects_the_verdict_first() -> None:
    whole = json.loads(rehearse(*KILL, "-o", "json").stdout)
    lines = [json.loads(line) for line in rehearse(*KILL, "-o", "jsonl").stdout.splitlines()]
    assert lines == [whole["verdict"], *(row for part in SECTIONS for row in whole[part])]


KEYS = {
    "verdict": "status safe verdict reasons troubles offline_before settled ended_ms record_count image_end_offset state",
    "step": "number step began_ms ended_ms refusals unfinished",
    "event": "at_ms text broker step",
    "trouble": "trouble topic partition from_ms to_ms was_before cause",
    "quorum_gap": "from_ms to_ms why",
    "broker_state": "broker state from_ms to_ms",
    "broker": "broker rack leaders_before leaders_after replicas_before replicas_after size_bytes_before size_bytes_after",
    "rack": "rack leaders_before leaders_after replicas_before replicas_after size_bytes_before size_bytes_after",
    "copied": "broker partitions size_bytes is_catch_up",
    "topic_created": "topic",
    "topic_deleted": "topic",
    "broker_diff": "broker before after",
    "feature_diff": "feature before after",
    "config_diff": "resource_type resource_name name before after",
    "partition_diff": "topic partition before after",
    "record": "offset at_ms why record version data",
    "finding": "id severity words before after begun ended names_begun names_ended",
    "range": "what broker min max seeds",
    "assumption": "name value is_default read_from",
    "note": "text",
}
"""What each object has beside its type: a contract, to which keys may be added."""
LOSS = "kind name can_be_lost offline unclean under_min_isr new_leaders keeps_quorum brokers voters examples"


def test_every_object_has_the_keys_of_the_contract() -> None:
    steps = (
        "lose-controller then config set topic:orders retention.ms=1 then topic create new --partitions 1 then topic delete plain-topic "
        "then feature downgrade streams.version 0 then kill-broker 6 then restart-broker 6 then topic create bad --replication-factor 9"
    )
    found: dict[str, str] = {}
    for line in rehearse(*steps.split(), "--seeds", "2", "-o", "jsonl").stdout.splitlines():
        row = json.loads(line)
        first, *keys = row
        assert first == "type" and found.setdefault(row["type"], " ".join(keys)) == " ".join(keys)
    assert found == KEYS
    loss = json.loads(rehearse("-o", "jsonl").stdout.splitlines()[0])
    assert list(loss) == ["type", *LOSS.split()]


def test_the_parts_that_may_be_asked_for_are_those_that_there_are() -> None:
    assert ("steps", *ROWS) == SECTIONS


@pytest.mark.parametrize("part", SECTIONS)
def test_each_part_has_rows_in_every_form(part: str) -> None:
    change = [
        "lose-controller",
        "then",
        "config",
        "set",
        "topic:orders",
        "segment.ms=9000000",
        "then",
        "topic",
        "create",
        "solo",
        "--replication-factor",
        "1",
    ]
    steps = [*change, "then", *KILL, "then", "restart-broker", "6", "--seeds", "2"]
    objects = json.loads(rehearse(*steps, "--show", part, "-o", "json").stdout)[part]
    assert objects and all(row["type"] for row in objects)
    if part not in ("diff", "assumptions"):
        rows = list(csv.DictReader(io.StringIO(rehearse(*steps, "--show", part, "-o", "csv").stdout.decode())))
        assert len(rows) == len(objects)
    assert len(text(rehearse(*steps, "--show", part))) > 2


def test_the_standing_questions_in_every_form() -> None:
    done = rehearse()
    assert (done.status, text(done)[0]) == (1, "NOT SAFE: this cluster cannot lose brokers 4-6 and racks rack-a, rack-b")
    value = json.loads(rehearse("-o", "json").stdout)
    assert value["verdict"] == text(done)[0]
    lines = [json.loads(line) for line in rehearse("-o", "jsonl").stdout.splitlines()]
    assert lines == value["losses"]
    rows = list(csv.DictReader(io.StringIO(rehearse("-o", "csv").stdout.decode())))
    assert [row["name"] for row in rows] == [loss["name"] for loss in lines] == ["4", "5", "6", "rack-a", "rack-b", "1", "2", "3"]


def test_assumptions_of_the_command_line_win_over_those_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[assume]\nboot = "40s"\ndown = "1m"\n[[step]]\ndo = "restart-broker 4"\n')
    value = json.loads(rehearse("plan.toml", "--assume", "down=2m", "-o", "json", cwd=tmp_path).stdout)
    told = {row["name"]: row["value"] for row in value["assumptions"] if row["type"] == "assumption"}
    assert (told["boot"], told["down"]) == ("40 s", "2 min")


def test_what_an_answer_leaves_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metashell.rehearse.rehearsal.RECORDS_KEPT", 10)
    monkeypatch.setattr("metashell.rehearse.rehearsal.INTERVALS_KEPT", 4)
    done = rehearse(*KILL, "-o", "json")
    assert done.stderr.splitlines() == [
        "metashell rehearse: 15 records more are left out: --show records has all",
        "metashell rehearse: 29 troubles more are left out; the verdict counts them",
    ]
    assert len(json.loads(done.stdout)["records"]) == 10
    done = rehearse(*KILL, "--show", "records", "-o", "jsonl")
    assert (len(done.stdout.splitlines()), done.stderr) == (26, "")


def test_on_a_terminal_it_shows_how_far_it_is(tmp_path: Path) -> None:
    soon = "import os, sys, metashell.common.terminal; metashell.common.terminal.PROGRESS_EVERY_S = 0.0005; os.environ['TERM'] = 'xterm'"
    start = "from metashell.cli.cluster.rehearse import main; sys.exit(main(['--demo', 'roll-brokers', '-o', 'csv']))"
    code = f"{soon}; sys.setswitchinterval(0.0005); {start}"
    status, shown = on_terminal(code, [])
    assert status == 1 and re.search(r"\+\d+:\d\d\.\d roll-brokers --max-offline 1: 0 s", shown)


# ---- the page


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, set[str]] = {}
        self.words: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


HOSTILE = '<script>alert("1")</script>\u202e&amp;'


def test_the_page_loads_nothing_runs_nothing_and_has_the_answer(tmp_path: Path) -> None:
    title = json.dumps(HOSTILE)
    (tmp_path / "plan.toml").write_text(f'title = {title}\n[[step]]\ndo = "kill-broker 6"\nnote = {title}\n', encoding="utf-8")
    done = rehearse("plan.toml", "--html", "plan.html", cwd=tmp_path)
    source = (tmp_path / "plan.html").read_text(encoding="utf-8")
    page = Page(source)
    assert done.status == 1 and text(done)[0] in page.words
    assert {"svg", "rect", "table"} <= set(page.tags) and "script" not in page.tags
    assert not {"src", "href", "onload", "onclick", "xlink:href"} & set(page.attributes)
    assert "default-src 'none'" in source and "url(" not in source and "@import" not in source and "://" not in source
    assert any('<script>alert("1")</script>\\u202e&amp;' in word for word in page.words) and "\u202e" not in source


def test_the_page_of_a_large_answer_is_bounded(tmp_path: Path) -> None:
    steps = " then ".join(f"topic create topic-{number} then topic delete topic-{number}" for number in range(200))
    done = rehearse(*steps.split(), "--html", "page.html", cwd=tmp_path)
    assert done.status == 0, done.stderr
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert source.count("<tr>") < 1000 and re.search("[0-9]+ more rows are left out", source)


# ---- bad input


@pytest.mark.parametrize(
    ("words", "status", "fault"),
    [
        (["kil-broker", "3"], 2, "'kil-broker' is no step, and no plan has this name (did you mean kill-broker?)"),
        (["kill-broker"], 2, "kill-broker: ID is missing (kill-broker ID)"),
        (["kill-broker", "66"], 2, "kill-broker 66: broker 66 is not registered; the brokers are 4, 5, 6"),
        (["kill-broker", "6", "then", "kill-broker", "6"], 2, "step 2 (kill-broker 6): broker 6 is dead since step 1; restart-broker 6"),
        (["lose-rack", "x"], 2, "lose-rack x: no broker is in rack 'x'; the racks are rack-a, rack-b"),
        (["elect", "preferred", "nope:0"], 2, "elect preferred nope:0: there is no topic 'nope'"),
        (["kill-broker", "6", "then"], 2, "a step is missing after `then`"),
        (["--snapsot", "x", "kill-broker", "6"], 2, "unknown option --snapsot (did you mean --snapshot?)"),
        (["kill-broker", "6", "--show", "event"], 2, "option --show: 'event' is not one of steps"),
        (["kill-broker", "6", "--show", "events,brokers", "-o", "csv"], 2, "option --show: -o csv has room for one part"),
        (["kill-broker", "6", "--assume", "boots=3s"], 2, "option --assume: boots: not an assumption (did you mean boot?)"),
        (["kill-broker", "6", "--assume", "boot"], 2, "option --assume: 'boot' is not NAME=VALUE"),
        (["--html", "page.html"], 2, "--html goes with a step or a plan"),
        (["-C", "127.0.0.1:1", "kill-broker", "6"], 2, "--bootstrap-controller and --demo exclude each other"),
        (["kill-broker", "6", "--html", "no/such/page.html"], 1, "no/such/page.html: No such file or directory"),
        (["config", "set", "topic:nope", "retention.ms=1"], 2, "config set topic:nope retention.ms=1: there is no topic 'nope'"),
        (
            ["config", "set", "topic:orders", "retention.m=1"],
            2,
            # The value of a key that is unknown may be a secret.
            "config set topic:orders retention.m=...: 'retention.m' is no setting of a topic (did you mean retention.ms?)",
        ),
        (["no-such.toml"], 1, "no-such.toml: No such file or directory"),
    ],
)
def test_a_wrong_command_line_is_one_line_that_names_what_is_wrong(words: list[str], status: int, fault: str, tmp_path: Path) -> None:
    done = rehearse(*words, cwd=tmp_path)
    assert (done.status, done.stdout) == (status, b"")
    assert done.stderr.startswith(f"metashell rehearse: {fault}") and done.stderr.count("\n") == 1, done.stderr


def test_without_a_source_it_says_how_to_name_one() -> None:
    done = run_main(main, ["kill-broker", "6"], cwd=Path())
    assert (done.status, done.stderr.count("\n")) == (2, 1) and "--snapshot" in done.stderr


def test_a_fault_of_a_plan_is_shown_with_line_and_caret(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[[step]]\ndo = "kill-broker 6"\n[[step]]\nat = "1m"\ndo = "restart-broker 66"\n')
    done = rehearse("plan.toml", cwd=tmp_path)
    assert done.status == 2
    assert done.stderr.splitlines() == [
        "metashell rehearse: plan.toml:5:22: step 2: broker 66 is not registered; the brokers are 4, 5, 6",
        '    do = "restart-broker 66"',
        "                         ^",
    ]


MOVES = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [4, 6]}]}


def log_dirs(*sizes: tuple[str, int]) -> str:
    """What kafka-log-dirs prints."""
    partitions = [{"partition": name, "size": size, "offsetLag": 0, "isFuture": False} for name, size in sizes]
    found = {"version": 1, "brokers": [{"broker": 4, "logDirs": [{"logDir": "/d", "error": None, "partitions": partitions}]}]}
    return f"Querying brokers for log directories information\nReceived log directory information from brokers 4\n{json.dumps(found)}\n"


def test_sizes_say_how_much_moves_and_how_long_it_takes(tmp_path: Path) -> None:
    (tmp_path / "moves.json").write_text(json.dumps(MOVES))
    (tmp_path / "sizes.json").write_text(log_dirs(("orders-0", 4_000_000_000), ("gone-topic-1", 7)))
    done = rehearse("reassign", "moves.json", "--throttle", "40000000", "--sizes", "sizes.json", "-o", "json", cwd=tmp_path)
    assert done.stderr == "metashell rehearse: sizes.json: sizes of unknown topics are ignored: gone-topic\n"
    value = json.loads(done.stdout)
    assert [(row["broker"], row["size_bytes"]) for row in value["copied"] if not row["is_catch_up"]] == [(6, 4_000_000_000)]
    step = value["steps"][0]
    assert (step["step"], done.status) == ("reassign moves.json --throttle 40000000", 0)
    assert 100_000 <= step["ended_ms"] - step["began_ms"] < 110_000


def test_sizes_of_another_cluster_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sizes.json").write_text(log_dirs(("a-0", 1), ("b-0", 1)))
    done = rehearse(*KILL, "--sizes", "sizes.json", cwd=tmp_path)
    fault = "sizes.json: sizes of unknown topics: a and 1 other topic: of another cluster?"
    assert (done.status, done.stdout, done.stderr) == (2, b"", f"metashell rehearse: {fault}\n")


@pytest.mark.parametrize("option", ["--sizes", "reassign"])
def test_a_file_that_is_no_json_is_shown_with_line_and_caret(option: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"version": 1,\n "partitions": [x]}\n')
    words = [*KILL, "--sizes", "x.json"] if option == "--sizes" else ["reassign", "x.json"]
    done = rehearse(*words, cwd=tmp_path)
    first, *excerpt = done.stderr.splitlines()
    assert done.status == 2 and "x.json:2:17: " in first
    assert excerpt == ['     "partitions": [x]}', "                    ^"]


def test_a_plan_finds_files_beside_itself(tmp_path: Path) -> None:
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "moves.json").write_text(json.dumps(MOVES))
    (folder / "plan.toml").write_text('[[step]]\ndo = "reassign moves.json"\n')
    assert rehearse("plans/plan.toml", cwd=tmp_path).status == 0
    (folder / "moves.json").unlink()
    done = rehearse("plans/plan.toml", cwd=tmp_path)
    assert done.status == 2
    assert done.stderr.startswith(
        "metashell rehearse: plans/plan.toml:2:16: step 1: reassign: plans/moves.json: No such file or directory\n"
    )


def test_a_plan_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_bytes(b'title = "\xff"\n')
    done = rehearse("plan.toml", cwd=tmp_path)
    assert (done.status, done.stderr) == (2, "metashell rehearse: plan.toml: byte 9 is not UTF-8\n")


def test_metadata_that_could_not_all_be_applied_is_never_safe(tmp_path: Path) -> None:
    from metashell.demo import demo_directory

    log = Path(demo_directory()) / "__cluster_metadata-0"
    checkpoint = next(iter(sorted(log.glob("*.checkpoint"))))
    data = bytearray(checkpoint.read_bytes())
    data[len(data) * 2 // 3] ^= 0xFF
    (tmp_path / checkpoint.name).write_bytes(data)
    for words in ([], ["lose-controller"]):
        done = run_main(main, ["-s", checkpoint.name, *words], cwd=tmp_path)
        assert done.status == 1 and done.stderr.count("\n") == 1 and text(done)[0].startswith("NOT SAFE: "), done


# ---- a live quorum


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=3) as running:
        running.create_topic("orders", partitions=3, replication_factor=1)
        yield running


def test_a_live_quorum_is_rehearsed_on_as_it_is_now(quorum: EmbeddedQuorum) -> None:
    live = ("-C", quorum.bootstrap_controllers)
    brokers = sorted(quorum.image.cluster.brokers)
    standing = run_main(main, list(live), cwd=Path())
    assert standing.status == 1 and text(standing)[0].startswith("NOT SAFE: this cluster cannot lose brokers "), standing
    before = quorum.image
    done = run_main(main, [*live, "-o", "json", "kill-broker", str(brokers[0])], cwd=Path())
    verdict = json.loads(done.stdout)["verdict"]
    assert done.status == 1 and verdict["troubles"]["offline"]["at_end"] == 1
    assert verdict["state"] == f"state: {quorum.bootstrap_controllers}, up to offset {verdict['image_end_offset']}"
    assert quorum.image.topics is before.topics and quorum.image.cluster is before.cluster


def test_the_environment_names_a_quorum_where_the_command_line_names_nothing(
    quorum: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METASHELL_BOOTSTRAP_CONTROLLER", quorum.bootstrap_controllers)
    expected = "NOT SAFE: topic orders is deleted with all its records (3 partitions)"
    assert text(run_main(main, ["topic", "delete", "orders"], cwd=Path()))[0] == expected
    assert text(rehearse(*KILL))[0].startswith("NOT SAFE: 3 partitions")
    monkeypatch.setenv("METASHELL_COMMAND_CONFIG", "no-such.properties")
    for words in ([], ["-C", quorum.bootstrap_controllers]):
        done = run_main(main, [*words, "lose-controller"], cwd=Path())
        assert (done.status, done.stderr) == (1, "metashell rehearse: no-such.properties: No such file or directory\n")


def test_a_quorum_that_is_not_there_is_status_1_and_no_answer() -> None:
    done = run_main(main, ["-C", "127.0.0.1:1", "--timeout", "1", *KILL], cwd=Path())
    assert (done.status, done.stdout, done.stderr.count("\n")) == (1, b"", 1) and "127.0.0.1:1" in done.stderr


def test_settings_of_servers_are_read_from_their_files(tmp_path: Path) -> None:
    controller, broker = tmp_path / "c.properties", tmp_path / "b.properties"
    controller.write_text("process.roles=controller\nnode.id=1\nbroker.session.timeout.ms=18000\n")
    broker.write_text("process.roles=broker\nnode.id=4\nmin.insync.replicas=2\nbroker.session.timeout.ms=1\n")
    files = ("-c", str(controller), "-c", str(broker))
    said = " ".join("\n".join(text(rehearse(*files, *KILL))).split())
    assert f"read from {controller}: session-timeout 18 s, quorum-failover 3 s" in said
    assert f"read from {broker}: heartbeat-interval 2 s, replica-lag 30 s, min.insync.replicas 2" in said
    assert "by default: commit 5 ms, boot 10 s" in said
    assert f"read from {controller}" in "\n".join(text(rehearse(*files)))
    rows = [json.loads(line) for line in rehearse(*files, *KILL, "--show", "assumptions", "-o", "jsonl").stdout.splitlines()]
    assert {row["name"]: row["read_from"] for row in rows if row["type"] == "assumption"}["session-timeout"] == str(controller)
    # What is asked for counts more.
    assert "as asked: session-timeout=3 s" in "\n".join(text(rehearse(*files, "--assume", "session-timeout=3s", *KILL)))
    done = rehearse("-c", str(tmp_path / "none.properties"), *KILL)
    assert done.status == 1 and "none.properties: No such file" in done.stderr


def test_a_live_controller_tells_what_it_was_started_with(quorum: EmbeddedQuorum) -> None:
    brokers = sorted(quorum.image.cluster.brokers)
    lines = text(run_main(main, ["-C", quorum.bootstrap_controllers, "kill-broker", str(brokers[0])], cwd=Path()))
    assert any(line.strip().startswith("read from controller ") and "session-timeout" in line for line in lines)


def test_how_often_a_rehearsal_is_repeated_is_a_number_from_one_on() -> None:
    assert rehearse("--seeds", "0", *KILL).status == 2
    assert rehearse("--seeds", "3").status == 2
