"""One batch of 4 million records: memory, CPU seconds, and how soon Ctrl-C ends each command that reads files.

    python -m tools.bench large_batches [RECORDS] [none|gzip|snappy|lz4|zstd]... [COMMAND]

Files are made first: a metadata log and a checkpoint of NoOpRecords, and logs of groups, transactions and share groups of tombstones, as
many as 120 MiB hold. COMMAND runs only commands whose line holds that text. Each is run twice: to its end, and with SIGINT to its process
group in the middle, as a terminal sends it. Limits: 200 MiB; after SIGINT 2 s, status 130, at most one line, nothing left where it writes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing import Process
from pathlib import Path
from typing import NamedTuple

from metashell.codec.batch_writer import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, write_control_bodies
from metashell.codec.messages import SnapshotFooterRecord, SnapshotHeaderRecord
from metashell.codec.primitives import CODEC_NAMES, compress, crc32c, encode_varint
from metashell.common.values import OffsetAndEpoch
from metashell.disk.names import checkpoint_name
from tools.bench.common import MemorySampler, bench_directory

RECORDS = 4_000_000
AREA_MAX = 120 << 20
MIB_MAX = 200
ANSWER_MAX_S = 2.0
SEGMENT = f"{0:020}.log"
TIME_MS = 1_700_000_000_000
NO_OP = b"\1\x14\0\0"
OFFSET_KEY = b"\0\1\0\1g\0\1t\0\0\0\0"
TRANSACTION_KEY = b"\0\0\0\1t"
SHARE_KEY = b"\0\0\2g" + bytes(16) + bytes(4)
LOGS = {
    "__cluster_metadata-0": (None, NO_OP),
    "__consumer_offsets-0": (OFFSET_KEY, None),
    "__transaction_state-0": (TRANSACTION_KEY, None),
    "__share_group_state-0": (SHARE_KEY, None),
}
COMMANDS = """
status {metadata}
health {metadata}
cluster {metadata}
verify {metadata}
verify --start-safe {metadata}
verify --deep {metadata}
log {metadata} /image
shell -s {metadata} find /
shell -s {metadata} cat /image/cluster
dump-log --cluster-metadata-decoder {metadata}/{segment}
dump-log --cluster-metadata-decoder - < {metadata}/{segment}
kafka kafka-dump-log --cluster-metadata-decoder --files {metadata}/{segment}
bundle {metadata} --out {out}/bundle.tar.gz
sql "select type, max(offset), max(payload) from records group by type" {metadata}
report all {metadata} --out {out}/report
export {metadata} --out {out}/export --format parquet
export {metadata} --out {out}/jsonl --format jsonl
rehearse {metadata}
storage repair {metadata} --dry-run
quorum restore {metadata} --dry-run --out {out}/restored --node-id 1 --listener localhost:9
health {checkpoint}
sql "select count(*) from records" {checkpoint}
shell -s {checkpoint} find /
dump-log --offsets-decoder {offsets}/{segment}
kafka kafka-dump-log --offsets-decoder --files {offsets}/{segment}
groups list {offsets}
groups history g {offsets}
groups lag --all {offsets}
sql "select count(*) from records" {offsets}
export {offsets} --out {out}/offsets --format parquet
verify {offsets}
dump-log --transaction-log-decoder {transactions}/{segment}
sql "select count(*) from records" {transactions}
dump-log --share-group-state-decoder {share}/{segment}
sql "select count(*) from records" {share}
"""


class Found(NamedTuple):
    """One run of a command."""

    status: int
    wall_s: float
    cpu_s: float
    mib: float
    stderr: str


def area_of(key: bytes | None, value: bytes | None, most: int) -> tuple[bytes, int]:
    """The records of a batch, at most so many, and how many there is room for."""
    tail = b"".join(b"\1" if part is None else encode_varint(len(part)) + part for part in (key, value)) + b"\0"
    area = bytearray()
    for number in range(most):
        if len(area) > AREA_MAX:
            return bytes(area), number
        body = b"\0\0" + encode_varint(number) + tail
        area += encode_varint(len(body)) + body
    return bytes(area), most


def batch_of(base_offset: int, area: bytes, count: int, codec_id: int) -> bytes:
    rest = struct.pack(">hiqqqhii", codec_id, count - 1, TIME_MS, TIME_MS, -1, -1, -1, count) + compress(codec_id, area)
    return struct.pack(">qiibI", base_offset, 9 + len(rest), 1, 2, crc32c(rest)) + rest


def made_files(records: int, codec_id: int) -> Path:
    """The folder of the files, which are made once, by a process of its own: a command begins with the size of who starts it."""
    top = bench_directory() / f"large-batches-{records}-{CODEC_NAMES[codec_id]}"
    if not (top / "complete").exists():
        maker = Process(target=_make_files, args=(top, records, codec_id))
        maker.start()
        maker.join()
    return top


def _make_files(top: Path, records: int, codec_id: int) -> None:
    for name, (key, value) in LOGS.items():
        area, count = area_of(key, value, records)
        (top / name).mkdir(parents=True, exist_ok=True)
        (top / name / SEGMENT).write_bytes(batch_of(0, area, count, codec_id))
        if name == "__cluster_metadata-0":
            header = write_control_bodies(0, [(SNAPSHOT_HEADER, SnapshotHeaderRecord())], TIME_MS, leader_epoch=1)
            footer = write_control_bodies(1 + count, [(SNAPSHOT_FOOTER, SnapshotFooterRecord())], TIME_MS, leader_epoch=1)
            name = checkpoint_name(OffsetAndEpoch(count + 2, 1))
            (top / name).write_bytes(header + batch_of(1, area, count, codec_id) + footer)
            (top / "checkpoint").symlink_to(name)
    (top / "complete").touch()


def words_of(line: str) -> tuple[list[str], str | None]:
    """The words of a command line and the file that is its standard input."""
    words = shlex.split(line)
    return (words[: words.index("<")], words[-1]) if "<" in words else (words, None)


def run(line: str, interrupt_after_s: float = 0.0) -> Found:
    """Run a command to its end, or up to SIGINT at that time: the wall time counts from there then."""
    words, stdin = words_of(line)
    with open(stdin or os.devnull, "rb") as source, tempfile.TemporaryFile() as stderr, open(os.devnull, "wb") as nowhere:
        child = subprocess.Popen(
            [sys.executable, "-m", "metashell", *words], stdin=source, stdout=nowhere, stderr=stderr, start_new_session=True
        )
        sampler = MemorySampler(child.pid)
        sampler.start()
        started = time.perf_counter()
        if interrupt_after_s:
            time.sleep(interrupt_after_s)
            started = time.perf_counter()
            os.killpg(child.pid, signal.SIGINT)
        _, wait_status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(wait_status)
        stderr.seek(0)
        text = stderr.read().decode(errors="replace").strip()
    return Found(child.returncode, wall_s, usage.ru_utime + usage.ru_stime, max(sampler.stop(), usage.ru_maxrss) / 1024, text)


def troubles(whole: Found, broken_off: Found, left: Sequence[str]) -> list[str]:
    """What is beyond a limit."""
    found = []
    if whole.mib > MIB_MAX:
        found.append(f"above {MIB_MAX} MiB")
    if whole.status not in (0, 1):
        found.append(f"status {whole.status}: {whole.stderr[-100:]}")
    if broken_off.status not in (130, whole.status):
        found.append(f"SIGINT: status {broken_off.status}, {broken_off.stderr[-200:]!r}")
    if broken_off.wall_s > ANSWER_MAX_S:
        found.append(f"SIGINT: above {ANSWER_MAX_S:g} s")
    if broken_off.status == 130 and broken_off.stderr.count("\n"):
        found.append(f"SIGINT: {broken_off.stderr[-200:]!r}")
    if broken_off.status == 130 and left:
        found.append(f"SIGINT left {' '.join(left)}")
    return found


def measure(line: str) -> bool:
    """Run a command twice and print its figures; return whether it kept within the limits."""
    with tempfile.TemporaryDirectory() as out:
        whole = run(line.replace("{out}", out))
        for path in Path(out).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        broken_off = run(line.replace("{out}", out), whole.wall_s / 2)
        left = [str(path.relative_to(out)) for path in Path(out).rglob("*") if path.is_file()]
        # What lies in a hidden folder looks like no result: from there an export goes on.
        found = troubles(whole, broken_off, [path for path in left if "/." not in path])
    shown = line.replace(str(bench_directory()), "..")
    answer = f"{broken_off.wall_s:6.2f} s" if broken_off.status == 130 else "   ended"
    print(f"{whole.mib:6.0f} MiB {whole.cpu_s:7.1f} s CPU {answer}  {shown}  {'; '.join(found)}", flush=True)
    return not found


def main(words: Sequence[str]) -> int:
    numbers = [int(word) for word in words if word.isdigit()]
    chosen = [word for word in words if word in CODEC_NAMES] or list(CODEC_NAMES)
    texts = [word for word in words if word not in CODEC_NAMES and not word.isdigit()]
    is_met = True
    # What a shell starts in the background ignores it, and so would the commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for codec in chosen:
        top = made_files(numbers[0] if numbers else RECORDS, CODEC_NAMES.index(codec))
        print(f"\n{codec}: memory, CPU, and the time from SIGINT to the end", flush=True)
        places = {word: str(top / name) for word, name in zip(("metadata", "offsets", "transactions", "share"), LOGS, strict=True)}
        places |= {"checkpoint": str((top / "checkpoint").resolve()), "segment": SEGMENT, "out": "{out}"}
        for line in COMMANDS.strip().splitlines():
            if all(text in line for text in texts):
                is_met &= measure(line.format(**places))
    return 0 if is_met else 1
