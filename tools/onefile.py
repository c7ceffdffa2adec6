"""Makes dist/metashell.pyz, one executable file with the base install: `make onefile`, or

    python -m tools.onefile [--out FILE]        with the packages that pip finds
    python -m tools.onefile --installed         with the packages that this environment has: needs no network

The file is a shell line that looks for the right Python, and a zip archive with one module (tools/onefile_main.py) and the packages in an
archive of their own. Why neither shiv nor pex: docs/speed.md has the start of all three. This one starts fastest, since Python reads a
directory of two entries where shiv's has hundreds, and since nothing but the command is imported.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import io
import os
import py_compile
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parents[1]
MAIN = ROOT / "tools" / "onefile_main.py"
# The distribution's Python comes first: a manager of versions puts scripts on the PATH that take 0.1 s to find theirs. `python3` is tried
# last, since it may be of another version.
START = """#!/bin/sh
for python in "$METASHELL_PYTHON" /usr/bin/python{version} python{version} python3; do
    command -v "${{python:-none}}" >/dev/null 2>&1 && exec "$python" -E -s "$0" "$@"
done
echo "metashell: needs Python {version}, which is not on the PATH (METASHELL_PYTHON=... names one)" >&2
exit 1
"""
# The same bytes for the same content.
TIME = (1980, 1, 1, 0, 0, 0)


def built_for() -> str:
    """The Python and the kind of machine of this process, as the archive compares them."""
    return f"{sys.implementation.cache_tag} {os.uname().sysname} {os.uname().machine}"


def scripts() -> dict[str, str]:
    """The commands of the base install, by name."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    return {name: place for name, place in found.items() if place.startswith("metashell.")}


def needed(names: Iterable[str]) -> Iterator[Distribution]:
    """The installed distributions of these requirements, and all that they require in turn, without extras."""
    from packaging.requirements import Requirement

    waiting = [Requirement(name) for name in names]
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        if requirement.name.lower() in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(requirement.name.lower())
        found = distribution(requirement.name)
        yield found
        waiting.extend(Requirement(text) for text in found.requires or ())


def copy_installed(folder: Path) -> None:
    """metashell from this checkout, and its requirements from this environment."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for found in needed(required):
        for name in found.files or ():
            source = Path(str(found.locate_file(name)))
            if ".." not in name.parts and "__pycache__" not in name.parts and source.is_file():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    shutil.copytree(ROOT / "metashell", folder / "metashell", ignore=shutil.ignore_patterns("__pycache__", "*.pyi"))
    from tools.gen_completions import files

    for name, text in files().items():
        target = folder / "metashell" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def install(folder: Path) -> None:
    """metashell and its requirements, as pip installs them."""
    argv = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--target", str(folder), str(ROOT)]
    subprocess.run(argv, check=True)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    shutil.rmtree(folder / "share", ignore_errors=True)
    for stub in folder.rglob("*.pyi"):
        stub.unlink()


def packed(folder: Path) -> bytes:
    """All files of a folder as an archive, compiled, the same bytes for the same content."""
    # Unpacking gives files new times, which must not make Python compile them again.
    compileall.compile_dir(
        folder, quiet=2, workers=1, stripdir=str(folder), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(ZipInfo(str(path.relative_to(folder)), TIME), path.read_bytes(), ZIP_DEFLATED)
    return out.getvalue()


def main_module(digest: str) -> str:
    """The source of the one module, filled in."""
    text = MAIN.read_text(encoding="utf-8")
    for mark, value in (('"@VERSION@"', built_for()), ('"@DIGEST@"', digest), ('{"@SCRIPT@": "@PLACE@"}', scripts())):
        assert mark in text
        text = text.replace(mark, repr(value))
    return text


def write(out: Path, packages: bytes) -> None:
    """The executable file."""
    digest = hashlib.sha256(packages).hexdigest()[:20]
    # Compiled at its end, an archive of which nothing has to be inflated.
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "__main__.py")
        source.write_text(main_module(digest), encoding="utf-8")
        compiled = py_compile.compile(
            str(source),
            str(source) + "c",
            dfile="metashell.pyz/__main__.py",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        assert compiled is not None
        code = Path(compiled).read_bytes()
    archive_bytes = io.BytesIO()
    with ZipFile(archive_bytes, "w", ZIP_STORED) as archive:
        archive.writestr(ZipInfo("__main__.pyc", TIME), code)
        archive.writestr(ZipInfo("packages.zip", TIME), packages)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f".{out.name}.partial")
    start = START.format(version=f"{sys.version_info[0]}.{sys.version_info[1]}")
    # Python finds an archive from its end, whatever stands before it.
    beside.write_bytes(start.encode() + archive_bytes.getvalue())
    beside.chmod(beside.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    beside.replace(out)


def make(out: Path, *, from_installed: bool) -> None:
    """Make the file. Errors: CalledProcessError where pip fails."""
    with tempfile.TemporaryDirectory() as folder:
        packages = Path(folder, "packages")
        packages.mkdir()
        (copy_installed if from_installed else install)(packages)
        write(out, packed(packages))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "metashell.pyz", help="default: dist/metashell.pyz")
    parser.add_argument("--installed", action="store_true", help="take the packages of this environment")
    values = parser.parse_args()
    make(values.out, from_installed=values.installed)
    print(f"{values.out}: {values.out.stat().st_size / 1e6:.1f} MB, for {built_for()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
