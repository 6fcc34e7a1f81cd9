"""A private RabbitMQ node."""

import ast
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import amqp

from tests.chaos.chronicle import Chronicle
from tests.chaos.instances.server import HOST, START_SECONDS, NotHere, Server, connects, free_port

EPMD_PORT = 4369
CTL_SECONDS = 60
#: `list_queues` leaves out those that hang.
NAMES = "[binary_to_list(Name) || {resource, _, queue, Name} <- rabbit_amqqueue:list_names()]."
#: How the chronicle names what RabbitMQ itself did not survive.
BEYOND_REPAIR = "beyond-repair"


def programs() -> Path:
    """Return the folder of RabbitMQ's programs; raise ``NotHere`` without them.

    Not what Debian puts on PATH: that refuses to run as anybody but its own user.
    """
    for folder in (Path("/usr/lib/rabbitmq/bin"), Path("/opt/homebrew/sbin")):
        if (folder / "rabbitmq-server").exists():
            return folder
    if path := shutil.which("rabbitmq-server"):
        return Path(path).parent
    raise NotHere("no RabbitMQ server programs (Debian: rabbitmq-server)")


class RabbitMQ(Server):
    name = "rabbitmq"

    def __init__(self, folder: Path, chronicle: Chronicle) -> None:
        self.programs = programs()
        super().__init__(folder, chronicle)
        self.node = f"chaos-{uuid.uuid4().hex[:8]}@localhost"
        self._dist_port = free_port()
        # A name server that we were the first to need goes again with us.
        self._had_names = connects(EPMD_PORT)

    def prepare(self) -> None:
        (self.folder / "enabled_plugins").write_text("[].\n")
        (self.folder / "rabbitmq.conf").write_text(f"listeners.tcp.1 = {HOST}:{self.port}\n")
        (self.folder / "env.conf").write_text("")
        self.start()

    def argv(self) -> list[str]:
        return [str(self.programs / "rabbitmq-server")]

    def env(self) -> Mapping[str, str]:
        return {
            **os.environ,
            # The cookie of this node's own lies there.
            "HOME": str(self.folder),
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            # Without it a shell stays in between, and the node outlives us when it is killed.
            "RUNNING_UNDER_SYSTEMD": "1",
            # One scheduler that never spins: the machine belongs to the system under test.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +sbwtdcpu none"
            " +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def revive(self) -> None:
        """Start it empty: a node whose disk was full may find its queues beyond repair."""
        self.kill()
        shutil.rmtree(self.folder / "mnesia", ignore_errors=True)
        self.chronicle.over(self.chronicle.strike(BEYOND_REPAIR, self.name, "started empty"))
        if not self._comes_up(START_SECONDS):
            super().revive()

    def url(self, port: int) -> str:
        return f"amqp://guest:guest@{HOST}:{port}//"

    def answers(self) -> bool:
        with suppress(OSError, amqp.exceptions.AMQPError), self.channel() as channel:
            # Before its queues are recovered it takes connections, too.
            channel.queue_declare("chaos.probe", durable=False, auto_delete=True, exclusive=True)
            return True
        return False

    @contextmanager
    def channel(self) -> Iterator[Any]:
        """Yield a channel straight to the node, past every proxy."""
        with amqp.Connection(
            host=f"{HOST}:{self.port}", connect_timeout=3, read_timeout=5, write_timeout=5
        ) as connection:
            yield connection.channel()

    def mend(self) -> None:
        """Do what an operator does about queues that hang: restart the node, else empty it."""
        if self._is_whole():
            return
        self.chronicle.over(self.chronicle.strike(BEYOND_REPAIR, self.name, "a queue hangs"))
        self.stop()
        self.start()
        if not self._is_whole():
            self.revive()

    def _is_whole(self) -> bool:
        """Say whether every queue answers: one whose process has died does not, and stays."""
        return all(self._answers_for(name) for name in self.queues())

    def _answers_for(self, queue: str) -> bool:
        try:
            with self.channel() as channel:
                channel.queue_declare(queue, passive=True)
        except amqp.exceptions.NotFound as error:
            # The same code says that there is no such queue, which is no harm.
            return "failed to perform" not in str(error)
        except amqp.exceptions.ResourceLocked:
            return True
        except (OSError, amqp.exceptions.AMQPError):
            return False
        return True

    def queues(self) -> list[str]:
        """Return the names of all queues, those that do not answer among them."""
        names = self.ctl("eval", NAMES)
        return list(ast.literal_eval(names))

    def ctl(self, *words: str) -> str:
        """Run `rabbitmqctl` on this node; return what it said."""
        done = subprocess.run(
            [str(self.programs / "rabbitmqctl"), "-n", self.node, *words],
            env=self.env(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=CTL_SECONDS,
            check=True,
        )
        return done.stdout

    def close(self) -> None:
        super().close()
        if not self._had_names and shutil.which("epmd"):
            # It refuses while another node is registered, which is right.
            subprocess.run(["epmd", "-kill"], capture_output=True, check=False)
