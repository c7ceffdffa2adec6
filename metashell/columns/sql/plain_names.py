"""Names of columns that are words of SQL too: `offset`, `group` and `at` need no quotes in a question.

Each stands for a column where an expression is expected, and for the word of SQL elsewhere: `select offset ... limit 10 offset 5`.
"""

from __future__ import annotations

from typing import Final

import duckdb

_NAMES: Final = frozenset({"offset", "group", "at"})
_WORDS: Final = (
    "select distinct all where and or not on having by case when then else between in like ilike is as using filter qualify"
    " returning values set if"
)
_BEFORE: Final = frozenset(_WORDS.split())
"""Words of SQL behind which an expression or a name is expected."""
_OF_GROUPS: Final = frozenset({"by", "all", "sets"})


def with_quotes(question: str) -> str:
    """The question with quotes around the names of columns that DuckDB would take for words of its own."""
    lowered = question.lower()
    if not any(name in lowered for name in _NAMES):
        return question
    data = question.encode("utf-8")
    tokens = [(start, str(kind).rpartition(".")[2]) for start, kind in duckdb.tokenize(question)]
    starts, kinds = zip(*(token for token in tokens if token[1] != "comment"), strict=True)
    words = [_word(data, start) for start in starts]
    made = data
    for index in reversed(range(len(words))):
        before = words[index - 1] if index else ""
        after = words[index + 1] if index + 1 < len(words) else ""
        if kinds[index] in ("keyword", "identifier") and words[index] in _NAMES and _is_column(words[index], before, after):
            start, size = starts[index], len(words[index])
            made = b'%s"%s"%s' % (made[:start], made[start : start + size], made[start + size :])
    return made.decode("utf-8")


def _word(data: bytes, start: int) -> str:
    """The word or the sign that begins there, in small letters."""
    end = start
    while end < len(data) and (data[end : end + 1].isalnum() or data[end : end + 1] == b"_"):
        end += 1
    return data[start : max(end, start + 1)].decode("utf-8", "replace").lower()


def _is_column(word: str, before: str, after: str) -> bool:
    if before == "." or before in _BEFORE or not (before.isalnum() or before in ('"', "'", ")", "]", "", "_")):
        return not (word == "group" and after in _OF_GROUPS) or before == "."
    return False
