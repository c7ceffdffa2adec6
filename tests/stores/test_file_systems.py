"""What a URI is opened with, and what stores say as errors of one line."""

from __future__ import annotations

from contextlib import suppress

import pytest

from metashell.errors import PathError
from metashell.stores import file_systems, open_store
from tests.s3_faults import FaultyS3


def test_googles_client_is_told_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        file_systems, "FileSystem", type("Asked", (), {"from_uri": staticmethod(lambda uri: asked.append(uri) or (None, ""))})
    )
    for uri in ("gs://bucket/x", "gs://bucket/x?scheme=http", "gs://bucket/x?retry_limit_seconds=5", "file:///x"):
        file_systems.file_system(uri)
    limit = "retry_limit_seconds=20"
    assert asked == [f"gs://bucket/x?{limit}", f"gs://bucket/x?scheme=http&{limit}", "gs://bucket/x?retry_limit_seconds=5", "file:///x"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "When getting information for key 'k' in bucket 'b': AWS Error ACCESS_DENIED during HeadObject operation: No response body.",
            "HeadObject: ACCESS_DENIED: No response body.",
        ),
        (
            "When initiating: AWS Error NO_SUCH_BUCKET during CreateMultipartUpload operation: No bucket (Request ID: abc123)",
            "CreateMultipartUpload: NO_SUCH_BUCKET: No bucket",
        ),
        (
            "x: AWS Error UNKNOWN (HTTP status 403) during PutObject operation: Unable to parse ExceptionName: ExpiredToken Message: Over",
            "PutObject: ExpiredToken: Over",
        ),
        ("Unable to load libjvm\ndlopen failed", "Unable to load libjvm"),
        ("", "OSError"),
        ("cannot sign s3://KEYKEY:SECRETSECRET@bucket/x", "cannot sign s3://bucket/x"),
    ],
)
def test_what_a_store_says_is_one_line_without_credentials(said: str, told: str) -> None:
    error = file_systems.store_error("s3://KEYKEY:SECRETSECRET@bucket/x", OSError(said))
    assert str(error) == f"s3://bucket/x: {told}"


def test_s3a_is_s3_and_gcs_is_gs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        file_systems, "FileSystem", type("Asked", (), {"from_uri": staticmethod(lambda uri: asked.append(uri) or (None, ""))})
    )
    for uri in ("s3a://bucket/x?region=eu", "S3://bucket/x", "gcs://bucket/x?retry_limit_seconds=5"):
        file_systems.file_system(uri)
    more = "allow_delayed_open=true"
    assert asked == [f"s3://bucket/x?region=eu&{more}", f"s3://bucket/x?{more}", "gs://bucket/x?retry_limit_seconds=5"]


def test_a_parameter_that_this_pyarrow_does_not_know_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def opened(uri: str) -> tuple[None, str]:
        asked.append(uri)
        if "allow_delayed_open" in uri:
            raise ValueError("Unexpected query parameter in S3 URI: 'allow_delayed_open'")
        return None, ""

    monkeypatch.setattr(file_systems, "FileSystem", type("Older", (), {"from_uri": staticmethod(opened)}))
    file_systems.file_system("s3://other/x")
    assert asked == ["s3://other/x?allow_delayed_open=true", "s3://other/x"]


@pytest.mark.parametrize("query", ["anonymous=true", "region=us-east-1&anonymous=true", "anonymous=true&region=us-east-1"])
def test_a_public_bucket_is_read_without_a_signature(s3: str, s3_server: str, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(s3).put("x", b"private")
    with FaultyS3(s3_server, lambda request: None) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        assert open_store(s3).read("x") == b"private"
        own = len(proxy.seen)
        with suppress(PathError):
            open_store(f"{s3}?{query}").read("x")
    assert {request.is_signed for request in proxy.seen[:own]} == {True}
    assert {request.is_signed for request in proxy.seen[own:]} == {False}
