"""Every transcript prints today what its file says; `pytest --rewrite` accepts new output (read the diff)."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from tests.quick import quick
from tests.transcripts.runner import all_transcripts, read_transcript, replay

# Each folder is of one tool or kind of session: its first two stand for all.
FEW = [path for _, paths in groupby(all_transcripts(), lambda path: path.parent) for path in list(paths)[:2]]
MANY = [path for path in all_transcripts() if path not in FEW]


@pytest.mark.parametrize("path", quick(FEW + MANY, len(FEW)), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_transcript_prints_what_its_file_says(path: Path, request: pytest.FixtureRequest) -> None:
    transcript = read_transcript(path)
    output = replay(transcript)
    if request.config.getoption("--rewrite"):
        path.write_text(transcript.render(output), encoding="utf-8")
        return
    assert output == transcript.expected
