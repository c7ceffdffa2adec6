"""Runs the golden scenarios of a real controller against ours over its listener.

python -m tests.quorum.server.listener_golden [-v] [SCENARIO ...]     what differs
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.quorum.controller.canon import Canon, translated
from tests.quorum.controller.golden import Outcome, compared, golden_exchange, outcome_of, scenarios
from tests.quorum.controller.live import Live
from tests.quorum.server.served import Served
from tests.recordings import Compared, show


def run(name: str, folder: Path) -> Iterator[Outcome]:
    """The rows of a scenario, each compared."""
    header = scenarios()[name]
    spec = header["spec"]
    served = Served(
        folder,
        header["config"],
        cluster_id=header["cluster_id"],
        release=header["metadata_version"],
        features=tuple(spec.get("features", ())),
        scram=tuple(spec.get("scram", ())),
        is_static=bool(spec.get("static")),
        host=spec.get("host", "127.0.0.1"),
        directory=spec.get("directory", {}),
    )
    with served:
        yield from _rows(header, Live(served), served.port)


def _rows(header: dict[str, Any], live: Live, port: int) -> Iterator[Outcome]:
    # Who may not fetch the log does not know what was written.
    is_blind = not header["startup"]
    startup = live.startup(registers=not is_blind)
    live.controller.settle()
    golden, actual = Canon(header["start_offset"], header["port"]), Canon(live.controller.log.end_offset, port)
    if is_blind:
        actual.start = 0
    else:
        # Of raft's own records only the number counts here.
        expected, written = ([record for record in side if not record.get("control")] for side in (header["startup"], startup))
        yield outcome_of({"n": 0, "api": "startup"}, golden, actual, (None, None, expected), (None, None, written))
    early: list[dict[str, Any]] = []
    for row, following in itertools.zip_longest(header["rows"], header["rows"][1:]):
        time.sleep(row.get("pause_ms", 0) / 1000)
        request, theirs = golden_exchange(row)
        sent = translated(request, golden, actual)
        expected = row["records"]
        if row["api"] != "restart" and any(record["type"] == "LEADER_CHANGE" for record in expected):
            # The real one gave up its leadership, and was elected again; ours stays.
            golden.skipped += [row["offset"] + at for at, record in enumerate(expected) if record["type"] == "LEADER_CHANGE"]
            expected = [record for record in expected if record["type"] != "LEADER_CHANGE"]
        answer, written = _perform(live, row, sent)
        written = early + written
        early = []
        if following is not None and following["api"] == "wait":
            # What comes by itself may come before it is waited for.
            written, early = written[: len(expected)], written[len(expected) :]
        yield outcome_of(row, golden, actual, (request, theirs, expected), (sent, answer, [] if is_blind else written))
        if row.get("died"):
            return


def _perform(live: Live, row: dict[str, Any], request: Any) -> tuple[Any, list[dict[str, Any]]]:
    if row["api"] == "restart":
        config = {key: str(value) for key, value in request["config"].items() if value is not None}
        registers = any(record["type"] == "REGISTER_CONTROLLER_RECORD" for record in row["records"])
        return None, live.restart(config, registers=registers)
    if row["api"] == "wait":
        return None, live.wait(request["limitMs"], len(row["records"]))
    return live.ask(row, request)


def main(argv: list[str]) -> int:
    def play(name: str) -> Iterator[Compared]:
        with tempfile.TemporaryDirectory() as folder:
            yield from compared(run(name, Path(folder)))

    return show(argv, scenarios(), play)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
