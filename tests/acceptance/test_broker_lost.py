"""The broker dies while a worker holds messages: the worker lives on and goes on."""

import subprocess
import time
from collections.abc import Iterator

import pytest

from sasproject.stack.broker import PrivateBroker, find_server
from tests.acceptance.system import System, set_faults
from tests.programs import until

pytestmark = pytest.mark.slow


@pytest.fixture
def broker(tmp_path) -> Iterator["Broker"]:
    server = find_server()
    if server is None:
        pytest.skip("no Valkey or Redis server on this machine")
    broker = Broker(PrivateBroker.in_folder(server, tmp_path))
    broker.start()
    yield broker
    broker.kill()


class Broker:
    def __init__(self, private: PrivateBroker) -> None:
        self.private = private

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.private.argv, stdout=subprocess.DEVNULL, start_new_session=True
        )
        until(self._answers, 10)

    def _answers(self) -> bool:
        try:
            return self.private.answers()
        except OSError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@pytest.mark.fault("F11", database="SQLite", broker="Redis")
def test_a_worker_survives_a_broker_that_dies_under_load(broker, tmp_path):
    database = f"sqlite:///{tmp_path / 'db.sqlite3'}"
    with System(tmp_path, DATABASE_URL=database, BROKER_URL=broker.private.url) as system:
        system.manage("migrate", "-v", "0")
        system.manage("seed_demo")
        set_faults(system.sandbox(), "shipping", latency_seconds=1.5)
        system.start("worker", "-m", "celery", "-A", "sasproject", "worker", "-l", "INFO")
        system.start("beat", "-m", "celery", "-A", "sasproject", "beat", "--pidfile=")
        system.place(20)
        time.sleep(2)

        for _ in range(2):
            broker.kill()
            time.sleep(2)
            broker.start()
            time.sleep(2)

        assert system.processes["worker"].poll() is None, system.log("worker")
        until(lambda: system.states()["states"] == {"processed": 20}, 60)
