"""Each long-running process marks the file that its probe reads, and a frozen one does not."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from workers import alive

from .test_loopback import ROOT, environment, python

CELERY = (sys.executable, "-m", "celery", "-A", "sasproject")
COMMANDS = {
    "worker": (*CELERY, "worker", "-Q", "sas.scheduler", "-c", "1"),
    "beat": (*CELERY, "beat"),
    "consumer": (sys.executable, "manage.py", "consume_submissions"),
    "watch": (sys.executable, "manage.py", "sas", "watch"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alive")
    assert python(path, "manage.py", "migrate", "-v", "0").returncode == 0
    return path


@pytest.mark.parametrize("role", alive.ROLES)
def test_it_is_alive_until_it_freezes(folder: Path, role: str) -> None:
    path = folder / f"{role}.alive"
    environ = environment(folder, SAS_ALIVE_FILE=str(path))
    log = (folder / f"{role}.log").open("w+")
    process = subprocess.Popen(COMMANDS[role], cwd=ROOT, env=environ, stdout=log, stderr=log)
    try:
        _wait(log, lambda: not alive.problem(role, str(path)))
        first = path.stat().st_mtime
        _wait(log, lambda: path.stat().st_mtime > first)

        process.send_signal(signal.SIGSTOP)
        last = path.stat().st_mtime
        time.sleep(alive.MARK_SECONDS + 1)
        assert path.stat().st_mtime == last
        assert "frozen or gone" in alive.problem(role, str(path), last + alive.SILENT_SECONDS + 1)
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(log: TextIO, is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > until:
            log.seek(0)
            pytest.fail(log.read())
        time.sleep(0.2)


def test_the_command_says_it_too(folder: Path) -> None:
    path = folder / "told"
    path.write_text("watch 17\n")
    said = python(folder, "manage.py", "sas", "alive", "watch", SAS_ALIVE_FILE=str(path))
    assert (said.returncode, said.stdout) == (0, "The watch lives.\n"), said.stderr
    said = python(folder, "manage.py", "sas", "alive", "beat", SAS_ALIVE_FILE=str(path))
    assert said.returncode == 1
    assert "got one of a 'watch'" in said.stderr


def test_a_file_that_cannot_be_written_ends_a_worker_with_the_reason(folder: Path) -> None:
    words = ("-m", "celery", "-A", "sasproject", "worker", "-Q", "sas.scheduler", "-c", "1")
    said = python(folder, *words, SAS_ALIVE_FILE="/nowhere/at/all")
    assert said.returncode == 1
    assert "SAS_ALIVE_FILE must name a file that this process may write" in said.stderr
