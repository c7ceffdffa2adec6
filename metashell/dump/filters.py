"""Which records the own voice prints.

Most is decided for a whole batch from its header, before anything is decoded; a batch that lies across a border is
decided record by record. Patterns see the text that is printed, so what is redacted cannot be searched.
"""

from __future__ import annotations

from metashell.codec.batches import LOG_APPEND_TIME, BatchHeader
from metashell.codec.control import CONTROL_TYPE_NAMES
from metashell.codec.frame import RECORD_TYPE_NAMES
from metashell.dump.options import DumpOptions
from metashell.errors import UsageError

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
        _refuse_useless(options)
        self.types: frozenset[int] | None = None
        self.control_types: frozenset[int] | None = None
        if options.types:
            self.types, self.control_types = _wanted_types(options.types, _type_names(options))
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

    def wants_type(self, type_id: int) -> bool:
        return self.types is None or type_id in self.types

    def wants_control(self, type_id: int) -> bool:
        return self.control_types is None or type_id in self.control_types

    def wants_text(self, key: str | None, value: str | None) -> bool:
        """Whether the printed key and value match the patterns; what is missing matches none."""
        if self.key is not None and (key is None or self.key.search(key) is None):
            return False
        return self.value is None or (value is not None and self.value.search(value) is not None)


def _refuse_useless(options: DumpOptions) -> None:
    """Errors: UsageError for a filter of what the other options keep from being looked at."""
    if options.types and options.decoder == "classes":
        raise UsageError("--type needs a decoder, as --cluster-metadata-decoder", "--type")
    has_pattern = options.key_pattern is not None or options.value_pattern is not None
    if has_pattern and not options.prints_contents:
        raise UsageError("--key and --value need a decoder or --print-data-log", "--value")


def _has_one_time(header: BatchHeader) -> bool:
    return bool(header.attributes & LOG_APPEND_TIME) or header.base_timestamp == header.max_timestamp


def _type_names(options: DumpOptions) -> dict[int, str]:
    """The record types of the log that is decoded; those of metadata where nothing is."""
    if options.decoder in ("metadata", "classes"):
        return RECORD_TYPE_NAMES
    from metashell.dump.own_records import coordinator_type_names, remote_log_type_names

    return remote_log_type_names() if options.decoder == "remote-log" else coordinator_type_names(options.decoder)


def _wanted_types(words: tuple[str, ...], names: dict[int, str]) -> tuple[frozenset[int], frozenset[int]]:
    """The record types and the control record types that the words name.

    A number is a record type. Errors: UsageError for a name that is neither.
    """
    records = {_plain(name): number for number, name in names.items()}
    control = {_plain(name): number for number, name in CONTROL_TYPE_NAMES.items()}
    types: set[int] = set()
    control_types: set[int] = set()
    for word in (part.strip() for words_ in words for part in words_.split(",")):
        plain = _plain(word)
        if word.isascii() and word.isdigit():
            types.add(int(word))
        elif plain in records:
            types.add(records[plain])
        elif plain in control:
            control_types.add(control[plain])
        else:
            raise UsageError(f"--type: {word!r} is no record type{_suggestion(plain, names, records, control)}", word)
    return frozenset(types), frozenset(control_types)


def _plain(name: str) -> str:
    """A type's name in the form in which spellings are compared: `PARTITION_RECORD`, `PartitionRecord`, `partition`."""
    plain = name.replace("_", "").replace("-", "").lower()
    return plain.removesuffix("record")


def _suggestion(plain: str, names: dict[int, str], records: dict[str, int], control: dict[str, int]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(plain, [*records, *control], n=1)
    if not near:
        return ""
    name = names[records[near[0]]] if near[0] in records else CONTROL_TYPE_NAMES[control[near[0]]]
    return f" (did you mean {name}?)"
