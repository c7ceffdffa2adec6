"""What a URI looks like when what opens its store is cut from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.uris import file_name, folder_of, path_below, shown_uri, without_credentials

CUT = {
    "s3://AKIAKEY:se%2Fcr%2Bet@bucket/a@b/c.log": "s3://bucket/a@b/c.log",
    "s3://AKIAKEY:se/cr+et@bucket/c.log": "s3://bucket/c.log",
    "s3://AKIAKEY:se/cret/bucket": "s3://AKIAKEY:[redacted]",
    "s3://AKIAKEY@bucket/c.log": "s3://bucket/c.log",
    "s3://bucket/c.log?secret_key=hush&region=eu&session_token=hush": "s3://bucket/c.log?region=eu",
    "s3://bucket/c.log?endpoint_override=http%3A%2F%2Fuser%3Ahush%40host&scheme=http": "s3://bucket/c.log?scheme=http",
    "abfss://box:hush@account.dfs.core.windows.net/x?sig=hush": "abfss://account.dfs.core.windows.net/x",
    "hdfs://user:hush@host:8020/dir": "hdfs://host:8020/dir",
}
KEPT = [
    "s3://bucket/a b/c.log?region=eu&scheme=http",
    "abfss://box@account.dfs.core.windows.net/x",
    "hdfs://host:8020/dir@today/x",
    "hdfs://[::1]:8020/x",
    "file:///var/lib/kafka",
    "dumps/a@b:c/x.log",
    "",
]


@pytest.mark.parametrize("uri", CUT)
def test_what_opens_a_store_is_cut(uri: str) -> None:
    assert shown_uri(uri) == CUT[uri]
    assert shown_uri(CUT[uri]) == CUT[uri]


@pytest.mark.parametrize("uri", KEPT)
def test_what_opens_nothing_stays(uri: str) -> None:
    assert shown_uri(uri) == uri


def test_uris_in_a_sentence_are_cut_and_its_punctuation_stays() -> None:
    text = "cannot read 's3://AKIAKEY:hushhush@bucket/x', nor s3://b/y?token=hushhush: no such file (see s3://k:hush/hush@b)."
    assert without_credentials(text) == "cannot read 's3://bucket/x', nor s3://b/y: no such file (see s3://b)."


def test_uris_that_lack_a_slash_are_cut_too() -> None:
    text = "s3:/AKIAKEY:hush/hush@bucket/x: no; S3:AKIAKEY:hush@bucket?token=hush, 'gs:/b/y?token=hush' (gs:/k:hush@b)."
    assert without_credentials(text) == "s3:/bucket/x: no; S3:bucket, 'gs:/b/y' (gs:/b)."
    for text in (
        "s3:/bucket/x: No such file or directory",
        "ings:me@home",
        "file:/a@b",
        "abfss:/box@account.dfs.core.windows.net/x",
        "s3: a@b",
    ):
        assert without_credentials(text) == text


def test_what_a_store_says_of_its_keys_is_cut_however_it_spells_them() -> None:
    uri = "s3://AKIAKEY:se%2Fcr%2Bet@bucket/x?secret_key=hushhush"
    said = "Invalid key AKIAKEY with se/cr+et (se%2Fcr%2Bet), secret_key 'hushhush' of s3://AKIAKEY:se/cr+et@bucket/x"
    told = without_credentials(said, uri)
    assert not any(piece in told for piece in ("AKIAKEY", "se/cr", "se%2F", "hush"))
    assert told.endswith("of s3://bucket/x")


LETTERS = st.text("abcXYZ019/+%-_.~!$&'()*,;=", min_size=6, max_size=40)


@given(LETTERS.filter(lambda text: "?" not in text), LETTERS)
def test_no_password_is_left_whatever_it_holds(password: str, parameter: str) -> None:
    uri = f"s3://AKIAKEY:x{password}@bucket/x.log?token=zz{parameter.replace('&', '').replace(';', '')}"
    shown = shown_uri(uri)
    assert shown == "s3://bucket/x.log"
    assert without_credentials(f"no {uri} here", uri) == f"no {shown} here"


QUERIES = ["?endpoint_override=http://127.0.0.1:5000/x", "?endpoint_override=127.0.0.1:5000&scheme=http", "?region=eu", ""]


@pytest.mark.parametrize("query", QUERIES)
def test_the_query_of_a_uri_is_no_part_of_a_files_name_or_folder(query: str) -> None:
    file = f"s3://bucket/node/topic-1/0.log{query}"
    assert file_name(file) == "0.log"
    assert folder_of(file) == f"s3://bucket/node/topic-1{query}"
    assert path_below(folder_of(file), "1.log") == f"s3://bucket/node/topic-1/1.log{query}"
    assert path_below(f"s3://bucket/{query}", "a/1.log") == f"s3://bucket/a/1.log{query}"
    assert path_below(folder_of(file), "") == folder_of(file)


def test_a_path_of_this_machine_has_no_query() -> None:
    assert (file_name("/a?b/c/0.log?"), folder_of("/a?b/c/0.log?"), folder_of("0.log")) == ("0.log?", "/a?b/c", "")
    assert (path_below("/a?b", "c"), path_below("", "c"), path_below("/", "c")) == ("/a?b/c", "c", "/c")
