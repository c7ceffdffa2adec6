"""What Spark says, as an error of one line: it wraps every error with words of its own and pages of traces."""

from __future__ import annotations

import logging
import re
from typing import Final

from metashell.errors import MetashellError, UsageError

_OURS: Final = re.compile(r"^\s*metashell\.errors\.(\w+): (.*)$", re.MULTILINE)
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


def error_in(error: Exception) -> MetashellError | None:
    """The error inside an exception of Spark or a worker; None for our own mistakes."""
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
    """Keep py4j from logging Ctrl-C with traces, by its own loggers and the root one: the command tells it in a line.

    What goes wrong otherwise comes as an exception, too.
    """

    def is_told(record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))

    logging.getLogger().addFilter(is_told)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)


def start_reason(remarks: str, error: Exception) -> str:
    """Why Spark did not start, of what Java wrote to standard error meanwhile."""
    first = _JAVA.search(remarks)
    if first is None:
        lines = [line.strip() for line in (remarks.strip() or str(error)).splitlines()]
        return next((line for line in reversed(lines) if " ERROR " in f" {line} "), lines[-1] if lines else type(error).__name__)
    following = _NEW_ENTRY.search(remarks, first.end())
    causes = _CAUSE.findall(remarks, first.end(), following.start() if following else len(remarks))
    return _STATE.sub("", (causes[-1] if causes else first.groups())[1]).strip()


def _full_place(text: str) -> str:
    """What a full disk kept from being written: output, or else what Spark puts aside."""
    found = _WRITTEN.search(text)
    return found[1] if found else "a folder for Spark's own files (SPARK_LOCAL_DIRS, or spark.local.dir)"


def _reason(text: str) -> str:
    """The innermost cause that somebody named: of a worker's trace, or of Java's."""
    python = [found for found in _PYTHON.findall(text) if "Traceback" in text]
    if python:
        name, message = python[-1]
        return f"{name.rpartition('.')[2]}: {message}"
    causes = _CAUSE.findall(text)
    said = causes[-1][1] if causes and causes[-1][1].strip() else text.strip().splitlines()[0]
    return _STATE.sub("", said).strip()
