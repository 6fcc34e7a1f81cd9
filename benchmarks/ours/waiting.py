"""How long one order takes when nothing else is there."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from benchmarks import figures, processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from workers.models import Process
from workers.submission import submit

#: Orders that are not counted: connections are made, caches filled.
WARMING = 10
PAUSE_SECONDS = 0.02
LIMIT_SECONDS = 30

#: Tells a listener once the commit that ends an order is there, so that nobody has to poll.
_TRIGGER = """
CREATE FUNCTION bench_tell() RETURNS trigger AS $$
BEGIN PERFORM pg_notify('bench', NEW.id::text); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE TRIGGER bench_tell AFTER UPDATE OF finished_at ON workers_process FOR EACH ROW
WHEN (NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL) EXECUTE FUNCTION bench_tell();
"""


def latency(folder: Path, orders: str, workflow: str = "bench_line") -> dict[str, float]:
    """Submit one order at a time to idle workers; count until its end can be seen."""
    running.prepare()
    found = []
    with _watching() as wait_for_end, processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        for number in range(int(orders) + WARMING):
            began = time.perf_counter()
            process = submit(workflow, subject=f"one {number}", input={})
            wait_for_end(process.pk)
            found.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_SECONDS)
    running.check(int(orders) + WARMING)
    return figures.spread(found[WARMING:])


@contextmanager
def _watching() -> Iterator[Callable[[int], None]]:
    if connection.vendor != "postgresql":
        yield _poll
        return
    with connection.cursor() as cursor:
        cursor.execute(_TRIGGER)
    listener = connection.get_new_connection(connection.get_connection_params())
    listener.autocommit = True
    listener.execute("LISTEN bench")

    def wait_for_end(process_id: int) -> None:
        # The first one waits for the workers, too.
        for told in listener.notifies(timeout=LIMIT_SECONDS):
            if told.payload == str(process_id):
                return
        raise Wrong(f"order {process_id} has no end after {LIMIT_SECONDS} s")

    try:
        yield wait_for_end
    finally:
        listener.close()


def _poll(process_id: int) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not Process.objects.filter(pk=process_id, finished_at__isnull=False).exists():
        if time.monotonic() > end:
            raise Wrong(f"order {process_id} has no end after {LIMIT_SECONDS} s")
        time.sleep(0.001)
