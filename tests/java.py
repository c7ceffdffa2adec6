"""Real Kafka tools and small Java programs for tests; where Java or the jars are missing, a test skips and says why.

Jars come from Maven on first use and are kept in $KAFKA_JARS, by default ~/.cache/kafka-jars. Beside them lie our programs as they were
compiled, and an archive of the classes that servers and tools load (class data sharing), which halves the cost of a start of Java. Where
that folder may not be written, each process of the suite makes its own.

Tools and programs run in one process for each release, which stays until the tests end (tools/interop/java/Host.java).
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from metashell.codec.releases import NEWEST_RELEASE, RELEASES
from tools.interop.host import Host
from tools.interop.lone import LoneControllers
from tools.interop.nodes import broker_settings, free_ports, write_config

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
PROGRAMS: Final = Path(__file__).parents[1] / "tools" / "interop" / "java"
# The log lines of the tools are no part of their output.
_QUIET = ("-Dlog4j2.level=OFF", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
_LOG4J = """log4j.rootLogger={level}, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d [%t] %p %c - %m%n
"""
_SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xlog:disable")
_HEAP = "-Xmx256m"
_HOST_HEAP = "-Xmx640m"
_PARTS = ("kafka_2.13", "kafka-tools")
# Maven lacks kafka-shell of these: the shell of the release before runs on their jars, and takes what they moved from its own.
_SHELL_OF = {"4.4.0": "4.3.1"}
_OLDEST_JAVA = 17
_NO_EXIT_CAUGHT = 24
"""The Java that lets nobody catch System.exit: from then on each tool is a process."""
_OLDEST_SERVERS = "3.9.2"
_SURROUNDINGS = ("TZ", "LC_ALL", "LANG")
_FETCH_TIMEOUT_S = 600
_RUN_TIMEOUT_S = 120


def kafka(version: str, tool: str, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """What a tool of a real Kafka does with `args`: its output and status. Skips the test without Java or jars."""
    if tool != "shell" and java_version() < _NO_EXIT_CAUGHT:
        return _resident(version).run_class(_tool_class(version, tool), args, stdin)
    command = kafka_command(version, tool, *args)
    return subprocess.run(command, input=stdin, capture_output=True, timeout=_RUN_TIMEOUT_S, check=False)


def kafka_command(version: str, tool: str, *args: str) -> list[str]:
    """The command line that runs a tool, for tests that start it themselves."""
    more = ""
    if tool == "shell" and version in _SHELL_OF:
        own = sorted(jars(_SHELL_OF[version]).glob("*.jar"))
        more = ":".join(str(jar) for jar in own if jar.name.startswith(("kafka", "jline")))
    return [java(), *_QUIET, *_options(version, more), _tool_class(version, tool), *args]


def logging_command(words: Sequence[str], folder: Path, level: str = "WARN") -> list[str]:
    """A command line of Java with which servers of any release write what they log, from a level on, into their output."""
    settings = folder / "log4j.properties"
    settings.write_text(_LOG4J.format(level=level))
    at = words.index("-cp")
    return [*words[:at], f"-Dlog4j2.level={level}", f"-Dlog4j.configuration=file:{settings}", *words[at:]]


def run_program(source: Path, *args: str, version: str = KAFKA, stdin: bytes = b"") -> bytes:
    """The standard output of a Java program in one source file, with Kafka's jars on its class path."""
    if java_version() < _NO_EXIT_CAUGHT:
        done = _resident(version).run_class(source.stem, args, stdin, str(compiled(version, source)))
    else:
        command = program_command(source, *args, version=version)
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=_RUN_TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout


def program_command(source: Path, *args: str, version: str = KAFKA) -> list[str]:
    """The command line that runs such a program, for tests that talk to it."""
    return [java(), *_options(version, str(compiled(version, source))), source.stem, *args]


def host_command(version: str = KAFKA, *options: str) -> list[str]:
    """How a process with servers and tools is started (tools/interop/host.py)."""
    options = options or _QUIET
    return [java(), *options, *_options(version), _HOST_HEAP, "Host"]


def tool_host(version: str, folder: Path) -> Host:
    """A process that starts in a folder and runs tools and programs; that one of them calls System.exit is only its own end."""
    policy = folder / "all.policy"
    policy.write_text("grant { permission java.security.AllPermission; };\n")
    command = host_command(version, *_QUIET, "-Djava.security.manager=allow", f"-Djava.security.policy=={policy}")
    return Host([*command, "tools"], folder)


def lone_controllers(version: str = KAFKA) -> LoneControllers:
    """The process that runs lone controllers of a release until the tests end. Skips the test without Java or jars."""
    found = _CONTROLLERS.get(version)
    if found is None:
        command = host_command(version, "-Dlog4j2.level=ERROR")
        found = _CONTROLLERS[version] = LoneControllers(command, Path(tempfile.mkdtemp(prefix="metashell-java-")))
    return found


def end_residents() -> None:
    """End the processes that tools and lone controllers run in."""
    for host in _RESIDENTS.values():
        host.node.kill()
    for controllers in _CONTROLLERS.values():
        controllers.close()
    _RESIDENTS.clear()
    _CONTROLLERS.clear()


_RESIDENTS: dict[tuple[str | None, ...], Host] = {}
_CONTROLLERS: dict[str, LoneControllers] = {}


def _resident(version: str) -> Host:
    """The process for tools of a release. What a process takes from its environment when it starts, it does not take later."""
    key = (version, *(os.environ.get(name) for name in _SURROUNDINGS))
    host = _RESIDENTS.get(key)
    if host is None or host.node.process.poll() is not None:
        host = _RESIDENTS[key] = tool_host(version, Path(tempfile.mkdtemp(prefix="metashell-java-")))
    return host


# ---- Java


@functools.cache
def java() -> str:
    """The `java` to run; skips the test where there is none that is recent enough."""
    found, version = _java()
    if found is None:
        pytest.skip("no java on this machine")
    if version < _OLDEST_JAVA:
        pytest.skip(f"java is older than {_OLDEST_JAVA}")
    return found


def java_version() -> int:
    """The number of `java`, 0 where there is none."""
    return _java()[1]


@functools.cache
def _java() -> tuple[str | None, int]:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        return None, 0
    text = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', text)
    return found, int(match[1]) if match else 0


def _options(version: str, more: str = "") -> list[str]:
    """What every process of a release is started with; `more` comes behind on its class path."""
    archive = _archive(version)
    shared = [f"-XX:SharedArchiveFile={archive}"] if archive else []
    return [*_SMALL, _HEAP, *shared, "-cp", _class_path(version) + (f":{more}" if more else "")]


def _class_path(version: str) -> str:
    """The jars of a release and ours, in one order: an archive of classes fits no other."""
    return ":".join((*map(str, sorted(jars(version).glob("*.jar"))), str(_host_jar(version))))


def _host_jar(version: str) -> Path:
    names = ("Host", "Servers") if _number(version) >= _number(_OLDEST_SERVERS) else ("Host",)
    return compiled(version, *(PROGRAMS / f"{name}.java" for name in names))


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


@functools.cache
def compiled(version: str, *sources: Path) -> Path:
    """A jar with the classes of Java programs, which are compiled against a release once."""
    texts = b"".join(source.read_bytes() for source in sources)
    name = f"{sources[0].stem}-{hashlib.sha256(texts).hexdigest()[:16]}-{java_version()}.jar"
    made = _kept(version) / name
    with _Locked(made):
        if not made.exists():
            _compile(version, sources, made)
    return made


def _compile(version: str, sources: Sequence[Path], made: Path) -> None:
    path = ":".join(map(str, sorted(jars(version).glob("*.jar"))))
    with tempfile.TemporaryDirectory() as folder:
        words = ["-nowarn", "-Xlint:none", "-proc:none", "-cp", path, "-d", folder, *map(str, sources)]
        command = [java(), "-XX:TieredStopAtLevel=1", "-m", "jdk.compiler/com.sun.tools.javac.Main", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        part = made.with_suffix(".part")
        with zipfile.ZipFile(part, "w") as archive:
            for file in sorted(Path(folder).rglob("*.class")):
                archive.write(file, file.relative_to(folder))
        part.rename(made)


@functools.cache
def _kept(version: str) -> Path:
    """Where to keep what is made of a release: beside its jars, or in a folder of this process where these are only to be read."""
    beside = jars(version).parent
    return beside if os.access(beside, os.W_OK) else Path(tempfile.mkdtemp(prefix="metashell-java-"))


class _Locked:
    """One process at a time makes a file that all use."""

    def __init__(self, made: Path) -> None:
        self._lock = made.with_suffix(".lock").open("w")

    def __enter__(self) -> None:
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __exit__(self, *exc: object) -> None:
        self._lock.close()


@functools.cache
def _archive(version: str) -> Path | None:
    """The archive of the classes that a node and the tools of a release load; None for releases that never run as a node."""
    if _number(version) < _number(_OLDEST_SERVERS):
        return None
    facts = [(jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in map(Path, _class_path(version).split(":"))]
    made = _kept(version) / f"classes-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}-{java_version()}.jsa"
    with _Locked(made):
        if not made.exists():
            _make_archive(version, made)
    return made if made.stat().st_size else None


def _make_archive(version: str, made: Path) -> None:
    """Have a node and tools do what most tests have them do, and keep what they loaded; an empty file where that cannot be done."""
    part = made.with_suffix(".part")
    part.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        plain, controller = free_ports(2)
        settings = {
            **broker_settings(1, plain, Path(folder) / "log", {"controller.quorum.voters": f"1@localhost:{controller}"}),
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://localhost:{plain},CONTROLLER://localhost:{controller}",
        }
        config = str(write_config(Path(folder) / "node.properties", settings))
        command = [java(), *_QUIET, *_SMALL, _HOST_HEAP]
        command += [f"-XX:ArchiveClassesAtExit={part}", "-cp", _class_path(version), "Host"]
        host = Host(command, Path(folder))
        try:
            broker = ("--bootstrap-server", f"localhost:{plain}")
            host.run_class(_tool_class(version, "storage"), ["format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", config])
            host.ask("start", configs=[config])
            host.run_class(_tool_class(version, "topics"), [*broker, "--create", "--topic", "a", "--partitions", "1"])
            host.run_class(_tool_class(version, "configs"), [*broker, "--describe", "--entity-type", "brokers"])
            host.run_class(_tool_class(version, "quorum"), [*broker, "describe", "--replication"])
            log = f"{folder}/log/__cluster_metadata-0/{0:020}.log"
            host.run_class(_tool_class(version, "dump-log"), ["--cluster-metadata-decoder", "--files", log])
            host.end_in_order()
        finally:
            host.node.kill()
    if part.exists():
        part.rename(made)
    else:
        made.touch()


# ---- jars


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
