"""Which records the own voice prints.

Most is decided for a whole batch from its header, before anything is decoded; a batch that lies across a border is
decided record by record. Patterns see the text that is printed, so what is redacted cannot be searched.
"""

from __future__ import annotations

from metashell.codec.batches import LOG_APPEND_TIME, BatchHeader
from metashell.codec.control import CONTROL_TYPE_NAMES
from metashell.dump.options import DumpOptions
from metashell.log.kinds import METADATA

OFFSET_MAX = (1 << 63) - 1


class Filters:
    """The filters of one run.

    `types` are the numbers of wanted record types of the log and `control_types` those of control records, None for all.
    """

    def __init__(self, options: DumpOptions) -> None:
        first, last = options.offsets
        self.first_offset = -OFFSET_MAX if first is None else first
        self.last_offset = OFFSET_MAX if last is None else last
        self.since_ms = -OFFSET_MAX if options.since_ms is None else options.since_ms
        self.until_ms = OFFSET_MAX if options.until_ms is None else options.until_ms
        self.key = options.key_pattern
        self.value = options.value_pattern
        self.types: frozenset[int] | None = None
        self.control_types: frozenset[int] | None = None
        if options.types:
            self.types, self.control_types = _wanted_types(options)
        self.has_pattern = self.key is not None or self.value is not None
        self.has_range = first is not None or last is not None or options.since_ms is not None or options.until_ms is not None

    def wants_part(self, header: BatchHeader) -> bool:
        """Whether a batch can hold a record that is wanted."""
        if header.last_offset < self.first_offset or header.base_offset > self.last_offset:
            return False
        if header.max_timestamp < self.since_ms:
            return False
        return not (_has_one_time(header) and header.max_timestamp > self.until_ms)

    def wants_all(self, header: BatchHeader) -> bool:
        """Whether offsets and times alone let every record of a batch pass."""
        if header.base_offset < self.first_offset or header.last_offset > self.last_offset:
            return False
        return _has_one_time(header) and self.since_ms <= header.max_timestamp <= self.until_ms

    def wants_place(self, offset: int, timestamp: int) -> bool:
        """Whether a record's offset and timestamp let it pass."""
        return self.first_offset <= offset <= self.last_offset and self.since_ms <= timestamp <= self.until_ms

    def wants_type(self, type_id: int | None) -> bool:
        return self.types is None or type_id in self.types

    def wants_control(self, type_id: int | None) -> bool:
        return self.control_types is None or type_id in self.control_types

    def wants_text(self, key: str | None, value: str | None) -> bool:
        """Whether the printed key and value match the patterns; what is missing matches none."""
        if self.key is not None and (key is None or self.key.search(key) is None):
            return False
        return self.value is None or (value is not None and self.value.search(value) is not None)


def _has_one_time(header: BatchHeader) -> bool:
    return bool(header.attributes & LOG_APPEND_TIME) or header.base_timestamp == header.max_timestamp


def _wanted_types(options: DumpOptions) -> tuple[frozenset[int], frozenset[int]]:
    """The record types and the control record types that the words name, of the log that is decoded.

    A number is a record type, and so is the name that is printed of an unknown one.
    Errors: UsageError for a name that no log has, or with one log only, that it has not.
    """
    from metashell.dump.record_types import control_number, logs_with_types, plain_type, record_number, type_names, type_words, unknown_type

    log = METADATA if options.decoder == "classes" else options.decoder
    names = type_names(log)
    others = options.is_decoder_implied and logs_with_types(options.types)
    records = {plain_type(name): number for number, name in names.items()}
    control = {plain_type(name): number for number, name in CONTROL_TYPE_NAMES.items()}
    types: set[int] = set()
    control_types: set[int] = set()
    for word in type_words(options.types):
        plain = plain_type(word)
        if (number := record_number(word)) is not None:
            types.add(number)
        elif (control_type := control_number(word)) is not None:
            control_types.add(control_type)
        elif plain in records:
            types.add(records[plain])
        elif plain in control:
            control_types.add(control[plain])
        elif not others:
            raise unknown_type(word, list(names.values()))
    return frozenset(types), frozenset(control_types)
