"""The layers of style.md as data, and other rules that every file keeps."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from metashell.uncollected import Uncollected
from tools.structure import circles, module_imports

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "metashell"

# What a package may import of metashell, besides those of EVERYWHERE. A new package is a new row here first.
LAYERS: dict[str, set[str]] = {
    "values": set(),
    "ids": set(),
    "errors": set(),
    "escape": set(),
    "forms": set(),
    "amounts": set(),
    "colors": set(),
    "progress": set(),
    "options": set(),
    "settings": {"options"},
    "uncollected": set(),
    "system": set(),
    "installed": set(),
    "__main__": {"cli"},
    "page": set(),
    "demo": set(),
    "codec": set(),
    "log": {"codec"},
    "image": {"codec"},
    "nodes": {"groups", "offsets_log", "image", "codec"},
    "checks": {"image", "codec"},
    "facts": {"checks", "image", "log", "storage", "codec"},
    "history": {"nodes", "image", "log", "codec", "options"},
    "shell": {"history", "nodes", "checks", "image", "codec", "options"},
    "dump": {"codec", "log"},
    "storage": {"codec", "log"},
    "verify": {"codec", "log", "image", "checks", "facts"},
    "bundle": {"codec", "log"},
    "net": {"codec"},
    "raft": {"codec"},
    "controller": {"checks", "codec", "image"},
    "groups": {"codec"},
    "rehearse": {"controller", "checks", "image", "codec", "options", "page"},
    "rebalance": {"groups", "codec", "options", "page"},
    "offsets_log": {"groups", "log", "codec"},
    "group_server": {"groups", "server", "controller_server", "image", "net", "codec"},
    "client": {"codec", "net"},
    "live": {"codec", "net", "raft", "image", "checks"},
    "admin": {"client", "groups", "codec", "net"},
    "server": {"raft", "controller", "groups", "image", "log", "net", "codec"},
    "controller_server": {"server", "controller", "checks", "raft", "image", "log", "storage", "net", "codec"},
    "embedded": {"group_server", "controller_server", "server", "controller", "raft", "image", "log", "storage", "client", "net", "codec"},
    "stores": {"codec", "log"},
    "columns": {"stores", "codec", "log", "image"},
    "reports": {"stores", "codec", "log", "columns", "options", "page", "checks"},
    "placement": {"image", "codec"},
}
LAYERS["cli"] = set(LAYERS)
# Packages with rooms inside: what each room may import of the others. What lies beside the rooms imports none of them, unless it has a
# row "".
ROOMS: dict[str, dict[str, set[str]]] = {
    "columns": {
        "meanings": {"typed"},
        "inputs": set(),
        "typed": set(),
        "decode": {"inputs", "typed"},
        "state": {"inputs", "decode", "typed"},
        "export": {"meanings", "inputs", "decode", "typed"},
        "lake": {"meanings", "inputs", "decode", "typed", "export"},
        "sql": {"inputs", "decode", "state", "typed", "lake"},
    },
    "dump": {"own": set(), "kafka": set()},
    "reports": {"": {"partitions"}, "partitions": set()},
    "rehearse": {"words": set(), "answers": {"words"}},
    "shell": {
        "": {"lines", "search", "commands"},
        "search": set(),
        "commands": {"search"},
        "lines": {"commands", "search"},
        "completing": {"lines", "commands", "search"},
        "terminal": {"lines", "commands", "completing"},
    },
    "groups": {
        "assignors": set(),
        "offsets": set(),
        "classic": {"offsets"},
        "consumer": {"assignors", "classic", "offsets"},
        "share": {"assignors", "offsets"},
        "streams": {"assignors", "offsets"},
        "members": {"assignors"},
        "probing": {"members"},
        "coordinator": {"classic", "consumer", "share", "streams", "offsets"},
    },
}
EVERYWHERE = {"values", "ids", "errors", "escape", "forms", "amounts", "colors", "progress", "settings", "uncollected", ""}
EVERYWHERE |= {"system", "installed"}

# What each package never imports, of all that can be installed.
CLOCK_AND_CHANCE = {"time", "datetime", "random", "secrets"}
NEVER: dict[str, set[str]] = {
    "codec": {"socket", "asyncio"} | CLOCK_AND_CHANCE,
    "log": {"socket", "asyncio", "random"},
    "image": {"os", "io", "pathlib", "socket", "asyncio"} | CLOCK_AND_CHANCE,
    "nodes": {"prompt_toolkit", "socket", "asyncio"},
    "forms": {"prompt_toolkit", "rich", "asyncio", "shutil"},
    "options": {"prompt_toolkit", "rich", "asyncio"},
    "dump": {"prompt_toolkit", "rich", "click", "asyncio"},
    "storage": {"prompt_toolkit", "rich", "click", "asyncio", "socket", "random", "secrets", "time", "datetime"},
    "raft": {"os", "io", "pathlib", "socket", "asyncio"} | CLOCK_AND_CHANCE,
    "controller": {"os", "io", "pathlib", "socket", "asyncio"} | CLOCK_AND_CHANCE,
    "groups": {"os", "io", "pathlib", "socket", "asyncio"} | CLOCK_AND_CHANCE,
    "placement": {"os", "io", "pathlib", "socket", "asyncio"} | CLOCK_AND_CHANCE,
    # Chance comes from a seed.
    "rehearse": {"os", "io", "pathlib", "socket", "asyncio"} | (CLOCK_AND_CHANCE - {"random"}),
    "rebalance": {"os", "io", "pathlib", "socket", "asyncio"} | (CLOCK_AND_CHANCE - {"random"}),
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
    "metashell.shell.terminal.tab_key": {"prompt_toolkit"},
    "metashell.shell.terminal.bar": {"prompt_toolkit"},
    "metashell.shell.terminal.keys": {"prompt_toolkit"},
    "metashell.shell.terminal.file_history": {"prompt_toolkit"},
    "metashell.stores.file_systems": {"pyarrow"},
    "metashell.stores.remote": {"pyarrow"},
    "metashell.columns.inputs.remote": {"pyarrow"},
    "metashell.net.transport": {"asyncio"},
    "metashell.net.accepted_connection": {"asyncio"},
    "metashell.net.accepting": {"asyncio"},
    "metashell.net.listener": {"asyncio"},
    "metashell.client.async_client": {"asyncio"},
    "metashell.admin.session": {"asyncio"},
    "metashell.server.driver": {"asyncio", "concurrent"},
    "metashell.server.links": {"asyncio"},
    "metashell.server.inbound": {"asyncio"},
    "metashell.server.feed": {"asyncio"},
    "metashell.server.commits": {"asyncio"},
    "metashell.server.image_machine": {"asyncio"},
    "metashell.server.snapshot_maker": {"asyncio"},
    "metashell.server.replica_server": {"asyncio"},
    "metashell.live.follow_loop": {"asyncio"},
    "metashell.live.probes": {"asyncio"},
    "metashell.controller_server.server": {"asyncio"},
    "metashell.controller_server.machine": {"asyncio"},
    "metashell.controller_server.queue": {"asyncio"},
    "metashell.controller_server.metrics": {"asyncio"},
    "metashell.controller_server.endpoint": {"asyncio"},
    "metashell.controller_server.apis": {"asyncio"},
    "metashell.controller_server.registration": {"asyncio"},
    "metashell.controller_server.leaderless": {"asyncio"},
    "metashell.controller_server.garbage": {"asyncio"},
    "metashell.embedded.members": {"asyncio"},
    "metashell.embedded.requests": {"asyncio"},
    "metashell.embedded.fake_brokers": {"asyncio"},
    "metashell.embedded.groups": {"asyncio"},
    "metashell.group_server.machine": {"asyncio"},
    "metashell.group_server.server": {"asyncio"},
}
# Of the heavy ones, only these packages may use them at all.
OWNERS = {
    "prompt_toolkit": {"shell"},
    "click": {"options"},
    "numpy": {"columns", "reports"},
    "pyarrow": {"columns", "reports", "stores"},
    "duckdb": {"columns"},
}
# Nothing of the base install imports these packages, so their modules may need what they are about.
LATE_PACKAGES = {"columns": {"numpy", "pyarrow"}, "reports": {"numpy", "pyarrow"}}

LINES_MAX = 500
MACHINE_PATH = re.compile(r"/(?:work|tmp|root|home/[a-z]+)/[A-Za-z0-9_.]")


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
    with Uncollected(freezes=True):
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


def test_a_module_imports_only_from_layers_below_its_own() -> None:
    for path in modules():
        own = package_of(module_name(path))
        allowed = LAYERS.get(own, set()) | EVERYWHERE | {own, "__version__"}
        for name, line in imports_of(path):
            if name == "metashell" or name.startswith("metashell."):
                assert package_of(name) in allowed, f"{path}:{line}: {own or 'metashell'} imports {name}"


def test_a_room_imports_only_from_rooms_below_its_own() -> None:
    for package, rooms in ROOMS.items():
        for path in (PACKAGE / package).rglob("*.py"):
            room = room_of(module_name(path))
            allowed = rooms.get(room, rooms.get("", set()))
            if path == PACKAGE / package / "__init__.py":
                continue  # it gives names of every room
            for name, line in imports_of(path):
                other = room_of(name) if package_of(name) == package else ""
                if other and other in rooms and other != room:
                    assert other in allowed, f"{path}:{line}: {room or 'no room'} imports {name}"
        assert {path.name for path in (PACKAGE / package).iterdir() if path.is_dir() and is_module(path)} == set(rooms) - {""}


def room_of(name: str) -> str:
    parts = name.split(".")
    return parts[2] if len(parts) > 2 else ""


def test_a_module_imports_nothing_that_its_package_may_never_use() -> None:
    for path in modules():
        own = package_of(module_name(path))
        for name, line in imports_of(path, with_types=False):
            top = name.split(".")[0]
            assert top not in NEVER.get(own, set()), f"{path}:{line}: {own} imports {top}"
            assert own in OWNERS.get(top, {own}), f"{path}:{line}: only {OWNERS[top]} may import {top}"


def test_heavy_imports_wait_inside_functions() -> None:
    for path in modules():
        name = module_name(path)
        allowed = LATE_MODULES.get(name, set()) | LATE_PACKAGES.get(package_of(name), set())
        for name, line in imports_of(path, with_types=False, only_at_import=True):
            top = name.split(".")[0]
            assert top not in HEAVY - allowed, f"{path}:{line}: {top} is imported with the module"


def test_every_package_has_a_row() -> None:
    found = {path.stem if path.is_file() else path.name for path in PACKAGE.iterdir() if is_module(path)}
    assert found <= set(LAYERS)


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
        if package_of(module_name(path)) in LATE_PACKAGES:
            continue
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
    assert not names & set(sys.stdlib_module_names)


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    return [
        path
        for folder in ("metashell", "tests", "tools", "man", "completions")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    ]


def text_files() -> list[Path]:
    suffixes = {".py", ".pyi", ".sh", ".md", ".toml", ".schema", ".1", ".bash", ".fish", ".zsh", ""}
    folders = {ROOT / "tests" / "golden", PACKAGE / "demo" / "data"}
    return [path for path in tracked_files() if path.suffix in suffixes and not folders & set(path.parents)]


def test_no_source_file_is_longer_than_it_reads_well() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in tracked_files()
        if path.suffix in (".py", ".sh") and path.name != "gen_metadata.py"
        if (count := path.read_text(encoding="utf-8").count("\n")) > LINES_MAX
    }
    assert not long


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    found = []
    for path in text_files():
        if path.name == "test_layers.py":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if MACHINE_PATH.search(line):
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
    allowed = {"__future__", "base64", "binascii"}
    for name in ("errors", "values"):
        tops = {imported.split(".")[0] for imported, _ in imports_of(PACKAGE / f"{name}.py")}
        assert tops <= allowed
