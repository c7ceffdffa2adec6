"""The program inside `dist/metashell.pyz`: unpacks what the archive holds, once, and runs the command. `tools.onefile` fills in the names.

It is the only module of the archive, so that an interpreter reads a directory of two entries, and imports nothing that a command does not
import. Modules with machine code cannot be imported from an archive, so all is unpacked: into a folder named by its digest.
"""

import os
import sys

WANTED = "@VERSION@"
DIGEST = "@DIGEST@"
SCRIPTS = {"@SCRIPT@": "@PLACE@"}


def unpack(folder: str) -> None:
    """Unpack the packages of this archive into a folder that is not there yet; it appears whole or not at all."""
    import shutil
    from io import BytesIO
    from zipfile import ZipFile

    beside = f"{folder}.{os.getpid()}"
    try:
        with ZipFile(sys.argv[0] if __file__ is None else os.path.dirname(__file__)) as archive:
            packages = archive.read("packages.zip")
        os.makedirs(beside, 0o700)
        with ZipFile(BytesIO(packages)) as archive:
            archive.extractall(beside)
        try:
            os.rename(beside, folder)
        except OSError:
            # Another process was quicker.
            if not os.path.isdir(folder):
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def is_ours(folder: str) -> bool:
    """Whether a folder is there that nobody else could have filled."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022 and not os.path.islink(folder)


def packages() -> str:
    """The folder with the packages, unpacked now if need be."""
    top = os.environ.get("XDG_CACHE_HOME", "")
    top = os.path.join(top if top.startswith("/") else os.path.expanduser("~/.cache"), "metashell")
    folder = os.path.join(top, DIGEST)
    if is_ours(folder):
        return folder
    try:
        os.makedirs(top, 0o700, exist_ok=True)
        if not os.path.lexists(folder):
            unpack(folder)
        if is_ours(folder):
            return folder
    except OSError:
        pass
    import atexit
    import shutil
    import tempfile

    temporary = tempfile.mkdtemp(prefix="metashell-")
    atexit.register(shutil.rmtree, temporary, True)
    folder = os.path.join(temporary, DIGEST)
    unpack(folder)
    return folder


def main() -> int:
    if sys.platform == "win32":
        sys.exit("metashell runs on Linux and macOS: on Windows, install and start it inside WSL")
    found = f"{sys.implementation.cache_tag} {os.uname().sysname} {os.uname().machine}"
    if found != WANTED:
        sys.exit(f"metashell: this file was built for {WANTED}, and this is {found} ({sys.executable})")
    sys.path[0] = packages()
    os.environ["METASHELL_ONEFILE"] = "1"
    # A link by the name of a command is that command.
    name = os.path.basename(sys.argv[0])
    place = SCRIPTS.get(name, SCRIPTS["metashell"])
    module, _, attribute = place.partition(":")
    from importlib import import_module

    return getattr(import_module(module), attribute)()


if __name__ == "__main__":
    sys.exit(main())
