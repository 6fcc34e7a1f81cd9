"""Keys and lists in the benchmark: whom each round has, and what is made of it."""

import pytest

from benchmarks.bench import Bench
from benchmarks.cases import shaped
from benchmarks.options import Options
from benchmarks.ours import listing, running
from benchmarks.report.tables import every
from tests.benchmarks.results import found
from workers.models import Attribute, Process
from workers.wire import dispatch

RATES = {"ours": 90.0, "submitted": 100.0, "dbos": 30.0, "chord": 60.0}


@pytest.fixture
def bench(monkeypatch) -> Bench:
    def once(self, case, name, words, number, **how):
        return None if name == "chord" and number == 2 else {"per_second": RATES[name] * number}

    monkeypatch.setattr(Bench, "once", once)
    return Bench(Options(cases=("lists",), database="postgresql", broker="rabbitmq", rounds=2))


def test_lists_are_compared_inside_each_round(bench):
    result = shaped.lists(bench)
    assert result["lists"]["ours"]["per_second"] == 135
    assert result["ratios"] == {
        "lists/submitted": 0.9, "lists/dbos": 3.0, "lists/chord": 1.5,
    }  # fmt: skip
    titles = [table.title for table in every(found(**result))]
    assert "Lists" in titles


def test_slow_peers_get_a_share_of_the_children(bench, monkeypatch):
    sizes = {}

    def once(self, case, name, words, number, **how):
        sizes[name] = int(words[-1])
        return {"per_second": 1.0}

    monkeypatch.setattr(Bench, "once", once)
    shaped.lists(bench)
    assert sizes == {"ours": 10_000, "submitted": 10_000, "dbos": 1_000, "chord": 10_000}


def test_who_was_not_asked_for_takes_no_part(bench):
    bench.options = Options(
        cases=("lists",), database="postgresql", broker="rabbitmq", rounds=1, peers=()
    )
    assert set(shaped.lists(bench)["lists"]) == {"ours", "submitted"}


@pytest.mark.django_db
def test_orders_with_a_key_have_one_of_a_thousand(monkeypatch):
    monkeypatch.setattr(running, "KEYS", 2)
    # It leaves both as they are without messages: put back afterwards.
    for name in ("wake_scheduler_later", "wake_agents_later"):
        monkeypatch.setattr(dispatch, name, getattr(dispatch, name))
    running.fill("toy_named_child", 3)
    assert sorted(Attribute.objects.values_list("value", flat=True)) == ["0", "0", "1"]
    assert running.fill("toy_line", 1)
    assert Attribute.objects.count() == 3


@pytest.mark.django_db
def test_a_list_of_which_not_all_were_processed_is_no_figure():
    assert not Process.objects.exists()
    with pytest.raises(listing.Wrong, match="0 of 2 children"):
        listing._check(2)
