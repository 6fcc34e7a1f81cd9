"""A run's figures, made up: what the report's tests show."""

from typing import Any

from benchmarks import bars, result


def found(**measured: Any) -> dict[str, Any]:
    """Return the JSON of a run on PostgreSQL and RabbitMQ in which only this was measured."""
    whole = {
        **result.empty(),
        **measured,
        "on": "postgresql+rabbitmq",
        "is_quick": True,
        "conditions": "four steps",
        "machine": {
            "cores": 2,
            "model": "A <fast> CPU",
            "memory_gb": 4,
            "system": "Linux 6",
            "python": "3.11.7",
            "at": "2026-01-02T03:04:05+00:00",
            "packages": {"Django": "5.2", "dbos": None},
            "servers": {"postgresql": {"fsync": "on"}, "rabbitmq": "3.10", "redis": None},
        },
        "missing": measured.get("missing", {}),
        "notes": [],
        "wrong": measured.get("wrong", []),
        "rounds": [],
    }
    return {**whole, "bars": bars.judge(whole)}
