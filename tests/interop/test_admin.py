"""Kafka's own tools, and AdminClients in Python, print on a quorum of ours what they print on one of Kafka's, with two real brokers on it.

What they print there is recorded in tests/golden/admin; `python -m tools.make_admin_golden` makes it anew. On the secured cluster our tools
of the same names are compared with Kafka's too, by SASL and TLS; test_admin_twins.py does that on quorums of Kafka's.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.interop.admin import RUNS, golden_path, start_ours
from tests.interop.admin_twin_lines import SECURED_LINES
from tests.interop.admin_twins import differences
from tests.java import host_command
from tools.interop.admin.place import Layout, admin_place
from tools.interop.admin.secured_cluster import SECURED
from tools.interop.admin.transcript import read_transcript

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("layout", RUNS, ids=lambda layout: RUNS[layout][0])
def test_tools_and_clients_print_what_they_print_on_a_quorum_of_kafkas(layout: Layout, tmp_path: Path) -> None:
    differing = []
    with admin_place(layout, tmp_path, host_command(), start_ours) as place:
        if layout is SECURED:
            differing += differences(place.host, SECURED_LINES, {name: place.address(name) for name in place.ports}, tmp_path)
        for name in RUNS[layout]:
            for step in read_transcript(golden_path(name)):
                lines = place.run(step)
                if lines != step.lines:
                    title = f"{name}.txt:{step.at}"
                    differing.append("\n".join(difflib.unified_diff(step.lines, lines, title, step.command, lineterm="")))
    assert not differing, "\n".join(differing)
