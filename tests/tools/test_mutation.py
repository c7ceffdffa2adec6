"""The tool that changes raft and log line by line: what it changes, how it names that, whom it asks, and what it concludes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from tools.mutation import __main__ as mutation
from tools.mutation import listed
from tools.mutation.checkout import COPIED
from tools.mutation.choosing import stages
from tools.mutation.modules import ROOT, path_of
from tools.mutation.mutants import Key, Mutation, module_paths, mutations_of
from tools.mutation.recording import Recording
from tools.mutation.report import Report
from tools.mutation.results import Result, Results
from tools.mutation.rooms import ROOMS
from tools.mutation.running import Run, Warm, warm_process
from tools.mutation.sampling import sample

ROOMS_BY_NAME = {room.name: room for room in ROOMS}


def test_every_module_is_in_one_room_and_every_place_of_tests_exists() -> None:
    modules = module_paths()
    assert len(modules) == len(set(modules))
    # __init__ of the package itself, its starter and the demo's files have nothing to judge.
    every = {str(path.relative_to(ROOT / "metashell")) for path in (ROOT / "metashell").rglob("*.py")}
    assert {name for name in every - set(modules) if not name.endswith("__init__.py")} == {"__main__.py"}
    for room in ROOMS:
        assert room.modules() and room.test_files(), room.name
        assert [place for place in room.tests if not (ROOT / "tests" / place).exists()] == [], room.name


def changed(source: str) -> set[str]:
    """What the mutations make of a source of one function, by its changed lines."""
    found = set()
    for one in mutations_of("quorum/raft/x.py", source.encode()):
        old, new = source.splitlines(), one.apply(source.encode()).decode().splitlines()
        assert len(old) >= len(new) and old != new
        found.add("; ".join(line.strip() for line in new if line not in old))
        compile(one.apply(source.encode()), "x.py", "exec")
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return a < b", {"return a <= b"}),
        ("return a == b", {"return a != b"}),
        ("return a is not b", {"return a is b"}),
        ("return a  not  in b", {"return a  in b"}),
        ("return a <= b < 5", {"return a < b < 5", "return a <= b <= 5", "return a <= b < 6", "return a <= b < 4"}),
        ("return (a) + (b)", {"return (a) - (b)"}),
        ("return a and b", {"return a or b", "return True and b", "return a and True"}),
        ("return a or b", {"return a and b", "return False or b", "return a or False"}),
        ("return not a", {"return a"}),
        ("return not (a or b)", {"return (a or b)", "return not (a and b)", "return not (False or b)", "return not (a or False)"}),
        ("return min(a, b)", {"return max(a, b)"}),
        ("return f(a, *b, c)", {"return f(*b, c)", "return f(a, c)", "return f(a, *b)"}),
        ("return f(a, True)", {"return f(a, False)", "return f(True, a)"}),
        ("return a[1:]", {"return a[2:]", "return a[0:]"}),
        ("return -1", {"return 0", "return -2"}),
        ("return a if b else c", {"return a if True else c", "return a if False else c"}),
        ("return [c for c in a if b]", {"return [c for c in a if True]", "return [c for c in a if False]"}),
        ("f(a)", {"pass"}),
        ("raise ValueError(a + 1)", {"pass"}),
        ("a.b = c", {"pass"}),
        ("a += b", {"pass", "a -= b"}),
        ("del a[b]", {"pass"}),
        # No behaviour hangs on these, or the next line breaks without them.
        ("c = a", set()),
        ("assert a < 1, 'text'", set()),
        ("raise AssertionError('a < 1')", set()),
        ("return f'{a + 1}'", set()),
        ("return a + 'text'", set()),
        ("return isinstance(a, int | str)", set()),
        # What a value goes through, and what becomes of an error.
        ("return sorted(a)", {"return list(a)"}),
        ("return a.strip()", {"return a"}),
        ("return f(a, b)", {"return f(b, a)"}),
        ("return f(a, a)", set()),
        ("return a / b", {"return a * b"}),
    ],
)
def test_each_operator_bound_and_statement_is_changed(line: str, expected: set[str]) -> None:
    assert changed(f"def g(a, b):\n    {line}\n") == expected


def test_a_return_that_ends_the_function_anyway_is_not_dropped_and_an_early_one_is() -> None:
    assert changed("def g(a):\n    if a:\n        f()\n        return\n") == {"if True:", "if False:", "pass"}
    assert len(mutations_of("quorum/raft/x.py", b"def g(a):\n    if a:\n        return\n    f()\n")) == 4


def test_a_default_is_a_bound_too() -> None:
    assert changed("def g(a=3, *, b=False):\n    return a\n") == {
        "def g(a=4, *, b=False):",
        "def g(a=2, *, b=False):",
        "def g(a=3, *, b=True):",
    }


def test_positions_are_right_behind_letters_of_several_bytes_and_over_several_lines() -> None:
    assert changed("def g(a):\n    return ('ä', a <\n        a)\n") == {"return ('ä', a <="}


def test_a_mutation_keeps_its_name_while_lines_move() -> None:
    text = "def g(a):\n    f(a < 1, a < 2)\n"
    first = mutations_of("quorum/raft/x.py", text.encode())
    moved = mutations_of("quorum/raft/x.py", f"import os\n\n\n{text}".encode())
    assert [one.key for one in first] == [one.key for one in moved]
    assert [one.line + 3 for one in first] == [one.line for one in moved]
    assert len({one.id for one in first}) == len(first)
    assert {one.key.change for one in first} >= {"< -> <=", "< -> <= (2)"}


@pytest.mark.slow
def test_every_mutation_is_a_program_and_has_a_name_of_its_own_and_every_listed_equivalent_is_one_of_them() -> None:
    keys: set[Key] = set()
    count = 0
    for module in module_paths():
        source = path_of(module).read_bytes()
        found = mutations_of(module, source)
        keys |= {one.key for one in found}
        count += len(found)
        for one in found[len(found) // 2 :: 1009]:
            compile(one.apply(source), module, "exec")
    assert len(keys) == count > 80_000
    assert listed.stale(listed.EQUIVALENT, listed.read(listed.EQUIVALENT), keys) == []


def mutations_for(count: int, module: str = "quorum/raft/x.py") -> list[Mutation]:
    return [Mutation(Key(module, "g", "line", f"change {number}"), number, 0, 0, b"") for number in range(count)]


def test_a_sample_takes_of_every_module_and_a_larger_one_holds_the_smaller() -> None:
    a, b, empty = "quorum/raft/a.py", "quorum/raft/b.py", "quorum/raft/c.py"
    mutations = {a: mutations_for(300, a), b: mutations_for(3, b), empty: []}
    small, large = sample(mutations, 30, 1), sample(mutations, 90, 1)
    assert 25 <= len(small) <= 35 and 85 <= len(large) <= 95
    assert {one.id for one in small} < {one.id for one in large}
    assert {one.key.module for one in small} == {a, b}
    assert {one.id for one in sample(mutations, 30, 2)} != {one.id for one in small}


def test_the_tests_of_the_function_are_asked_and_its_last_killer_first() -> None:
    own, far, other = "tests/quorum/raft/test_x.py::a", "tests/quorum/raft/test_far.py::b", "tests/quorum/raft/test_far.py::c"
    known = Recording({other: 0.1, far: 0.2, own: 5.0, "seed:1": 1.0}, {("quorum/raft/x.py", "g"): [far]})
    one = mutations_for(1)[0]
    first, rest = stages(one, known, None)
    assert (list(first), list(rest)) == ([own, far], ["seed:1"])
    assert list(stages(one, known, far)[0]) == [far, own]


def result(id: str, verdict: str) -> Result:
    return Result(id, verdict, "tests/x.py::t", "why", 1.0, "", "")


def report(killed: int, survived: int, *, equivalent: int = 0, listed_but_killed: int = 0) -> Report:
    mutations = mutations_for(killed + survived + equivalent)
    verdicts = ["killed"] * killed + ["survived"] * (survived + equivalent)
    reasons = {one.id: "never asked" for one in mutations[killed + survived :] + mutations[:listed_but_killed]}
    results = {one.id: result(one.id, verdict) for one, verdict in zip(mutations, verdicts, strict=True)}
    return Report(mutations, results, reasons, {ROOMS_BY_NAME["raft"]: ["quorum/raft/x.py"]}, {"quorum/raft/x.py": b"line\n"})


def test_ninety_five_of_a_hundred_that_mean_something_are_enough() -> None:
    assert report(95, 5).is_good and not report(94, 6).is_good
    assert report(95, 5, equivalent=50).is_good and not report(94, 6, equivalent=50).is_good
    assert "95.0% of 100, goal 95%" in report(95, 5, equivalent=50).text()
    assert "metashell/quorum/raft/x.py:95" in report(95, 5).text()


def test_an_equivalent_that_is_killed_is_none() -> None:
    found = report(100, 0, listed_but_killed=1)
    assert not found.is_good and "listed as equivalent, but killed by tests/x.py::t: why" in found.text()
    assert found.json()["is_good"] is False


def test_a_list_says_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "equivalent.tsv"
    path.write_text("# a comment\nquorum/raft/x.py\tg\tline\tdropped\tno reason why not\n")
    lines = listed.read(path)
    assert listed.stale(path, lines, {lines[0].key}) == []
    assert listed.stale(path, lines, set()) == ["equivalent.tsv:2: quorum/raft/x.py has no such mutation any more"]
    for text, message in [("quorum/raft/x.py\tg\tline\tdropped\t\n", "1: not five"), ("a\tb\tc\td\te\n" * 2, "2: stands in line 1")]:
        path.write_text(text)
        with pytest.raises(UsageError, match=message):
            listed.read(path)


def test_a_stored_result_holds_until_what_it_hangs_on_changes(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = Results(path)
    killer = "tests/tools/test_mutation.py::t"
    results.keep("killed", "killed", killer)
    results.keep("survived", "survived")
    with path.open("a") as file:
        file.write('{"id": "cut of')
    again = Results(path)
    assert again.killers == {"killed": killer}
    assert again.valid("killed") and again.valid("survived") and again.valid("cut of") is None
    assert Results(path, is_fresh=True).valid("killed") is None
    again.tests = "other tests"
    assert again.valid("killed") and again.valid("survived") is None
    again.sources = "other sources"
    assert again.valid("killed") is None


# The process that runs tests


LOOP = Key("quorum/raft/roles.py", "Tally.is_won", "return self.granted >= self.majority", "a loop without end")
FILE = "tests/quorum/raft/test_elections.py"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout, seen from another folder: nothing here writes into it."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def warm(copy: Path):
    with warm_process(copy, ["metashell.quorum.raft.roles"]) as process:
        yield process


def roles(old: bytes = b"", new: bytes = b"") -> tuple[Mutation, bytes]:
    source = (ROOT / "metashell" / "quorum" / "raft" / "roles.py").read_bytes()
    assert old in source
    return Mutation(LOOP, 1, 0, 0, b""), source.replace(old, new, 1)


@pytest.mark.slow
def test_the_sound_code_passes_and_a_change_is_noted_by_a_test(warm: Warm) -> None:
    mutation, source = roles()
    assert warm.perform(mutation, source, {FILE: 5.0}, 300)["verdict"] == "passed"
    mutation, source = roles(b"self.granted >= self.majority", b"self.granted > self.majority")
    found = warm.perform(mutation, source, {FILE: 5.0}, 300)
    assert found["verdict"] == "killed" and found["test"].startswith(f"{FILE}::")
    # The process is as it was.
    assert warm.perform(*roles(), {FILE: 5.0}, 300)["verdict"] == "passed"


@pytest.mark.slow
def test_a_loop_without_end_is_ended_and_counts_as_a_kill(warm: Warm) -> None:
    mutation, source = roles(b"return self.granted >= self.majority", b"while True: pass")
    found = warm.perform(mutation, source, {FILE: 0.0}, 300, patience=1.0)
    assert found["verdict"] == "hung" and found["test"].startswith(f"{FILE}::")


def test_a_change_that_breaks_the_import_counts_as_a_kill(warm: Warm) -> None:
    mutation, source = roles(b"class Tally:", b"class Other:")
    assert warm.perform(mutation, source, {FILE: 5.0}, 300)["verdict"] == "killed"


def test_time_that_runs_out_is_no_kill_and_a_test_that_is_not_there_is_an_error(warm: Warm) -> None:
    mutation, source = roles(b"self.granted >= self.majority", b"self.granted > self.majority")
    assert warm.perform(mutation, source, {FILE: 5.0}, 0.0)["verdict"] == "cut"
    assert warm.perform(*roles(), {f"{FILE}::test_nothing": 5.0}, 300)["verdict"] == "missing"
    assert warm.perform(*roles(), {"tests/quorum/raft/test_nothing.py": 5.0}, 300)["verdict"] == "missing"


@pytest.mark.slow
def test_a_run_whose_tests_fail_on_the_sound_code_judges_nothing(copy: Path, tmp_path: Path) -> None:
    mutation, source = roles(b"self.granted >= self.majority", b"self.granted > self.majority")
    run = Run(copy, {"quorum/raft/roles.py": source}, lambda one: [{FILE: 5.0}], Results(tmp_path / "r"), 1, 60.0)
    with pytest.raises(UsageError, match="on the sound code: killed"):
        run.perform([mutation], lambda one, found: None)


@pytest.mark.slow
def test_a_seed_of_the_simulation_judges_too(warm: Warm) -> None:
    assert warm.perform(*roles(), {"seed:0": 5.0}, 300)["verdict"] == "passed"
    mutation, source = roles(b"return self.granted >= self.majority", b"return True")
    assert warm.perform(mutation, source, {"seed:0": 5.0}, 300)["verdict"] == "killed"


# The command


def test_what_is_no_module_and_no_mutation_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutation.main(["--module", "quorum/raft/nothing.py"]) == 2
    assert mutation.main(["--module", "quorum/raft/roles.py", "--one", "nothing"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "mutation: quorum/raft/nothing.py: no module of a room, such as quorum/raft/elections.py",
        "mutation: nothing: no mutation of this name; --list --all prints them",
    ]


@pytest.mark.slow
def test_a_committed_sample_is_killed_in_whole(capsys: pytest.CaptureFixture[str]) -> None:
    status = mutation.main(["--sample", "-o", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["faults"] == [] and [one for one in found["mutations"] if one["verdict"] != "killed"] == [], found
    assert status == 0 and len(found["mutations"]) >= 40
