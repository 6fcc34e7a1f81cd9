"""Running the same verb on several connections at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import connections

from workers.store.locked import load


def race(verbs: list[Callable[[], Any]]) -> list[Any]:
    """Run each verb in a thread with a connection of its own; return results or exceptions."""
    results: list[Any] = [None] * len(verbs)
    begin = threading.Barrier(len(verbs))

    def run(place: int, verb: Callable[[], Any]) -> None:
        try:
            begin.wait(10)
            results[place] = verb()
        except Exception as error:  # the test looks at it
            results[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(place, verb)) for place, verb in enumerate(verbs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    return results


@contextmanager
def meeting_before_the_write(
    monkeypatch: pytest.MonkeyPatch, parties: int, seconds: float = 0.5
) -> Iterator[Callable[[], None]]:
    """Have every thread wait, between its reading and its write, for the others to have read.

    With the guards in place the others cannot get that far and the wait ends by itself.  Yields
    the wait, for a thread that reads nothing.
    """
    meeting = threading.Barrier(parties)
    real = load.write_part

    def meet() -> None:
        with suppress(threading.BrokenBarrierError):
            meeting.wait(seconds)

    def write(*args: Any, **kwargs: Any) -> Any:
        meet()
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(load, "write_part", write)
        yield meet
