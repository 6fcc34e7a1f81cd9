"""Notes the outcome of every test that is marked with a fault; loaded by the runner alone.

``FAULT_RESULTS`` is the file that results are appended to, one JSON object a line.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

#: What a parametrised test is called after, where that is a broker.
BROKERS = {
    "rabbitmq": "RabbitMQ",
    "redis": "Redis",
    "valkey": "Redis",
    "filesystem": "files",
    "memory": "memory",
}
DATABASES = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    report = yield
    marks = list(item.iter_markers("fault"))
    is_last_word = report.when == "call" or (report.when == "setup" and not report.passed)
    if marks and is_last_word:
        results = [
            {
                "row": mark.args[0],
                "test": item.nodeid,
                "outcome": report.outcome,
                "seconds": round(report.duration, 3),
                "database": mark.kwargs.get("database")
                or named(item.name, DATABASES)
                or DATABASES[connection.vendor],
                "broker": mark.kwargs.get("broker") or named(item.name, BROKERS) or "in memory",
            }
            for mark in marks
        ]
        with Path(os.environ["FAULT_RESULTS"]).open("a") as file:
            file.writelines(f"{json.dumps(result)}\n" for result in results)
    return report


def named(name: str, known: dict[str, str]) -> str | None:
    """Return what a test's parameter says, as in ``test_x[postgresql+rabbitmq]``."""
    given = name.partition("[")[2]
    return next((shown for key, shown in known.items() if key in given), None)
