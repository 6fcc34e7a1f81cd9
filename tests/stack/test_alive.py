"""Each long-running process marks the file that its probe reads, and a frozen one does not."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.programs import ROOT
from workers import alive

from .test_loopback import environment, python

CELERY = (sys.executable, "-m", "celery", "-A", "sasproject")
COMMANDS = {
    "worker": (*CELERY, "worker", "-Q", "sas.scheduler", "-c", "1"),
    "beat": (*CELERY, "beat"),
    "consumer": (sys.executable, "manage.py", "consume_submissions"),
    "watch": (sys.executable, "manage.py", "sas", "watch"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("alive")
    assert python(path, "manage.py", "migrate", "-v", "0").returncode == 0
    return path


def test_each_role_is_alive_until_it_freezes(folder):
    marks = {role: folder / f"{role}.alive" for role in alive.ROLES}
    with ExitStack() as running:
        processes = [running.enter_context(_running(folder, role, marks[role])) for role in marks]
        _wait(folder, lambda: not any(alive.problem(role, str(marks[role])) for role in marks))
        first = {role: path.stat().st_mtime for role, path in marks.items()}
        _wait(folder, lambda: all(marks[role].stat().st_mtime > first[role] for role in marks))

        for process in processes:
            process.send_signal(signal.SIGSTOP)
        last = {role: path.stat().st_mtime for role, path in marks.items()}
        time.sleep(alive.MARK_SECONDS + 1)
        assert {role: path.stat().st_mtime for role, path in marks.items()} == last
        for role, path in marks.items():
            silent = alive.problem(role, str(path), last[role] + alive.SILENT_SECONDS + 1)
            assert "frozen or gone" in silent


@contextmanager
def _running(folder: Path, role: str, mark: Path) -> Iterator[subprocess.Popen[bytes]]:
    environ = environment(folder, SAS_ALIVE_FILE=str(mark))
    with (folder / f"{role}.log").open("wb") as log:
        process = subprocess.Popen(COMMANDS[role], cwd=ROOT, env=environ, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(folder: Path, is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > until:
            pytest.fail("\n".join(log.read_text() for log in folder.glob("*.log")))
        time.sleep(0.2)


def test_the_command_says_it_too(folder):
    path = folder / "told"
    path.write_text("watch 17\n")
    said = python(folder, "manage.py", "sas", "alive", "watch", SAS_ALIVE_FILE=str(path))
    assert (said.returncode, said.stdout) == (0, "The watch lives.\n"), said.stderr
    said = python(folder, "manage.py", "sas", "alive", "beat", SAS_ALIVE_FILE=str(path))
    assert said.returncode == 1
    assert "got one of a 'watch'" in said.stderr


def test_a_file_that_cannot_be_written_ends_a_worker_with_the_reason(folder):
    words = ("-m", "celery", "-A", "sasproject", "worker", "-Q", "sas.scheduler", "-c", "1")
    said = python(folder, *words, SAS_ALIVE_FILE="/nowhere/at/all")
    assert said.returncode == 1
    assert "SAS_ALIVE_FILE must name a file that this process may write" in said.stderr
