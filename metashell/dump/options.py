"""Everything that decides what one run of dump-log prints, for both voices."""

import re
from typing import Final, Literal, NamedTuple

from metashell.codec.compression import MAX_DECOMPRESSED

Voice = Literal["own", "kafka"]
Output = Literal["jsonl", "json", "kafka", "table"]
Batches = Literal["no", "also", "only"]
Decoder = Literal["offsets", "transactions", "metadata", "remote_log", "share", "classes"]
DECODER_FLAGS: Final[dict[str, Decoder]] = {
    "offsets_decoder": "offsets",
    "transaction_log_decoder": "transactions",
    "cluster_metadata_decoder": "metadata",
    "remote_log_metadata_decoder": "remote_log",
    "share_group_state_decoder": "share",
}
"""Flag -> decoder, called as the log that it reads; of several the first counts, as in Kafka's tool."""

MAX_BYTES_DEFAULT = 2147483647
"""Kafka's default of --max-bytes; only with it are bytes left over at the end of a file reported."""
MAX_MESSAGE_SIZE_DEFAULT = 5242880


class DumpOptions(NamedTuple):
    """The parsed flags of `dump-log` and `kafka-dump-log`.

    Shape: `files` are paths as they were given, `-` is standard input (own voice only). `voice` decides how files are
    found, where a damaged one stops the run, and the status; `output` decides the text (`table` goes with `summary`).
    `jobs` is how many processes to use, 0 for as many as help. A filter that is not given lets everything pass. Of several
    decoders one counts, see `decoder`; `is_decoder_implied` where it is that of the file's log and not one that was asked for. The
    class decoders are None where they were not given and empty where no class was named.
    Units: `offsets` are inclusive; times are Unix milliseconds, inclusive; sizes are bytes.
    """

    files: tuple[str, ...]
    voice: Voice = "own"
    output: Output = "jsonl"
    program: str = "dump-log"

    offsets_decoder: bool = False
    transaction_log_decoder: bool = False
    cluster_metadata_decoder: bool = False
    remote_log_metadata_decoder: bool = False
    share_group_state_decoder: bool = False
    key_decoder_class: str | None = None
    value_decoder_class: str | None = None
    verify_index_only: bool = False
    index_sanity_check: bool = False
    print_data_log: bool = False
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    max_bytes: int = MAX_BYTES_DEFAULT
    max_message_size: int = MAX_MESSAGE_SIZE_DEFAULT

    batches: Batches = "no"
    types: tuple[str, ...] = ()
    offsets: tuple[int | None, int | None] = (None, None)
    since_ms: int | None = None
    until_ms: int | None = None
    key_pattern: re.Pattern[str] | None = None
    value_pattern: re.Pattern[str] | None = None

    summary: bool = False
    follow: bool = False
    show_secrets: bool = False
    max_decompressed: int = MAX_DECOMPRESSED
    verbose: bool = False
    jobs: int = 0
    is_decoder_implied: bool = False

    @property
    def decoder(self) -> Decoder:
        """What decodes records: of several, the one that Kafka's tool takes; `classes` where none is asked for."""
        return next((decoder for flag, decoder in DECODER_FLAGS.items() if getattr(self, flag)), "classes")

    @property
    def prints_contents(self) -> bool:
        """Whether keys and values are shown: a decoder turns that on, and it turns deep iteration on."""
        has_class = self.key_decoder_class is not None or self.value_decoder_class is not None
        return self.print_data_log or has_class or self.decoder != "classes"

    @property
    def iterates_deep(self) -> bool:
        return self.deep_iteration or self.prints_contents
