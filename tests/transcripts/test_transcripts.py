"""Every transcript prints today what its file says; `pytest --rewrite` accepts new output (read the diff)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts.runner import all_transcripts, read_transcript, replay


@pytest.mark.parametrize("path", all_transcripts(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_transcript_prints_what_its_file_says(path: Path, request: pytest.FixtureRequest) -> None:
    transcript = read_transcript(path)
    output = replay(transcript)
    if request.config.getoption("--rewrite"):
        path.write_text(transcript.render(output), encoding="utf-8")
        return
    assert output == transcript.expected
