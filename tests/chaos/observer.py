"""What can be seen from outside while it runs: the tables, by plain SQL past every proxy."""

import os
import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos.accepted import Register
from tests.chaos.chronicle import Chronicle, Sample
from tests.chaos.system import System

EVERY_SECONDS = 0.5
FINAL = ("processed", "compensated", "cancelled")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1024 / 1024

STATES = "SELECT state, count(*) FROM workers_process GROUP BY state"
ORDERS = (
    "SELECT o.number, p.state, EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id)"
    " FROM orders_order o JOIN workers_process p ON p.id = o.process_id"
)
#: What is not at rest: neither final nor an operator's.
MOVING = (
    "SELECT count(*) FROM workers_process p WHERE p.state NOT IN"
    " ('processed', 'compensated', 'cancelled') AND (p.state <> 'error' OR NOT EXISTS"
    " (SELECT 1 FROM workers_alert a WHERE a.process_id = p.id))"
)
#: An order in error whose other branch is still at work is not at rest, either.
CLAIMED = "SELECT count(*) FROM workers_step WHERE state = 'processing'"
EVENTS = "SELECT event, count(*) FROM workers_journal GROUP BY event"
#: Answers with "ok" alone, or with what is wrong.
INTEGRITY = "PRAGMA integrity_check"
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'shop'"


class Away(Exception):
    """The database does not answer the observer now."""


class Observer:
    """Takes a sample every half second; asks more when told to."""

    def __init__(self, system: System, chronicle: Chronicle, register: Register) -> None:
        self._system, self._chronicle, self._register = system, chronicle, register
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="observer", daemon=True)
        self.latest: Sample | None = None

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def orders(self) -> dict[int, tuple[str, bool]]:
        """Return state, and whether an operator was told, of every order; raise ``Away``."""
        return {int(row[0]): (str(row[1]), bool(row[2])) for row in self._rows(ORDERS)}

    def events(self) -> dict[str, int]:
        """Count the journal's rows by event; raise ``Away``."""
        return {str(event): int(count) for event, count in self._rows(EVENTS)}

    def is_at_rest(self) -> bool:
        """Say whether every order has ended or is an operator's.  False: the database is away."""
        try:
            return all(int(row[0]) == 0 for sql in (MOVING, CLAIMED) for row in self._rows(sql))
        except Away:
            return False

    def damages(self) -> list[str]:
        """Return what SQLite finds wrong with its file, or why it cannot be read.

        PostgreSQL looks after its own files, and is not asked.
        """
        if self._system.backend.database != "sqlite":
            return []
        try:
            found = [str(row[0]) for row in self._rows(INTEGRITY)]
        except Away as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def rows(self, sql: str) -> list[Any]:
        """Ask something else; raise ``Away``."""
        return list(self._rows(sql))

    def _watch(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            sample = self._look()
            self.latest = sample
            self._chronicle.sample(sample)

    def _look(self) -> Sample:
        states, connections = None, 0
        try:
            states = {str(state): int(count) for state, count in self._rows(STATES)}
            if self._system.backend.database == "postgresql":
                connections = int(self.rows(CONNECTIONS)[0][0])
        except Away:
            pass
        return Sample(
            self._chronicle.now(),
            states,
            len(self._register),
            round(sum(map(_memory_mb, self._pids())), 1),
            connections,
        )

    def _pids(self) -> Iterable[int]:
        for member in self._system.crew.members.values():
            yield from member.family()

    def _rows(self, sql: str) -> Iterable[Any]:
        backend = self._system.backend
        try:
            if backend.database == "sqlite":
                uri = f"{backend.sqlite_path.as_uri()}?mode=ro"
                with closing(sqlite3.connect(uri, uri=True, timeout=5)) as database:
                    return database.execute(sql).fetchall()
            with backend.postgresql.connect() as server:
                return server.execute(sql).fetchall()
        except (psycopg.Error, sqlite3.Error) as error:
            raise Away(str(error)) from error


def _memory_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MB
    except (OSError, IndexError):
        return 0.0
