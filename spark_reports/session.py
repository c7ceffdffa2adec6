"""The Spark session of the jobs: the parts it needs, the workers' Python, settings that keep output clean, and Spark's errors in one line.

`--master` is checked before Java is started, since Spark takes a minute to fail where nobody answers. Spark wraps every error in words of
its own and pages of traces."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from metashell.common.errors import MetashellError, UsageError, reason_of
from metashell.tables import require_packages

OLDEST_JAVA: Final = 17
INSTALL_JAVA: Final = f"install Java {OLDEST_JAVA} or later (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
DEFAULT_MASTER: Final = "local[*]"


def open_session(name: str, master: str | None = None, settings: dict[str, str] | None = None) -> Any:
    """Return a session with `kafka_metadata` registered; within spark-submit the one it configured.

    Without `master` it is spark-submit's, else all cores of this machine.
    Errors: MetashellError in one line where Java or a package is missing.
    """
    require_parts()
    prepare_workers()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    own = {**_QUIET}
    if master is not None or not is_submitted():
        master = master or DEFAULT_MASTER
        builder = builder.master(master)
        own |= _LOCAL if master.startswith("local") else {}
    for key, value in {**own, **(settings or {})}.items():
        builder = builder.config(key, _beside_others(value) if key == _EXTENSIONS else value)
    with _quiet_java():
        spark = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        # Spark's own handler tells the JVM to cancel its jobs, in the middle of any other call to it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    spark.sparkContext.setLogLevel("ERROR")
    from spark_reports.source import KafkaMetadataSource

    prepare_session(spark)
    spark.dataSource.register(KafkaMetadataSource)
    return spark


_EXTENSIONS: Final = "spark.sql.extensions"
_QUIET: Final = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A worker that dies says where.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
}
_LOCAL: Final = {
    # By TCP each task waits 40 ms for a delayed acknowledgement. On a cluster the path of a socket may be longer than systems allow.
    "spark.python.unix.domain.socket.enabled": "true",
}


def _beside_others(extension: str) -> str:
    """Return an extension behind those that spark-submit was given."""
    if not is_submitted():
        return extension
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # what spark-submit was given, Java knows
    given = (SparkConf().get(_EXTENSIONS) or "").split(",")
    return ",".join(dict.fromkeys([*filter(None, given), extension]))


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Start the JVM with its standard error in a file that has no name: it greets with a page of remarks, whatever its log level.

    What goes wrong later comes as an exception.
    Errors: MetashellError with the reason where it does not start.
    """
    if is_submitted():
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as remarks:
        try:
            os.dup2(remarks.fileno(), 2)
            yield
        except Exception as error:
            remarks.seek(0)
            reason = start_reason(remarks.read().decode("utf-8", "replace"), error)
            raise MetashellError(f"Spark did not start: {reason}") from error
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def is_submitted() -> bool:
    """Return whether spark-submit started us: it passes its settings through a gateway."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def require_parts() -> None:
    """Errors: MetashellError that says what to install."""
    require_packages("spark", "pyspark", "pyarrow", "numpy")
    if not is_submitted():
        trouble = java_trouble()
        if trouble is not None:
            raise MetashellError(f"{trouble}; {INSTALL_JAVA}")


def java_trouble() -> str | None:
    """Return why there is no usable Java, None if there is one."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        return f"no java in JAVA_HOME {home}" if home else "no java on the PATH"
    try:
        shown = subprocess.run([found, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{found}: {error}"
    match = re.search(r'version "(?:1\.)?(\d+)', shown)
    if match is None or int(match[1]) < OLDEST_JAVA:
        return f"{found} is {'of unknown version' if match is None else 'Java ' + match[1]}"
    return None


def prepare_session(spark: Any) -> None:
    """Set what the data source needs in a session that somebody else has made.

    Workers on this machine run this interpreter and find these packages, unless a setting names another: Spark
    would start whatever `python3` is on the PATH. What runs on other machines is theirs.
    """
    if is_remote(spark):
        return
    context = spark.sparkContext
    if not context.master.startswith("local"):
        return
    if "PYSPARK_PYTHON" not in os.environ and not context.getConf().contains("spark.pyspark.python"):
        context.pythonExec = sys.executable
    # Threads for numpy's linear algebra, which nothing here has, cost each worker 0.1 s.
    context.environment.setdefault("OPENBLAS_NUM_THREADS", "1")
    context.environment["PYTHONPATH"] = _with_our_root(context.environment.get("PYTHONPATH") or os.environ.get("PYTHONPATH", ""))


def end_at_once(status: int) -> None:
    """End this process and the JVM that it started, if any, without waiting for either: for Ctrl-C.

    py4j and Spark would print what they were at, and wait for each other. The JVM removes its files when it is asked to end.
    """
    for process_id in processes_below():
        with suppress(OSError):
            os.kill(process_id, signal.SIGTERM)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end_workers() -> None:
    """End the Python processes that Spark's JVM runs below this one, at once: what they are at is not wanted any more."""
    for java in processes_below():
        with suppress(OSError):
            if Path(f"/proc/{java}/comm").read_text().strip() == "java":
                for process_id in processes_below(java):
                    with suppress(OSError):
                        os.kill(process_id, signal.SIGKILL)


def processes_below(of: int = 0) -> list[int]:
    """Return the processes that one (0: this one) has started, and those that they have, as far as the system says."""
    found, left = [], [of or os.getpid()]
    while left:
        for path in Path(f"/proc/{left.pop()}/task").glob("*/children"):
            with suppress(OSError):
                below = [int(word) for word in path.read_text().split()]
                found += below
                left += below
    return found


def is_remote(spark: Any) -> bool:
    """Return whether a session is one of Spark Connect, which has no context here."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def prepare_workers() -> None:
    """Have workers run this interpreter and find these packages; Spark would start whatever `python3` is on the PATH.

    What is set already stays: on a cluster PYSPARK_PYTHON names an interpreter there.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = _with_our_root(os.environ.get("PYTHONPATH", ""))


def _with_our_root(path: str) -> str:
    """Return a PYTHONPATH on which these packages are."""
    root = str(Path(__file__).resolve().parents[1])
    known = path.split(os.pathsep)
    return path if root in known else os.pathsep.join([root, *filter(None, known)])


# ---- tasks


def run_tasks(context: Any, work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Return what `work` returned for each of `tasks` on the executors, in order; no row goes through the JVM. Both are pickled.

    Errors: MetashellError with the reason where a task failed. On Ctrl-C the workers of this machine are ended first: they would write on
    while what they wrote is removed.
    """
    if not tasks:
        return []
    try:
        found: list[Any] = context.parallelize(tasks, len(tasks)).map(work).collect()
    except KeyboardInterrupt:
        end_workers()
        raise
    except Exception as error:
        raise error_from(error) or error from None
    return found


# ---- masters

_KNOWN: Final = re.compile(r"local|local\[(?:[1-9]\d*|\*)(?:, *\d+)?\]|local-cluster\[[\d, ]+\]|yarn|spark://.+|k8s://.+")
_DEFAULT_PORT: Final = 7077
_TIMEOUT_S: Final = 10.0


def check_master(master: str | None) -> None:
    """Errors: UsageError for what is no master; MetashellError where none of the masters of a standalone cluster answers."""
    if master is None:
        return
    if master.startswith("sc://"):
        reason = "jobs make a session of their own; Spark Connect serves the data source (docs/spark.md)"
        raise UsageError(f"--master {master}: {reason}", "--master")
    if not _KNOWN.fullmatch(master):
        raise UsageError(f"--master {master}: Spark knows local, local[N], local[*], spark://HOST, yarn and k8s://URL", "--master")
    if master.startswith("spark://"):
        _require_answer(master)


def _require_answer(master: str) -> None:
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":") if ":" in address else (address, "", str(_DEFAULT_PORT))
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UsageError(f"--master {master}: {address} is not HOST:PORT", "--master")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S).close()
        except OSError as error:
            reasons.append(f"{address}: {reason_of(error)}")
        else:
            return
    raise MetashellError(f"--master {master}: no master answers: {'; '.join(reasons)}")


# ---- errors of Spark in one line

_OURS: Final = re.compile(r"^\s*metashell\.common\.errors\.(\w+): (.*)$", re.MULTILINE)
_OURS_OF_USAGE: Final = "UsageError"
_PYTHON: Final = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception|Warning)): (.+)$", re.MULTILINE)
_JAVA: Final = re.compile(r'^(?:Exception in thread "\w+" )?((?:\w+\.){2,}[\w$]*(?:Exception|Error)): (.+)$', re.MULTILINE)
_CAUSE: Final = re.compile(r"^\s*(?:Caused by|Suppressed): ((?:\w+\.)+[\w$]*(?:Exception|Error)): (.+)$", re.MULTILINE)
_NEW_ENTRY: Final = re.compile(r"^(?:\d\d/\d\d/\d\d \d\d:|Exception in thread)", re.MULTILINE)
_WRITTEN: Final = re.compile(r"Task failed while writing rows to (?:file:)?(\S+?)\.?(?: |$)", re.MULTILINE)
_UNFIT: Final = re.compile(r"java\.lang\.(?:NoSuch\w+|IncompatibleClassChange|AbstractMethod|Linkage)Error: ([^\n]+)")
_LACKED: Final = re.compile(r"java\.lang\.NoClassDefFoundError: (?:Could not initialize class )?([\w.$/]+)")
_STATE: Final = re.compile(r"(?:\. | )?SQLSTATE: \w+")
_FULL: Final = "No space left on device"


def error_from(error: Exception) -> MetashellError | None:
    """Return the error inside an exception of Spark or a worker; None for our own mistakes."""
    if isinstance(error, MetashellError):
        return error
    if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
        return None
    text = f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
    found = _OURS.findall(text)
    if found:
        name, message = found[-1]
        return UsageError(message) if name == _OURS_OF_USAGE else MetashellError(message)
    if _FULL in text:
        return MetashellError(f"{_full_place(text)}: {_FULL}")
    unfit = _UNFIT.search(text)
    if unfit is not None:
        return MetashellError(f"a jar that Spark was given is built for another release of Spark: {unfit[1][:160]}")
    lacked = _LACKED.search(text)
    if lacked is not None:
        name = lacked[1].replace("/", ".")
        return MetashellError(f"Spark cannot load the class {name}: a jar is missing, or is built for another release")
    return MetashellError(_reason(text))


def silence_interrupts() -> None:
    """Keep py4j from logging Ctrl-C with traces, by its own loggers and the root one: the command reports it in a line.

    What goes wrong otherwise comes as an exception, too.
    """

    def is_told(record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))

    logging.getLogger().addFilter(is_told)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def start_reason(remarks: str, error: Exception) -> str:
    """Return why Spark did not start, from what Java wrote to standard error meanwhile."""
    first = _JAVA.search(remarks)
    if first is None:
        lines = [line.strip() for line in (remarks.strip() or str(error)).splitlines()]
        return next((line for line in reversed(lines) if " ERROR " in f" {line} "), lines[-1] if lines else type(error).__name__)
    following = _NEW_ENTRY.search(remarks, first.end())
    causes = _CAUSE.findall(remarks, first.end(), following.start() if following else len(remarks))
    return _STATE.sub("", (causes[-1] if causes else first.groups())[1]).strip()


def _full_place(text: str) -> str:
    """Return what a full disk kept from being written: output, or else Spark's own files."""
    found = _WRITTEN.search(text)
    return found[1] if found else "a folder for Spark's own files (SPARK_LOCAL_DIRS, or spark.local.dir)"


def _reason(text: str) -> str:
    """Return the innermost cause with a message: of a worker's trace, or of Java's."""
    python = [found for found in _PYTHON.findall(text) if "Traceback" in text]
    if python:
        name, message = python[-1]
        return f"{name.rpartition('.')[2]}: {message}"
    causes = _CAUSE.findall(text)
    said = causes[-1][1] if causes and causes[-1][1].strip() else text.strip().splitlines()[0]
    return _STATE.sub("", said).strip()
