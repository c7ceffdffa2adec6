"""Lines and scripts in both voices: streams, statuses, what stops a script."""

from __future__ import annotations

import pytest

from metashell.shell import run_command, run_line, run_script
from tests.shell.fake_nodes import complaints, fake_context, printed


def test_a_miss_is_told_on_stderr_with_status_1_and_the_next_path_is_still_printed():
    ctx = fake_context()
    assert run_line(ctx, "cat /nope /local/version /image") == 1
    assert printed(ctx) == "4.3.1\n"
    assert complaints(ctx) == "cat: /nope: No such file or directory.\ncat: /image: Is a directory.\n"


def test_kafkas_voice_tells_a_miss_on_stdout_with_status_0_in_order():
    ctx = fake_context(voice="kafka")
    assert run_command(ctx, ["cat", "/nope", "/local/version", "/image"]) == 0
    assert printed(ctx) == "cat: /nope: No such file or directory.\n4.3.1\ncat: /image: Is a directory\n"
    assert complaints(ctx) == ""


def test_each_command_of_kafkas_has_its_own_wording():
    ctx = fake_context(voice="kafka")
    for line in ("cd /nope", "cd /local/version", "find /nope", "ls /nope", "tree /nope", "man nope"):
        assert run_line(ctx, line) == 0
    assert printed(ctx).splitlines() == [
        "cd: /nope: no such directory.",
        "cd: /local/version: not a directory.",
        "find: /nope: no such file or directory.",
        "ls: /nope: no such file or directory.",
        "tree: /nope: No such file or directory.",
        "man: unknown command nope. Type help to get a list of commands.",
    ]


def test_a_wrong_command_line_is_one_line_with_status_2():
    ctx = fake_context()
    assert run_line(ctx, "lsx /") == 2
    assert complaints(ctx) == "lsx: unknown command (did you mean ls?)\n"
    assert run_line(ctx, "ls --lomg") == 2
    assert complaints(ctx) == "ls: unknown option --lomg (did you mean --long?)\n"
    assert run_line(ctx, "cat") == 2
    assert complaints(ctx) == "cat: missing PATH\n"
    assert run_line(ctx, "find / -regex (") == 2
    assert complaints(ctx).startswith("find: option -regex: '(' is not a regular expression")
    assert printed(ctx) == ""


def test_a_script_ends_with_its_first_failure_unless_told_to_go_on():
    lines = ["pwd\n", "# a comment\n", "\n", "cat /nope\n", "pwd\n"]
    ctx = fake_context()
    assert run_script(ctx, lines) == 1
    assert printed(ctx) == "/\n"
    assert run_script(ctx, lines, keep_going=True) == 1
    assert printed(ctx) == "/\n/\n"


def test_the_last_line_of_a_script_needs_no_newline_and_exit_ends_it():
    ctx = fake_context()
    assert run_script(ctx, ["cd image\n", "pwd"]) == 0
    assert printed(ctx) == "/image\n"
    assert run_script(ctx, ["exit\n", "pwd\n"]) == 0
    assert printed(ctx) == ""


def test_kafkas_session_prints_a_prompt_before_each_answer_and_once_more_at_the_end():
    ctx = fake_context(voice="kafka")
    assert run_script(ctx, ["pwd\n", "\n", "frob\n", "cat\n"]) == 0
    assert printed(ctx) == (
        "Loading...\nStarting...\n[ Kafka Metadata Shell ]\n>> /\n>> >> invalid choice: 'frob' (choose from 'cat', 'cd', 'exit', "
        "'find', 'help', 'history', 'ls', 'man', 'pwd', 'tree')\n>> too few arguments\n>> "
    )


def test_kafkas_session_ends_at_exit_and_leaves_an_unended_line_unread():
    ctx = fake_context(voice="kafka")
    assert run_script(ctx, ["exit\n", "pwd\n"]) == 0
    assert printed(ctx).endswith("[ Kafka Metadata Shell ]\n>> ")
    ctx = fake_context(voice="kafka")
    assert run_script(ctx, ["pwd"]) == 0
    assert printed(ctx).endswith("[ Kafka Metadata Shell ]\n>> ")


def test_a_listed_name_without_a_node_ends_kafkas_session_with_status_1():
    ctx = fake_context({"ghost": None}, voice="kafka")
    assert run_script(ctx, ["find\n", "pwd\n"]) == 1
    assert printed(ctx).endswith(">> .\n")
    assert complaints(ctx) == "Unexpected error: Expected ghost to be a valid child of ., but it was not.\n"


def test_history_forgets_repeated_and_indented_lines_in_both_voices():
    ctx = fake_context(voice="kafka")
    run_script(ctx, ["pwd\n", "pwd\n", " ls\n", "pwd  \n", "\n", "history\n"])
    assert printed(ctx).endswith(">>     0  pwd\n    1  history\n>> ")
    own = fake_context()
    run_script(own, ["pwd\n", "pwd\n", "history 1\n", "history -o jsonl 2\n"])
    assert printed(own) == '/\n/\n    1  history 1\n{"number":1,"line":"history 1"}\n{"number":2,"line":"history -o jsonl 2"}\n'


def test_a_negative_count_of_history_shows_nothing_in_kafkas_voice():
    ctx = fake_context(voice="kafka")
    run_line(ctx, "history -1")
    assert printed(ctx) == ""


def test_help_and_pages_are_printed_by_both_voices():
    ctx = fake_context()
    assert run_line(ctx, "cat --help") == 0
    page = printed(ctx)
    assert run_line(ctx, "man cat") == 0
    assert printed(ctx) == page
    assert page.startswith("cat - print the contents of metadata leaves\n\nSYNOPSIS\n    cat PATH...\n")
    kafka = fake_context(voice="kafka")
    assert run_line(kafka, "help") == 0
    assert printed(kafka).startswith("Welcome to the Apache Kafka metadata shell.\n\nusage:  {cat,cd,exit,")


def test_an_unknown_page_is_a_failure():
    ctx = fake_context()
    for line in ("man nope", "help nope"):
        assert run_line(ctx, line) == 2
        assert complaints(ctx) == f"{line.split()[0]}: nope: unknown command; `help` lists them\n"
    assert run_line(ctx, "help lsx") == 2
    assert complaints(ctx) == "help: lsx: unknown command (did you mean ls?)\n"


def test_quit_and_a_question_mark_are_understood():
    ctx = fake_context()
    assert run_line(ctx, "?") == 0
    listed = printed(ctx)
    assert run_line(ctx, "help") == 0
    assert printed(ctx) == listed
    assert run_line(ctx, "quit") == 0
    assert ctx.leaving


def test_a_line_that_cannot_be_read_is_refused_with_a_caret_but_not_in_kafkas_shell():
    ctx = fake_context()
    for line, caret in (('cat "/local/version', "    ^"), ("pwd; cat /local/it's", "                  ^")):
        assert run_line(ctx, line) == 2
        assert printed(ctx) == ""
        assert complaints(ctx) == f"cannot read the line: unclosed quote\n    {line}\n    {caret}\n"
    kafka = fake_context(voice="kafka")
    assert run_line(kafka, 'cat "/local/version') == 0
    assert printed(kafka) == "4.3.1\n"


def test_words_of_a_command_line_are_never_read_as_a_line():
    ctx = fake_context()
    assert run_command(ctx, ["find", "/", "-name", "|"]) == 0
    assert run_command(ctx, ["cat", "/local/version", ";", "&&", "> x"]) == 1
    assert printed(ctx) == "4.3.1\n"
    assert complaints(ctx) == "".join(f"cat: {word}: No such file or directory.\n" for word in (";", "&&", "> x"))


def test_steps_run_in_order_and_a_failure_stops_what_comes_after_and():
    ctx = fake_context()
    assert run_line(ctx, "cat /nope && pwd; cd image && pwd # and no more; pwd") == 1
    assert printed(ctx) == "/image\n"
    assert complaints(ctx) == "cat: /nope: No such file or directory.\n"
    assert run_line(ctx, "exit; pwd") == 0
    assert printed(ctx) == ""


def test_kafkas_shell_knows_none_of_it():
    ctx = fake_context(voice="kafka")
    assert run_line(ctx, "pwd ; pwd") == 0
    assert run_line(ctx, "cat /local/version # x") == 0
    assert (
        printed(ctx) == "unrecognized arguments: '; pwd'\n4.3.1\ncat: #: No such file or directory.\ncat: x: No such file or directory.\n"
    )


def test_tree_starts_at_the_working_directory():
    ctx = fake_context()
    assert run_line(ctx, "tree /local") == 0
    expected = printed(ctx)
    assert run_line(ctx, "cd /local") == 0
    assert run_line(ctx, "tree") == 0
    assert printed(ctx) == expected != ""


def test_an_empty_name_is_quoted():
    ctx = fake_context()
    assert run_command(ctx, [""]) == 2
    assert complaints(ctx) == "'': unknown command; `help` lists them\n"


def test_the_form_of_one_command_does_not_stick():
    ctx = fake_context()
    run_line(ctx, "pwd -o json")
    run_line(ctx, "pwd")
    assert printed(ctx).endswith("}\n/\n")


def test_kafkas_voice_answers_in_our_forms_when_told_to():
    ctx = fake_context(voice="kafka", output="jsonl")
    assert run_command(ctx, ["ls", "/local"]) == 0
    assert printed(ctx) == '{"path":"/local/version","type":"leaf","name":"version","certain_to":100,"end_offset":120}\n'
    assert run_command(ctx, ["find", "/local"]) == 0
    assert len(printed(ctx).splitlines()) == 2


def test_kafkas_voice_keeps_its_messages_out_of_answers_that_programs_read():
    ctx = fake_context(voice="kafka", output="jsonl")
    assert run_command(ctx, ["cat", "/nope"]) == 0
    assert run_command(ctx, ["bogus"]) == 0
    assert printed(ctx) == ""
    assert complaints(ctx).splitlines() == [
        "cat: /nope: No such file or directory.",
        "invalid choice: 'bogus' (choose from 'cat', 'find', 'ls', 'tree')",
    ]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_help_fits_its_terminal(width: int) -> None:
    ctx = fake_context(width=width, terminal=True)
    assert run_line(ctx, "help") == 0
    lines = printed(ctx).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("alter")
