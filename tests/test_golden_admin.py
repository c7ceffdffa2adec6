"""The golden cases of Kafka's tools that ask a live cluster: status and standard output, byte for byte.

Those that never reach the cluster are run as they are. Those of the cluster `wire` are answered with what its nodes answered then, as a
proxy caught it. What the cluster `main` was asked about its features is asked of a controller of ours at the same metadata.version.
The other cases depend on a moment of a cluster that nobody caught; tests/interop/test_admin_twins.py has command lines like them.
"""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from struct import unpack
from typing import Any, Final

import pytest

from metashell.codec.codes import API_VERSIONS
from metashell.codec.messages import DescribeClusterResponse
from metashell.net.api_versions import answer_unknown_api_versions
from metashell.net.frames import decode_request_header, decode_response, encode_response
from metashell.quorum.embedded import EmbeddedQuorum
from tests.cli.admin.peers import peer
from tests.golden_cases import (
    NEWEST,
    PREVIOUS,
    Case,
    as_answered_now,
    golden_root,
    has_trace,
    own_lines,
    read_cases,
    small_diff,
    wire_frames,
)
from tests.interop.admin_twins import ours, settled
from tests.running import Outcome

TOOLS: Final = {"cluster": "kafka-cluster", "quorum": "kafka-metadata-quorum", "features": "kafka-features"}
NO_CONNECTION: Final = re.compile(r"Timed out waiting|Exception")


def cases_of(version: str, cluster: str) -> list[Case]:
    return [case for case in read_cases(golden_root(), f"{version}/{cluster}/online") if case.tool in TOOLS]


def run(case: Case, folder: Path, argv: tuple[str, ...] | None = None) -> Outcome:
    return ours(TOOLS[case.tool], case.argv if argv is None else argv, folder)


# ---- command lines that need no cluster


def is_offline(case: Case) -> bool:
    """Whether Kafka's tool ended without an answer of the cluster; those that need the cluster's own files are left out."""
    words = case.argv
    if ("add-controller" in words and "--command-config" in words) or "--unregister" in words:
        return False
    if (
        "-h" in words
        or "version-mapping" in words
        or "feature-dependencies" in words
        or ("remove-controller" in words and "--dry-run" in words)
    ):
        return True
    says = [line for line in own_lines(case.stderr) if not line.endswith("operation(s) failed.")]
    return case.status == 1 and bool(says) and not NO_CONNECTION.search(case.stderr)


HELPS = [case for case in as_answered_now(cases_of(PREVIOUS, "default")) if "-h" in case.argv]
OFFLINE = [*(case for case in cases_of(NEWEST, "main") if is_offline(case)), *HELPS]


@pytest.mark.parametrize("case", OFFLINE, ids=[case.id for case in OFFLINE])
def test_a_command_line_that_needs_no_cluster_ends_as_kafkas_tool_does(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run(case, tmp_path)
    assert outcome.status == case.status, outcome.stderr
    assert outcome.stdout == case.stdout, small_diff(case.stdout, outcome.stdout)
    first = next((line for line in own_lines(case.stderr) if not line.startswith(("usage:", " "))), "")
    assert "".join(first.split()) in "".join(outcome.stderr.split())
    assert not has_trace(outcome.stderr)


def test_many_cases_need_no_cluster() -> None:
    assert len(OFFLINE) >= 55


# ---- what nodes answered then

WINDOWS: Final = {
    "online-0007": (23_900, 24_200),
    "online-0008": (26_100, 26_400),
    "online-0009": (36_100, 36_500),
    "online-0010": (37_000, 37_300),
    "online-0011": (37_900, 38_300),
    "online-0012": (38_800, 39_100),
    "online-0013": (39_700, 39_900),
    "online-0014": (40_700, 40_800),
    "online-0015": (41_600, 41_800),
    "online-0016": (42_500, 42_700),
    "online-0017": (114_900, 115_150),
    "online-0018": (116_200, 116_500),
}
"""When each command ran, in ms since the recording began."""
PORTS: Final = {"controller-1": 20201, "controller-2": 20202, "controller-3": 20203, "broker-4": 20244, "broker-5": 20245}
WIRE = [case for case in cases_of(PREVIOUS, "wire") if case.id.rpartition("/")[2] in WINDOWS]


@cache
def answers(window: tuple[int, int]) -> dict[str, dict[tuple[int, int], bytes]]:
    """For each node the last answer to an API at a version that a client got in that time."""
    found: dict[str, dict[tuple[int, int], bytes]] = {}
    for row in wire_frames():
        if row["dir"] == "response" and row["to"] == "client" and window[0] <= row["t"] <= window[1]:
            found.setdefault(row["from"], {})[row["api_key"], row["api_version"]] = bytes.fromhex(row["hex"])
    return found


@contextmanager
def replaying(window: tuple[int, int]) -> Iterator[dict[int, int]]:
    """Listeners in the nodes' place; gives the port of each by the one that it had. What a broker said, every broker says."""
    recorded = answers(window)
    ports: dict[int, int] = {}

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            known = self.server.known  # type: ignore[attr-defined]
            while len(head := self.rfile.read(4)) == 4:
                header, _ = decode_request_header(self.rfile.read(*unpack(">i", head)))
                if (header.api_key, header.api_version) == (API_VERSIONS, 5):
                    # So answers who knows version 4.
                    refusal = answer_unknown_api_versions({API_VERSIONS: (0, 4)})
                    self.wfile.write(encode_response(API_VERSIONS, 0, header.correlation_id, refusal))
                    continue
                _, message = decode_response(known[header.api_key, header.api_version], header.api_key, header.api_version)
                at_its_place(message, ports)
                self.wfile.write(encode_response(header.api_key, header.api_version, header.correlation_id, message))

    servers = []
    try:
        for name, port in PORTS.items():
            server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
            server.daemon_threads = True
            kind = name.partition("-")[0]
            known: dict[tuple[int, int], bytes] = {}
            for other, told in recorded.items():
                known |= told if other.startswith(kind) else {}
            server.known = known  # type: ignore[attr-defined]
            ports[port] = server.server_address[1]
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            servers.append(server)
        yield ports
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def at_its_place(message: Any, ports: dict[int, int]) -> None:
    """Say of every node that it is where its listener is now."""
    for node in getattr(message, "brokers", ()):
        node.port = ports[node.port]
    for node in getattr(message, "nodes", ()):
        for listener in node.listeners:
            listener.port = ports[listener.port]


@pytest.mark.parametrize("case", WIRE, ids=[case.id for case in WIRE])
def test_the_answers_that_were_caught_are_printed_as_kafkas_tool_printed_them(case: Case, tmp_path: Path) -> None:
    with replaying(WINDOWS[case.id.rpartition("/")[2]]) as ports:
        argv = list(case.argv)
        at = next(index for index, word in enumerate(argv) if word.startswith("localhost:"))
        argv[at] = f"localhost:{ports[int(argv[at].rpartition(':')[2])]}"
        if "--command-config" in argv:
            at = argv.index("--command-config") + 1
            argv[at] = controller_config(case, tmp_path)
        outcome = run(case, tmp_path, tuple(argv))
    text = outcome.stdout.decode()
    for before, now in ports.items():
        text = text.replace(f"localhost:{now}", f"localhost:{before}").replace(f"localhost {now}", f"localhost {before}")
    assert outcome.status == case.status, outcome.stderr
    # What was caught is of 4.3.1, which had one blank more here.
    expected = case.stdout.replace(b"Removed  KRaft", b"Removed KRaft")
    assert text.encode() == expected, small_diff(expected, text.encode())


def controller_config(case: Case, folder: Path) -> str:
    """The configuration of the controller that the case adds, and its formatted directory."""
    found = re.search(r"controller (\d+) with directory id (\S+) and endpoints: (\S+)", case.stdout.decode())
    assert found is not None
    (folder / "log").mkdir()
    (folder / "log" / "meta.properties").write_text(f"version=1\ncluster.id=x\nnode.id={found[1]}\ndirectory.id={found[2]}\n")
    settings = f"process.roles=controller\nnode.id={found[1]}\nlisteners={found[3]}\ncontroller.listener.names=CONTROLLER\n"
    (folder / "server.properties").write_text(f"{settings}log.dirs={folder / 'log'}\n")
    return str(folder / "server.properties")


def test_every_case_of_the_recorded_cluster_is_replayed() -> None:
    assert len(WIRE) == len(WINDOWS) == len(cases_of(PREVIOUS, "wire"))


# ---- what a controller of ours answers

FEATURES = [
    case
    for case in cases_of(NEWEST, "main")
    if case.tool == "features" and case not in OFFLINE and case.status is not None and "--node-id" not in case.argv
]


def test_what_is_said_of_features_is_what_kafka_said_at_the_same_metadata_version(tmp_path: Path) -> None:
    with EmbeddedQuorum(1, metadata_version="3.9-IV0") as quorum:
        assert len(FEATURES) >= 14
        for case in FEATURES:
            argv = ("--bootstrap-controller", quorum.bootstrap_controllers, *case.argv[2:])
            outcome = run(case, tmp_path, argv)
            assert outcome.status == case.status, (case.id, outcome)
            expected, actual = settled(case.stdout.decode()), settled(outcome.stdout.decode())
            assert actual == expected, f"{case.id}\n{small_diff(expected.encode(), actual.encode())}"


# ---- api-versions

API_VERSIONS_CASES = [case for case in cases_of(NEWEST, "main") if "api-versions" in case.argv and "-h" not in case.argv]
NODE_LINE: Final = re.compile(r"localhost:(\d+) \(id: (\d+) rack: (\S+) isFenced: false\) -> \(")
API_LINE: Final = re.compile(r"\t\w+\((\d+)\): (\d+)(?: to (\d+))?")


@pytest.mark.parametrize("case", API_VERSIONS_CASES, ids=lambda case: case.id)
def test_the_versions_of_apis_are_printed_as_kafka_prints_those_of_its_nodes(case: Case, tmp_path: Path) -> None:
    expected = case.stdout.decode()
    nodes: list[tuple[re.Match[str], dict[int, tuple[int, int]]]] = []
    for line in expected.splitlines():
        if node := NODE_LINE.match(line):
            nodes.append((node, {}))
        elif api := API_LINE.match(line):
            nodes[-1][1][int(api[1])] = (int(api[2]), int(api[3] or api[2]))
    answer = DescribeClusterResponse(cluster_id="c", endpoint_type=2 if "--bootstrap-controller" in case.argv else 1)
    with ExitStack() as stack:
        ports = {}
        for node, apis in nodes:
            ports[node[1]] = str(stack.enter_context(peer(lambda _: answer, apis)).address.port)
            rack = None if node[3] == "null" else node[3]
            made = DescribeClusterResponse.DescribeClusterBroker(
                broker_id=int(node[2]), host="localhost", port=int(ports[node[1]]), rack=rack
            )
            answer.brokers = (*answer.brokers, made)
        argv = [re.sub(r"^localhost:(\d+)$", lambda found: f"localhost:{ports[found[1]]}", word) for word in case.argv]
        outcome = run(case, tmp_path, tuple(argv))
    for before, now in ports.items():
        expected = expected.replace(f"localhost:{before}", f"localhost:{now}")
    assert (outcome.status, outcome.stdout.decode(), outcome.stderr) == (0, expected, "")


def test_both_kinds_of_nodes_told_the_versions_of_their_apis() -> None:
    assert len(API_VERSIONS_CASES) == 2
