"""What a web process does after its answer: soon, not at once, and never lost without a word."""

import logging
import threading
import time

import pytest

from orders.later import TRIES, Full, Later

# The thread closes its own connection; none of these asks the database.
pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_put_is_done_in_order_after_its_delay():
    done: list[tuple[int, float]] = []
    over = threading.Event()
    one = Later(delay=0.2)
    began = time.monotonic()

    for n in range(3):
        one.put("test", lambda n=n: done.append((n, time.monotonic())))
    one.put("test", over.set)

    assert over.wait(10)
    assert [n for n, _ in done] == [0, 1, 2]
    assert done[0][1] - began >= 0.2
    one.end()


def test_later_refuses_work_when_its_queue_is_full():
    free = threading.Event()
    one = Later(most=2, delay=0)
    one.put("test", free.wait)
    while one._waiting.qsize():
        time.sleep(0.01)
    for _ in range(2):
        one.put("test", print)

    with pytest.raises(Full):
        one.put("test", print)

    free.set()
    one.end()


def test_what_fails_is_tried_again_and_then_given_up_in_the_log(caplog):
    tries, given_up = [], threading.Event()

    def fails() -> None:
        tries.append(1)
        raise ConnectionRefusedError("no mail server")

    one = Later(delay=0, retry=0)
    one.put("mail", fails)
    one.put("others", lambda: None)
    while not [r for r in caplog.records if r.levelno == logging.ERROR]:
        assert not given_up.wait(0.01)
    one.end()

    assert len(tries) == TRIES
    assert [r.message for r in caplog.records] == ["later_failed"] * TRIES


def test_later_end_does_waiting_work_and_logs_count_of_lost_work(caplog):
    done = []
    one = Later(delay=60)
    one.put("test", lambda: done.append(1))
    one.end()
    assert done == [1], "nobody waits out a delay at the end"
    assert not caplog.records

    hangs = threading.Event()
    other = Later(delay=0)
    other.put("test", hangs.wait)
    other.put("test", print)
    other.put("test", print)
    time.sleep(0.1)
    other.end(seconds=0.1)
    (lost,) = caplog.records
    assert (lost.message, lost.count) == ("later_lost", 2)  # type: ignore[attr-defined]
    hangs.set()
