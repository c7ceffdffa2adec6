"""The layers of style.md as data, and other rules that every file keeps."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from metashell.common.runtime import PausedCollector
from tools.structure import circles, module_imports

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "metashell"

# What a wing may import of metashell besides itself, from the bottom up. A new wing is a new row here first. Each permission is used.
WINGS: dict[str, set[str]] = {
    "common": set(),
    "demo": set(),
    "codec": {"common"},
    "disk": {"common", "codec"},
    "metadata": {"common", "codec", "disk"},
    "net": {"common", "codec"},
    "groups": {"common", "codec", "disk", "metadata", "net"},
    "quorum": {"common", "codec", "disk", "metadata", "net", "groups"},
    "inspect": {"common", "codec", "disk", "metadata"},
    "rehearse": {"common", "codec", "metadata", "quorum"},
    "tables": {"common", "codec", "disk", "metadata", "groups"},
    "shell": {"common", "codec", "metadata"},
    "cli": {
        "common", "codec", "disk", "metadata", "net", "groups", "quorum", "inspect", "rehearse", "tables", "shell", "demo",
    },
    "__main__": {"cli"},
}  # fmt: skip
# What a room may import of the other rooms of its wing; "" are the modules beside the rooms. Arrows go one way only, but for what stands
# beside the rooms: it may import them and be imported.
ROOMS: dict[str, dict[str, set[str]]] = {
    "metadata": {
        "": {"checks", "image"},
        "image": set(),
        "checks": {"image"},
        "nodes": {"image"},
        "history": {"image", "nodes"},
    },
    "groups": {
        "": set(),
        "assignors": {""},
        "classic": {""},
        "consumer": {"", "assignors", "classic"},
        "share": {""},
        "streams": {""},
        "members": {"", "assignors"},
        "coordinator": {"", "assignors", "classic", "consumer", "share", "streams"},
        "log": {"", "coordinator"},
        "server": {"", "coordinator", "log"},
        "simulation": {"", "classic", "consumer", "coordinator", "members"},
    },
    "quorum": {
        "raft": set(),
        "controller": set(),
        "server": {"raft", "controller"},
        "observer": {"raft"},
        "embedded": {"server", "controller"},
    },
    "inspect": {"dump": set(), "verify": set(), "repair": {"verify"}},
    "rehearse": {"placement": set()},
    "tables": {
        "": {"columns", "stores"},
        "stores": set(),
        "columns": {""},
        "state": {"", "columns"},
        "export": {"", "columns", "stores"},
        "lake": {"", "columns", "export", "stores"},
        "sql": {"", "columns", "state", "lake", "stores"},
        "reports": {"", "columns", "state", "sql", "stores"},
    },
    "shell": {"": {"commands"}, "commands": {""}, "terminal": {"", "commands"}},
    "cli": {
        "": {"admin"},
        "admin": set(),
        "cluster": {"", "admin"},
        "groups": {"", "admin", "cluster"},
        "controllers": {"", "admin", "cluster", "inspect"},
        "inspect": {"", "admin", "cluster", "groups"},
        "kafka": {"", "admin", "controllers"},
        "tables": {""},
    },
}
# Rooms that may import less of the other wings than their wing may. Raft and the controller decide without I/O, over Protocols.
NARROWER: dict[str, set[str]] = {
    "metadata.image": {"common", "codec"},
    "metadata.checks": {"common", "codec"},
    "metadata.nodes": {"common", "codec"},
    "quorum.raft": {"common", "codec"},
    "quorum.controller": {"common", "codec", "metadata"},
    "quorum.observer": {"common", "codec", "metadata", "net"},
    "groups.assignors": {"common", "codec"},
    "groups.classic": {"common", "codec"},
    "groups.consumer": {"common", "codec"},
    "groups.share": {"common", "codec"},
    "groups.streams": {"common", "codec"},
    "groups.coordinator": {"common", "codec"},
    "groups.members": {"common", "codec"},
    "groups.simulation": {"common", "codec"},
    "rehearse.placement": {"common", "codec", "metadata"},
}
# What stands beside the package at the top level, and what it may import of metashell.
BESIDE = {"spark_reports": {"", "common", "demo", "codec", "disk", "metadata", "tables"}}

# What a wing or room never imports, of all that can be installed; the longest row that fits counts.
CLOCK_AND_CHANCE = {"time", "datetime", "random", "secrets"}
OUTSIDE = {"os", "io", "pathlib", "socket", "asyncio"}
NEVER: dict[str, set[str]] = {
    "codec": {"socket", "asyncio"} | CLOCK_AND_CHANCE,
    "disk": {"prompt_toolkit", "rich", "click", "asyncio", "socket", "random"},
    "metadata": {"prompt_toolkit", "socket", "asyncio"},
    "metadata.image": OUTSIDE | CLOCK_AND_CHANCE,
    "metadata.checks": OUTSIDE | CLOCK_AND_CHANCE,
    "common.forms": {"prompt_toolkit", "rich", "asyncio", "shutil"},
    "common.options": {"prompt_toolkit", "rich", "asyncio"},
    "common.option_parser": {"prompt_toolkit", "rich", "asyncio"},
    "inspect": {"prompt_toolkit", "rich", "click", "asyncio"},
    "quorum.raft": OUTSIDE | CLOCK_AND_CHANCE,
    "quorum.controller": OUTSIDE | CLOCK_AND_CHANCE,
    "groups": OUTSIDE | CLOCK_AND_CHANCE,
    "groups.log": {"socket", "asyncio"},
    "groups.server": {"socket", "random"},
    # Chance comes from a seed.
    "groups.simulation": OUTSIDE | (CLOCK_AND_CHANCE - {"random"}),
    "rehearse": OUTSIDE | (CLOCK_AND_CHANCE - {"random"}),
    "rehearse.placement": OUTSIDE | CLOCK_AND_CHANCE,
    "cli": {"prompt_toolkit", "rich"},
}

# They cost from 10 to 130 ms, so they wait inside the functions that use them.
HEAVY = {
    "prompt_toolkit",
    "rich",
    "pygments",
    "asyncio",
    "click",
    "pyarrow",
    "numpy",
    "pyspark",
    "multiprocessing",
    "concurrent",
}
# Modules that are only imported by a function which needs what they import.
LATE_MODULES = {
    "metashell.shell.terminal.prompt": {"prompt_toolkit"},
    "metashell.shell.terminal.sql_prompt": {"prompt_toolkit", "pygments"},
    "metashell.shell.terminal.parts": {"prompt_toolkit"},
    "metashell.net.transport": {"asyncio"},
    "metashell.net.accepted_connection": {"asyncio"},
    "metashell.net.listener": {"asyncio"},
    "metashell.net.shares": {"asyncio"},
    "metashell.net.client": {"asyncio"},
    "metashell.cli.admin.session": {"asyncio"},
    "metashell.cli.admin.client": {"asyncio"},
    "metashell.quorum.server.driver": {"asyncio", "concurrent"},
    "metashell.quorum.server.links": {"asyncio"},
    "metashell.quorum.server.feed": {"asyncio"},
    "metashell.quorum.server.event_queue": {"asyncio"},
    "metashell.quorum.server.audit": set(),
    "metashell.quorum.server.replica_server": {"asyncio"},
    "metashell.quorum.server.controller_server": {"asyncio"},
    "metashell.quorum.server.controller_machine": {"asyncio"},
    "metashell.quorum.server.metrics": {"asyncio"},
    "metashell.quorum.server.endpoint": {"asyncio"},
    "metashell.quorum.server.apis": {"asyncio"},
    "metashell.quorum.server.registration": {"asyncio"},
    "metashell.quorum.observer.follow_loop": {"asyncio", "concurrent"},
    "metashell.quorum.observer.probes": {"asyncio"},
    "metashell.quorum.embedded.members": {"asyncio"},
    "metashell.quorum.embedded.fake_brokers": {"asyncio"},
    "metashell.groups.server.server": {"asyncio"},
    "metashell.groups.server.machine": {"asyncio"},
}
# Of the heavy ones, only these wings may use them at all.
OWNERS = {
    "prompt_toolkit": {"shell"},
    "click": {"common"},
    "numpy": {"tables"},
    "pyarrow": {"tables"},
    "duckdb": {"tables"},
}
# Nothing of the base install imports this wing, so its modules may need what they are about.
LATE_PACKAGES = {"tables": {"numpy", "pyarrow"}}

FILES_MAX = 25
LINES_MAX = 500
TEST_LINES_MAX = 700
MACHINE_PATH = re.compile(r"/(?:work|tmp|root|home/[a-z]+)/[A-Za-z0-9_.]")
KAFKAS_DEFAULT = "log.dir\tLIST\t/tmp/kafka-logs\t"
"""A row in the tables of Kafka's settings."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def package_of(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


@cache
def tree_of(path: Path) -> ast.Module:
    # Trees are kept, and a tree has cycles: Python's collector would look through all of them again and again.
    with PausedCollector(freezes=True):
        return ast.parse(path.read_text(encoding="utf-8"))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


@cache
def imports_of(path: Path, *, with_types: bool = True, only_at_import: bool = False) -> list[tuple[str, int]]:
    """Each imported module and its line; with `only_at_import`, those that run when the module is imported."""

    def visit(nodes: list[ast.stmt]) -> Iterator[tuple[str, int]]:
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}: relative import"
                yield node.module or "", node.lineno
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
            if is_type_checking(node) and not with_types:
                assert isinstance(node, ast.If)
                yield from visit(node.orelse)
            elif not (only_at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
                for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                    children = getattr(node, field, [])
                    yield from visit([child for child in children if hasattr(child, "lineno") or hasattr(child, "body")])

    return list(visit(tree_of(path).body))


def own_imports(path: Path) -> Iterator[tuple[str, int]]:
    """The modules of metashell that a file imports, each as `wing.room.module...` without `metashell.`, and its line."""
    for name, line in imports_of(path):
        if name == "metashell" or name.startswith("metashell."):
            yield name.partition(".")[2], line


def test_a_wing_imports_only_from_wings_below_it() -> None:
    used = set()
    for path in modules():
        wing, room = place_of(module_name(path))
        allowed = NARROWER.get(f"{wing}.{room}", WINGS.get(wing, set())) | {wing, ""}
        for name, line in own_imports(path):
            other = name.partition(".")[0]
            if other in WINGS:
                assert other in allowed, f"{path}:{line}: {wing}.{room} imports metashell.{name}"
                used.add((wing, other))
    assert {(wing, other) for wing, others in WINGS.items() for other in others} <= used, "a permission that nobody uses"


def test_a_room_imports_only_from_rooms_below_its_own() -> None:
    used = set()
    for path in modules():
        wing, room = place_of(module_name(path))
        if wing not in ROOMS or path == PACKAGE / wing / "__init__.py":
            continue
        assert room in ROOMS[wing] or not room, f"{path}: a room without a row"
        for name, line in own_imports(path):
            if name.partition(".")[0] == wing and is_file_of(f"metashell.{name}"):
                other = place_of(f"metashell.{name}")[1]
                if other != room:
                    assert other in ROOMS[wing].get(room, set()), f"{path}:{line}: {room or 'no room'} of {wing} imports {name}"
                    used.add((wing, room, other))
    permitted = {(wing, room, other) for wing, rooms in ROOMS.items() for room, others in rooms.items() for other in others}
    assert permitted <= used, permitted - used


def test_what_stands_beside_the_package_imports_only_what_it_may() -> None:
    for folder, allowed in BESIDE.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name, line in own_imports(path):
                assert name.partition(".")[0] in allowed | {"__version__"}, f"{path}:{line}: {folder} imports metashell.{name}"
    assert circles(module_imports(ROOT, sorted((ROOT / "spark_reports").rglob("*.py")))) == []
    for path in modules():
        assert not [name for name, _ in imports_of(path) if name.partition(".")[0] in ("spark_reports", "tools", "tests")], path


def is_file_of(name: str) -> bool:
    return ROOT.joinpath(*name.split(".")).is_dir() or ROOT.joinpath(*name.split(".")).with_suffix(".py").is_file()


def place_of(name: str) -> tuple[str, str]:
    """The wing of a module and its room there; no room for a module beside the rooms."""
    parts = name.split(".")[1:]
    is_room = len(parts) > 1 and PACKAGE.joinpath(*parts[:2]).is_dir()
    return parts[0] if parts else "", parts[1] if is_room else ""


def test_a_module_imports_nothing_that_its_room_may_never_use() -> None:
    for path in modules():
        own = module_name(path).partition(".")[2]
        rows = [row for row in NEVER if own == row or own.startswith(f"{row}.")]
        never = NEVER[max(rows, key=len)] if rows else set()
        for name, line in imports_of(path, with_types=False):
            top = name.split(".")[0]
            assert top not in never, f"{path}:{line}: {own} imports {top}"
            assert package_of(module_name(path)) in OWNERS.get(top, set(WINGS)), f"{path}:{line}: only {OWNERS[top]} may import {top}"


def test_a_folder_holds_what_a_newcomer_can_look_through() -> None:
    assert {wing for wing in WINGS if (PACKAGE / wing).is_dir()} == {
        path.name for path in PACKAGE.iterdir() if is_module(path) and path.is_dir()
    }
    assert len([wing for wing in WINGS if wing not in ("demo", "__main__")]) <= 12
    many = {
        str(folder.relative_to(ROOT)): count
        for folder in {path.parent for path in modules()}
        if (count := len(list(folder.glob("*.py")))) > FILES_MAX
    }
    assert not many


def test_heavy_imports_wait_inside_functions() -> None:
    for path in modules():
        name = module_name(path)
        allowed = LATE_MODULES.get(name, set()) | LATE_PACKAGES.get(package_of(name), set())
        for name, line in imports_of(path, with_types=False, only_at_import=True):
            top = name.split(".")[0]
            assert top not in HEAVY - allowed, f"{path}:{line}: {top} is imported with the module"


def is_module(path: Path) -> bool:
    if path.is_dir():
        return (path / "__init__.py").exists()
    return path.suffix == ".py" and path.stem != "__init__"


def test_late_modules_are_imported_inside_functions_only() -> None:
    for path in modules():
        name = module_name(path)
        if name in LATE_MODULES:
            # One late module may bring another.
            continue
        for imported, line in imports_of(path, with_types=False, only_at_import=True):
            assert imported not in LATE_MODULES, f"{path}:{line}: {imported} is imported with the module"


def test_nothing_of_the_base_install_imports_columns_with_itself() -> None:
    for path in modules():
        if package_of(module_name(path)) in LATE_PACKAGES or module_name(path).startswith("metashell.cli.tables."):
            continue  # the commands of tables are loaded by name
        for name, line in imports_of(path, with_types=False, only_at_import=True):
            assert package_of(name) not in LATE_PACKAGES, f"{path}:{line}: {name} is imported with the module"


def test_no_two_modules_import_each_other() -> None:
    """Not late and not for types either, nor by way of others."""
    assert circles(module_imports(ROOT, modules())) == []


def test_nothing_imports_cli() -> None:
    for path in modules():
        if package_of(module_name(path)) not in ("cli", "__main__"):
            assert all(package_of(name) != "cli" for name, _ in imports_of(path) if name.startswith("metashell.")), path


def test_no_module_at_top_level_bears_a_name_of_the_standard_library() -> None:
    names = {path.stem for path in PACKAGE.iterdir()} | {path.stem for path in (ROOT / "tools").iterdir()}
    # `metashell.inspect` is a wing: nothing runs from inside the package folder, where it would hide the other.
    assert not (names - {"inspect"}) & set(sys.stdlib_module_names)


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not any(part.startswith(".") for part in path.relative_to(ROOT).parts[:-1])
    ]


def text_files() -> list[Path]:
    suffixes = {
        ".py",
        ".pyi",
        ".sh",
        ".md",
        ".toml",
        ".schema",
        ".1",
        ".bash",
        ".fish",
        ".zsh",
        ".txt",
        ".tsv",
        ".yml",
        ".yaml",
        ".java",
        ".svg",
        "",
    }
    folders = {ROOT / "tests" / "golden", PACKAGE / "demo" / "data"}
    return [path for path in tracked_files() if path.suffix in suffixes and not folders & set(path.parents)]


def test_no_source_file_is_longer_than_it_reads_well() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in tracked_files()
        if path.suffix in (".py", ".sh") and path.name != "gen_metadata.py"
        if (count := path.read_text(encoding="utf-8").count("\n")) > (TEST_LINES_MAX if path.name.startswith("test_") else LINES_MAX)
    }
    assert not long


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    found = []
    for path in text_files():
        if path.name == "test_layers.py":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if MACHINE_PATH.search(line.replace(KAFKAS_DEFAULT, "")):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found


def test_no_text_has_both_sides_of_a_merge() -> None:
    sides = re.compile(r"^(?:<{7} |>{7} |\|{7} |={7}$)", re.MULTILINE)
    found = [str(path.relative_to(ROOT)) for path in text_files() if sides.search(path.read_text(encoding="utf-8"))]
    assert not found


def test_nothing_is_left_to_do_in_comments() -> None:
    marker = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in text_files()
        if path.suffix == ".py"
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if marker.search(line)
    ]
    assert not found


def test_a_module_begins_with_a_docstring() -> None:
    assert not [module_name(path) for path in modules() if not ast.get_docstring(tree_of(path))]


def test_errors_and_values_import_nothing_heavy() -> None:
    allowed = {"__future__", "base64", "binascii", "typing", "metashell", "collections", "re", "math"}
    for name in ("errors", "values"):
        tops = {
            imported.split(".")[0] for imported, _ in imports_of(PACKAGE / "common" / f"{name}.py", with_types=False, only_at_import=True)
        }
        assert tops <= allowed, tops
