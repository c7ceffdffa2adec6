"""ssl.principal.mapping.rules: from the name in a client's certificate to the name of its principal.

Shape: `RULE:pattern/replacement/[LU], RULE:..., DEFAULT`. The first rule whose pattern matches the whole name decides; L and U make the
result lower or upper case. Slashes and backslashes are escaped by a backslash.

Source: org.apache.kafka.common.security.ssl.SslPrincipalMapper; KIP-371.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from metashell.errors import UsageError
from metashell.net.java_pattern import ANY, LAST_END, JavaPatternError, java_pattern, java_replace_all

KEY: Final = "ssl.principal.mapping.rules"
DEFAULT_RULES: Final = "DEFAULT"

_TEXT: Final = rf"(?:\\{ANY}|[^\\/])*"
_RULE: Final = rf"(?P<default>DEFAULT)|RULE:(?P<pattern>{_TEXT})/(?P<replacement>{_TEXT})/(?P<letters>[LU]?){ANY}*?|{ANY}*?"
_SPLITTER = re.compile(rf"\s*(?P<rule>{_RULE})\s*(?:,\s*|{LAST_END})", re.ASCII)
_PARSER = re.compile(_RULE, re.ASCII)
_REFERENCE = re.compile(r"\$([0-9]+)")
_JAVA_BLANKS: Final = "".join(map(chr, range(33)))


class NoMatchingRuleError(ValueError):
    """A name that no rule takes."""


class Rule(NamedTuple):
    """One rule; without a pattern it is DEFAULT. `letters` is L, U or empty."""

    pattern: re.Pattern[str] | None = None
    source: str = ""
    replacement: str = ""
    letters: str = ""

    def apply(self, name: str) -> str | None:
        """What the rule makes of a name, None where it does not match. Errors: ValueError for a replacement that names no group."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        made = java_replace_all(self.pattern, _literal_references(self.replacement, self.pattern.groups), name)
        return made.lower() if self.letters == "L" else made.upper() if self.letters == "U" else made

    def __str__(self) -> str:
        if self.pattern is None:
            return "DEFAULT"
        return f"RULE:{self.source}/{self.replacement}" + (f"/{self.letters}" if self.letters else "")


class PrincipalRules:
    """The rules of one listener. Errors: UsageError for rules that Kafka refuses, in its words."""

    def __init__(self, text: str = DEFAULT_RULES) -> None:
        self.rules = tuple(_parsed(_split(text)))

    def name_of(self, distinguished_name: str) -> str:
        """The name of the principal. Errors: ValueError where no rule matches, or the one that does is wrong."""
        for rule in self.rules:
            if (made := rule.apply(distinguished_name)) is not None:
                return made
        raise NoMatchingRuleError(f"No rules apply to {distinguished_name}, rules [{', '.join(map(str, self.rules))}]")


def _split(text: str) -> Iterator[str]:
    text = text.strip(_JAVA_BLANKS)
    position = 0
    while position <= len(text) and (match := _SPLITTER.search(text, position)) is not None:
        yield match["rule"]
        position = match.end() + (match.end() == match.start())


def _parsed(texts: Iterator[str]) -> Iterator[Rule]:
    for text in texts:
        match = _PARSER.match(text)
        assert match is not None, "the last alternative takes everything"
        if match.end() != len(text):
            raise UsageError(f"Invalid rule: `{text}`, unmatched substring: `{text[match.end() :]}`", KEY)
        if match["default"]:
            yield Rule()
        elif match["pattern"] is not None:
            try:
                pattern = java_pattern(match["pattern"])
            except JavaPatternError as error:
                raise UsageError(f"{KEY}: {error}", KEY) from None
            yield Rule(pattern, match["pattern"], match["replacement"], match["letters"])


def _literal_references(replacement: str, group_count: int) -> str:
    """The replacement with `$9` as text where the pattern has fewer groups; one whose pattern has none is left as it is.

    Kafka looks for references in the text before the first change, and changes at those places: after one change the next is one character
    too early. That is kept.
    """
    if group_count == 0:
        return replacement
    value = replacement
    for match in _REFERENCE.finditer(replacement):
        digits = match[1]
        if digits.startswith("0"):
            continue
        group = int(digits)
        while group > group_count and group >= 10:
            group //= 10
        if group > group_count:
            at = match.start(1) - 1
            value = f"{value[:at]}\\{value[at:]}"
    return value
