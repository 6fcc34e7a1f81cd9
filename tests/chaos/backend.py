"""A pair of database and broker of the run's own, with the network to them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.chronicle import Chronicle
from tests.chaos.instances import small_disk
from tests.chaos.instances.postgresql import PostgreSQL
from tests.chaos.instances.rabbitmq import RabbitMQ
from tests.chaos.instances.redis import Redis
from tests.chaos.instances.server import Server
from tests.chaos.proxy import Proxy

DATABASES = ("postgresql", "sqlite")
BROKERS = ("rabbitmq", "redis", "filesystem")
SERVERS = {"postgresql": PostgreSQL, "rabbitmq": RabbitMQ, "redis": Redis}


@dataclass
class Backend:
    """The servers of a pair by name, and the proxies before them."""

    pair: str
    folder: Path
    servers: dict[str, Server]
    proxies: dict[str, Proxy]

    @property
    def database(self) -> str:
        return self.pair.partition("+")[0]

    @property
    def broker(self) -> str:
        return self.pair.partition("+")[2]

    @property
    def sqlite_path(self) -> Path:
        return self.folder / "shop.sqlite3"

    @property
    def postgresql(self) -> PostgreSQL:
        found = self.servers["postgresql"]
        assert isinstance(found, PostgreSQL)
        return found

    @property
    def rabbitmq(self) -> RabbitMQ:
        found = self.servers["rabbitmq"]
        assert isinstance(found, RabbitMQ)
        return found

    @property
    def redis(self) -> Redis:
        found = self.servers["redis"]
        assert isinstance(found, Redis)
        return found

    def environment(self, *, past_proxies: bool = False) -> dict[str, str]:
        """Return where database and broker are, for the system or for a bystander."""
        urls = {"DATABASE_URL": f"sqlite:///{self.sqlite_path}", "BROKER_URL": ""}
        for name, server in self.servers.items():
            proxy = None if past_proxies else self.proxies.get(name)
            variable = "DATABASE_URL" if name == "postgresql" else "BROKER_URL"
            urls[variable] = server.url(proxy.port if proxy else server.port)
        return urls


@contextmanager
def running(
    pair: str,
    folder: Path,
    chronicle: Chronicle,
    *,
    with_proxies: bool,
    small_disks: frozenset[str] = frozenset(),
) -> Iterator[Backend]:
    """Yield a pair whose servers are up; raise ``NotHere`` where a program is missing."""
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        proxies = {}
        for name in pair.split("+"):
            if name not in SERVERS:
                continue
            server = SERVERS[name](folder, chronicle)
            if name in small_disks:
                stack.enter_context(small_disk.mounted(server.folder))
            stack.callback(server.close)
            server.prepare()
            servers[name] = server
            if with_proxies:
                proxies[name] = stack.enter_context(Proxy(server.port))
        yield Backend(pair, folder, servers, proxies)
