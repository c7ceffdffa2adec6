"""Tables as people read them, made from the raw ones a batch at a time.

Raw columns are what bytes hold: times are numbers, ids 16 bytes, states codes. Typed columns say what they are:

- times are timestamps in UTC. Null is what Kafka writes for "none" (-1), and what no calendar has (before year 1, after 9999);
- an id is a UUID, followed by its text, `NAME_text`, as Kafka prints it. So are the ids in lists and structs;
- a code is a number, followed by its word, `NAME_name`: UNKNOWN for a code without one, null where the code stands for "not said";
- lists of key and value are maps, whose last value counts where a key comes twice;
- subscriptions and assignments of the protocol type `consumer` are structs, null where the bytes do not decode. The bytes follow as
  `NAME_bytes`.

Promises: no value makes it fail, whatever a log holds. Rows and their order stay. What has no column any more, a time out of range say,
is in the raw form and in the JSON text. Work is done once for each distinct id and each distinct blob of a batch.

Columns of text that repeat, and words, are dictionaries in `typed_batch`, which Parquet and DuckDB take as they are; `plain_batch` has
the types of `typed_schema`. Spark knows neither UUIDs nor milliseconds: see `spark`.
"""
