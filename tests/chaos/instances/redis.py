"""A private Redis or Valkey server, which keeps what it confirmed."""

from contextlib import suppress
from pathlib import Path

import redis

from sasproject.stack.broker import find_server
from tests.chaos.chronicle import Chronicle
from tests.chaos.instances.server import HOST, NotHere, Server

OPTIONS = {
    "bind": HOST,
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "daemonize": "no",
}


class Redis(Server):
    name = "redis"

    def __init__(self, folder: Path, chronicle: Chronicle) -> None:
        program = find_server()
        if program is None:
            raise NotHere("no Redis or Valkey server program (Debian: redis-server)")
        self.program = program
        super().__init__(folder, chronicle)

    def prepare(self) -> None:
        self.start()

    def argv(self) -> list[str]:
        options = {**OPTIONS, "port": str(self.port), "dir": str(self.folder)}
        return [self.program, *(part for name in options for part in (f"--{name}", options[name]))]

    def url(self, port: int) -> str:
        return f"redis://{HOST}:{port}/0"

    def client(self) -> redis.Redis:
        return redis.Redis(host=HOST, port=self.port, socket_timeout=3, socket_connect_timeout=2)

    def answers(self) -> bool:
        with suppress(redis.RedisError), self.client() as client:
            return bool(client.ping())
        return False
