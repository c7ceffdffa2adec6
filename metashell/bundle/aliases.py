"""Other names for names: drawn by chance, the same each time, and matched by the same patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_DIGITS: Final = {"topic": 5}
_DIGITS_USUAL: Final = 3


class Aliases:
    """Deals an alias for each name of a kind (topic, user, host ...).

    Shape: `draw(n)` gives a number below n. `patterns` are the prefixed patterns of each kind, all of them: a name begins with the alias
    of a pattern if, and only if, it began with the pattern. `kept` are names of a kind that stay as they are; they consist of letters,
    digits and underscores.

    A number says nothing about a name: a hash of it could be found by guessing, and a count would tell which came first.
    """

    def __init__(
        self, draw: Callable[[int], int], *, patterns: Iterable[tuple[str, str]] = (), kept: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._draw = draw
        self._kept: dict[str, set[str]] = {}
        for kind, name in kept:
            self._kept.setdefault(kind, set()).add(name)
        self._patterns: dict[str, set[str]] = {}
        for kind, pattern in patterns:
            self._patterns.setdefault(kind, set()).add(pattern)
        self._lengths = {kind: sorted(set(map(len, found))) for kind, found in self._patterns.items()}
        self._tokens: dict[tuple[str, str], str] = {}
        self._taken: dict[str, set[int]] = {}
        self._dealt: dict[tuple[str, str], str] = {}

    def name(self, kind: str, name: str) -> str:
        """The alias of a name."""
        found = self._dealt.get((kind, name))
        if found is None:
            found = name if name in self._kept.get(kind, ()) else self._begin(kind, name) + self._token(kind, name)
            self._dealt[kind, name] = found
        return found

    def pattern(self, kind: str, pattern: str) -> str:
        """What a prefixed pattern becomes; it must be one of those that were given."""
        assert pattern in self._patterns.get(kind, ()), "aliases of names would not begin with it"
        return pattern if self._is_kept(kind, pattern) else self._begin(kind, pattern)

    def dealt(self) -> Iterator[tuple[str, str, str]]:
        """Kind, name and alias of each name that was asked for, in order of kind and name."""
        for (kind, name), alias in sorted(self._dealt.items()):
            yield kind, name, alias

    def _begin(self, kind: str, text: str) -> str:
        """What the alias of a text begins with: a piece for each pattern that the text begins with."""
        patterns = self._patterns.get(kind, ())
        chain = [text[:length] for length in self._lengths.get(kind, ()) if text[:length] in patterns and length <= len(text)]
        is_kept = [self._is_kept(kind, pattern) for pattern in chain]
        # A pattern that a kept name begins with stays. The dot after it is in no kept name, so no longer one of these fits what follows.
        head = chain[sum(is_kept) - 1] if any(is_kept) else ""
        pieces = "".join(f"{self._token('prefix', f'{kind} {pattern}')}." for pattern, kept in zip(chain, is_kept, strict=True) if not kept)
        return f"{head}.{pieces}" if head else pieces

    def _is_kept(self, kind: str, pattern: str) -> bool:
        return not pattern or any(name.startswith(pattern) for name in self._kept.get(kind, ()))

    def _token(self, kind: str, name: str) -> str:
        found = self._tokens.get((kind, name))
        if found is None:
            taken = self._taken.setdefault(kind, set())
            digits = _DIGITS.get(kind, _DIGITS_USUAL)
            while len(taken) >= 10**digits // 2:
                digits += 1
            number = self._draw(10**digits)
            while number in taken:
                number = self._draw(10**digits)
            taken.add(number)
            found = self._tokens[kind, name] = f"{kind}-{number:0{digits}d}"
        return found
