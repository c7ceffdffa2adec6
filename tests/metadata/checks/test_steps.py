"""The next step of a finding is a command that there is, with options that it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import metashell.metadata.checks.rules
from metashell.cli.tool_list import TOOLS

RULES = sorted(Path(metashell.metadata.checks.rules.__file__).parent.glob("*.py"))
WORDS = re.compile(r"metashell ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?((?: --[a-z-]+(?: [A-Z]+)?)*)")


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_a_step_names_commands_and_options_that_there_are(path: Path) -> None:
    text = re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
    for noun, verb, options in WORDS.findall(text):
        words = f"metashell {noun} {verb}{options}"
        if f"metashell-{noun}" not in TOOLS:
            continue
        command = TOOLS[f"metashell-{noun}"]
        verbs = {one.name: one for one in command.commands}
        if verbs:
            assert verb in verbs, words
            command = verbs[verb]
        known = {name for option in command.options for name in option.names}
        assert set(re.findall(r"--[a-z-]+", options)) <= known, words
