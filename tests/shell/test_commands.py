"""What each command prints, in each form."""

from __future__ import annotations

import json

import pytest

from metashell.shell import run_line
from metashell.shell.commands import COMMANDS
from tests.shell.fake_nodes import complaints, fake_context, printed

NODE_FORMS = ("json", "jsonl")


def run(line: str, **fields) -> str:
    ctx = fake_context(**fields)
    assert run_line(ctx, line) == 0, complaints(ctx)
    return printed(ctx)


def test_ls_lists_names_and_shows_empty_directories_as_headings():
    assert run("ls /") == "image\nlocal\n"
    assert run("ls /image/empty") == ""
    assert run("ls /image/empty /local") == "/image/empty:\n\n/local:\nversion\n"


def test_ls_prints_leaves_before_directories():
    assert run("ls /local /local/version") == "version\n\n/local:\nversion\n"


def test_kafkas_ls_leaves_empty_directories_out():
    # The blank line that would have followed its heading is there all the same.
    assert run("ls /image/empty /local", voice="kafka") == "\nlocal:\nversion\n"
    assert run("ls /local/version /image/empty /local", voice="kafka") == "version\n\nlocal:\nversion\n"
    assert run('ls ""', voice="kafka") == "image\nlocal\n"


def test_kafkas_ls_uses_the_width_of_a_terminal():
    assert run("ls /image/brokers", voice="kafka", width=12) == "1  10  2\n"
    assert run("ls /image/brokers", voice="kafka", width=None) == "1\n10\n2\n"


@pytest.mark.parametrize("line", ["ls -l /local", "ls /local -l"])
def test_ls_takes_its_flags_before_and_after_paths(line):
    assert run(line) == "leaf        version  4.3.1\n"


def test_ls_long_aligns_names_and_counts_entries():
    assert run("ls -l /image/empty/..").splitlines()[:2] == ["dir         brokers   entries=3", "dir         empty     entries=0"]


def test_ls_recursive_lists_every_directory_below():
    assert run("ls -R /image/topics").startswith("/image/topics:\nbyName\n\n/image/topics/byName:\na b\norders\nother\n\n")


def test_ls_of_directories_themselves_shows_their_paths():
    assert run("ls -d /image/topics/byName/o*") == "/image/topics/byName/orders\n/image/topics/byName/other\n"


def test_cat_prints_scalars_plainly_and_records_as_indented_json():
    assert run("cat /local/version /image/brokers/2") == '4.3.1\n{\n  "brokerId": 2,\n  "rack": null,\n  "ports": [2, 3]\n}\n'


def test_cat_of_one_path_is_an_object_and_of_a_pattern_an_array():
    one = json.loads(run("cat -o json /image/brokers/1"))
    assert one["path"] == "/image/brokers/1" and one["value"]["brokerId"] == 1
    many = json.loads(run("cat -o json /image/brokers/1*"))
    assert [item["path"] for item in many] == ["/image/brokers/1", "/image/brokers/10"]


def test_cat_hides_secrets_unless_told_otherwise_and_in_kafkas_text_too():
    assert run("cat /image/secret") == "[redacted]\n"
    assert run("cat -o kafka /image/secret") == "[redacted]\n"
    assert run("cat /image/secret", redact=False) == "s3cr3t\n"
    assert run("cat /image/secret", voice="kafka") == "s3cr3t\n"


def test_csv_and_table_have_a_heading_and_quote_what_is_nested():
    assert run("cat -o csv /image/brokers/1 /local/version").splitlines() == [
        "path,type,value,certain_to,end_offset",
        '/image/brokers/1,leaf,"{""brokerId"":1,""rack"":null,""ports"":[1,2]}",100,120',
        "/local/version,leaf,4.3.1,100,120",
    ]
    assert run("find -o table /local") == "PATH            TYPE\n/local          dir\n/local/version  leaf\n"


def test_find_prints_matches_and_not_the_pattern():
    assert run("find /image/brokers/1*") == "/image/brokers/1\n/image/brokers/10\n"
    assert run("find", cwd="/local") == "/local\n/local/version\n"


def test_kafkas_find_prints_the_argument_as_typed_once_per_match():
    assert run("find /image/brokers/1*", voice="kafka") == "/image/brokers/1*\n/image/brokers/1*\n"
    assert run("find", voice="kafka", cwd="/local") == ".\n./version\n"
    assert run("find ../local/", voice="kafka", cwd="/image") == "../local/\n../local//version\n"


@pytest.mark.parametrize(
    ("tests", "paths"),
    [
        ("-name o*", ["/image/topics/byName/orders", "/image/topics/byName/other"]),
        ("-name o* -name *s", ["/image/topics/byName/orders"]),
        ("-type topic", ["/image/topics/byName/a b", "/image/topics/byName/orders", "/image/topics/byName/other"]),
        ("-type d -name by*", ["/image/topics/byName"]),
        ("-path */byName/*/id -name id", [f"/image/topics/byName/{name}/id" for name in ("a b", "orders", "other")]),
        ("-regex .*/or[a-z]+/[0-9]", ["/image/topics/byName/orders/0", "/image/topics/byName/orders/1"]),
        ("-maxdepth 1", ["/image/topics", "/image/topics/byName"]),
        ("-maxdepth 0", ["/image/topics"]),
    ],
)
def test_find_prints_what_passes_all_tests(tests, paths):
    assert run(f"find /image/topics {tests}").splitlines() == paths
    if not tests.startswith("-maxdepth"):
        ctx = fake_context()
        assert run_line(ctx, f"find {tests} /image/topics") == 2
        assert "'/image/topics' stands after a test: paths come first" in complaints(ctx)


def test_tree_puts_values_beside_names_and_kafkas_below():
    assert run("tree /image/features") == "metadataVersion: 4.3-IV0\n"
    assert run("tree /image/features", voice="kafka") == "metadataVersion:\n  4.3-IV0\n"
    assert run("tree /local/version") == "4.3.1\n"


def test_kafkas_tree_shows_a_name_without_a_node_as_a_bare_heading():
    assert run("tree /", tree={"": None, "a": "x"}, voice="kafka") == ":\na:\n  x\n"


def test_tree_as_json_is_nested_and_as_lines_flat():
    nested = json.loads(run("tree -o json /image"))
    assert nested["path"] == "/image"
    assert [child["path"] for child in nested["children"]][:2] == ["/image/brokers", "/image/empty"]
    assert nested["children"][0]["children"][0]["value"]["brokerId"] == 1
    assert isinstance(json.loads(run("tree -o json /image /local")), list)
    rows = [json.loads(line) for line in run("tree -o jsonl /image/{empty,features}").splitlines()]
    assert [row["path"] for row in rows] == ["/image/empty", "/image/features/metadataVersion"]


@pytest.mark.parametrize("form", NODE_FORMS)
@pytest.mark.parametrize(
    "line", ["ls /image /local", "ls -R /", "ls -l /local", "cat /local/version", "find /", "pwd", "tree /local /image"]
)
def test_every_object_about_a_node_has_path_and_type_and_says_how_certain_it_is(line, form):
    text = run(f"{line} -o {form}")
    items = [json.loads(text)] if form == "json" else [json.loads(item) for item in text.splitlines()]
    items = items[0] if isinstance(items[0], list) else items
    assert items
    for item in items:
        assert {"path", "type"} <= item.keys()
        assert (item["certain_to"], item["end_offset"]) == (100, 120)


@pytest.mark.parametrize("line", ["ls /image/empty", "find / -name nope", "history 0"])
def test_nothing_found_is_an_empty_array(line):
    assert run(f"{line} -o json") == "[]\n"


def test_a_miss_in_json_leaves_valid_json_and_tells_on_stderr():
    ctx = fake_context()
    assert run_line(ctx, "cat -o json /nope /local/version") == 1
    assert [item["value"] for item in json.loads(printed(ctx))] == ["4.3.1"]
    assert complaints(ctx) == "cat: /nope: No such file or directory.\n"


def test_cd_takes_the_last_match_and_goes_home_without_argument():
    ctx = fake_context()
    run_line(ctx, "cd /image/topics/byName/o*")
    assert ctx.cwd == "/image/topics/byName/other"
    run_line(ctx, "cd ../../..")
    assert ctx.cwd == "/image"
    run_line(ctx, "cd")
    assert ctx.cwd == "/"
    assert run_line(ctx, "cd local/version") == 1
    assert ctx.cwd == "/"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_a_page_with_summary_synopsis_and_examples(command):
    assert command.doc.startswith(f"{command.name} - ")
    assert "\n\nSYNOPSIS\n    " + command.name in command.doc
    assert "\nEXAMPLES\n    >> " in command.doc
    assert not command.spec.summary.endswith(".")


def test_hostile_text_is_escaped_on_a_terminal_only():
    tree = {"x": "\x1b[31mred\u202e\x9b"}
    assert run("cat /x", tree=tree) == "\x1b[31mred\u202e\x9b\n"
    assert run("cat /x", tree=tree, terminal=True) == "\\x1b[31mred\\u202e\\x9b\n"
    text = run("cat -o jsonl /x", tree=tree, terminal=True)
    assert text.isprintable() or text.rstrip("\n").isprintable()
    assert json.loads(text)["value"] == tree["x"]
    assert run("cat /x", tree=tree, terminal=True, voice="kafka") == "\\x1b[31mred\\u202e\\x9b\n"


def test_names_are_coloured_only_where_colours_are_wanted():
    assert run("ls /", color=True, terminal=True, width=80) == "\x1b[1;34mimage\x1b[0m  \x1b[1;34mlocal\x1b[0m\n"
    assert run("ls /", terminal=True, width=80) == "image  local\n"
    assert "\x1b[" in run("cat /image/brokers/1", color=True, terminal=True)


def test_finds_tests_hold_in_kafkas_text_too():
    assert run("find -o kafka /local -name version") == "/local/version\n"
    assert run("find -o kafka /local -maxdepth 0") == "/local\n"


@pytest.mark.parametrize("flag", ["-l", "-R"])
def test_what_kafkas_ls_has_no_form_for_is_refused(flag):
    ctx = fake_context()
    assert run_line(ctx, f"ls {flag} -o kafka /") == 2
    assert complaints(ctx) == f"ls: {flag} does not go with -o kafka: Kafka's ls has no such form\n"


def test_a_page_is_filled_to_the_width_of_the_terminal():
    from metashell.shell.commands import command_page, find_command

    command = find_command("find")
    assert command is not None
    for width in (60, 80, 100):
        description = command_page(command, width).partition("DESCRIPTION")[2].partition("EXAMPLES")[0]
        assert width - 20 < max(map(len, description.splitlines())) <= width


def test_help_of_a_command_is_its_page():
    assert run("help pwd") == run("man pwd")


def test_one_long_name_does_not_widen_a_listing_on_a_terminal():
    tree = {"short": "x", "long" * 20: "y"}
    assert run("ls -l /", tree=tree, terminal=True, width=60).splitlines()[1] == f"leaf        {'short':<20}  x"
    assert run("ls -l /", tree=tree).splitlines()[1] == f"leaf        {'short':<80}  x"
