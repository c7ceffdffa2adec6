"""An S3 server for tests: moto, in a process of its own on this machine. Where moto is missing, a test skips and says so.

    def test_something(s3: str) -> None:        # s3://BUCKET, empty, of this test alone
        run("metashell", "export", "--out", f"{s3}/out", ...)

The environment has what clients need, also those of child processes: AWS_ENDPOINT_URL, keys and a region. `s3_server` is the address for
clients that do not read it, such as Spark's.
"""

from __future__ import annotations

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
_SERVER = """
import logging, os, sys
from threading import Thread
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = make_server("127.0.0.1", 0, create_backend_app("s3"), threaded=True)
print(server.server_port, flush=True)
Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
"""
"""Of all that moto serves S3 alone, without a line for each request: half the time of `python -m moto.server`."""
_NUMBERS = count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server, such as http://127.0.0.1:40117."""
    for package in ("moto", "flask", "flask_cors"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed, which serves S3 here")
    # It ends with its input, also where this process is killed.
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "moto ended before it listened"
        yield f"http://127.0.0.1:{port}"
        process.stdin.close()


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
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of an empty bucket; the environment says where and how."""
    for name, value in environment(s3_server).items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{next(_NUMBERS)}"
    client(s3_server).create_dir(bucket)
    yield f"s3://{bucket}"
    forget_clients()


def forget_clients() -> None:
    """Close the clients that this process keeps: each bucket has its own here, and each holds three descriptors."""
    from metashell.tables.stores.file_systems import KEPT_SYSTEMS

    KEPT_SYSTEMS.clear()
