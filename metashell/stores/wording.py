"""What stores say of trouble, in plain words."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from metashell.codec.uris import URI_MARK, shown_uri, without_credentials

NOTHING: Final = "No such file or directory"
_AWS = re.compile(r"AWS Error (\w+)(?: \(HTTP status (-?\d+)\))? during (\w+) operation: (.*)", re.DOTALL)
_UNKNOWN = re.compile(r"Unable to parse ExceptionName: (\w+) Message: (.*)", re.DOTALL)
"""What Amazon's client says of a code that it has no name for."""
_REQUEST_ID = re.compile(r" ?\(Request ID: [^)]*\)?")
_NO_BODY: Final = "No response body."
_REGION = re.compile(r"(?:located in|expecting) '([\w-]+)'")
_CURL = re.compile(r"curlCode: (\d+), ([^;]*)(?:; Details: (.*))?", re.DOTALL)
_EXPIRED: Final = "the credentials have expired"
_NO_TOKEN: Final = "the session token is not valid"
_PLAIN: Final = {
    "ACCESS_DENIED": "access denied",
    "AccessDenied": "access denied",
    "INVALID_ACCESS_KEY_ID": "the store does not know the access key",
    "InvalidAccessKeyId": "the store does not know the access key",
    "SIGNATURE_DOES_NOT_MATCH": "the secret key is not that of the access key",
    "SignatureDoesNotMatch": "the secret key is not that of the access key",
    "ExpiredToken": _EXPIRED,
    "EXPIRED_TOKEN": _EXPIRED,
    "REQUEST_EXPIRED": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "InvalidToken": _NO_TOKEN,
    "INVALID_CLIENT_TOKEN_ID": _NO_TOKEN,
    "UNRECOGNIZED_CLIENT": _NO_TOKEN,
    "REQUEST_TIME_TOO_SKEWED": "the clocks of this machine and of the store differ too much",
    "RequestTimeTooSkewed": "the clocks of this machine and of the store differ too much",
}
"""By the codes of the S3 API, and by the names that Amazon's client gives to some of them."""
_NO_BUCKET: Final = ("NO_SUCH_BUCKET", "NoSuchBucket")
_ELSEWHERE: Final = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "TemporaryRedirect")
_REFUSED: Final = ("400", "401", "403")


def plain_words(uri: str, said: str) -> str:
    """One line of what a store said of a URI, without credentials, and without the URI."""
    if (found := _AWS.search(said)) is not None:
        line = _of_amazon(uri, *found.groups())
    else:
        # Each client says in its own way that there is nothing.
        line = NOTHING if "Path does not exist" in said else said
    lines = line.removeprefix("[Errno 2] ").strip().splitlines()
    return without_credentials(lines[0], uri) if lines else ""


def no_bucket(uri: str) -> str:
    """The words for a bucket that is not there."""
    return f"the bucket {bucket_of(uri)} does not exist"


def bucket_of(uri: str) -> str:
    return unquote(shown_uri(uri).partition(URI_MARK)[2].partition("?")[0].partition("/")[0])


def is_bare(said: str) -> bool:
    """Whether a store has refused without a reason: the answer to a `HEAD` has no text."""
    found = _AWS.search(said)
    return found is not None and _NO_BODY in found[4] and (found[1] == "ACCESS_DENIED" or found[2] in ("301", "307", *_REFUSED))


def _of_amazon(uri: str, code: str, status: str | None, operation: str, text: str) -> str:
    if (named := _UNKNOWN.match(text)) is not None:
        code, text = named.groups()
    about = f"({operation}: {code if status is None or named is not None else f'HTTP status {status}'})"
    region = _REGION.search(text)
    if code in _NO_BUCKET:
        return f"{no_bucket(uri)} {about}"
    if code in _PLAIN:
        return f"{_PLAIN[code]} {about}"
    if code in _ELSEWHERE or status in ("301", "307"):
        if region is None:
            return f"the bucket is in another region: name it with ?region=, or in AWS_REGION {about}"
        return f"the bucket is in the region {region[1]}: name it with ?region={region[1]}, or in AWS_REGION {about}"
    if (curl := _CURL.search(text)) is not None:
        return f"the store cannot be reached: {(curl[3] or curl[2]).strip()} {about}"
    text = _REQUEST_ID.sub("", text)
    return f"the store refused {about}" if text.startswith(_NO_BODY) and status in _REFUSED else f"{operation}: {code}: {text}".rstrip(": ")
