"""A real metadata directory that ships with the package, opened by `--demo`.

A controller of Kafka 4.3.1 wrote it; see SOURCE. It was copied under the running node, so it holds records after its newest
checkpoint, of which nobody can say whether they were committed.
"""

import os


def demo_directory() -> str:
    """The path of the log directory that ships with the package."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
