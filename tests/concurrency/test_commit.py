"""The connection breaks inside COMMIT: nobody knows whether it was done, and the rows say so."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from django.db import OperationalError, connection

from orders.models import Order, Product
from orders.submission import Customer, Line, place_order
from tests.integration.conftest import NOW, only
from workers.client.submission import submit
from workers.models import Journal, Process
from workers.ops import invariants
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps, release
from workers.store.db import transactions
from workers.store.settle import settle_replies
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault("F17")]
either = pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure_flow()


@contextmanager
def broken_commit(monkeypatch: pytest.MonkeyPatch, is_done: bool) -> Iterator[None]:
    """Have the next commit raise, before or after it was done, as a lost connection would."""
    real, real_along = connection._commit, transactions._commit
    raised = []

    def commit() -> None:
        if not raised:
            raised.append(True)
            if is_done:
                real()
            raise OperationalError("server closed the connection unexpectedly")
        real()

    def commit_along(pipeline: ExitStack) -> None:
        if not raised:
            raised.append(True)
            with pipeline:
                if is_done:
                    real_along(pipeline)
                raise OperationalError("server closed the connection unexpectedly")
        real_along(pipeline)

    with monkeypatch.context() as patch:
        patch.setattr(connection, "_commit", commit)
        patch.setattr(transactions, "_commit", commit_along)
        with pytest.raises(OperationalError, match="closed the connection"):
            yield
    assert raised


def work() -> tuple[Process, Reply]:
    """Return a process whose first step is at work, and the reply to it."""
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    found = claim_steps.claim_due({"toy.alpha"}, anywhere(), NOW)
    return process, Reply(found[0].step_id, found[0].claim_id, 1, result={"n": 1})


@either
def test_a_reply_handed_over_again_is_settled_once(monkeypatch, is_done):
    process, reply = work()
    room = anywhere()
    with broken_commit(monkeypatch, is_done):
        settle_replies.apply([reply], room.worker, NOW, own_room=room)

    # Started in the transaction nobody knows of, the next step is released for another claim.
    assert release.unbegun(room.delivery, room.begun, room.worker, NOW) == is_done
    again = settle_replies.apply([reply], room.worker, NOW, own_room=anywhere())

    assert (again.applied, again.stale) == ((0, 1) if is_done else (1, 0))
    assert only(process, "one").result == {"n": 1}
    assert Journal.objects.filter(process=process, event="processed").count() == 1
    claims = claim_steps.claim_due({"toy.beta"}, anywhere(), NOW) if is_done else again.claims
    assert [(claim.step, claim.in_doubt) for claim in claims] == [("two", False)]
    broken = {one.invariant for one in invariants.violations()}
    assert broken <= {"nothing_is_forgotten"}


@either
def test_an_order_sent_again_under_its_key_is_one(monkeypatch, is_done):
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=100)
    order = (Customer("Ann", "ann@example.org", "Street 1"), [Line("SKU-1", 2)])
    with broken_commit(monkeypatch, is_done):
        place_order(*order, submission_key="key-1", source="api")

    _, is_new = place_order(*order, submission_key="key-1", source="api")

    assert is_new is not is_done
    # With the notice to the buyer.
    assert (Order.objects.count(), Process.objects.count()) == (1, 2)
