"""Names for what differs from run to run: ports, folders, ids, secrets, times and offsets.

A text in which they are replaced is the same on every run. What has been named can be used in a later command by its name in braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_BLANKS: Final = re.compile(r"[ \t]{2,}")
_ID: Final = re.compile(r"(?<![\w+/=-])[\w-]{22}(?![\w+/=-])")
_PLAIN_WORD: Final = re.compile(r"[a-z\d]*([A-Z][a-z\d]*)?([-_]?[A-Z][a-z]+)*|[a-z_\d-]+|[A-Z_\d-]+")
_HMAC: Final = re.compile(r"(?<![\w+/=-])[\w+/]{86}==")
_TOKEN: Final = re.compile(r"(?<=tokenId : )[\w-]{22}")
_TIMES: Final = (
    (re.compile(r"Request Request\(.*\) (?=is not authorized|needs \w+ permission)"), "Request {request} "),
    (re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|\b)"), "{time}"),
    (re.compile(r"\b1[6-9]\d{11}\b"), "{ms}"),
    (re.compile(r"(?<=Epoch: )\d+$", re.MULTILINE), "{offset}"),
    (re.compile(r"(?<=HighWatermark:)(\s+)\d+"), r"\1{offset}"),
    (re.compile(r"(?<=MaxFollowerLag:)(\s+)\d+"), r"\1{lag}"),
    (re.compile(r"(?<=MaxFollowerLagTimeMs:)(\s+)-?\d+"), r"\1{lag}"),
    (re.compile(r"^(\d+)\s+(\{dir-[^}]*\})\s.*\s(\w+)\s*$", re.MULTILINE), r"\1 \2 {numbers} \3"),
    (re.compile(r"(?<=topic_id=)[\w+/]{20,24}"), "{uuid}"),
    (re.compile(r"(?<=\{folder\}/)[de](?=1[12]\b)"), "?"),
    (re.compile(r"\b(high_watermark|log_end_offset|finalized_epoch|controller_id): \d+"), r"\1: {number}"),
    (re.compile(r"(?<=controller=)Node\([^)]*\)"), "{node}"),
    (re.compile(r"\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b"), "{uuid}"),
    (re.compile(r"(?<=LeaderEpoch:)(\s+)\d+"), r"\1{epoch}"),
)
_UNORDERED: Final = (
    re.compile(r"(?<=CurrentObservers:)( *\[)(.*)(?=\])"),
    re.compile(r'("endpoints": \[)([^]]*)(?=\])'),
    re.compile(r"(set of voters \[)([^]]*)(?=\])"),
)
"""Lists in the order of a Java map, whose keys are ids or names."""
_FOLLOWS: Final = (re.compile(r"^\tat .*$\n?|^\t\.\.\. \d+ more$\n?", re.MULTILINE),)
"""Stack frames: which line of Kafka's source threw is the same, how a tool was called is not."""


@dataclass(slots=True)
class Names:
    """What has been named so far: `known` from the text as it is printed to its name."""

    known: dict[str, str] = field(default_factory=dict)

    def add(self, text: str, name: str) -> None:
        self.known[text] = name

    def plain(self, text: str) -> str:
        """The text with names in place of all that differs; what is seen for the first time is numbered."""
        for pattern in _FOLLOWS:
            text = pattern.sub("", text)
        text = _HMAC.sub(self._numbered("hmac"), text)
        text = _TOKEN.sub(self._numbered("token"), text)
        text = _ID.sub(self._numbered("id"), text)
        for found, name in sorted(self.known.items(), key=lambda item: -len(item[0])):
            text = re.sub(rf"(?<![\w+/-]){re.escape(found)}(?![\w+-])", f"{{{name}}}", text)
        for pattern, name in _TIMES:
            text = pattern.sub(name, text)
        for pattern in _UNORDERED:
            text = pattern.sub(_sorted, text)
        # Columns are as wide as what was replaced in them.
        return "\n".join(_BLANKS.sub("  ", line) if "{" in line else line for line in text.split("\n"))

    def _numbered(self, kind: str) -> Callable[[re.Match[str]], str]:
        def name(match: re.Match[str]) -> str:
            text = match[0]
            if text not in self.known and not _PLAIN_WORD.fullmatch(text):
                count = sum(name.startswith(f"{kind}-") for name in self.known.values())
                self.known[text] = f"{kind}-{count + 1}"
            return text

        return name

    def filled(self, command: str) -> str:
        """A command with what the names in it stand for. Errors: KeyError for a name that nothing has."""
        by_name = {name: text for text, name in self.known.items()}
        return re.sub(r"\{([a-z]+(?:-\d+)?(?:-[a-z]+)?)\}", lambda match: by_name[match[1]], command)


def _sorted(match: re.Match[str]) -> str:
    """The entries of a list, objects or strings, in their own order."""
    return match[1] + ", ".join(sorted(re.findall(r"\{.*?\"\}|\"[^\"]*\"|ReplicaKey\([^)]*\)", match[2])))
