"""Rounds: who is measured when, and what becomes of one that cannot run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench as bench_module
from benchmarks import servers
from benchmarks.bench import Bench
from benchmarks.cases import peers
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.measuring import Failed
from benchmarks.options import Options

RATES = {
    "benchmarks.ours": 2000.0,
    "benchmarks.peers.celery_chain": 400.0,
    "benchmarks.peers.naive": 160.0,
    "benchmarks.peers.procrastinate_jobs": 100.0,
}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a bench whose servers and measurements are made up."""

    @contextmanager
    def server(*_: Any) -> Iterator[str]:
        yield "made-up://"

    monkeypatch.setattr(servers, "postgresql", server)
    monkeypatch.setitem(servers.BROKERS, "rabbitmq", server)
    return Bench(Options(cases=("throughput",), rounds=2, orders=1000))


def measured(
    monkeypatch: pytest.MonkeyPatch, failing: Mapping[str, Exception]
) -> list[tuple[str, ...]]:
    asked: list[tuple[str, ...]] = []

    def measure(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> dict:
        asked.append(tuple(words))
        if words[0] in failing:
            raise failing[words[0]]
        memory = {"memory_mb": {"worker": [50.0]}, "cpu_ms_per_order": {"worker": 1.0}}
        return {"per_second": RATES[words[0]], **memory}

    monkeypatch.setattr(bench_module, "measure", measure)
    return asked


def test_a_peer_that_cannot_run_is_null_and_named_and_the_rest_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = Unavailable("dbos is not installed")
    asked = measured(monkeypatch, {"benchmarks.peers.dbos_queue": missing})

    found = peers.throughput(bench)

    assert found["throughput"] == {
        "ours": 2000.0,
        "ours_one_scheduler": 2000.0,
        "celery_chain": 400.0,
        "naive": 160.0,
        "naive_as_installed": 160.0,
        "dbos": None,
        "procrastinate": 100.0,
    }
    assert found["ratios"] == {
        "throughput/ours_one_scheduler": 1.0,
        "throughput/celery_chain": 5.0,
        "throughput/naive": 12.5,
        "throughput/naive_as_installed": 12.5,
        "throughput/dbos": None,
        "throughput/procrastinate": 20.0,
    }
    assert bench.missing == {"throughput: dbos": "dbos is not installed"}
    assert bench.wrong == []
    # Interleaved, each with its share of the orders; who could not run is not asked again.
    first = [
        ("benchmarks.ours", "throughput", "1000"),
        ("benchmarks.ours", "throughput", "1000"),
        ("benchmarks.peers.celery_chain", "throughput", "200"),
        ("benchmarks.peers.naive", "throughput", "100"),
        ("benchmarks.peers.naive", "throughput", "40"),
        ("benchmarks.peers.dbos_queue", "throughput", "60"),
        ("benchmarks.peers.procrastinate_jobs", "throughput", "100"),
    ]
    assert asked == first + [words for words in first if "dbos" not in words[0]]
    assert "dbos: none. dbos is not installed" in capsys.readouterr().err


#: Ours, with two scheduler processes and with one.
OURS = ["throughput: ours", "throughput: ours_one_scheduler"]


@pytest.mark.parametrize(
    ("module", "error", "wrong"),
    [
        ("benchmarks.peers.celery_chain", Wrong("9 of 10"), ["throughput: celery_chain: 9 of 10"]),
        ("benchmarks.peers.celery_chain", Failed("exit code 1"), []),
        ("benchmarks.ours", Wrong("9 of 10"), [f"{one}: 9 of 10" for one in OURS]),
        ("benchmarks.ours", Failed("exit code 1"), [f"{one}: exit code 1" for one in OURS]),
        ("benchmarks.ours", Unavailable("no PostgreSQL"), []),
    ],
)
def test_what_fails_the_run(
    module: str, error: Exception, wrong: list[str], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, {module: error, "benchmarks.peers.dbos_queue": Unavailable("")})

    peers.throughput(bench)

    assert bench.wrong == wrong


def test_peers_that_were_not_asked_for_are_not_measured(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.options = Options(cases=(), rounds=1, orders=1000, peers=("naive",))
    asked = measured(monkeypatch, {})

    found = peers.throughput(bench)

    assert found["throughput"] == {"ours": 2000.0, "naive": 160.0}
    assert found["ratios"] == {"throughput/naive": 12.5}
    assert [words[0] for words in asked] == ["benchmarks.ours", "benchmarks.peers.naive"]
