"""Ours, as the regimes see it: the commands of *Run it in production*, settings that ship."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.ours import environment  # noqa: F401  (first)

# isort: split
from django.db import connection
from django.db.models import Count, Max, Min

from benchmarks.ours import running
from benchmarks.ours.again import again
from benchmarks.processes import Fleet
from benchmarks.system import Progress, System
from workers.client.submission import submit
from workers.models import Process

WORKFLOW = os.environ.get("BENCH_WORKFLOW", "bench_line")

#: Tells a listener once the commit that ends an order is there, so that nobody has to poll.
_TRIGGER = """
CREATE FUNCTION bench_tell() RETURNS trigger AS $$
BEGIN PERFORM pg_notify('bench', NEW.subject); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE TRIGGER bench_tell AFTER UPDATE OF finished_at ON workers_process FOR EACH ROW
WHEN (NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL) EXECUTE FUNCTION bench_tell();
"""


class Ours(System):
    def prepare(self) -> None:
        running.prepare()

    def start(self, fleet: Fleet) -> None:
        running.start(fleet)

    def fill(self, orders: int) -> None:
        running.fill(WORKFLOW, orders)
        running.analyze()

    def submitter(self) -> Callable[[int], object]:
        return lambda number: submit(WORKFLOW, subject=str(number), input={})

    def progress(self) -> Progress:
        found = Process.objects.aggregate(
            ended=Count("finished_at"), begin=Min("started_at"), end=Max("finished_at")
        )
        begin, end = found["begin"], found["end"]
        return Progress(found["ended"], begin and begin.timestamp(), end and end.timestamp())

    def ends(self) -> Iterator[int]:
        with connection.cursor() as cursor:
            cursor.execute(_TRIGGER)
        listener = connection.get_new_connection(connection.get_connection_params())
        listener.autocommit = True
        listener.execute("LISTEN bench")
        return (int(told.payload) for told in listener.notifies())

    def check(self, orders: int) -> dict[str, Any]:
        found = running.check(orders)
        connection.close()
        return found

    def so_far(self) -> dict[str, Any]:
        found = again()
        connection.close()
        return found


SYSTEM = Ours()
