"""No child is forked while a thread of its parent uses SQLite."""

import os
import threading

import pytest

from workers.runtime.db_connections import apart_from_forks


@pytest.mark.sqlite
def test_a_fork_waits_for_who_uses_sqlite():
    order: list[str] = []
    forking = threading.Event()

    def fork() -> None:
        forking.set()
        child = os.fork()
        if child == 0:
            os._exit(0)
        order.append("forked")
        os.waitpid(child, 0)

    thread = threading.Thread(target=fork)
    with apart_from_forks():
        thread.start()
        assert forking.wait(5)
        thread.join(0.2)
        order.append("used")
    thread.join(5)

    assert order == ["used", "forked"]
