"""Two hosts in DATABASE_URL: the one that answers and accepts writes is used."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.acceptance.system import System
from tests.services import own_postgres_database, own_rabbitmq_vhost

pytestmark = pytest.mark.slow
ORDERS = 8


@pytest.fixture
def system(tmp_path) -> Iterator[System]:
    with socket.socket() as dead, own_postgres_database() as url, own_rabbitmq_vhost() as broker:
        # Bound and not listening: connections are refused.
        dead.bind(("127.0.0.1", 0))
        host = urlsplit(url).netloc.rpartition("@")[2]
        both = url.replace(f"@{host}", f"@127.0.0.1:{dead.getsockname()[1]},{host}")
        with System(tmp_path, DATABASE_URL=both, BROKER_URL=broker) as system:
            system.manage("migrate", "-v", "0")
            system.manage("seed_demo")
            yield system


def test_every_order_ends_with_the_first_host_down(system):
    system.end_orders(ORDERS)
