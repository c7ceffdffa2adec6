"""The prompt: keys through a pipe, and once a person's view of a real terminal."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pyte
import pytest
from prompt_toolkit.application import Application
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.metadata.image import Fault
from metashell.shell.context import Context
from metashell.shell.terminal.prompt import NodeCompleter, prompt_text, run_prompt, sort_names
from tests.shell.fake_nodes import complaints, fake_context, fake_image, printed

BLUE = r"\x1b\[1;34m"
PROMPT_END = r"/\x1b\[0m>"
Typist = Callable[..., Context]
PROJECT = Path(__file__).parents[2]


@pytest.fixture
def typed(tmp_path: Path) -> Typist:
    """Types keys at a prompt over the fake tree; the history file is in a folder of the test."""

    def type_keys(keys: str, **fields) -> Context:
        ctx = fake_context(**fields)
        with create_pipe_input() as pipe:
            pipe.send_text(keys)
            status = run_prompt(ctx, input=pipe, output=DummyOutput(), environ={"XDG_STATE_HOME": str(tmp_path)})
        assert status == 0
        return ctx

    return type_keys


def test_lines_are_run_until_control_d(typed: Typist):
    assert printed(typed("cd image\rpwd\r\x04")) == "/image\n"


def test_control_c_right_after_enter_is_no_accident_and_the_line_does_not_run(typed: Typist, monkeypatch: pytest.MonkeyPatch, capfd):
    exit, enters = Application.exit, 0

    def exit_and_interrupt(self, *args, **more):
        nonlocal enters
        exit(self, *args, **more)
        enters += 1
        if enters == 1:
            # Ctrl-C is a signal again before prompt_toolkit has left.
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Application, "exit", exit_and_interrupt)
    assert printed(typed("cd image\rpwd\r\x04")) == "^C\n/\n"
    assert capfd.readouterr().err == ""


def test_exit_leaves_at_once(typed: Typist):
    assert printed(typed("exit\rpwd\r")) == ""


def test_control_c_forgets_the_line_and_asks_again(typed: Typist):
    assert printed(typed("pwd /nope\x03pwd\r\x04")) == "^C\n/\n"


def test_a_failed_command_is_told_and_the_prompt_goes_on(typed: Typist):
    ctx = typed("cat /nope\rpwd\r\x04")
    assert (printed(ctx), complaints(ctx)) == ("/\n", "cat: /nope: No such file or directory.\n")


def test_the_completer_replaces_the_word_before_the_cursor():
    completer = NodeCompleter(fake_context())
    (completion,) = completer.get_completions(Document("cat /image/topics/byName/a\\ "), CompleteEvent())
    assert (completion.text, completion.start_position) == ("/image/topics/byName/a\\ b/", -24)


def test_history_is_kept_between_sessions_in_a_file_of_mode_0600(typed: Typist, tmp_path: Path):
    typed("pwd\r secret-by-a-blank\rpwd\r\x04")
    path = tmp_path / "metashell" / "history"
    assert path.read_text() == "pwd\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # The key for the line before reaches the earlier session.
    assert printed(typed("\x10\rhistory\r\x04")) == "/\n    0  pwd\n    1  history\n"


def test_kafkas_prompt_has_its_banner_and_no_file(typed: Typist, tmp_path: Path):
    ctx = typed("pwd\r\x04", voice="kafka")
    assert printed(ctx) == "Loading...\nStarting...\n[ Kafka Metadata Shell ]\n/\n"
    assert list(tmp_path.iterdir()) == []


def test_the_prompt_shows_source_offset_certainty_faults_and_place():
    assert prompt_text(fake_context()) == "demo@119 (committed to 100) /> "
    assert prompt_text(fake_context(image=fake_image(certain_to=120), cwd="/image")) == "demo@119 /image> "
    image = fake_image(certain_to=None)
    image.faults = (Fault("a.log", 7, 0, "", "odd"),) * 2
    assert prompt_text(fake_context(image=image)) == "demo@119 (may not be committed) 2 faults /> "
    assert prompt_text(fake_context(administrator=object())) == "demo@119 (committed to 100) changes on /> "
    assert prompt_text(fake_context(voice="kafka")) == ">> "


def test_on_a_terminal_one_line_says_how_to_go_on_and_what_may_not_be_committed(typed: Typist):
    words = "help lists the commands, Tab completes, Ctrl-R searches back, Ctrl-D leaves\n"
    assert complaints(typed("\x04", terminal=True)) == f"{words}offsets from 100 on may not be committed\n"
    assert complaints(typed("\x04", terminal=True, image=fake_image(certain_to=120))) == words
    assert complaints(typed("\x04", terminal=True, image=fake_image(certain_to=None))) == f"{words}none of this is known to be committed\n"
    assert complaints(typed("\x04")) == ""
    assert complaints(typed("\x04", terminal=True, voice="kafka")) == ""


def test_the_names_of_topics_are_sorted_before_someone_types_one():
    ctx = fake_context()
    sort_names(ctx)
    assert ctx.root.asked == ["image"]


def test_a_long_source_is_shown_by_its_end():
    shown = prompt_text(fake_context(source_label="/var/lib/kafka/data/metadata/__cluster_metadata-0"))
    assert shown.startswith("...metadata/__cluster_metadata-0@119 ")


def test_the_prompt_escapes_a_hostile_source():
    assert "\x1b[31m" not in prompt_text(fake_context(source_label="a\x1b[31mb"))


def spawn(tmp_path: Path, **environ: str) -> pexpect.spawn:
    code = "import sys; from metashell.cli.inspect.kafka_shell import main; sys.exit(main(['--demo']))"
    values = os.environ | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": str(PROJECT)}
    child = pexpect.spawn(
        sys.executable, ["-c", code], env=values | environ, dimensions=(24, 100), encoding="utf-8", timeout=120, use_poll=True
    )
    child.delaybeforesend = None
    return child


def seen(text: str) -> list[str]:
    """The lines that a person sees on a terminal which got the text."""
    screen = pyte.Screen(100, 24)
    pyte.Stream(screen).feed(text)
    return [line.rstrip() for line in screen.display]


def test_a_person_at_a_terminal_sees_prompt_answer_and_coloured_directories(tmp_path: Path):
    child = spawn(tmp_path)
    child.expect(PROMPT_END)
    child.send("ls /image/clu")
    child.expect("cluster/")
    child.send("\t")
    child.expect("ster/")
    child.send("\r")
    # The menu below the line names them too, in other colours.
    child.expect(f"\x1b\\[1;34mbrokers.*controllers.*{PROMPT_END}")
    transcript = child.before + child.after
    child.send("\x03\x04")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert any(line.startswith("brokers  controllers") for line in seen(transcript))


def test_a_dumb_terminal_without_colours_gets_plain_text(tmp_path: Path):
    child = spawn(tmp_path, TERM="dumb", NO_COLOR="1")
    child.expect_exact("/>")
    child.send("pwd\r")
    child.expect_exact("/>")
    assert "\x1b" not in child.before
    child.send("exit\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
