"""The database and broker of a system under test, by name."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.services import own_postgres_database, own_rabbitmq_vhost, own_redis_database


@contextmanager
def backends(pair: str, folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment for a pair such as ``postgresql+rabbitmq`` or ``sqlite+filesystem``."""
    database, broker = pair.split("+")
    with ExitStack() as stack:
        urls = {"DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}", "BROKER_URL": ""}
        if database == "postgresql":
            urls["DATABASE_URL"] = stack.enter_context(own_postgres_database())
        if broker == "redis":
            urls["BROKER_URL"] = stack.enter_context(own_redis_database())
        if broker == "rabbitmq":
            urls["BROKER_URL"] = stack.enter_context(own_rabbitmq_vhost())
        yield urls
