"""Requests to undo under concurrency: of two decisions one counts, and none outruns a move."""

from typing import Any

import pytest

from tests.admin.conftest import order_in_error
from tests.concurrency.racing import meeting_before_the_write, race
from tests.factories import put
from workers.client import operations
from workers.exceptions import StateError
from workers.models import Journal, Process, Step, UndoRequest
from workers.rules.approved_acts import Act
from workers.store.operate import undo_requests

pytestmark = pytest.mark.django_db(transaction=True)
ANN: dict[str, Any] = {"actor": "operator:ann", "reason": "sent twice"}


@pytest.fixture
def failed() -> Process:
    process = order_in_error().process
    put(
        Step.objects.filter(process=process, name="reserve_stock"),
        may_have_effect=True,
        undo={"name": "release_stock", "agent": "stock.release"},
    )
    return process


def count(process: Process, event: str) -> int:
    return Journal.objects.filter(process=process, step=None, event=event).count()


@pytest.mark.fault("F40")
def test_of_approvals_at_once_one_undoes(failed, monkeypatch):
    number = undo_requests.ask(failed.pk, Act("cancel"), **ANN)

    def approve(who: str) -> Any:
        return undo_requests.decide(number, is_approved=True, actor=f"operator:{who}")

    with meeting_before_the_write(monkeypatch, 3):
        results = race([lambda who=who: approve(who) for who in ("bob", "eve", "joe")])

    refused = [one for one in results if isinstance(one, StateError)]
    assert len(refused) == 2, results
    assert all("has been decided by operator:" in str(one) for one in refused)
    assert count(failed, "compensating") == count(failed, "undo_approved") == 1
    assert Step.objects.filter(process=failed, undoes__isnull=False).count() == 1


@pytest.mark.fault("F40")
def test_an_approval_and_a_move_at_once_come_one_after_the_other(failed, monkeypatch):
    number = undo_requests.ask(failed.pk, Act("cancel"), **ANN)

    with meeting_before_the_write(monkeypatch, 2):
        decided, moved = race(
            [
                lambda: undo_requests.decide(number, is_approved=True, actor="operator:bob"),
                lambda: operations.resubmit(failed.pk, actor="operator:eve", reason="again"),
            ]
        )

    row = UndoRequest.objects.get(pk=number)
    if isinstance(moved, StateError):
        assert (row.state, count(failed, "compensating")) == ("approved", 1)
        assert decided.refusal is None
    else:
        assert (row.state, count(failed, "compensating")) == ("declined", 0)
        assert decided.refusal.code == "undo_moved"


@pytest.mark.fault("F40")
def test_of_requests_at_once_one_waits(failed):
    def ask(who: str) -> int:
        return undo_requests.ask(failed.pk, Act("cancel"), actor=f"operator:{who}", reason="r")

    results = race([lambda who=who: ask(who) for who in ("ann", "bob", "eve")])

    assert [type(one) for one in results].count(StateError) == 2, results
    assert UndoRequest.objects.count() == count(failed, "undo_asked") == 1
