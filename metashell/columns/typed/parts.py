"""The parts that a table's typed form is put together from: each makes one column, or two, of a raw one.

Nothing here looks at a row: a part works on whole arrays, also on the elements of all lists at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from metashell.columns.typed import ids
from metashell.columns.typed.blobs import KINDS, decoded_blobs
from metashell.columns.typed.maps import last_of_each_key
from metashell.columns.typed.shapes import flat, parents_of, plain_type, shaped, shaped_field, with_children
from metashell.columns.typed.times import NO_TIME, TIME, numbers_of, times
from metashell.columns.typed.words import Words

UNKNOWN: Final = "UNKNOWN"
_TEXT: Final = pa.string()
_REPEATED: Final = pa.dictionary(pa.int32(), _TEXT)


class Part(Protocol):
    """Makes arrays of a raw array. `fields` are theirs, `arrays` has one for each; `is_consumer` is about blobs."""

    def fields(self) -> list[pa.Field]: ...
    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]: ...


@dataclass(frozen=True, slots=True)
class Same:
    """A column that says what it is already."""

    field: pa.Field

    def fields(self) -> list[pa.Field]:
        return [self.field]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        return [raw]


@dataclass(frozen=True, slots=True)
class Time:
    """A time; `none` is what else, besides NO_TIME, stands for none: the value that a field has where it was not written."""

    name: str
    none: int = NO_TIME

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, TIME)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        return [times(raw, self.none)]


@dataclass(frozen=True, slots=True)
class Id:
    """An id and its text; `text_of` makes it where it is not only Kafka's text."""

    name: str
    text_of: ids.TextOf | None = None

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, ids.UUID), pa.field(f"{self.name}_text", _REPEATED)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        stored = ids.stored(raw)
        return [ids.as_uuids(stored), ids.texts(stored, self.text_of)]


class Code:
    def __init__(self, field: pa.Field, words: Words) -> None:
        self.field = field
        # One place for each code of a byte, whatever its sign, and one for all that need more.
        known = sorted({*words.words.values(), UNKNOWN})
        places = np.full(1 << 8, known.index(UNKNOWN), np.int32)
        for code, word in words.words.items():
            places[code & 0xFF] = known.index(word)
        self._places = places
        self._unknown = known.index(UNKNOWN)
        self._words = pa.array(known, _TEXT)
        self._unsaid = words.unsaid

    @property
    def has_unsaid(self) -> bool:
        """Whether some code stands for no statement, so that it has no word."""
        return self._unsaid is not None

    def fields(self) -> list[pa.Field]:
        return [self.field, pa.field(f"{self.field.name}_name", _REPEATED)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        codes = numbers_of(raw)
        found = self._places[codes.astype(np.uint8)]
        if codes.dtype.itemsize > 1:
            found = np.where((codes < -128) | (codes > 127), self._unknown, found)
        hidden = None if self._unsaid is None else codes == self._unsaid
        if raw.null_count:
            absent = np.asarray(raw.is_null())
            hidden = absent if hidden is None else hidden | absent
        return [raw, pa.DictionaryArray.from_arrays(pa.array(found, mask=hidden), self._words)]


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes of a classic member's protocol: decoded, and as they are."""

    name: str
    kind: str

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, KINDS[self.kind][0]), pa.field(f"{self.name}_bytes", pa.binary())]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        return [decoded_blobs(self.kind, raw, is_consumer), raw]


class Struct:
    """A struct whose members are parts. No dictionaries lie in it: little of what is nested repeats, and few readers know them there."""

    def __init__(self, name: str, members: Sequence[Part]) -> None:
        self.name = name
        self.members = members
        self.type = pa.struct([shaped_field(field, plain_type) for member in members for field in member.fields()])

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, self.type)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        raw = flat(raw)
        found = [made for at, member in enumerate(self.members) for made in member.arrays(raw.field(at), is_consumer)]
        return [with_children(self.type, raw, [shaped(made, field.type) for made, field in zip(found, self.type, strict=True)])]


class ListOf:
    """A list whose elements are a part: it becomes as many lists as that has columns."""

    def __init__(self, name: str, element: Part) -> None:
        self.element = element
        first, *others = element.fields()
        self._fields = [pa.field(f"{name}{other.name.removeprefix(first.name)}", pa.list_(other.type)) for other in (first, *others)]

    def fields(self) -> list[pa.Field]:
        return self._fields

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        raw = flat(raw)
        inner = None if is_consumer is None else is_consumer.take(pa.array(parents_of(raw)))
        made = self.element.arrays(raw.values, inner)
        return [with_children(field.type, raw, [array]) for field, array in zip(self._fields, made, strict=True)]


class Map:
    """A map of a list of structs, whose first member is the key."""

    def __init__(self, name: str, members: Struct) -> None:
        self.name = name
        self.members = members
        key, *values = members.type
        self.has_one = len(values) == 1
        self.value = values[0].type if self.has_one else pa.struct(values)
        self.type = pa.map_(key.type, self.value)

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, self.type)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        kept = last_of_each_key(flat(raw))
        (pairs,) = self.members.arrays(kept.values, None)
        key, *values = (pairs.field(at) for at in range(pairs.type.num_fields))
        value = values[0] if self.has_one else pa.StructArray.from_arrays(values, fields=list(self.value))
        entries = pa.StructArray.from_arrays([key, value], fields=[self.type.key_field, self.type.item_field])
        return [with_children(self.type, kept, [entries])]
