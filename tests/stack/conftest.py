"""Runners in a folder of the test's own, ended whatever the test does."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sasproject.stack.console import Console
from sasproject.stack.exceptions import StackError
from sasproject.stack.folder import RunFolder
from sasproject.stack.role import Role
from sasproject.stack.runner import Runner

MakeRunner = Callable[..., Runner]


@pytest.fixture
def folder(tmp_path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path)
    folder.claim()
    yield folder
    folder.release()


@pytest.fixture
def make_runner(folder) -> Iterator[MakeRunner]:
    runners: list[Runner] = []

    def make(*roles: Role, console: Console | None = None, **options: Any) -> Runner:
        runner = Runner(
            roles, folder, console or Console(None), **{"start_timeout": 10.0, **options}
        )
        runners.append(runner)
        return runner

    yield make
    for runner in runners:
        with contextlib.suppress(StackError):
            runner.stop(at_once=True)
