from collections.abc import Iterator
from pathlib import Path

import pytest

from orders.sandbox.server import Sandbox
from tests.sandbox.caller import Caller


@pytest.fixture
def store(tmp_path) -> Path:
    return tmp_path / "sandbox.sqlite3"


@pytest.fixture
def caller(store) -> Iterator[Caller]:
    with Sandbox(store) as sandbox:
        yield Caller(sandbox.url)
