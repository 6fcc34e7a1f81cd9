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
    "benchmarks.peers.dbos_queue": 1000.0,
    "benchmarks.peers.absurd_tasks": 100.0,
    "benchmarks.peers.pgqueuer_jobs": 100.0,
    "benchmarks.peers.procrastinate_jobs": 100.0,
}


@pytest.fixture
def bench(monkeypatch) -> Bench:
    """Return a bench whose servers and measurements are made up."""

    @contextmanager
    def server(*_: Any) -> Iterator[str]:
        yield "made-up://"

    monkeypatch.setattr(servers, "postgresql", server)
    monkeypatch.setitem(servers.BROKERS, "rabbitmq", server)
    return Bench(Options(cases=("filled",), rounds=2, orders=1000))


def measured(
    monkeypatch: pytest.MonkeyPatch, failing: Mapping[str, Exception]
) -> list[tuple[str, ...]]:
    asked: list[tuple[str, ...]] = []

    def measure(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> dict:
        asked.append(tuple(words))
        if words[0] in failing:
            raise failing[words[0]]
        memory = {"memory_mb": {"worker": [50.0]}, "cpu_ms_per_order": {"worker": 1.0}}
        time = {"per_second": RATES[words[0]], "p50": 10.0, "p95": 20.0, "p99": 30.0, "cpu_ms": 1.0}
        return {**time, **memory}

    monkeypatch.setattr(bench_module, "measure", measure)
    return asked


def test_a_peer_that_cannot_run_is_null_and_named_and_the_rest_goes_on(bench, monkeypatch, capsys):
    bench.options = Options(cases=(), rounds=2, orders=1000, peers=("chain_solo", "naive", "dbos"))
    missing = Unavailable("dbos is not installed")
    asked = measured(monkeypatch, {"benchmarks.peers.dbos_queue": missing})

    found = peers.filled(bench)

    rates = {name: one and one["per_second"] for name, one in found["filled"].items()}
    assert rates == {"ours": 2000.0, "chain_solo": 400.0, "naive": 160.0, "dbos": None}
    assert found["ratios"] == {
        "filled/chain_solo": 5.0,
        "filled/naive": 12.5,
        "filled/dbos": None,
        "filled/cpu/chain_solo": 1.0,
        "filled/cpu/naive": 1.0,
        "filled/cpu/dbos": None,
    }
    assert bench.missing == {"filled: dbos": "dbos is not installed"}
    assert bench.wrong == []
    # Interleaved, each with its share of the orders; who could not run is not asked again.
    first = [
        ("benchmarks.ours", "filled", "1000"),
        ("benchmarks.peers.celery_chain", "filled", "1000"),
        ("benchmarks.peers.naive", "filled", "100"),
        ("benchmarks.peers.dbos_queue", "filled", "100"),
    ]
    assert asked == first + [words for words in first if "dbos" not in words[0]]
    assert "dbos: none. dbos is not installed" in capsys.readouterr().err


def test_every_load_and_number_of_submitters_is_a_table_of_its_own(bench, monkeypatch):
    bench.options = Options(cases=(), rounds=1, peers=("dbos",))
    asked = measured(monkeypatch, {})

    sustained, steady = peers.sustained(bench), peers.steady(bench)

    assert list(sustained["sustained"]) == ["1", "8"]
    assert list(steady["steady"]) == ["5", "20", "100"]
    assert sustained["ratios"]["sustained_8/dbos"] == 2.0
    assert steady["ratios"]["steady_100/cpu/dbos"] == 1.0
    assert ("benchmarks.ours", "sustained", "1500", "8") in asked
    assert ("benchmarks.peers.dbos_queue", "steady", "2000", "100") in asked


#: Ours, as two kinds of worker and as one.
OURS = ["filled: ours", "filled: ours_plain"]
#: Three pools of one peer.
CHAINS = ["filled: chain_solo", "filled: chain_threads", "filled: celery_chain"]


@pytest.mark.parametrize(
    ("module", "error", "wrong"),
    [
        ("benchmarks.peers.celery_chain", Wrong("9 of 10"), [f"{one}: 9 of 10" for one in CHAINS]),
        ("benchmarks.peers.celery_chain", Failed("exit code 1"), []),
        ("benchmarks.ours", Wrong("9 of 10"), [f"{one}: 9 of 10" for one in OURS]),
        ("benchmarks.ours", Failed("exit code 1"), [f"{one}: exit code 1" for one in OURS]),
        ("benchmarks.ours", Unavailable("no PostgreSQL"), []),
    ],
)
def test_what_fails_the_run(module, error, wrong, bench, monkeypatch):
    measured(monkeypatch, {module: error, "benchmarks.peers.dbos_queue": Unavailable("")})

    peers.filled(bench)

    assert bench.wrong == wrong


def test_peers_that_were_not_asked_for_are_not_measured(bench, monkeypatch):
    bench.options = Options(cases=(), rounds=1, orders=1000, peers=("naive",))
    asked = measured(monkeypatch, {})

    found = peers.filled(bench)

    assert list(found["filled"]) == ["ours", "naive"]
    assert found["ratios"] == {"filled/naive": 12.5, "filled/cpu/naive": 1.0}
    assert [words[0] for words in asked] == ["benchmarks.ours", "benchmarks.peers.naive"]
