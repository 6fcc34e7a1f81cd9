"""kombu's Redis transport, fixed where a lost broker would end the worker.

When the connection breaks, Celery 5.7 first collects it, which drops the connection's
parameters, and then closes its channels, which would return unacknowledged messages to the
broker and fails without those parameters with an AttributeError that is caught nowhere.  Here
it becomes a connection error, and Celery reconnects.  The messages come back after their
visibility timeout, and their rows do not wait for them.

A demoted server, as in a failover by Sentinel, answers and cannot serve: it refuses blocked reads
("UNBLOCKED") and every write ("READONLY").  kombu does not catch the first, which ends the worker,
and takes the second for an error of its channel.  Both are a lost connection here: the worker
reconnects until the address leads to a primary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis
from redis import exceptions

#: Errors of a server that cannot serve any command for the time being.
_CANNOT_SERVE = (
    *(exceptions.ReadOnlyError, exceptions.MasterDownError, exceptions.ClusterDownError),
)


@contextmanager
def _lost_if_refused() -> Iterator[None]:
    """Turn a read that the server refuses into a lost connection."""
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
