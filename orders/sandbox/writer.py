"""The single thread that writes the store, in batches of one commit each.

A commit waits for the disk.  Calls that arrive meanwhile share the next one, so durability costs
little speed; and because one thread runs them in turn, concurrent calls with the same key need no
other lock.
"""

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar, cast

T = TypeVar("T")
Entry = tuple[Callable[[sqlite3.Connection], object], "Future[object]"]

LARGEST_BATCH = 200
IDLE_SECONDS = 0.5


class StoreClosed(Exception):
    """The work came after ``close``; nothing of it is stored."""


class Writer:
    """Runs work in the store's transactions.

    ``every_batch`` runs inside each of them, and twice a second if there is no work.
    """

    def __init__(
        self, path: Path, schema: tuple[str, ...], every_batch: Callable[[sqlite3.Connection], None]
    ) -> None:
        self._every_batch = every_batch
        self._entries: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._open = True
        self._gate = threading.Lock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA busy_timeout = 5000")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        for statement in schema:
            self._connection.execute(statement)
        self._thread = threading.Thread(target=self._write, name="sandbox-writer", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run the work and return its result once it is on the disk.

        Raises the exception of the work or the commit; nothing of that batch is stored then.
        """
        future: Future[object] = Future()
        with self._gate:
            if not self._open:
                raise StoreClosed
            self._entries.put((work, future))
        return cast(T, future.result())

    def close(self) -> None:
        """Finish the queued work and close the store."""
        with self._gate:
            if not self._open:
                return
            self._open = False
            self._entries.put(None)
        self._thread.join()

    def _write(self) -> None:
        is_closing = False
        while not is_closing:
            batch, is_closing = self._next_batch()
            self._commit(batch)
        self._connection.close()

    def _next_batch(self) -> tuple[list[Entry], bool]:
        batch: list[Entry] = []
        try:
            entry = self._entries.get(timeout=IDLE_SECONDS)
            while entry is not None:
                batch.append(entry)
                if len(batch) == LARGEST_BATCH:
                    return batch, False
                entry = self._entries.get_nowait()
        except queue.Empty:
            return batch, False
        return batch, True

    def _commit(self, batch: list[Entry]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            results = [work(self._connection) for work, _ in batch]
            self._every_batch(self._connection)
            self._connection.execute("COMMIT")
        except Exception as problem:  # noqa: BLE001 (passed to the callers)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            for _, future in batch:
                future.set_exception(problem)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)
