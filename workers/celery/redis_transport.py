"""kombu's Redis transport, mended where a lost broker would end the worker.

When the connection breaks, Celery 5.7 first collects it, which forgets the connection's
parameters, and then closes its channels, which would give unacknowledged messages back to
the broker and fails for want of those parameters with an AttributeError that nobody
expects.  It is told as the lost connection that it is; Celery then reconnects.  The messages
come back after their visibility timeout, and their rows do not wait for them.
"""

from kombu.transport import redis


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


class Transport(redis.Transport):
    Channel = Channel
