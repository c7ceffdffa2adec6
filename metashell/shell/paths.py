"""Paths of the node tree as text: splitting, joining, and what `.` and `..` mean."""

from __future__ import annotations

ROOT = "/"
HERE = "."


def absolute_components(path: str, cwd: str) -> list[str]:
    """The components of a path as seen from the root, without empty parts, `.` and `..`.

    `..` is taken textually, before globs are expanded, and above the root it stays there.
    Source: org.apache.kafka.shell.command.CommandUtils.
    """
    full = path if path.startswith("/") else f"{cwd}/{path}"
    components: list[str] = []
    for part in full.split("/"):
        if part == "..":
            del components[-1:]
        elif part not in ("", "."):
            components.append(part)
    return components


def child_path(path: str, name: str) -> str:
    """The path of a child of the directory at `path`."""
    return f"/{name}" if path == ROOT else f"{path}/{name}"
