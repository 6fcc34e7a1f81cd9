"""The desk's part of the test wire: its tasks, and the messages to routes."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from workers.desk import wake_ups
from workers.desk.notify.incident_sender import senders
from workers.desk.operate import jobs
from workers.testing.wire import Wire, extend_wire


@extend_wire
@contextmanager
def _extend(wire: Wire) -> Iterator[None]:
    wire.tasks[wake_ups.RUN_JOBS.task] = jobs.run
    wire.not_carried |= {wake_ups.KEEP_HEALTH.task, wake_ups.EXAMINE.task}
    recorders = dict.fromkeys(senders, wire.told_of_incidents.append)
    with mock.patch.dict(senders, recorders):
        yield
