"""kafka-shell at an earlier moment: --at, log, at and diff on the directory that ships with the package, and what is refused."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from metashell.cli.images import past_of_path
from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.codec.framing import whole_frames
from metashell.common.forms import Display
from metashell.demo import demo_directory
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context
from metashell.shell.runner import run_command
from tests.metadata.image.batches import batch_of_values, record, value
from tests.running import Outcome, run_main

END = "touched it; the newest of all is of 2026-11-21T00:25:57.050Z"


@pytest.fixture
def demo(tmp_path: Path):
    return lambda *words: run_main(kafka_shell, ("--demo", *words), cwd=tmp_path)


@pytest.fixture
def on(tmp_path: Path):
    return lambda *words: run_main(kafka_shell, words, cwd=tmp_path)


def rows(outcome: Outcome) -> list[dict[str, object]]:
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_every_command_answers_as_of_an_offset_or_a_time(demo):
    now, then = demo("ls", "/image/topics/byName"), demo("--at", "300", "ls", "/image/topics/byName")
    assert b"under-new-leader" in now.stdout
    assert then.status == 0
    assert b"under-new-leader" not in then.stdout
    assert demo("--at", "2026-11-21T00:23:40Z", "ls", "/image/topics/byName").stdout == then.stdout
    assert demo("--at", "end", "ls", "/image/topics/byName").stdout == now.stdout


def test_where_the_old_log_is_gone_what_was_before_it_is_only_known_as_a_state(on, tmp_path: Path):
    folder = tmp_path / "node"
    shutil.copytree(demo_directory(), folder)
    metadata = next(folder.rglob("__cluster_metadata-0"))
    (metadata / f"{0:020d}.log").unlink()
    outcome = on("-s", str(folder), "log", "/image/topics/byName/orders/0")
    first, *rest = outcome.stdout.decode().splitlines()
    assert outcome.status == 0
    assert first.startswith("before 329 only the state is known: /image/topics/byName/orders/0  leader=4")
    assert [line.split()[0] for line in rest] == ["389"]
    known = rows(on("-s", str(folder), "log", "-o", "jsonl", "/image/topics/byName/orders/0"))[0]
    assert (known["kind"], known["offset"], known["record"]) == ("known", 329, None)
    assert "the oldest state here is that of offset 329" in on("-s", str(folder), "--at", "200", "ls").stderr


def test_a_topic_that_is_gone_has_a_log(demo):
    gone = {str(row["path"]) for row in rows(demo("log", "-o", "jsonl")) if row["kind"] == "removed" and row["type"] == "topic"}
    assert gone
    for path in gone:
        assert {"created", "removed"} <= {row["kind"] for row in rows(demo("log", "-o", "jsonl", path))}


def test_the_last_changes_of_everything_are_the_end_of_all(demo):
    assert rows(demo("log", "-n", "7", "-o", "jsonl")) == rows(demo("log", "-o", "jsonl"))[-7:]


def test_since_leaves_out_what_was_before(demo):
    every = rows(demo("log", "-o", "jsonl", "/image/cluster"))
    later = rows(demo("log", "-o", "jsonl", "--since", "300", "/image/cluster"))
    assert later == [row for row in every if int(str(row["offset"])) >= 300]


def test_secrets_stay_hidden_in_what_changed(demo):
    text = demo("log", "-p", "/image/scram").stdout + demo("diff", "1", "end", "-o", "jsonl").stdout
    assert b"redacted" in text.lower()


def test_the_status_of_diff_says_whether_anything_differs(demo, on):
    assert demo("diff", "300", "300").status == 0
    assert demo("diff", "300", "310").status == 1
    assert on("-s", demo_directory(), "diff", "-s", demo_directory()).status == 0
    assert on("--demo", "--at", "300", "diff", "310").stdout.startswith(b"offset 310 -> offset 300\n")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--at", "522", "ls"), 1, "no image at offset 522: what is here ends at 521"),
        (("--at", "soon", "ls"), 2, "'soon' is no moment"),
        (("--at", "2999-01-01", "ls"), 2, "has not come yet"),
        (("--at", "2001-01-01", "ls"), 1, "nothing is known of 2001-01-01"),
        (
            ("log", "/image/topics/byName/nope"),
            1,
            "no record from offset 0 on touched it",
        ),
        (("log", "/local/version"), 1, "no records: `log` works below /image"),
        (("log", "--since", "x"), 2, "'x' is no moment"),
        (("diff",), 2, "nothing to compare with"),
        (("diff", "1", "2", "3"), 2, "two moments are enough"),
        (("diff", "-s", "/nowhere"), 1, "/nowhere: No such file or directory"),
        (("--at", "300", "--certain-only", "ls"), 2, "exclude each other"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(demo, words, status, message):
    outcome = demo(*words)
    assert outcome.status == status
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1


# ---- two sources


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A copy of the demo that is 6 records behind."""
    folder = tmp_path / "short"
    shutil.copytree(demo_directory(), folder)
    last = folder / "__cluster_metadata-0" / f"{251:020d}.log"
    data = last.read_bytes()
    frames = [at for at, _ in whole_frames(data)]
    last.write_bytes(data[: frames[-4]])
    return folder


def test_a_copy_that_is_merely_behind_does_not_differ(demo, short: Path):
    outcome = demo("diff", "-s", str(short))
    assert outcome.status == 0
    heading = f"offset 329 of demo and of {short} (demo goes on to 521, {short} goes on to 515; with `end` the ends are compared)"
    assert outcome.stdout.decode() == f"{heading}\nno difference\n"
    machine = demo("diff", "-s", str(short), "-o", "json")
    assert (machine.status, json.loads(machine.stdout), machine.stderr) == (0, [], f"diff: {heading}\n")


def test_moments_of_two_sources_are_compared_as_they_are_named(demo, short: Path):
    assert demo("diff", "-s", str(short), "300").stdout == f"offset 300 of demo and of {short}\nno difference\n".encode()
    assert demo("--at", "300", "diff", "-s", str(short)).stdout == demo("diff", "-s", str(short), "300").stdout
    ends = demo("diff", "-s", str(short), "end", "--stat", "-o", "jsonl")
    assert ends.status == 1
    assert {(row["kind"], row["to_offset"], row["to_certain_to"]) for row in rows(ends)} == {("removed", 515, 329)}
    text = demo("diff", "-s", str(short), "300", "end", "--stat").stdout.decode()
    assert text.startswith(f"offset 300 of demo -> offset 515 of {short} (may not be committed)\n")
    assert "cannot" not in text
    assert demo("diff", "-s", str(short), "520").status == 1


def test_two_clusters_and_disks_without_a_common_offset_are_told(demo, on, short: Path):
    properties = short / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=x"))
    assert demo("diff", "-s", str(short)) == Outcome(
        2, b"", "diff: these are two clusters: Z29sZGVuLW1haW4tY2x1cw and xZ29sZGVuLW1haW4tY2x1cw\n"
    )
    properties.unlink()
    folder = short / "__cluster_metadata-0"
    older, newer = sorted(folder.glob("*.checkpoint"))
    outcome = on("-s", str(older), "diff", "--stat", "-s", str(newer))
    assert outcome.status == 1
    assert outcome.stderr == "diff: no offset is in both: their ends are compared\n"
    assert outcome.stdout.decode().startswith(f"offset 141 of {older} -> offset 329 of {newer}\n")


# ---- log, at


def test_log_stops_where_at_stands_and_at_end_leads_back(demo, tmp_path: Path):
    # From 296 to 299 there are records of no effect.
    script = "at\nlog -n 1\nls /groups\nat end\nlog -n 1\n"
    outcome = run_main(kafka_shell, ("--demo", "--keep-going", "--at", "300"), cwd=tmp_path, stdin=script)
    lines = outcome.stdout.decode().splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "at offset 300, epoch 1, 2026-11-21T00:23:36.718Z",
        "295",
        "at the end: offset 521, epoch 2, 2026-11-21T00:25:57.050Z",
        "520",
    ]
    assert outcome.stderr == "ls: /groups: groups are shown at the end only: their logs have other offsets\n"
    assert demo("--at", "300", "log", "-n", "1").stdout.decode().startswith("295  ")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (
            ("log", "--since", "2026-11-22T00:00"),
            0,
            f"/: no record since 2026-11-22T00:00:00Z {END}",
        ),
        (
            ("log", "--since", "2026-11-22T00:00", "/image/features"),
            0,
            f"/image/features: no record since 2026-11-22T00:00:00Z {END}",
        ),
        (
            ("log", "--since", "520", "/image/topics/byName/orders"),
            0,
            "/image/topics/byName/orders: no record from offset 520 on touched it",
        ),
        (("log", "/image/topics/byName/ordres"), 1, "it never existed in this source (did you mean /image/topics/byName/orders?)"),
        (("log", "--since", "2026-11-22T00:00", "/image/topics/byName/nope"), 1, "it never existed in this source"),
        (("log", "/nope/x"), 1, "/nope/x: No such file or directory"),
    ],
)
def test_what_the_log_does_not_hold_is_told_from_what_never_was(demo, words, status, message):
    outcome = demo(*words)
    assert (outcome.status, outcome.stdout) == (status, b"")
    assert message in outcome.stderr and outcome.stderr.count("\n") == 1


def test_times_of_the_log_are_as_wide_as_each_other(demo):
    times = {len(line.split()[1]) for line in demo("log").stdout.decode().splitlines()}
    assert times == {len("2026-11-21T00:23:36.718Z")}


def test_faults_of_an_earlier_image_are_told_at_the_prompt_too(on, short: Path, tmp_path: Path):
    last = short / "__cluster_metadata-0" / f"{251:020d}.log"
    data = bytearray(last.read_bytes())
    data[9000] ^= 1
    last.write_bytes(data)
    outcome = run_main(kafka_shell, ("-s", str(short), "--keep-going"), cwd=tmp_path, stdin="at 500\nat 300\n")
    told = [line for line in outcome.stderr.splitlines() if line.startswith("at: ")]
    assert len(told) == 1 and "CRC-32C" in told[0]


HOSTILE = "a\x1b[31m\u202eb\nc"


def test_hostile_names_are_escaped_in_what_log_and_diff_print(on, tmp_path: Path):
    """Also where their output is no terminal a name is never two lines, nor is an escape passed on to one."""
    bodies = [
        record("TopicRecord", name=HOSTILE, topic_id=b"\1" * 16),
        record("ConfigRecord", resource_type=2, resource_name=HOSTILE, name="k\x1b]0;x\x07", value="v\x1b[2J"),
        record("AccessControlEntryRecord", id=bytes(16), resource_type=2, resource_name=HOSTILE, principal="User:\x9b"),
    ]
    file = tmp_path / f"{0:020d}.log"
    file.write_bytes(batch_of_values([value(body) for body in bodies]).data)
    for words in (("log",), ("log", "-p"), ("diff", "0", "end"), ("log", "/image/configs")):
        for form in ("text", "jsonl", "csv", "table"):
            ctx = Display(out := io.StringIO(), is_terminal=True, width=None)
            assert run_on_terminal(str(file), words, form, ctx) in (0, 1)
            assert out.getvalue().count("\n") >= 1
            assert not set(out.getvalue()) & set("\x1b\x07\x9b\u202e")


def run_on_terminal(path: str, words: tuple[str, ...], form: str, display: Display) -> int:
    past = past_of_path(path, 1 << 20)
    image = past().newest()
    local = LocalInfo()
    ctx = Context(
        root=build_root(image, voice="own", local=local),
        image=image,
        display=display,
        err=io.StringIO(),
        output=form,
        make_root=lambda image, before: build_root(image, voice="own", local=local),
    )
    ctx.past = past
    return run_command(ctx, list(words))


def test_the_whole_history_has_the_elections_of_the_quorum_and_one_path_has_not(demo):
    text = demo("log").stdout.decode()
    elected = [line for line in text.splitlines() if "LEADER_CHANGE" in line]
    assert [line.split()[0] for line in elected] == ["0", "458"]
    assert elected[1].endswith("changed /metadataQuorum/leader  leaderId: 1 -> 2; leaderEpoch: 1 -> 2")
    assert b"LEADER_CHANGE" not in demo("log", "/image/features").stdout
    of_leaders = [
        [row for row in rows(demo("log", *words, "-o", "jsonl")) if row["record"] == "LEADER_CHANGE"] for words in ((), ("--since", "400"))
    ]
    assert of_leaders[1] == of_leaders[0][1:]


def test_none_of_the_changes_are_none(demo):
    assert demo("log", "-n", "0").stdout == b""


def test_long_values_are_shown_from_a_little_before_what_differs(demo):
    line = demo("log", "-n", "1", "/image/voters").stdout.decode()
    assert all(len(set(pair.split(": ", 1)[1].split(" -> "))) == 2 for pair in line.rsplit("  ", 1)[1].split("; "))


def test_a_disk_with_a_checkpoint_and_one_with_the_log_alone_do_not_differ(demo, tmp_path: Path):
    """The voters of a checkpoint are said to be named at its end, those of the log where their record is."""
    folder = tmp_path / "log"
    shutil.copytree(demo_directory(), folder)
    for checkpoint in (folder / "__cluster_metadata-0").glob("*.checkpoint"):
        checkpoint.unlink()
    outcome = demo("diff", "-s", str(folder))
    assert (outcome.status, outcome.stdout.decode().splitlines()[1]) == (0, "no difference")


def test_voters_and_directories_are_told_by_what_sets_them_apart(demo):
    last = demo("log", "-n", "2", "/image/voters").stdout.decode().splitlines()
    assert [line.rsplit("voters: ", 1)[1] for line in last] == ["1,2,3 -> 2,3", "2,3 -> 1,2,3"]
    first, *rest = rows(demo("log", "-o", "jsonl", "/image/voters"))
    assert first["before"] is None and rest[0]["before"] == first["after"]
    assert demo("log", "-n", "1").stdout.decode().rstrip().endswith("directories: UNASSIGNED -> kPG_zLsCisNlstZHycTd3A")
    patch = demo("log", "-n", "1", "-p", "/image/voters").stdout.decode()
    assert '"voterDirectoryId"' in patch and "..." not in patch


def test_voters_of_a_checkpoint_count_at_its_end(on, tmp_path: Path):
    folder = tmp_path / "node"
    shutil.copytree(demo_directory(), folder)
    (folder / "__cluster_metadata-0" / f"{0:020d}.log").unlink()
    first, *_ = rows(on("-s", str(folder), "log", "-o", "jsonl", "/image/voters"))
    shown = json.loads(on("-s", str(folder), "--at", "329", "cat", "/image/voters").stdout)
    assert first["offset"] == 476 and first["before"] == shown and shown["offset"] == 328


def test_offsets_are_aligned_and_a_table_is_for_people(demo):
    lines = demo("log").stdout.decode().splitlines()
    assert {line.index("2026-") for line in lines} == {5}
    heading, row = demo("log", "-o", "table", "-n", "1", "/image/topics/byName/orders/0").stdout.decode().splitlines()
    assert heading.split() == ["OFFSET", "TIME", "EPOCH", "RECORD", "KIND", "PATH", "CHANGE"]
    assert "2026-11-21T00:24:11.482Z" in row and row.endswith("isr: 4 -> 4,5; partitionEpoch: 4 -> 5")
    table = demo("diff", "-o", "table", "515", "end").stdout.decode().splitlines()
    assert table[0].split() == ["TYPE", "KIND", "PATH", "CHANGE"] and len(table) == 6


def test_a_batch_with_a_wrong_base_offset_hides_nothing_behind_it(on, short: Path):
    folder = short / "__cluster_metadata-0"
    for checkpoint in folder.glob("*.checkpoint"):
        checkpoint.unlink()
    last = folder / f"{251:020d}.log"
    data = bytearray(last.read_bytes())
    at = next(at for at, _ in whole_frames(bytes(data)) if data[at + 7] == 400 - 256)
    data[at + 5] ^= 1
    last.write_bytes(data)
    wrong = 400 + (1 << 16)
    then = on("-s", str(short), "--at", "510", "at")
    assert then.stdout.startswith(b"at offset 510,") and f"offset {wrong}: offsets 400 to {wrong - 1} are missing" in then.stderr
    assert on("-s", str(short), "--at", "400", "at").stdout.startswith(b"at offset 400,")
    assert [line.split()[0] for line in on("-s", str(short), "log", "--since", "503").stdout.decode().splitlines()] == ["503", "506"]
    behind = on("-s", str(short), "--at", "401", "at")
    assert behind.status == 1 and "no image at offset 401" in behind.stderr and str(wrong) in behind.stderr


def test_the_log_says_where_a_fault_lies(on, short: Path):
    last = short / "__cluster_metadata-0" / f"{251:020d}.log"
    data = bytearray(last.read_bytes())
    data[9000] ^= 1
    last.write_bytes(data)
    told = on("-s", str(short), "log", "-n", "1").stderr.removeprefix("log: ")
    assert "offset" in told and told in on("-s", str(short), "-v", "ls").stderr.replace("kafka-shell: ", "")


def test_a_log_without_its_beginning_has_a_history_from_there_on(on, short: Path):
    folder = short / "__cluster_metadata-0"
    for path in (*folder.glob("*.checkpoint"), folder / f"{0:020d}.log"):
        path.unlink()
    gap = "offset 251: offsets 0 to 250 are missing"
    last = on("-s", str(short), "log", "-n", "1")
    assert (last.status, last.stdout.split()[0]) == (1, b"506") and gap in last.stderr
    then = on("-s", str(short), "--at", "300", "ls", "/image/topics/byName")
    assert then.status == 1 and b"grp-out" in then.stdout and gap in then.stderr
    assert on("-s", str(short), "log", "--since", "251", "-o", "jsonl").stdout == on("-s", str(short), "log", "-o", "jsonl").stdout
    assert on("-s", str(short), "--at", "251", "ls", "/image/topics/byName").stdout == b""
    assert "the oldest state here is that of offset 251" in on("-s", str(short), "--at", "200", "ls").stderr
    stat = on("-s", str(short), "stat", "/image/topics/byName")
    assert stat.status == 1 and f"stat: {folder / f'{251:020d}.log'}: {gap}\n" in stat.stderr


@pytest.mark.parametrize("width", [20, 80, 200])
def test_on_a_narrow_terminal_what_changed_stands_in_lines_of_its_own(width: int):
    shown = {}
    for room in (None, width):
        display = Display(out := io.StringIO(), is_terminal=True, width=room)
        run_on_terminal(demo_directory(), ("log", "-n", "40"), "text", display)
        shown[room] = out.getvalue().splitlines()
    begun = [line for line in shown[width] if not line.startswith(" ")]
    assert len(begun) == len(shown[None]) == 40
    assert "".join("".join(shown[width]).split()) == "".join("".join(shown[None]).split())
    if width == 80:
        # A path or a field that is too long for a line has one to itself.
        assert all(len(line) <= 80 or line.rstrip(";").count(";") == 0 for line in shown[width])
        assert shown[width][-2:] == [
            "     changed /image/topics/byName/last-topic/0",
            "     partitionEpoch: 0 -> 1; directories: UNASSIGNED -> kPG_zLsCisNlstZHycTd3A",
        ]
