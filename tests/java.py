"""Real Kafka tools and small Java programs for tests; where Java or the jars are missing, a test skips and says why.

Jars come from Maven on first use and are kept in $KAFKA_JARS, by default ~/.cache/kafka-jars.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Final

import pytest

from metashell.codec.releases import NEWEST_RELEASE, RELEASES

KAFKA: Final = NEWEST_RELEASE.patch
"""The release that judges, where a test does not name another."""
BEFORE: Final = RELEASES[-2].patch
"""The release before it."""
TRIED: Final = tuple(release.patch for release in RELEASES if release.patch)
_T: Final = "org.apache.kafka.tools"
TOOLS: Final = {
    "server": ("kafka.Kafka",),
    "storage": ("kafka.tools.StorageTool",),
    "cluster": (f"{_T}.ClusterTool", "kafka.tools.ClusterTool"),
    "quorum": (f"{_T}.MetadataQuorumCommand", "kafka.admin.MetadataQuorumCommand"),
    "features": (f"{_T}.FeatureCommand", "kafka.admin.FeatureCommand"),
    "dump-log": (f"{_T}.DumpLogSegments", "kafka.tools.DumpLogSegments"),
    "shell": ("org.apache.kafka.shell.MetadataShell",),
    "topics": (f"{_T}.TopicCommand", "kafka.admin.TopicCommand"),
    "configs": (f"{_T}.ConfigCommand", "kafka.admin.ConfigCommand"),
}
"""The class of each tool, first where the newest release has it, then where older ones had it."""
# The log lines of the tools are no part of their output.
_QUIET = ("-Dlog4j2.level=OFF", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
_SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")
_PARTS = ("kafka_2.13", "kafka-tools")
# Maven lacks kafka-shell of these: the shell of the release before runs on their jars, and takes what they moved from its own.
_SHELL_OF = {"4.4.0": "4.3.1"}
_OLDEST_JAVA = 17
_FETCH_TIMEOUT_S = 600
_RUN_TIMEOUT_S = 120


def kafka(version: str, tool: str, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """What a tool of a real Kafka does with `args`: its output and status. Skips the test without Java or jars."""
    command = kafka_command(version, tool, *args)
    return subprocess.run(command, input=stdin, capture_output=True, timeout=_RUN_TIMEOUT_S, check=False)


def kafka_command(version: str, tool: str, *args: str) -> list[str]:
    """The command line that runs a tool, for tests that start it themselves."""
    path = f"{jars(version)}/*"
    if tool == "shell" and version in _SHELL_OF:
        path = ":".join(
            (path, *(str(jar) for jar in sorted(jars(_SHELL_OF[version]).glob("*.jar")) if jar.name.startswith(("kafka", "jline"))))
        )
    return [java(), *_SMALL, *_QUIET, "-cp", path, _tool_class(version, tool), *args]


def run_program(source: Path, *args: str, version: str = KAFKA, stdin: bytes = b"") -> bytes:
    """The standard output of a Java program in one source file, with Kafka's jars on its class path."""
    command = program_command(source, *args, version=version)
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=_RUN_TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout


def program_command(source: Path, *args: str, version: str = KAFKA) -> list[str]:
    """The command line that runs such a program, for tests that talk to it."""
    return [java(), *_SMALL, "-cp", f"{jars(version)}/*", str(source), *args]


@functools.cache
def _tool_class(version: str, tool: str) -> str:
    names = TOOLS.get(tool, (tool,))
    if len(names) == 1:
        return names[0]
    found = {name for jar in jars(version).glob("kafka*.jar") for name in names if f"{name.replace('.', '/')}.class" in _entries(jar)}
    return next((name for name in names if name in found), names[0])


@functools.cache
def _entries(jar: Path) -> frozenset[str]:
    with zipfile.ZipFile(jar) as archive:
        return frozenset(archive.namelist())


@functools.cache
def java() -> str:
    """The `java` to run; skips the test where there is none that is recent enough."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        pytest.skip("no java on this machine")
    text = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', text)
    if match is None or int(match[1]) < _OLDEST_JAVA:
        pytest.skip(f"java is older than {_OLDEST_JAVA}")
    return found


@functools.cache
def jars(version: str) -> Path:
    """The folder that holds the jars of a Kafka release; fetches them by Maven if they are not there yet."""
    home = Path(os.environ.get("KAFKA_JARS") or Path.home() / ".cache" / "kafka-jars") / version
    if not (home / "complete").exists() and (trouble := _fetch(version, home)):
        pytest.skip(trouble)
    return home / "libs"


@functools.cache
def _fetch(version: str, home: Path) -> str | None:
    """Why the jars did not come, None if they did; tried once in a run."""
    maven = shutil.which("mvn")
    if maven is None:
        return f"no jars of Kafka {version} in {home}, and no mvn to fetch them"
    home.mkdir(parents=True, exist_ok=True)
    (home / "pom.xml").write_text(_pom(version))
    command = [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs", "-DincludeScope=runtime"]
    try:
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"the jars of Kafka {version} did not arrive within {_FETCH_TIMEOUT_S} s"
    if done.returncode != 0:
        return f"the jars of Kafka {version} could not be fetched: {done.stdout[-300:]}"
    (home / "complete").touch()
    return None


def _pom(version: str) -> str:
    def dependency(artifact: str, group: str = "org.apache.kafka", number: str = version) -> str:
        return f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{number}</version></dependency>"

    parts = "".join(dependency(part) for part in (*_PARTS, *(() if version in _SHELL_OF else ("kafka-shell",))))
    if version.startswith("3."):
        parts += dependency("slf4j-reload4j", "org.slf4j", "1.7.36")
    else:
        parts += dependency("log4j-slf4j-impl", "org.apache.logging.log4j", "2.25.4")
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>jars</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<dependencies>{parts}</dependencies></project>\n"
    )
