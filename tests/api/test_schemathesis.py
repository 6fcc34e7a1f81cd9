"""The API keeps to its published description, whatever is sent: cases made by Schemathesis.

Each operation gets what the description allows and what it does not, with a good token.
``SEED`` and the number of examples are fixed: the same cases on every machine.
"""

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, seed, settings
from schemathesis import GenerationMode

from orders.api import reading
from orders.models import ApiClient
from tests.api.conftest import BODY

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "reference" / "openapi.json"
SEED = 20_260_301
EXAMPLES = 40
CONFIG = {
    # Parameters of a query that nobody knows are left unread.
    "generation": {"mode": "all", "allow-extra-parameters": False},
    # No description can say which skus are sold, or that one of three fields is to be sent.
    "checks": {"positive_data_acceptance": {"enabled": False}},
}

schema = schemathesis.openapi.from_path(PUBLISHED, config=schemathesis.Config.from_dict(CONFIG))
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def placed(transactional_db, acme, monkeypatch) -> str:
    """The id of an order of a client that may ask as often as it likes; nobody sleeps."""
    ApiClient.objects.update(requests_per_minute=1_000_000)
    clock = SimpleNamespace(monotonic=count().__next__, sleep=lambda seconds: None)
    monkeypatch.setattr(reading, "time", clock)
    found: str = acme.place("there").json()["id"]
    return found


@pytest.mark.volume
@schema.parametrize()
@seed(SEED)
@settings(
    max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
def test_every_answer_is_one_that_is_described(case, acme, placed, live_server):
    headers = {"Authorization": f"Bearer {acme.token}"}
    if _is_allowed(case, "path") and "public_id" in case.path_parameters:
        case.path_parameters["public_id"] = placed
    if _is_allowed(case, "body") and case.operation.label == "POST /api/v1/orders":
        case.body["lines"] = BODY["lines"]
    case.call_and_validate(base_url=live_server.url, headers=headers)


def _is_allowed(case: Any, part: str) -> bool:
    """Say whether a part of a case is as the description has it."""
    return any(
        location.name.lower().startswith(part) and info.mode == GenerationMode.POSITIVE
        for location, info in case.meta.components.items()
    )
