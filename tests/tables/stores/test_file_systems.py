"""What a URI is opened with, and what stores say as errors of one line."""

from __future__ import annotations

from contextlib import suppress

import pytest
from pyarrow.fs import LocalFileSystem

from metashell.common.errors import PathError, UsageError
from metashell.tables.stores import file_systems, open_store
from tests.s3_faults import FaultyS3


@pytest.fixture(autouse=True)
def nobody_knocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "s3" not in request.fixturenames:
        monkeypatch.setattr(file_systems, "require_answer", lambda uri: None)


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
            "access denied (HeadObject: ACCESS_DENIED)",
        ),
        (
            "When initiating: AWS Error NO_SUCH_BUCKET during CreateMultipartUpload operation: No bucket (Request ID: abc123)",
            "the bucket bucket does not exist (CreateMultipartUpload: NO_SUCH_BUCKET)",
        ),
        (
            "x: AWS Error UNKNOWN (HTTP status 403) during PutObject operation: Unable to parse ExceptionName: ExpiredToken Message: Over",
            "the credentials have expired (PutObject: ExpiredToken)",
        ),
        (
            "x: AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 operation: The AWS Access Key Id you provided does not exist.",
            "the store does not know the access key (ListObjectsV2: INVALID_ACCESS_KEY_ID)",
        ),
        (
            "x: AWS Error SIGNATURE_DOES_NOT_MATCH during PutObject operation: The request signature we calculated",
            "the secret key is not that of the access key (PutObject: SIGNATURE_DOES_NOT_MATCH)",
        ),
        (
            "x: AWS Error UNKNOWN (HTTP status 301) during HeadObject operation: No response body. Looks like the configured region is '' "
            "while the bucket is located in 'eu-west-1'.",
            "the bucket is in the region eu-west-1: name it with ?region=eu-west-1, or in AWS_REGION (HeadObject: HTTP status 301)",
        ),
        (
            "x: AWS Error UNKNOWN (HTTP status 400) during ListObjectsV2 operation: Unable to parse ExceptionName: "
            "AuthorizationHeaderMalformed Message: the region 'us-east-1' is wrong; expecting 'eu-west-1'",
            "the bucket is in the region eu-west-1: name it with ?region=eu-west-1, or in AWS_REGION "
            "(ListObjectsV2: AuthorizationHeaderMalformed)",
        ),
        (
            "x: AWS Error UNKNOWN (HTTP status 301) during PutObject operation: Unable to parse ExceptionName: "
            "PermanentRedirect Message: x",
            "the bucket is in another region: name it with ?region=, or in AWS_REGION (PutObject: PermanentRedirect)",
        ),
        (
            "x: AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 7, Could not connect to server; Details: Failed to "
            "connect to 127.0.0.1:1 after 0 ms: Could not connect to server",
            "the store cannot be reached: Failed to connect to 127.0.0.1:1 after 0 ms: Could not connect to server "
            "(GetObject: NETWORK_CONNECTION)",
        ),
        (
            "x: AWS Error UNKNOWN (HTTP status 400) during HeadObject operation: No response body.",
            "the store refused (HeadObject: HTTP status 400)",
        ),
        (
            "x: AWS Error UNKNOWN (HTTP status 405) during PutObject operation: Unable to parse ExceptionName: "
            "MethodNotAllowed Message: no",
            "PutObject: MethodNotAllowed: no",
        ),
        ("Unable to load libjvm\ndlopen failed", "Unable to load libjvm"),
        ("", "OSError"),
        ("cannot sign s3://KEYKEY:SECRETSECRET@bucket/x", "cannot sign s3://bucket/x"),
    ],
)
def test_what_a_store_says_is_one_line_without_credentials(said: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_systems, "_reason_of", lambda uri: "")
    error = file_systems.store_error("s3://KEYKEY:SECRETSECRET@bucket/x", OSError(said))
    assert str(error) == f"s3://bucket/x: {told}"


@pytest.mark.parametrize("uri", ["s3://tables/day#1", "s3a://tables#x/day", "file:///var/day#1", "s3://KEY:SE#CRET@tables/day"])
def test_what_lies_behind_a_number_sign_is_not_left_out(uri: str) -> None:
    # pyarrow takes it for a fragment: s3://tables/day#1 would be the folder s3://tables/day, whose tables somebody wants to keep.
    with pytest.raises(UsageError, match=r"^\w+://.*: a # ends the path of a URI: write it as %23$") as caught:
        file_systems.file_system(uri)
    assert "CRET" not in str(caught.value)
    assert file_systems.file_system("file:///var/day%231")[1] == "/var/day#1"


def test_a_secret_with_a_slash_is_told_how_it_is_written() -> None:
    with pytest.raises(UsageError, match=r"^s3://dumps/x: not a URI: .* a / in a secret key as %2F$"):
        file_systems.file_system("s3://KEY:wJal/rXUt@dumps/x")


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


def test_a_refusal_without_a_text_is_asked_for_its_reason(s3: str, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyS3(s3_server, lambda request: 403) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        system, path = file_systems.file_system(f"{s3}/x")
        with pytest.raises(PathError) as raised, file_systems.errors_of(f"{s3}/x"):
            system.get_file_info(path)
        assert [request.method for request in faulty.seen] == ["HEAD", "GET"]
    assert str(raised.value) == f"{s3}/x: the credentials have expired (ListObjectsV2: ExpiredToken)"


def test_what_only_some_requests_may_not_is_denied(s3: str, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyS3(s3_server, lambda request: 403 if request.method == "HEAD" else None) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        system, path = file_systems.file_system(f"{s3}/x")
        with pytest.raises(PathError) as raised, file_systems.errors_of(f"{s3}/x"):
            system.get_file_info(path)
    assert str(raised.value) == f"{s3}/x: access denied (HeadObject: ACCESS_DENIED)"


def test_whether_a_bucket_is_there_is_said_as_far_as_the_store_says_it(s3: str) -> None:
    class Store:
        type_name = "s3"

        def get_file_info(self, path: str) -> object:
            assert path == "bucket"
            raise OSError("AWS Error ACCESS_DENIED during HeadBucket operation: No response body.")

    system, path = file_systems.file_system(f"{s3}/x/y")
    assert file_systems.has_bucket(system, path)
    assert not file_systems.has_bucket(system, "no-such-bucket/x/y")
    assert file_systems.has_bucket(Store(), "bucket/x")  # who may not ask for it may still read in it
    assert file_systems.has_bucket(LocalFileSystem(), "nowhere/x")
    assert str(file_systems.nothing_at(f"{s3}/x", system, path)) == f"{s3}/x: No such file or directory"
