"""People in a run: what they aim at, what they are told, and that nobody stays paused."""

import io
import json
import sys
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from orders.sandbox.server import Sandbox
from tests.chaos.observer import Away
from tests.chaos.people import desk_process, people
from tests.chaos.people.people import People, Target
from tests.chaos.test_books import rows
from tests.integration.conftest import flow_rows
from tests.integration.test_shop_undo import order, run
from tests.sandbox.caller import Caller
from workers import scheduler
from workers.models import Process, Step

__all__ = ["flow_rows", "order"]


def meddlers(sandbox_url: str, ask: Any) -> People:
    system: Any = SimpleNamespace(sandbox_url=sandbox_url)
    return People(system, SimpleNamespace(rows=ask), 7)  # type: ignore[arg-type]


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **asked: Any) -> Any:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(asked) + "\n"))
    monkeypatch.setattr(desk_process.django, "setup", lambda: None)
    # Its connection is the test's own.
    monkeypatch.setattr("django.db.close_old_connections", lambda: None)
    desk_process.main()
    return json.loads(capsys.readouterr().out)


@pytest.mark.django_db
def test_chaos_people_find_paused_order(wire, order):
    found = meddlers("", rows)
    wanted = {people.AT_WORK, people.IN_ERROR, people.UNDONE, people.PAUSED}

    assert [sql for sql in wanted if found._look(sql)] == []
    step = Step.objects.get(name="reserve_stock")
    scheduler.advance()
    wire.deliver_all("workers.take")
    Process.objects.update(paused_at=step.turn)

    (paused,) = found._look(people.PAUSED)
    assert (paused.number, paused.process, paused.source) == (
        order.number,
        order.process_id,
        "shop",
    )
    assert paused.public_id == str(order.public_id)
    assert found._choose(people.UNDONE, Random(1)) is None


def test_who_cannot_see_the_rows_does_nothing():
    def away(sql: str) -> list[Any]:
        raise Away("gone")

    assert meddlers("", away)._look(people.AT_WORK) == []


def test_an_event_tells_the_truth(tmp_path):
    target = Target(7, 7, "charge_payment", "k1", "", "api")
    with Sandbox(tmp_path / "ledger.sqlite3") as service:
        found = meddlers(service.url, None)
        assert not found._has_effect(target)
        Caller(service.url).post("/payment/charge", "k1", order=7, amount="5.00")
        assert found._has_effect(target)
    assert not found._has_effect(target)


@pytest.mark.django_db
def test_an_operator_is_told_whether_it_was_done(wire, sandbox, order, monkeypatch, capsys):
    target = {"number": order.number, "process": order.process_id, "step": "", "yes": True}
    assert "paused" in said(monkeypatch, capsys, verb="pause", **target)["done"]
    assert "already" in said(monkeypatch, capsys, verb="pause", **target)["refused"]
    assert "done" in said(monkeypatch, capsys, verb="resume", **target)
    run(wire)
    again = {**target, "step": "charge_payment"}
    assert said(monkeypatch, capsys, verb="event", **again) == {"refused": "repeated"}
    assert "refused" in said(monkeypatch, capsys, verb="event", **{**again, "yes": False})
    assert "refused" in said(monkeypatch, capsys, verb="cancel", **target)
