"""The rooms that are mutated: the modules of each, the tests that judge it, and the share of its mutations that has to be found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from metashell.common.errors import UsageError
from tools.mutation.modules import BESIDE, ROOT, path_of

CORE, OTHER = 0.95, 0.90


@dataclass(frozen=True, slots=True)
class Room:
    """One room: `paths` are folders or modules below metashell, `tests` files and folders below tests/, the nearest first.

    Tests marked slow judge only where `is_slow`; those that only stand in tests/slow.txt always do. Seeds of the simulation judge where
    `has_seeds`.
    """

    name: str
    goal: float
    paths: tuple[str, ...]
    tests: tuple[str, ...]
    is_slow: bool = False
    has_seeds: bool = False

    def modules(self, root: Path = ROOT) -> list[str]:
        """Its modules, as `quorum/raft/elections.py`; one that is in a more special room is not in this one."""
        own = {module for path in self.paths for module in _modules_at(root, path)}
        inner = {path for room in ROOMS for path in room.paths if any(path.startswith(f"{mine}/") for mine in self.paths)}
        return sorted(module for module in own if not any(module.startswith(f"{path}/") for path in inner))

    def test_files(self, root: Path = ROOT) -> list[Path]:
        """The files of tests that judge it, the nearest first."""
        found: dict[Path, None] = {}
        for place in self.tests:
            path = root / "tests" / place
            found |= dict.fromkeys([path] if path.suffix == ".py" else sorted(path.rglob("test_*.py")))
        return [path for path in found if path.name not in NO_JUDGES]


def rooms_named(names: Iterable[str]) -> list[Room]:
    """The rooms of these names, all rooms for none. Errors: UsageError for a name that no room has."""
    known = {room.name: room for room in ROOMS}
    for name in names:
        if name not in known:
            raise UsageError(f"{name}: no room; there are {', '.join(known)}")
    return [known[name] for name in names] or list(ROOMS)


def room_of(module: str) -> Room:
    """The room of a module. Errors: UsageError for one that is in no room."""
    for room in ROOMS:
        if module in room.modules():
            return room
    raise UsageError(f"{module}: no module of a room, such as quorum/raft/elections.py")


def _modules_at(root: Path, path: str) -> list[str]:
    place = path_of(path, root)
    files = [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))
    base = root if path.startswith(BESIDE) else root / "metashell"
    return [str(file.relative_to(base)) for file in files]


NO_JUDGES = ("test_against_kafka.py", "test_against_storage_tool.py", "test_properties_against_java.py", "test_looks.py")
"""Files whose tests start Java or a browser."""

_TRANSCRIPTS = "transcripts"
_SHELL = ("shell", "test_golden_shell.py", _TRANSCRIPTS)

ROOMS = (
    Room("common", OTHER, ("common",), ("common", "cli", "shell", _TRANSCRIPTS)),
    Room("codec", CORE, ("codec",), ("codec", "test_bad_bits.py", "net", "fuzz")),
    Room("log", CORE, ("disk",), ("disk", "test_damage.py", "test_bad_input.py", _TRANSCRIPTS)),
    Room("image", CORE, ("metadata/image", "metadata/facts.py", "metadata/directory_facts.py"), ("metadata", "quorum/controller")),
    Room("checks", CORE, ("metadata/checks",), ("metadata/checks", "metadata/diagnosis", "cli/inspect", "test_golden_handmade.py")),
    Room("history", OTHER, ("metadata/history",), ("metadata/history", "shell", "cli/inspect", _TRANSCRIPTS)),
    Room("nodes", OTHER, ("metadata/nodes",), ("metadata/nodes", *_SHELL)),
    Room("net", OTHER, ("net",), ("net", "fuzz", "cli/kafka", "cli/admin")),
    Room("raft", CORE, ("quorum/raft",), ("quorum/raft", _TRANSCRIPTS, "simulation"), has_seeds=True),
    Room("controller", CORE, ("quorum/controller",), ("quorum/controller", "simulation/controller", "quorum/embedded", "quorum/server")),
    Room("server", OTHER, ("quorum/server",), ("quorum/server", "quorum/embedded", "simulation/production")),
    Room("observer", OTHER, ("quorum/observer",), ("quorum/observer", "cli/inspect", "cli/controllers")),
    Room("embedded", OTHER, ("quorum/embedded",), ("quorum/embedded", "quorum/server", "cli/controllers", "cli/cluster")),
    Room("groups", CORE, ("groups",), ("groups", "simulation/groups", "cli/groups")),
    Room("dump", OTHER, ("inspect/dump",), ("inspect/dump", "test_golden_dump_log.py", "test_same_record_text.py", "cli/inspect", "cli")),
    Room("verify", OTHER, ("inspect/verify",), ("inspect/verify", "test_damage.py", "test_bad_bits.py", "cli/inspect")),
    Room("repair", OTHER, ("inspect/repair",), ("inspect/repair", "disk", "cli/controllers")),
    Room("bundle", OTHER, ("inspect",), ("inspect", "cli/inspect", "test_secrets.py")),
    Room("rehearse", OTHER, ("rehearse",), ("rehearse", "cli/cluster", _TRANSCRIPTS)),
    Room("placement", OTHER, ("rehearse/placement",), ("rehearse/placement", "rehearse", "cli/cluster")),
    Room("columns", OTHER, ("tables/columns",), ("tables/columns", "tables", "test_same_record_text.py")),
    Room("export", OTHER, ("tables/export",), ("tables/export", "tables", "cli/tables")),
    Room("lake", OTHER, ("tables/lake",), ("tables/lake", "tables/export", "cli/tables")),
    Room(
        "sql",
        OTHER,
        ("tables/sql",),
        ("tables/sql", "tables/state", "tables/lake/test_sql_lake.py", "cli/tables", "shell/test_sql_prompt.py"),
    ),
    Room("state", OTHER, ("tables/state",), ("tables/state", "tables/sql", "cli/tables")),
    Room("reports", OTHER, ("tables/reports",), ("tables/reports", "cli/tables")),
    Room("stores", OTHER, ("tables/stores",), ("tables/stores", "tables/lake", "test_store_keys.py", "test_store_keys_everywhere.py")),
    Room("tables", OTHER, ("tables",), ("tables", "cli/tables")),
    Room("shell", OTHER, ("shell",), (*_SHELL, "cli/inspect")),
    Room("admin", CORE, ("cli/admin",), ("cli/admin", "cli/cluster", "test_golden_admin.py", "cli/groups")),
    Room("cli", OTHER, ("cli",), ("cli", _TRANSCRIPTS, "test_golden_storage.py", "test_golden_admin.py")),
    Room("spark_reports", OTHER, ("spark_reports",), ("spark_reports",), is_slow=True),
)
"""Nearest tests first. A room within a room (`placement` in `rehearse`) is judged for itself."""
