"""metashell verify: checks what Kafka left on disk, and gives the digest of an image."""

from __future__ import annotations

from metashell.cli.common import declared_tool
from metashell.options.verify_tools import VERIFY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

NAME = "metashell verify"


def _verify(values: SimpleNamespace) -> int:
    """Check what the command line names."""
    from metashell.codec.uris import shown_uri
    from metashell.errors import UsageError
    from metashell.forms import standard_output
    from metashell.progress import shown_while
    from metashell.verify import VerifyOptions, run_verify

    if values.start_safe and (values.deep or values.digest is not None):
        raise UsageError("--start-safe does not go with --deep or --digest", "--start-safe")
    if values.release is not None and not values.start_safe:
        raise UsageError("--release needs --start-safe", "--release")

    options = VerifyOptions(
        paths=tuple(map(shown_uri, values.paths)),
        deep=values.deep,
        digest=values.digest is not None,
        digest_offset=values.digest if isinstance(values.digest, int) else None,
        start_safe=values.start_safe,
        release=values.release,
        config=values.config,
        output=values.output,
        verbose=values.verbose,
        max_decompressed=values.max_decompressed,
    )
    with shown_while("verifying"):
        return run_verify(options, standard_output())


main = declared_tool(NAME, VERIFY, _verify)
