"""What the end of a line may become."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from metashell.cli.images import load_image, make_context
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.settings import Settings
from metashell.common.values import moment_text
from metashell.demo import demo_directory
from metashell.shell import Context, run_line
from metashell.shell.completion import CANDIDATES_MAX, complete, expansion
from metashell.shell.completion_values import pattern_matches, values_of, values_set
from metashell.shell.grammar import parse_line
from tests.shell.fake_nodes import FakeDirectory, fake_context, printed


def completed(line: str, **fields) -> list[str]:
    """The lines that the candidates would make."""
    return [line[: candidate.start] + candidate.text for candidate in complete(fake_context(**fields), line)]


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("c", ["cat ", "cd ", "clear ", "count ", "create "]),
        ("st", ["stat ", "status ", "history "]),
        ("frob ", []),
        ("ls /im", ["ls /image/"]),
        ("cat /image/brokers/1", ["cat /image/brokers/1 ", "cat /image/brokers/10 "]),
        ("ls /image/topics/byName/", [f"ls /image/topics/byName/{name}/" for name in ("a\\ b", "orders", "other")]),
        ("ls /image/topics/byName/a\\ b/na", ["ls /image/topics/byName/a\\ b/name "]),
        ("ls -l /lo", ["ls -l /local/"]),
        ("ls -o js", ["ls -o json ", "ls -o jsonl "]),
        ("find / -type to", ["find / -type topic ", "find / -type token "]),
        ("find / -ma", ["find / -maxdepth "]),
        ("find / --ma", ["find / --maxdepth "]),
        ("timing ", ["timing on ", "timing off "]),
        ("find / -maxdepth 2 /lo", ["find / -maxdepth 2 /local/"]),
        ("man h", ["man health ", "man help ", "man history "]),
        ("cd / /", []),
        ("history ", []),
        ("cat /nope/", []),
        ("cat /local/version/", []),
        ("cat /image/topics/*/orders/i", ["cat /image/topics/byName/orders/id "]),
        ("cat /image/**/", []),
    ],
)
def test_a_line_is_completed(line, lines):
    assert completed(line) == lines


def test_paths_are_completed_from_the_working_directory_and_dots_are_kept_as_typed():
    assert completed("cat ver", cwd="/local") == ["cat version "]
    assert completed("cat ../image/fe", cwd="/local") == ["cat ../image/features/"]


def test_kafkas_voice_completes_its_own_commands_and_no_options():
    assert completed("s", voice="kafka") == []
    assert completed("status ", voice="kafka") == []
    assert completed("ls -", voice="kafka") == []
    assert completed("ls /lo", voice="kafka") == ["ls /local/"]


def test_flags_come_with_what_they_do():
    (flag,) = complete(fake_context(), "ls --lo")
    assert (flag.text, flag.meta) == ("--long ", "one line for each name, with its type and what matters about it")


def test_a_directory_of_a_hundred_thousand_names_costs_a_capped_number_of_nodes():
    ctx = fake_context()
    big = FakeDirectory("", {f"topic-{index:06}": "x" for index in range(100_000)})
    ctx.root = big
    names = [candidate.display for candidate in complete(ctx, "cat topic-0500")]
    assert names == [f"topic-0500{index:02}" for index in range(100)]
    big.asked.clear()
    assert len(complete(ctx, "cat /")) == CANDIDATES_MAX
    assert len(big.asked) == CANDIDATES_MAX


@pytest.mark.parametrize("pattern", ["topic-*999", "*-0001?", "t{opic-00001,x}*", "*99*9*", "nothing*", "*", "topic-00000[12]", "\\\\*"])
def test_a_pattern_in_a_large_directory_names_what_it_names_anywhere(pattern):
    names = [f"topic-{index:06}" for index in range(2000)] + ["*star", "Topic-999"]
    ctx = fake_context({"large": dict.fromkeys(names, "x")})
    wanted = [match.path for match in ctx.matches(f"/large/{pattern}")] or [match.path for match in ctx.matches(f"/large/{pattern}*")]
    assert pattern_matches(ctx, f"/large/{pattern}", 900) == [path.replace("*", "\\*") for path in wanted[:900]]


def test_a_name_that_is_a_pattern_is_completed_with_escapes_that_reach_it():
    ctx = fake_context({"q*x": "found", "q-x": "other"})
    candidate, other = complete(ctx, "cat /q*")
    assert other.text == "/q-x "
    assert candidate.text == "/q\\\\*x "
    assert run_line(ctx, f"cat {candidate.text}") == 0
    assert printed(ctx) == "found\n"


@pytest.fixture(scope="module")
def demo() -> Context:
    """The demo as kafka-shell shows it, with settings."""
    loaded = load_image(demo_directory(), certain_only=False, max_decompressed=MAX_DECOMPRESSED)
    settings = Settings(aliases={"ll": "ls -l", "lead": "find / -type partition | wc -l"}, sources={"prod": "-C c1:9093"})
    return make_context(loaded, voice="own", output="text", label="demo", settings=settings)


def offered(ctx: Context, line: str) -> dict[str, str]:
    """The lines that the candidates would make, each with what is beside it."""
    return {line[: each.start] + each.text: each.meta for each in complete(ctx, line)}


def test_what_holds_the_typed_text_comes_after_what_begins_with_it(demo):
    lines = [*offered(demo, "ls /image/topics/byName/re")]
    begin = [line for line in lines if "/byName/re" in line]
    assert begin == lines[: len(begin)]
    assert "ls /image/topics/byName/reassigned-1/" in begin
    assert all("re" in line.removeprefix("ls /image/topics/byName/").lower() for line in lines[len(begin) :])
    assert len(lines) > len(begin) > 1
    # Characters in their order are looked for where nothing holds them together.
    assert [*offered(demo, "ls /image/topics/byName/rsgnd1")] == ["ls /image/topics/byName/reassigned-1/"]


def test_a_pattern_offers_what_it_names_and_tab_expands_it(demo):
    paths = {f"/image/topics/byName/reassigned-{number}/": "topic" for number in (1, 2)}
    assert offered(demo, "ls /image/topics/byName/reas*") == {f"ls {path}": about for path, about in paths.items()}
    expanded = expansion(demo, "ls /image/topics/byName/reas*")
    assert expanded is not None
    assert (expanded.text, expanded.start) == ("/image/topics/byName/reassigned-1 /image/topics/byName/reassigned-2 ", 3)
    # What names nothing as it stands is taken as the beginning of a name.
    begun = expansion(demo, "ls /image/t*/byN")
    assert begun is not None
    assert begun.text == "/image/topics/byName/"


@pytest.mark.parametrize("line", ["ls", "ls /image/topics", "ls /nope/*", "ls /**/name", "echo *", "ls -o *", "ls # *", "ls | grep *"])
def test_tab_expands_nothing_else(demo, line):
    assert expansion(demo, line) is None


def test_a_pattern_that_names_too_much_stays_and_says_so(demo):
    line = "ls /image/topics/byName/*/*"
    found = expansion(demo, line)
    assert found is not None
    assert (line[: found.start] + found.text, found.meta) == (line, "more than 50 paths fit")


def test_values_come_with_what_they_are(demo):
    assert offered(demo, "count --by le")["count --by leader "] == "partitions by the id of their leader"
    assert offered(demo, "health under_m") == {
        "health under_min_isr ": "bad: partitions with fewer replicas in sync than min.insync.replicas: writes with acks=all fail"
    }
    assert offered(demo, "at e") == {"at end ": "the newest state"}
    assert offered(demo, "ls /image/cluster/brokers/4")["ls /image/cluster/brokers/4 "].startswith("broker ")
    assert offered(demo, "ls /image/topics/byName/reassigned-1") == {"ls /image/topics/byName/reassigned-1/": "topic, 2 partitions"}


def test_the_tests_of_find_take_values_that_are_there(demo):
    assert list(offered(demo, "find / -leader ")) == [f"find / -leader {id} " for id in (4, 5, 6)]
    assert offered(demo, "find / -rack -b")["find / -rack rack-b "] == "1 broker"
    assert "find / -config retention.ms " in offered(demo, "find / -config retention")
    assert offered(demo, "find / -under-re")["find / -under-replicated "]


def test_each_option_is_offered_once_by_a_name_with_the_dashes_that_are_typed(demo):
    short, long = offered(demo, "find / -"), offered(demo, "find / --")
    assert [line for line in short if "--" in line] == ["find / --help "]
    assert {"find / -leader ", "find / -under-replicated ", "find / -o "} <= short.keys()
    assert {"find / --leader ", "find / --output ", "find / --help "} <= long.keys()
    assert len(short) == len(long) == len(set(long.values()))
    assert offered(demo, "find / -path-gl").keys() == {"find / --path-glob "}
    assert offered(demo, "ls -l").keys() == {"ls -l "}


def test_the_fields_of_a_listing_are_those_that_are_there(demo):
    fields = offered(demo, "ls /image/cluster/brokers --sort ")
    assert fields["ls /image/cluster/brokers --sort epoch "].startswith("such as ")
    assert "ls /image/cluster/brokers --sort rack " in fields
    assert offered(demo, "ls --sort ent").keys() == {"ls --sort entries "}


def test_the_value_of_a_setting_is_one_that_kafka_takes_or_that_is_set_here(demo):
    found = offered(demo, "find / -config cleanup.policy=")
    assert found["find / -config cleanup.policy=compact "] == "set here, 4 times"
    assert "find / -config cleanup.policy=delete " in found
    assert offered(demo, "find / -config min.compaction.lag.ms=") == {}
    assert offered(demo, "find / -config compression.type=prod") == {"find / -config compression.type=producer ": "set here, 2 times"}
    assert offered(demo, "find / -config ssl.client.auth=no") == {"find / -config ssl.client.auth=none ": "the default"}
    assert any(about.startswith("set here, ") for about in offered(demo, "find / -config retention.ms=").values())
    assert offered(demo, "find / -config unclean.leader.election.enable=t").keys() == {
        "find / -config unclean.leader.election.enable=true "
    }
    assert offered(demo, "find / -config nope=") == {}


def test_no_value_of_a_secret_is_offered():
    ctx = fake_context()
    secret = {"ssl.key.password": "hunter2", "log.retention.ms": "7"}
    ctx.image.configs = {(4, "1"): secret, (4, ""): secret}
    assert values_set(ctx, "ssl.key.password") == {}
    assert values_set(ctx, "log.retention.ms") == {"7": "set here, 2 times"}


def test_moments_are_offered_of_which_something_is_known(demo, monkeypatch):
    newest = demo.image.provenance.timestamp_ms
    day = 86_400_000
    monkeypatch.setattr("metashell.shell.completion_values.now_ms", lambda: newest + 2 * day)
    late = offered(demo, "at ")
    assert not any(line.startswith("at -") for line in late)
    assert late[f"at {moment_text(newest)} "] == "the newest record"
    monkeypatch.setattr("metashell.shell.completion_values.now_ms", lambda: newest + day // 2)
    assert "at -1d " in offered(demo, "at ")
    assert "at -1h " not in offered(demo, "at ")
    monkeypatch.setattr("metashell.shell.completion_values.now_ms", lambda: newest)
    assert {"at -10m ", "at -1h ", "at -1d "} <= offered(demo, "at ").keys()


def test_checkpoints_and_times_back_from_the_last_record_are_moments(monkeypatch):
    ctx = fake_context()
    hour = 3_600_000
    ctx.image.provenance = SimpleNamespace(timestamp_ms=50 * hour, end_offset=90)
    ctx.past = lambda: SimpleNamespace(times=lambda limit: [(0, 40 * hour), (60, 45 * hour)])
    monkeypatch.setattr("metashell.shell.completion_values.now_ms", lambda: 100 * hour)
    assert values_of(ctx, "moment") == {
        "end": "the newest state",
        "1970-01-03T02:00:00Z": "the newest record",
        "1970-01-03T01:50:00Z": "ten minutes before the newest record",
        "1970-01-03T01:00:00Z": "an hour before the newest record",
        "90": "the end offset of what is shown",
        "60": "a checkpoint, 1970-01-02T21:00:00Z",
        "0": "the beginning, 1970-01-02T16:00:00Z",
    }


def test_the_fields_of_an_expression_are_completed_inside_its_quotes(demo):
    assert offered(demo, "find / --where 'partiti")["find / --where 'partitions"] == "how many a topic has"
    assert "find / --where 'partitions > 5 and topic" in offered(demo, "find / --where 'partitions > 5 and top")
    assert offered(demo, "find / --where 'topic == \"par") == {}


def test_every_kind_of_value_is_known_and_told(demo):
    brokers = values_of(demo, "broker")
    assert list(brokers) == ["4", "5", "6"]
    assert all(":" in about for about in brokers.values())
    assert values_of(demo, "rack") == {"rack-a": "1 broker", "rack-b": "1 broker"}
    assert values_of(demo, "config-key")["retention.ms"].startswith("[604800000] This configuration controls the maximum time")
    assert values_of(demo, "record-type")["PARTITION_RECORD"] == "type 3"
    assert values_of(demo, "source") == {"@prod": "-C c1:9093"}
    assert values_of(demo, "nothing") == {}


def test_what_follows_a_pipe_or_goes_to_a_file_is_of_this_machine(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out put.txt").write_text("")
    (tmp_path / "folder").mkdir()
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "wcount").write_text("")
    monkeypatch.setenv("PATH", str(tools))
    assert offered(demo, "ls /image | wc") == {
        "ls /image | wc ": "command of this machine",
        "ls /image | wcount ": "command of this machine",
    }
    assert offered(demo, "ls / | sort o") == {"ls / | sort out\\ put.txt ": "file"}
    assert offered(demo, "ls / > ou") == {"ls / > out\\ put.txt ": "file"}
    assert offered(demo, "ls / >> fo") == {"ls / >> folder/": "directory"}
    assert offered(demo, "ls / # fo") == {}
    assert "pwd; ls /image/" in offered(demo, "pwd; ls /im")
    assert "pwd && ls /image/" in offered(demo, "pwd && ls /im")


def test_aliases_are_commands_and_their_paths_are_completed(demo):
    assert offered(demo, "ll")["ll "] == "alias: ls -l"
    assert offered(demo, "ll /im") == {"ll /image/": "dir"}
    assert offered(demo, "time ll /im") == {"time ll /image/": "dir"}


def test_of_a_verb_that_changes_the_cluster_only_what_begins_with_the_text_is_offered(demo):
    assert "ls /image/topics/byName/reassigned-1/" in offered(demo, "ls /image/topics/byName/assigned-")
    assert offered(demo, "delete /image/topics/byName/assigned-") == {}
    assert offered(demo, "delete /image/topics/byName/reas*") == {}
    assert "unregister " not in offered(demo, "gister")


def test_a_name_that_the_shell_would_read_as_something_else_is_quoted():
    hostile = ("a b", "x;y", "a|sh", "$(touch X)", "it's", '"q"', "#c", "a>b", "[x]", "*", "back\\slash", "!n")
    ctx = fake_context(dict.fromkeys(hostile, "found"))
    for name in hostile:
        (found,) = [each for each in complete(ctx, "cat /") if each.display == name]
        (step,) = parse_line(f"cat {found.text}").steps
        assert (step.pipe, step.redirect, len(step.words)) == (None, None, 2)
        assert [match.name for match in ctx.matches(step.words[1])] == [name]
