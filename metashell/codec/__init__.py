"""Kafka's bytes and their meaning: messages, record batches, control records, secrets.

One text declares a message for all its versions (`schemas/FAMILY/Name.schema`). From it are compiled, on first use,

- plain classes with a reader and a writer (`registry.message_type`; `messages` has the classes by name),
- a writer of Kafka's JSON text straight from bytes (`MessageType.json`).

Beside them stands one plain reader that walks the schema (`schema.PlainReader`). It names the field and byte at fault, reads rare
encodings, and is the reference for the compiled code in the tests. `batches` reads record batches of version 2, `framing` finds them and
reads older ones, `batch_writer` writes batches and control records, `metadata_records` has the frame of metadata records, `redaction`
decides what is secret.

Promises: the memory for a buffer is bounded by its size; a buffer is exactly one message, or a DecodeError names the place where it is
not; an object that was read is written back to the same message, including unknown tagged fields. This wing reads only its own schemas,
no clock and no random source.

Why compiled: a walk over the schema costs 13 us a record, straight-line code 1.5 us. Why at run time, and not committed: compiling costs
0.3 ms a message, and only the messages that occur are compiled. Why no dataclasses: a frozen one costs 1 us more per object.
"""
