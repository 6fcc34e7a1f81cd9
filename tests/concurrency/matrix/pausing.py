"""Two connections, each in a thread of its own, and a gate at which one of them waits."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections

from workers.store.db import dialect

#: A verb that has not ended by then never will.
LONGEST_SECONDS = 20
#: How often is looked whether a session waits for the other's lock.
LOOK_SECONDS = 0.002


class Gate:
    """Lets a connection run to its n-th statement, and then wait until it is opened."""

    def __init__(self, after: int | None) -> None:
        #: What it has let through, in order.
        self.statements: list[str] = []
        self.is_reached = threading.Event()
        self._after = after
        self._opened = threading.Event()

    def __call__(self, execute: Callable, text: Any, *words: Any) -> Any:
        result = execute(text, *words)
        self.statements.append(str(text))
        if len(self.statements) == self._after:
            if pipeline := getattr(connection.connection, "_pipeline", None):
                # Else it is only sent by now, and has taken no lock.
                pipeline.sync()
            self.is_reached.set()
            self._opened.wait(LONGEST_SECONDS)
        return result

    def open(self) -> None:
        self._opened.set()


class Turn:
    """One call of a verb: what it returned or raised, once it is over."""

    def __init__(self, verb: Callable[[], Any], after: int | None = None) -> None:
        self.verb = verb
        self.gate = Gate(after)
        self.result: Any = None
        self.is_over = threading.Event()

    def run(self) -> None:
        try:
            with connection.execute_wrapper(self.gate):
                self.result = self.verb()
        except Exception as error:  # whoever asked looks at it
            self.result = error
        finally:
            self.gate.is_reached.set()
            self.is_over.set()


class Session:
    """A thread with a connection to the database, which takes one turn after another."""

    def __init__(self) -> None:
        self._turns: queue.Queue[Turn | None] = queue.Queue()
        self._ready = threading.Event()
        self.pid = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self._ready.wait(LONGEST_SECONDS)

    def begin(self, turn: Turn) -> None:
        self._turns.put(turn)

    def close(self) -> None:
        self._turns.put(None)
        self._thread.join(LONGEST_SECONDS)

    def _work(self) -> None:
        # What is written here need not survive a crash of the server.
        dialect.fetch("SELECT set_config('synchronous_commit', 'off', false)")
        self.pid = dialect.fetch("SELECT pg_backend_pid()")[0][0]
        self._ready.set()
        while (turn := self._turns.get()) is not None:
            turn.run()
        connections.close_all()

    def waits_for_a_lock(self) -> bool:
        return bool(dialect.fetch("SELECT pg_blocking_pids(%s) <> '{}'", [self.pid])[0][0])


@contextmanager
def two_sessions() -> Iterator[tuple[Session, Session]]:
    """Yield two sessions of the database, in which verbs may meet."""
    pair = Session(), Session()
    yield pair
    for session in pair:
        session.close()


def one_after_the_other(session: Session, *verbs: Callable[[], Any]) -> list[Turn]:
    """Run verbs in one session; return their turns."""
    turns = [Turn(verb) for verb in verbs]
    for turn in turns:
        session.begin(turn)
        if not turn.is_over.wait(LONGEST_SECONDS):
            raise TimeoutError("a verb by itself has not ended")
    return turns


def meet(
    sessions: tuple[Session, Session],
    first: Callable[[], Any],
    second: Callable[[], Any],
    after: int,
) -> tuple[Turn, Turn]:
    """Run ``second`` while ``first`` waits after its n-th statement.

    The first goes on once the second is over, or is found to wait for the first's lock.
    """
    turns = Turn(first, after), Turn(second)
    sessions[0].begin(turns[0])
    if not turns[0].gate.is_reached.wait(LONGEST_SECONDS):
        raise TimeoutError("the first verb has come to no statement")
    sessions[1].begin(turns[1])
    end = time.monotonic() + LONGEST_SECONDS
    while not turns[1].is_over.wait(LOOK_SECONDS) and time.monotonic() < end:
        if sessions[1].waits_for_a_lock():
            break
    turns[0].gate.open()
    for turn in turns:
        if not turn.is_over.wait(LONGEST_SECONDS):
            raise TimeoutError("two verbs wait for each other")
    return turns
