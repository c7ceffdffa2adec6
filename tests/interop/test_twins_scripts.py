"""What random histories have found, or hardly find: the same requests to a real controller of Kafka and to ours."""

from __future__ import annotations

import os

import pytest

from metashell.codec.registry import message_type
from tests.interop.real_controllers import RealControllers
from tests.interop.twin_history import known_fields
from tests.interop.twin_pair import EQUAL, InProcess, Twins
from tests.interop.twin_scripts import LARGE, SCRIPTS
from tests.quorum.controller.golden import told

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> RealControllers:
    return RealControllers(tmp_path_factory.mktemp("real"))


def test_each_script_is_answered_and_written_alike(pool: RealControllers) -> None:
    differing = {}
    for name, script in SCRIPTS.items():
        if name in LARGE and not os.environ.get("METASHELL_SOAK"):
            continue
        twins = Twins(pool, InProcess, script.kind, script.settings)
        try:
            for api, version, fields, *principal in script.asked:
                message = message_type("request", f"{api}Request")
                fields = known_fields(message, message.schema, fields, version)
                twins.send(api, version, fields, principal=principal[0] if principal else None)
        finally:
            twins.close()
        differing.update({f"{name} {outcome.n}": told(outcome) for outcome in twins.outcomes if outcome.verdict not in EQUAL})

    assert not differing, "\n".join(f"{name}: {text}" for name, text in differing.items())
