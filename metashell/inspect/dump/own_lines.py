"""Prints logs and checkpoints in our own voice: one JSON object a line."""

from __future__ import annotations

from metashell.codec.batches import (
    CODEC_MASK,
    CONTROL,
    CRC_START,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC_END,
    TRANSACTIONAL,
    BatchHeader,
    Record,
    RecordBatch,
    RecordFields,
    read_headers,
    unpack_header,
)
from metashell.codec.coordinator import CoordinatorTexts
from metashell.codec.framing import Stop
from metashell.codec.java import string_text
from metashell.codec.primitives import crc32c
from metashell.codec.record_text import FramedTexts
from metashell.common.errors import DecodeError
from metashell.disk.files import OpenFile
from metashell.disk.names import SNAPSHOT_FOOTER_TYPE
from metashell.disk.segment import empty_tail, judge_tail, order_fault
from metashell.inspect.dump.inputs import OFFSET_MAX, Filters, shown_path
from metashell.inspect.dump.options import DumpOptions
from metashell.inspect.dump.own_members import (
    ClassDecoder,
    Decoder,
    FramedDecoder,
    Headers,
    KeyedDecoder,
    control_members,
    keyed_loop_texts,
    metadata_loop_texts,
)
from metashell.inspect.dump.writer import Place, Writer, make_keyed_loop, make_loop

_LEGACY_LEAD_SIZE = 26
_LINE = "{before}{body(buf, start + 3, end)}}}\\n'"
_KEYED_LINE = "{key_text}{before}{body(buf, start + 2, at)}}}\\n'"
_KEYED_TOMBSTONE = '{key_text}null,"data":null,"tombstone":true}}\\n\''


class JsonWriter(Writer):
    """Writes JSON lines for one file, which they call `label`.

    `may_end_early`: a torn or zero-filled tail is no fault, since the file is the last segment of a directory. `is_checkpoint`: the file
    must end with a footer. `is_followed`: the file may still grow, so its present end is not checked.
    """

    def __init__(
        self,
        options: DumpOptions,
        filters: Filters,
        file: OpenFile,
        label: str,
        *,
        may_end_early: bool = False,
        is_checkpoint: bool = False,
        is_followed: bool = False,
    ) -> None:
        super().__init__()
        self.options = options
        self.filters = filters
        self.file = file
        self.may_end_early = self.may_be_empty = may_end_early
        self.is_checkpoint = is_checkpoint
        self.is_followed = is_followed
        self.name = label
        self.label = string_text(shown_path(label))
        self.shows_batches = options.batches != "no" or not options.iterates_deep
        self.shows_records = options.iterates_deep and options.batches != "only"
        self.is_plain = self.shows_records and not (self.shows_batches or filters.has_pattern or filters.has_range)
        self.last_batch: tuple[BatchHeader, int, bytes] | None = None
        self.may_skip = options.decoder != "metadata"
        self.is_keyed = options.decoder in ("offsets", "transactions", "share")
        self.decoder = self._make_decoder()

    def take_for_metadata(self) -> None:
        """Treat the file as one of the metadata log, whatever decoder reads it: without gaps and without users' data."""
        self.may_skip = False
        if isinstance(self.decoder, ClassDecoder):
            self.decoder.is_user_data = False

    def _make_decoder(self) -> Decoder:
        """Make the decoder of records, and set the tight loop for the logs that have one."""
        options = self.options
        if options.decoder == "classes":
            return ClassDecoder(options, self.name, self.file)
        with_place = not options.skip_record_metadata
        head = f'{self._head("record")}"offset":' if with_place else self._head("record")
        start = "f'{head}{offset}{middle}" if with_place else "f'{head}"
        if self.is_keyed:
            texts = CoordinatorTexts(options.decoder, show_secrets=options.show_secrets)
            self.loop = make_keyed_loop(f"{start}{_KEYED_LINE}", f"{start}{_KEYED_TOMBSTONE}", head=head)
            self.texts = keyed_loop_texts(texts, self.filters.wants_type)
            return KeyedDecoder(texts)
        framed = FramedTexts(options.decoder, show_secrets=options.show_secrets)
        if options.decoder == "metadata":
            self.loop = make_loop(f"{start}{_LINE}", may_skip=self.filters.types is not None, head=head)
            self.texts = metadata_loop_texts(framed, self.filters.wants_type)
        return FramedDecoder(framed)

    def _head(self, kind: str) -> str:
        return f'{{"kind":"{kind}","file":{self.label},'

    # ---- batches -------------------------------------------------------------------------------------------------

    def batch(self, buf: bytes, start: int, size: int, position: int) -> None:
        self.position = position
        magic = buf[start + MAGIC_END - 1]
        if magic < 2:
            self._legacy(buf[start : start + size], position)
            return
        if magic > 2 or size < HEADER_SIZE:
            self._damaged(buf, start, size, position)
            return
        header = BatchHeader(*unpack_header(buf, start))
        self._follow(header)
        if self.is_checkpoint:
            self.last_batch = (header, position, buf[start : start + size] if header.attributes & CONTROL else b"")
        # A damaged header does not decide whether the filters leave its batch out.
        crc = crc32c(buf[start + CRC_START : start + size])
        if crc != header.crc:
            self._corrupt(position, header.base_offset, size, f"CRC-32C {crc:#x} is not {header.crc:#x}")
            return
        if self.is_plain and header.attributes == 0 and header.base_offset <= OFFSET_MAX - header.count:
            # The quick way for nearly every batch of a metadata log, if only records are wanted.
            middle = f',"timestamp":{header.base_timestamp},"epoch":{header.leader_epoch},{self._producer(header)}'
            self._decoded(header, buf, start + HEADER_SIZE, start + size, middle)
            return
        if not self.filters.wants_part(header):
            return
        if self.shows_batches:
            self._batch_line(header, position)
        if self.shows_records:
            self._records(header, buf, start, size)

    def _follow(self, header: BatchHeader) -> None:
        """Compare a batch with the one before it: a metadata log has no gaps, and in no log do offsets or epochs go back.

        The CRC covers neither offset nor epoch, so no other check would notice a change in them.
        """
        here = (header.base_offset, header.leader_epoch)
        if self.last is None:
            self.first = here
            self.first_position = self.position
        else:
            self._compare(self.position, self.last, here)
        self.last = (header.last_offset, header.leader_epoch)

    def _compare(self, position: int, last: tuple[int, int], here: tuple[int, int]) -> None:
        reason = order_fault(last[0] + 1, last[1], here, may_skip=self.may_skip)
        if reason is not None:
            self.findings.fault(position, f"position {position}: {reason}")

    def join(self, last: Place) -> None:
        if self.first is None:
            self.last = last
        elif last is not None:
            self._compare(self.first_position, last, self.first)

    def note_records(self, offset: int, count: int = 1) -> None:
        """Do nothing: the order is checked batch by batch, in `_follow`."""

    def _batch_line(self, header: BatchHeader, position: int) -> None:
        horizon = header.delete_horizon_ms
        self.lines.append(
            f'{self._head("batch")}"offset":{header.base_offset},"last_offset":{header.last_offset},'
            f'"count":{header.count},"timestamp":{header.max_timestamp},"base_timestamp":{header.base_timestamp},'
            f'"timestamp_type":"{header.timestamp_type}","epoch":{header.leader_epoch},'
            f'"producer_id":{header.producer_id},"producer_epoch":{header.producer_epoch},'
            f'"base_sequence":{header.base_sequence},'
            f'"is_transactional":{"true" if header.attributes & TRANSACTIONAL else "false"},'
            f'"is_control":{"true" if header.attributes & CONTROL else "false"},'
            f'"delete_horizon_ms":{"null" if horizon is None else horizon},"position":{position},'
            f'"size":{header.size_bytes},"magic":{header.magic},"codec":"{header.codec_name}","crc":{header.crc}}}\n'
        )

    def _damaged(self, buf: bytes, start: int, size: int, position: int) -> None:
        """Report a batch of an unknown form."""
        magic = buf[start + MAGIC_END - 1]
        reason = f"magic {magic} is not known"
        if magic == 2:
            reason = f"batch of {size} bytes is shorter than its header of {HEADER_SIZE}"
        self._corrupt(position, int.from_bytes(buf[start : start + 8], "big", signed=True), size, reason)

    def _legacy(self, data: bytes, position: int) -> None:
        """Write a message of magic 0 or 1, and the messages in it."""
        from metashell.codec.framing import message_crc, read_message_header, read_messages

        header = read_message_header(data[:_LEGACY_LEAD_SIZE])
        crc = message_crc(data)
        if crc != header.crc:
            self._corrupt(position, header.base_offset, len(data), f"CRC-32 {crc:#x} is not {header.crc:#x}")
            return
        if self.shows_batches and self.filters.wants_part(header):
            self._batch_line(header, position)
        if not self.shows_records:
            return
        try:
            for record in read_messages(data, self.options.max_decompressed):
                self._legacy_record(header, record)
        except DecodeError as error:
            self._corrupt(position, header.base_offset, len(data), str(error))

    def _legacy_record(self, header: BatchHeader, record: Record) -> None:
        self._line(header, record.offset, record.timestamp, record.key, record.value, ())

    # ---- records -------------------------------------------------------------------------------------------------

    def _records(self, header: BatchHeader, buf: bytes, start: int, size: int) -> None:
        at, end = start + HEADER_SIZE, start + size
        try:
            if header.attributes & CODEC_MASK:
                batch = RecordBatch(header, self.position, buf[start:end])
                buf, at, end = batch.records_area(self.options.max_decompressed)
        except DecodeError as error:
            kind = "skipped" if "decompresses to more than" in str(error) else "corrupt"
            self._write_fault(kind, self.position, header.base_offset, size, str(error))
            return
        middle = None
        if self._may_hurry(header):
            timestamp = header.max_timestamp if header.attributes & LOG_APPEND_TIME else header.base_timestamp
            middle = f',"timestamp":{timestamp},"epoch":{header.leader_epoch},{self._producer(header)}'
        self._decoded(header, buf, at, end, middle)

    def _decoded(self, header: BatchHeader, buf: bytes, at: int, end: int, middle: str | None) -> None:
        try:
            self.records(header, buf, at, end, middle, drop_last=False)
        except DecodeError as error:
            self._corrupt(self.position, header.base_offset, header.size_bytes, str(error))

    def _may_hurry(self, header: BatchHeader) -> bool:
        """Return whether no record of a batch needs to be filtered on its own."""
        if header.attributes & CONTROL or self.filters.has_pattern or header.base_offset > OFFSET_MAX - header.count:
            return False
        return not self.filters.has_range or self.filters.wants_all(header)

    def record(self, header: BatchHeader, buf: bytes, fields: RecordFields) -> None:
        offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, following = fields
        offset = header.base_offset + offset_delta
        timestamp = header.base_timestamp + timestamp_delta
        if header.attributes & LOG_APPEND_TIME:
            timestamp = header.max_timestamp
        key = buf[key_start : key_start + key_size] if key_size >= 0 else None
        value = buf[value_start : value_start + value_size] if value_size >= 0 else None
        headers: Headers = ()
        if self.decoder.shows_headers and buf[headers_start]:
            headers = read_headers(buf, headers_start, following)
        self._line(header, offset, timestamp, key, value, headers)

    def _line(self, header: BatchHeader, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Write the line of one record, if it is wanted."""
        filters, options = self.filters, self.options
        if not filters.wants_place(offset, timestamp):
            return
        kind = "control" if header.attributes & CONTROL and header.magic > 1 else "record"
        if kind == "control":
            found = control_members(key, value, show_secrets=options.show_secrets)
            is_wanted = filters.wants_control(found.type_id)
        else:
            found = self.decoder.members(key, value, headers)
            is_wanted = filters.wants_type(found.type_id)
        if not is_wanted or not filters.wants_text(found.key, found.value):
            return
        place = ""
        if not options.skip_record_metadata:
            producer = self._producer(header) if kind == "record" else ""
            place = f'"offset":{offset},"timestamp":{timestamp},"epoch":{header.leader_epoch},{producer}'
        self.lines.append(f"{self._head(kind)}{place}{found.text}}}\n")
        if found.fault is not None:
            self.findings.fault(self.position, f"offset {offset}: {found.fault}")

    def _producer(self, header: BatchHeader) -> str:
        """The members that name the producer of a coordinator's record, if that is transactional."""
        if not self.is_keyed or header.producer_id < 0:
            return ""
        is_transactional = "true" if header.attributes & TRANSACTIONAL else "false"
        return f'"producer_id":{header.producer_id},"producer_epoch":{header.producer_epoch},"is_transactional":{is_transactional},'

    # ---- faults --------------------------------------------------------------------------------------------------

    def _corrupt(self, position: int, offset: int | None, size: int, reason: str) -> None:
        self._write_fault("corrupt", position, offset, size, reason)

    def _write_fault(self, kind: str, position: int, offset: int | None, size: int, reason: str) -> None:
        """Write a line about a fault, and keep it for stderr and the status."""
        self.lines.append(
            f'{self._head(kind)}"offset":{"null" if offset is None else offset},"position":{position},'
            f'"size":{size},"reason":{string_text(reason)}}}\n'
        )
        place = f"position {position}" if offset is None else f"offset {offset}, position {position}"
        self.findings.fault(position, f"{place}: {reason}")

    def stop(self, stop: Stop) -> None:
        is_wanted_end = stop.position + max(stop.left, 0) >= self.options.max_bytes
        if self.file.trouble is None and (is_wanted_end or (self.is_followed and stop.kind != "too-large")):
            return
        if self.file.trouble is None and stop.kind == "end":
            self._check_end(stop)
            return

        tail = judge_tail(self.file, stop, None if self.last is None else self.last[0] + 1)
        assert tail is not None, "only a plain end has no tail"
        if self.may_end_early and tail.may_be_tail:
            self.findings.notes.append(f"position {stop.position}: {tail.reason}")
        else:
            self._write_fault("truncated" if tail.looks_cut_off else "corrupt", stop.position, tail.offset, tail.size, tail.reason)

    def shrank(self, position: int, size: int) -> None:
        """Write that a followed file was cut from `position` bytes to `size`."""
        self.last = None
        self._write_fault("truncated", size, None, position - size, f"the file shrank from {position} to {size} bytes")

    def _check_end(self, stop: Stop) -> None:
        """Check a file that ends after a whole batch: a checkpoint must end with a footer, and a segment may not be empty."""
        if stop.position == 0 and not self.may_be_empty:
            self.findings.fault(0, empty_tail(self.file.name).reason)
        elif self.is_checkpoint and not self._ends_with_footer():
            self._write_fault("truncated", stop.position, self.last[0] + 1 if self.last else None, 0, "the checkpoint has no footer")

    def _ends_with_footer(self) -> bool:
        if self.last_batch is None or not self.last_batch[2]:
            return False
        header, position, data = self.last_batch
        return RecordBatch(header, position, data).first_control_type() == SNAPSHOT_FOOTER_TYPE
