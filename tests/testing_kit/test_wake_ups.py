"""Wake-ups of verbs in a test: at once where only the test's own transaction is open."""

import pytest
from django.db import transaction

import workers
from workers.wire import dispatch


def test_a_verb_wakes_at_once_where_nothing_will_be_committed(wire):
    process = workers.submit("toy_line", subject="Toy 1", input={})

    workers.cancel(process.pk, actor="ann", reason="why")

    assert len(wire.of(dispatch.ADVANCE)) == 1


@pytest.mark.django_db(transaction=True)
def test_a_verb_wakes_once_the_application_has_committed(wire):
    process = workers.submit("toy_line", subject="Toy 1", input={})
    wire.drop_all()

    with transaction.atomic():
        workers.cancel(process.pk, actor="ann", reason="why")
        assert wire.messages == []

    assert len(wire.of(dispatch.ADVANCE)) == 1


def test_a_wake_up_of_before_the_block_is_taken_by_the_scheduler(wire):
    """It is sent by a thread, which may send once the wire is there."""
    process = workers.submit("toy_line", subject="Toy 1", input={})
    wire.drop_all()
    wire.take(dispatch.TAKE, ["sas.agents"], "sas.agents")

    wire.run_until_idle()

    assert set(wire.states(process).values()) == {"processed"}
