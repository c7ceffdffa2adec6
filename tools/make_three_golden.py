"""Records tests/golden/three-controllers with real controllers: what three of them answer and write in stories that one cannot tell.

    python -m tools.make_three_golden [STORY...]       # the stories that are named, by default all; 10 to 60 s each

The stories are functions in tests/quorum/server/three_stories.py; each starts three controllers of the newest Kafka on fresh directories.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.java import KAFKA, kafka_command
from tests.quorum.server.three import FOLDER
from tests.quorum.server.three_stories import STORIES, play, recorded


def main(names: list[str]) -> int:
    """Record the stories, and keep the others as they are."""
    path = FOLDER / "stories.json.xz"
    stories = recorded() if path.exists() else {}
    for name in names or STORIES:
        with tempfile.TemporaryDirectory(prefix="three-") as folder:
            stories[name] = play(name, partial(kafka_command, KAFKA), Path(folder))
        print(f"{name}: {len(stories[name])} steps", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = json.dumps({name: stories[name] for name in STORIES if name in stories}, separators=(",", ":")).encode()
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
