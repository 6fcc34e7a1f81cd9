"""The page on submitting once: its code is run, and its debounce loses no change."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory

from workers.definitions import registry
from workers.definitions.workflow import Workflow, step
from workers.models import Process
from workers.supervisor import beat_schedule
from workers.testing import frozen_clock, scripted

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "submit-once.md"


@pytest.fixture
def page(db, monkeypatch) -> dict[str, Any]:
    monkeypatch.setattr(registry, "_workflows", dict(registry._workflows))
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block.replace("search.index", "toy.alpha"), names)
    registry.register_workflow(Workflow("send_invoice", 1, (step("send", "toy.alpha"),)))
    beat_schedule.ensure_flow()
    return names


def test_view_that_is_asked_again_answers_with_the_first_process(page):
    def ask(key: str) -> tuple[int, bytes]:
        answer = page["send"](RequestFactory().post("/", headers={"Idempotency-Key": key}), 7)
        return answer.status_code, answer.content

    first, again, other = ask("a"), ask("a"), ask("b")

    assert [status for status, _ in (first, again, other)] == [201, 200, 201]
    assert first[1] == again[1] != other[1]


def test_changes_run_once_after_the_last_and_one_during_the_run_runs_again(page, wire):
    runs = []

    def index(call):
        runs.append(clock.now)
        if len(runs) == 1:
            page["changed"](7)
        return {}

    with frozen_clock() as clock, scripted({"toy.alpha": [index, index]}):
        began = clock.now
        for _ in range(3):
            page["changed"](7)
            wire.run_for(clock, seconds=20)
        wire.run_until_settled(clock)

    assert [int((at - began).total_seconds()) // 10 for at in runs] == [7, 10]
    states = Process.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["cancelled", "cancelled", "processed", "processed"]
