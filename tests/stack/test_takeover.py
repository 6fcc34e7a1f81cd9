"""Signals, sudden death of the stack itself, and what the next one in the folder does."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from sasproject.stack import leftovers, processes
from tests.programs import ROOT, until

from .fakes import STUBBORN, alive

Host = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def host(tmp_path) -> Iterator[Host]:
    hosts: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        hosts.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.stack.hosted", str(tmp_path)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return hosts[-1]

    yield start
    for process in hosts:
        process.kill()
        process.communicate()
    leftovers.end(tmp_path, patience=0.1)


def ready(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_sigterm_ends_everything(host, tmp_path):
    stack = host()
    assert ready(stack) == "ready, ended 0"
    assert len(processes.marked(tmp_path)) == 3
    stack.terminate()
    assert stack.wait(5) == 0
    assert processes.marked(tmp_path) == []


def test_nothing_outlives_a_killed_stack(host, tmp_path):
    stack = host()
    ready(stack)
    pids = processes.marked(tmp_path)
    stack.kill()
    until(lambda: not any(alive(pid) for pid in pids), 5)
    assert (tmp_path / "stack.json").exists()


def test_the_next_stack_takes_over(host, tmp_path):
    first = host()
    ready(first)
    first.kill()
    first.wait()
    escaped = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", STUBBORN],
        env={**os.environ, processes.MARK: str(tmp_path)},
        stdout=subprocess.PIPE,
    )
    assert escaped.stdout is not None
    escaped.stdout.readline()
    second = host()
    assert ready(second).startswith("ready, ended ")
    assert escaped.wait(5) == -signal.SIGKILL
    escaped.stdout.close()
    second.terminate()
    assert second.wait(5) == 0


def test_others_are_left_alone(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"],
        env={**os.environ, processes.MARK: str(tmp_path / "other")},
    )
    try:
        until(lambda: processes.marked(tmp_path / "other") == [other.pid])
        assert leftovers.end(tmp_path, patience=0.1) == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_second_stack_in_the_folder_is_refused(host, folder):
    second = host()
    _, said = second.communicate(timeout=10)
    assert second.returncode == 1
    assert f"A stack is already running in {folder.path} (process {os.getpid()})" in said
    folder.release()
    assert ready(host()) == "ready, ended 0"
