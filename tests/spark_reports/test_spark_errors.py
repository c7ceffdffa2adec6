"""What Spark says, in one line; texts are those of Spark 4.3. And masters that cannot be."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from metashell.common.errors import MetashellError, UsageError
from spark_reports.session import check_master, error_from, start_reason

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/pyspark/worker.py", line 4327, in invoke_udf
    run_process()
{}
"""
FULL_SHUFFLE = """An error occurred while calling o500.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 8.0 failed 1 times
\tSuppressed: java.io.IOException: No space left on device
\t\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""
FULL_SINK = """[STREAM_FAILED] Query [id = 0, runId = 1] terminated with exception: [TASK_WRITE_FAILED] Task failed while writing rows to \
file:/data/out/table=topic. SQLSTATE: 58030 SQLSTATE: XXKST
Caused by: java.io.IOException: No space left on device
"""


def spark_error(text: str) -> Exception:
    kind: Any = type("PythonException", (Exception,), {"__module__": "pyspark.errors.exceptions.captured"})
    error: Exception = kind(text)
    return error


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        (WORKER.format("metashell.common.errors.LogCorruptError: x.log: offset 3: bad"), MetashellError, "x.log: offset 3: bad"),
        (WORKER.format("metashell.common.errors.UsageError: --tables: no table x"), UsageError, "--tables: no table x"),
        (WORKER.format("OSError: [Errno 5] Input/output error"), MetashellError, "OSError: [Errno 5] Input/output error"),
        (FULL_SHUFFLE, MetashellError, "a folder for Spark's own files (SPARK_LOCAL_DIRS, or spark.local.dir): No space left on device"),
        (FULL_SINK, MetashellError, "/data/out/table=topic: No space left on device"),
        ("[X] what it is. SQLSTATE: 42000\nmore", MetashellError, "[X] what it is"),
        ("o1.get\nCaused by: a.b.FirstException: first\nCaused by: a.b.LastError: the cause", MetashellError, "the cause"),
    ],
)
def test_an_error_of_spark_is_its_innermost_cause(text: str, kind: type[MetashellError], line: str) -> None:
    found = error_from(spark_error(text))
    assert (type(found), str(found)) == (kind, line)


def test_our_own_mistakes_stay_what_they_are() -> None:
    assert error_from(KeyError("x")) is None


@pytest.mark.parametrize(
    ("remarks", "reason"),
    [
        (
            'WARNING: Using incubator modules\nException in thread "main" org.apache.spark.SparkException: When running with master '
            "'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment.\n\tat org.apache.spark.deploy.X.main(X.scala)",
            "When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment.",
        ),
        (
            "26/11/23 04:17:14 ERROR SparkContext: Error initializing SparkContext.\norg.apache.spark.SparkException: Outer\n\tat a.b(C)\n"
            "Caused by: io.x.KubernetesClientException: An error\n\tat a.b(C)\nCaused by: java.net.ConnectException: Connection refused\n"
            "26/11/23 04:17:31 ERROR Utils: Uncaught\njava.io.IOException: later\n\tat x.y(Z)",
            "Connection refused",
        ),
        ("26/11/23 04:19:20 ERROR Backend: All masters are unresponsive! Giving up.\n", "ERROR Backend: All masters are unresponsive!"),
        ("", "boom"),
    ],
)
def test_why_spark_did_not_start(remarks: str, reason: str) -> None:
    assert reason in start_reason(remarks, RuntimeError("boom"))


@pytest.mark.parametrize("master", ["nowhere", "local[x]", "local[0]", "spark://", "spark://host:x", "spark://host:70000", "http://x"])
def test_what_is_no_master_is_refused_before_java_starts(master: str) -> None:
    with pytest.raises(UsageError, match="--master"):
        check_master(master)


def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(MetashellError, match=f"^--master spark://{address}: no master answers: {address}: Connection refused$"):
            check_master(f"spark://{address}")
        taken.listen()
        check_master(f"spark://localhost:1,{address}")


@pytest.mark.parametrize("master", [None, "local", "local[*]", "local[2]", "local[4,2]", "yarn", "k8s://https://x:6443"])
def test_what_can_be_a_master_is_taken(master: str | None) -> None:
    check_master(master)
