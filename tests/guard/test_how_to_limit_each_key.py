"""The page on limits for each key: its code is run, and does what it says."""

import re
from pathlib import Path
from typing import Any

import pytest

from workers import NewProcess, submit_many
from workers.definitions import registry
from workers.models import LiveStep, Process
from workers.supervisor import beat_schedule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "limit-each-key.md"


@pytest.fixture
def page(db, monkeypatch) -> dict[str, Any]:
    monkeypatch.setattr(registry, "_workflows", dict(registry._workflows))
    monkeypatch.setattr(registry, "_agents", dict(registry._agents))
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block, names)
    beat_schedule.ensure_flow()
    return names


def test_charges_of_one_customer_follow_one_another(page, wire, clock):
    for customer in (7, 7, 8):
        page["renew"](customer)

    wire.run_until_settled(clock)

    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}


def test_imports_of_one_customer_follow_one_another(page, wire, clock):
    submit_many("import", [NewProcess("C 7", {}, attributes={"customer": 7})] * 2)

    wire.run_until_settled(clock)

    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
    assert not LiveStep.objects.exists()
