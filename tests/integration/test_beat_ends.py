"""Beat ends when it is told to, whatever it is doing."""

import signal
import threading
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from celery.beat import Service
from celery.signals import beat_init

from sasproject.celery import app
from workers.celery import hooks

BOTH = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in BOTH}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_it_is_told_so_by_a_hook_of_ours():
    assert any(receiver.__wrapped__ is hooks.end_at_once for _, receiver in beat_init.receivers)


@pytest.mark.parametrize("number", BOTH)
def test_in_the_middle_of_a_publication_it_gives_the_lock_back_and_closes_then(number):
    """The scheduler's lock stands for that of a connection, which its close needs, too."""
    lock = threading.Lock()

    class Publishing:
        max_interval = 60.0

        def tick(self) -> float:
            with lock:
                signal.raise_signal(number)
            return 60.0

        def close(self) -> None:
            assert lock.acquire(timeout=0), "closed in the middle of a publication"
            lock.release()

    service = Service(app=app)
    service.__dict__["scheduler"] = Publishing()
    hooks.end_at_once(service)
    with pytest.MonkeyPatch.context() as patch:
        # Neither the database nor a broker is asked here.
        patch.setattr("celery.beat.signals.beat_init", Mock())
        service.start()
    assert service._is_stopped.is_set()
