"""The command lines of the analysts' commands: `metashell export` and `metashell sql`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option

LOGS = ("metadata", "offsets", "transactions", "share", "remote_log")

_PATHS = Argument(
    name="paths",
    metavar="PATH",
    nargs="+",
    kind="file",
    help="logs, checkpoints, directories of them at any depth, patterns in quotes, or URIs such as s3://bucket/folder",
)
_ON_ERROR = Option(
    names=("--on-error",),
    metavar="WHAT",
    type="choice",
    choices=("fail", "skip"),
    default="fail",
    help="at a corrupt batch or record: fail, or go on and list it in the table faults",
)
_LOG = Option(
    names=("--log",),
    metavar="KIND",
    type="choice",
    choices=LOGS,
    help="what the files hold, where neither their records nor their directory tell; other logs are left out",
)
_TABLES = """\
TYPE           one for each record type: partition, partition_change, topic, register_broker, offset_commit, ...
records        on request: every record with offset, epoch, timestamp, type, version, size, its log, and its JSON text
control        control records: leader changes, snapshot headers, transaction markers
batches        a row a batch: offsets, position, size, codec, producer
faults         what could not be read: file, offset, position, size, reason, and the bytes that hold no secret"""

EXPORT = CommandSpec(
    name="metashell-export",
    summary="write the records of logs as tables: Parquet, Arrow, CSV or JSON lines",
    description="""
        One table for each record type, with all versions of it merged, in DIR/TABLE.FORMAT: a file, or a folder of parts. Large files are
        read by all cores, and nothing stands under its final name before the whole export is done. One that was interrupted goes on where
        it was; one that is repeated reads only what is new. What no export has written is never replaced.

        Each row has cluster_id (of meta.properties, else the directory), file, offset, epoch and timestamp (Unix ms). Fields bear the
        names that Kafka's messages give them, in snake case; ids are 16 bytes in Parquet and Arrow, base64url text in CSV and JSON.
        """,
    options=(
        Option(names=("--out",), metavar="DIR", type="path", kind="file", required=True, help="where the tables go"),
        Option(
            names=("--format", "-f"),
            metavar="FORMAT",
            type="choice",
            choices=("parquet", "arrow", "csv", "jsonl"),
            default="parquet",
            help="form of the files",
        ),
        Option(
            names=("--tables", "-t"),
            metavar="A,B",
            multiple=True,
            help="only these tables, separated by commas; all stands for all of them. By default all but records, "
            "whose JSON text costs several times what everything else does",
        ),
        _ON_ERROR,
        Option(names=("--jobs", "-j"), metavar="N", type="int", default=0, help="processes; by default one a core"),
        _LOG,
        shared.SHOW_SECRETS._replace(help="export passwords, keys and salts instead of redacting them; the files say that they do"),
        Option(names=("--quiet", "-q"), type="flag", help="no progress bar and no summary"),
        shared.VERSION,
    ),
    arguments=(_PATHS,),
    examples=(
        ("metashell export /var/lib/kafka/__cluster_metadata-0 --out tables", "a node's metadata log as Parquet"),
        ("metashell export dumps/ --out tables --tables partition,partition_change", "two tables of all clusters below dumps"),
        ("metashell export FILE.log --out tables --on-error skip --tables all", "also what surrounds a corrupt batch, and all JSON"),
    ),
    epilog=(("TABLES", _TABLES), shared.EXIT_STATUS),
)

SQL = CommandSpec(
    name="metashell-sql",
    summary="ask questions of logs in SQL",
    description="""
        The tables of `metashell export`, read when the query names them, and answered by DuckDB. The query sees these tables and nothing
        else: no file, no network, no extension. While it runs they lie in unnamed files under $TMPDIR. `uuid_text(COLUMN)` is the text of
        an id, `time_of(COLUMN)` the time (UTC) of a timestamp in ms, null where no calendar has it.
        """,
    options=(
        shared.OUTPUT._replace(choices=("text", "json", "jsonl", "csv", "table"), default="text"),
        _ON_ERROR,
        _LOG,
        shared.SHOW_SECRETS,
        shared.VERSION,
    ),
    arguments=(Argument(name="query", metavar="QUERY", help="one SELECT, or DESCRIBE TABLE, or SHOW TABLES"), _PATHS),
    examples=(
        ("metashell sql 'select type, count(*) from records group by all' DIR", "how many records of each type"),
        (
            "metashell sql 'select time_of(timestamp), leader from partition_change where leader >= 0' DIR -o csv",
            "who became leader and when",
        ),
    ),
    epilog=(("TABLES", _TABLES), shared.EXIT_STATUS),
)
