"""Tab at the prompt, also when it follows the other keys at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.shell.terminal.prompt import run_prompt
from tests.shell.fake_nodes import fake_context, printed


def answer_to(keys: str, tmp_path: Path) -> str:
    ctx = fake_context()
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        run_prompt(ctx, input=pipe, output=DummyOutput(), environ={"XDG_STATE_HOME": str(tmp_path)})
    return printed(ctx)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("cd im\t\rpwd\r\x04", "/image\n"),
        ("cd im\tto\t\rpwd\r\x04", "/image/topics\n"),
        ("pw\t\r\x04", "/\n"),
    ],
)
def test_tab_completes_at_once_what_only_one_name_fits(keys: str, answer: str, tmp_path: Path) -> None:
    assert answer_to(keys, tmp_path) == answer


def test_tab_inserts_what_all_names_have_in_common(tmp_path: Path) -> None:
    # orders and other
    assert answer_to("cd /image/topics/byName/o\tt\t\rpwd\r\x04", tmp_path) == "/image/topics/byName/other\n"


def test_tab_leaves_a_line_alone_that_nothing_fits(tmp_path: Path) -> None:
    assert answer_to("pwd zzz\t\x7f\x7f\x7f\r\x04", tmp_path) == "/\n"
