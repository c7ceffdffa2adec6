"""Times from numbers: Unix milliseconds to timestamps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TIME: Final = pa.timestamp("ms", "UTC")
_DAY_MS: Final = 86_400_000
EARLIEST_MS: Final = -62_135_596_800_000 + _DAY_MS
"""The second day of year 1: before that year neither Python nor SQL has a date, and readers show times in zones up to a day away."""
LATEST_MS: Final = 253_402_300_799_999 - _DAY_MS
"""The last day but one of year 9999."""
NO_TIME: Final = -1
"""What Kafka writes where there is no time."""


def times(numbers: pa.Array, none: int = NO_TIME) -> pa.Array:
    """Timestamps of Unix milliseconds; null for NO_TIME, `none` and what no calendar has. Bytes are copied only where some are null."""
    count = len(numbers)
    if numbers.null_count == count:
        return pa.nulls(count, TIME)
    values = numbers_of(numbers)
    if values.min() > max(NO_TIME, none) and values.max() <= LATEST_MS:
        return numbers.view(TIME)
    hidden = (values == NO_TIME) | (values == none) | (values < EARLIEST_MS) | (values > LATEST_MS)
    if not hidden.any():
        return numbers.view(TIME)
    # Values below a null stay within range too: some readers convert them all.
    kept = np.where(hidden, 0, values)
    if numbers.null_count:
        hidden |= np.asarray(numbers.is_null())
    return pa.array(kept, mask=hidden).view(TIME)


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array of integers, whatever lies below its nulls."""
    # Not by `to_pandas_dtype`, for which older releases of pyarrow want pandas.
    kind = np.dtype(f"{'u' if pa.types.is_unsigned_integer(array.type) else 'i'}{array.type.bit_width // 8}")
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(data, kind, len(array), kind.itemsize * array.offset)
