"""Bytes of Kafka and what they mean: messages, record batches, control records, secrets.

One text declares a message for all its versions (`schemas/FAMILY/Name.schema`). From it come, compiled on first use,

- plain classes with a reader and a writer (`registry.message_type`, `messages` for the classes by name),
- a writer of Kafka's JSON text straight from bytes (`MessageType.json`),

and beside them one plain walk over the schema (`plain`), which names the field and byte at fault, reads what is rare, and
judges the compiled code in the tests. `batches` reads record batches of version 2 and `legacy` those before it, `frame` the
frame of metadata records, `control` the control records, `redaction` says what is secret.

Promises: what a buffer makes us allocate is bounded by its size; a buffer either is exactly one message or a DecodeError
says where it is not; an object that was read is written back to the same message, unknown tagged fields included.
It reads nothing but its own schemas, and knows no clock and no chance.

Why compiled and not walked: a walk costs 13 us a record where straight lines cost 1.5. Why at run time and not
committed: a message costs 0.3 ms, and only those that occur are compiled. Why no dataclasses: a frozen one costs
1 us more an object.
"""
