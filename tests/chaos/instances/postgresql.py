"""A private PostgreSQL cluster."""

import os
import pwd
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.chaos.chronicle import Chronicle
from tests.chaos.instances.server import HOST, NotHere, Server

#: The system's own login: no superuser, so that the observer gets in when it fills every place.
ROLE = "shop"
DATABASE = "shop"
MAX_CONNECTIONS = 100
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": str(MAX_CONNECTIONS),
    "shared_buffers": "64MB",
    # Small, for the run on a small disk.  What makes a commit durable stays as it is.
    "min_wal_size": "32MB",
    "max_wal_size": "64MB",
}


def programs() -> Path:
    """Return the folder of PostgreSQL's programs; raise ``NotHere`` without them."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"),
        key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0,
    )
    if found:
        return found[-1].parent
    if path := shutil.which("postgres"):
        return Path(path).parent
    raise NotHere("no PostgreSQL server programs (Debian: postgresql)")


class PostgreSQL(Server):
    name = "postgresql"

    def __init__(self, folder: Path, chronicle: Chronicle) -> None:
        self.programs = programs()
        self.user = _unprivileged()
        super().__init__(folder, chronicle)
        self.data = self.folder / "data"

    def prepare(self) -> None:
        """Make the cluster, start it, and make the system's login and database."""
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        words = [
            *(str(self.programs / "initdb"), "-D", str(self.data), "-U", "postgres"),
            *("--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"),
        ]
        done = (
            subprocess.run(
                words, cwd="/", user=self.user, extra_groups=[], capture_output=True, check=False
            )
            if self.user
            else subprocess.run(words, cwd="/", capture_output=True, check=False)
        )
        if done.returncode:
            raise NotHere(f"initdb failed: {done.stderr.decode()[-500:]}")
        self.start()
        with self.connect("postgres") as admin:
            admin.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
            admin.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")

    def argv(self) -> list[str]:
        settings = [part for name in SETTINGS for part in ("-c", f"{name}={SETTINGS[name]}")]
        words = [str(self.programs / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        return [*words, *settings]

    def url(self, port: int) -> str:
        return f"postgres://{ROLE}@{HOST}:{port}/{DATABASE}"

    def connect(self, database: str = DATABASE, role: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(
            host=HOST, port=self.port, user=role, dbname=database, autocommit=True,
            connect_timeout=2, options="-c statement_timeout=5000",
        )  # fmt: skip

    def answers(self) -> bool:
        with suppress(psycopg.Error):
            self.connect("postgres").close()
            return True
        return False


def _unprivileged() -> str | None:
    """Return who runs the server: it refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise NotHere("no user but root to run PostgreSQL as")
