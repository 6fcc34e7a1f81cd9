"""kombu's Redis transport, mended where a lost broker would end the worker.

When the connection breaks, Celery 5.7 first collects it, which forgets the connection's
parameters, and then closes its channels, which would give unacknowledged messages back to
the broker and fails for want of those parameters with an AttributeError that nobody
expects.  It is told as the lost connection that it is; Celery then reconnects.  The messages
come back after their visibility timeout, and their rows do not wait for them.

A server that is demoted, as in a failover by Sentinel, answers and cannot serve: it refuses the
reads that wait ("UNBLOCKED") and every write ("READONLY").  kombu takes the one for an error that
nobody expects, which ends the worker, and the other for one of its channel.  Both are a lost
connection here: the worker connects again until the address leads to a primary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis
from redis import exceptions

#: What a server says that cannot serve for the time being, whatever it is asked.
_CANNOT_SERVE = (
    *(exceptions.ReadOnlyError, exceptions.MasterDownError, exceptions.ClusterDownError),
)


@contextmanager
def _lost_if_refused() -> Iterator[None]:
    """Tell of a read that the server refuses as of a lost connection."""
    try:
        yield
    except exceptions.ResponseError as error:
        raise exceptions.ConnectionError(f"the broker does not serve: {error}") from error


class Channel(redis.Channel):
    def close(self) -> None:
        try:
            super().close()
        except AttributeError as error:
            if self.connection is not None and self.connection.client is None:
                raise ConnectionError(
                    "the broker went away with messages unacknowledged"
                ) from error
            raise

    def _brpop_read(self, **options: Any) -> Any:
        with _lost_if_refused():
            return super()._brpop_read(**options)  # type: ignore[misc]

    def _receive_one(self, c: Any) -> Any:
        with _lost_if_refused():
            return super()._receive_one(c)  # type: ignore[misc]


class Transport(redis.Transport):
    Channel = Channel
    connection_errors = (*redis.Transport.connection_errors, *_CANNOT_SERVE)
