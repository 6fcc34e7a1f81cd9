"""A verb wakes somebody where it has changed something, and once that is committed."""

import threading

import pytest
from django.db import transaction

from workers.wire import dispatch, wake_ups


@pytest.mark.parametrize(("result", "is_woken"), [(True, True), (None, True), (False, False)])
def test_a_verb_that_changed_nothing_wakes_nobody(result, is_woken):
    woken: list[int] = []
    verb = wake_ups.waking(lambda: woken.append(1), lambda number: (number, result)[1])

    assert verb(3) is result
    assert bool(woken) is is_woken


@pytest.mark.django_db(transaction=True)
def test_a_hint_leaves_once_its_rows_are_committed_and_hurts_nobody():
    sent: list[int] = []

    def send() -> None:
        sent.append(1)
        raise OSError("no broker")

    # Not what the wire of tests has put there.
    with transaction.atomic():
        wake_ups._send_on_commit(send)
        assert sent == []

    assert sent == [1]


@pytest.mark.parametrize(("first", "second"), [(60, 0.01), (0.01, 60)])
def test_the_sooner_of_two_appointments_is_kept(first, second):
    came = threading.Event()
    timer = dispatch._WakeUpTimer(came.set)

    timer.set(first)
    timer.set(second)

    assert came.wait(10)
