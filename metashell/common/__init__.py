"""Values, errors, forms of output, declared options and settings, for every wing. Nothing here knows a log, an image or a cluster.

- `values` has ids, uuids, times and sizes; `errors` the families of errors.
- `forms` writes text, JSON, CSV and tables; `terminal` makes text safe for a terminal, colours it and shows progress; `html_page` writes
  HTML.
- `options` declares command lines and converts their values; `option_parser` parses our own and renders their help; `kafka_options` does
  both by the rules of Kafka's tools.
- `command` runs a command: streams, errors in one line, exit statuses. `uris` cuts credentials from the URIs of stores.
- `settings` reads the configuration file of a user.

Every start pays for what is imported here, so the modules import little, and late what only some commands need."""

import sys

if sys.platform == "win32":
    # Before any other import, since some of them fail there.
    from metashell.common.runtime import refuse_windows

    refuse_windows()
