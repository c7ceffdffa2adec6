"""Nothing depends on the order in which hashed collections happen to be."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.golden_cases import REPOSITORY

DIGEST = """
import hashlib
from tests.metadata.image.eager import plain
from tests.metadata.image.test_loader import load
from tests.metadata.image.test_writer import full_image
from tests.metadata.image.batches import batch, record, value

from metashell.metadata.image.writer import write_image

image = full_image()
topics = [record("TopicRecord", name=f"t{n}", topic_id=bytes([n + 50]) * 16) for n in range(40)]
partitions = [record("PartitionRecord", partition_id=n % 4, topic_id=bytes([n // 4 + 50]) * 16) for n in range(160)]
quotas = [record("ClientQuotaRecord", key=f"k{n % 5}", value=n) for n in range(20)]
configs = [record("ConfigRecord", resource_type=n % 2 * 2 + 2, resource_name=f"r{n % 7}", name=f"k{n}", value="v") for n in range(40)]
image = load(batch(*[body for body, _ in write_image(image)], *topics, *partitions, *quotas, *configs))
assert not image.faults, image.faults
print(hashlib.sha256(b"".join(value(body, version) for body, version in write_image(image))).hexdigest())
"""


@pytest.mark.slow
def test_an_image_is_written_in_the_same_order_under_every_hash_seed():
    digests = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)}
        answer = subprocess.run(
            [sys.executable, "-c", DIGEST], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr
        digests.add(answer.stdout)
    assert len(digests) == 1
