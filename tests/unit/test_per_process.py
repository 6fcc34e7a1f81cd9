import os
from collections.abc import Callable

import pytest

from workers.runtime.per_process import per_process


@pytest.fixture
def make() -> Callable[[str], object]:
    @per_process
    def made(name: str) -> object:
        return object()

    return made


def test_an_object_is_made_once_for_its_arguments(make):
    assert make("a") is make("a")
    assert make("a") is not make("b")


def test_a_forked_process_makes_its_own(make, monkeypatch):
    parents = make("a")
    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert make("a") is not parents
    assert make("a") is make("a")
