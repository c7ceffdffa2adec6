"""An S3 server for tests: moto, in a process of its own on this machine. Where moto is missing, a test skips and says so.

    def test_something(s3: str) -> None:        # s3://BUCKET, empty, of this test alone
        run("metashell", "export", "--out", f"{s3}/out", ...)

The environment has what clients need, also those of child processes: AWS_ENDPOINT_URL, keys and a region. `s3_server` is the address for
clients that do not read it, such as Spark's.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from typing import Any

import pytest

KEY = "AKIAQUOKKATEST"
SECRET = "wJalrXUtnFEMIxK7MDENGxbPxRfiCY"
REGION = "us-east-1"
_ADDRESS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")
_NUMBERS = count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server, such as http://127.0.0.1:40117."""
    for package in ("moto", "flask", "flask_cors"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed, which serves S3 here")
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = next((match[1] for line in process.stderr if (match := _ADDRESS.search(line))), None)
        assert found is not None, "moto ended before it listened"
        # It writes a line for each request: a pipe that nobody reads would fill.
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
        try:
            yield found
        finally:
            process.terminate()
            process.wait()
            drain.wait()


def environment(address: str) -> dict[str, str]:
    """What AWS's clients read: where the server is, and keys that it takes."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def client(address: str) -> Any:
    """pyarrow's file system on the server, which may also make and remove buckets."""
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(
        access_key=KEY, secret_key=SECRET, region=REGION, endpoint_override=address, allow_bucket_creation=True, allow_bucket_deletion=True
    )


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty bucket; the environment says where and how."""
    for name, value in environment(s3_server).items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{next(_NUMBERS)}"
    client(s3_server).create_dir(bucket)
    return f"s3://{bucket}"
