"""The roles of this system: its processes and how each is run."""

import hashlib
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sasproject.stack import probes
from sasproject.stack.announce import READY_LINE
from sasproject.stack.broker import PrivateBroker
from sasproject.stack.ports import HOST
from sasproject.stack.role import Role
from workers.celery.queues import agent_queues

BASE_DIR = Path(__file__).resolve().parent.parent.parent

SCHEDULER_QUEUES = "sas.scheduler,sas.supervisor,sas.reports"
#: Time for a worker's calls to end when the stack ends; after that they are released.
SHUTDOWN_SECONDS = "8"


class Roles:
    """Creates the roles, all with the same environment."""

    def __init__(self, env: Mapping[str, str], run_dir: Path) -> None:
        self._env = env
        # Node names must differ between stacks that share a broker.
        self._run_id = hashlib.sha256(str(run_dir).encode()).hexdigest()[:6]

    def broker(self, broker: PrivateBroker) -> Role:
        return Role(
            "broker", broker.argv, self._env, probe=broker.answers, first=True, stage=5, grace=10
        )

    def sandbox(self, port: int) -> Role:
        return Role(
            "sandbox",
            _python("manage.py", "sandbox", "--port", str(port)),
            self._env,
            cwd=BASE_DIR,
            probe=partial(probes.answers, port, "/healthz"),
            stage=4,
            grace=5,
        )

    def scheduler(self) -> Role:
        return self._worker("scheduler", SCHEDULER_QUEUES, stage=3)

    def agents(self) -> Role:
        return self._worker("agents", ",".join(agent_queues()), stage=2)

    def beat(self) -> Role:
        return Role(
            "beat",
            _python("-m", "celery", "-A", "sasproject", "beat", "--pidfile="),
            self._env,
            cwd=BASE_DIR,
            # Printed just before it reads the schedule, whatever the log level.
            ready_line="LocalTime ->",
            stage=1,
        )

    def web(self, port: int) -> Role:
        # Other options are in gunicorn.conf.py, as in production.
        options = {
            "--bind": f"{HOST}:{port}",
            "--graceful-timeout": "5",
            "--log-level": "warning",
        }
        return Role(
            "web",
            _python(
                "-m",
                "gunicorn",
                "sasproject.wsgi:application",
                *(part for option in options.items() for part in option),
            ),
            self._env,
            cwd=BASE_DIR,
            probe=partial(probes.answers, port, "/livez", "/readyz"),
            grace=10,
        )

    def consumer(self) -> Role:
        return Role(
            "consumer",
            _python("manage.py", "consume_submissions"),
            self._env,
            cwd=BASE_DIR,
            ready_line="consuming orders.submissions",
        )

    def watch(self) -> Role:
        return Role(
            "watch",
            _python("manage.py", "sas", "watch"),
            self._env,
            cwd=BASE_DIR,
            ready_line="watching",
        )

    def _worker(self, name: str, queues: str, *, stage: int) -> Role:
        env = {"SAS_SHUTDOWN_SECONDS": SHUTDOWN_SECONDS, **self._env}
        return Role(
            name,
            _python(
                *("-m", "celery", "-A", "sasproject", "worker"),
                *("-Q", queues),
                *("-n", f"{name}-{self._run_id}@%h"),
                *("-c", "2"),
                *("--include", "sasproject.stack.announce"),
                "--without-gossip",
                "--without-mingle",
            ),
            env,
            cwd=BASE_DIR,
            ready_line=READY_LINE,
            stage=stage,
            # Further time to release the remaining calls.
            grace=float(env["SAS_SHUTDOWN_SECONDS"]) + 12,
        )


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)
