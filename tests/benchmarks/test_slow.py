"""Which settings are measured, beside whom, and what fails the run."""

from typing import Any

import pytest

from benchmarks.bench import Bench
from benchmarks.cases import arriving, slow
from benchmarks.options import Options
from benchmarks.report import text
from tests.benchmarks.results import found

LOADED = {"orders": 150, "ended": 150, "per_second": 9.0, "calls_at_once": 39.0, "cpu_ms": 8.0}


@pytest.fixture
def asked(monkeypatch) -> list[dict[str, Any]]:
    """Have measurements made up; return what each was asked for."""
    made: list[dict[str, Any]] = []

    def once(bench: Bench, case: str, name: str, words: list[str], *_: Any, **how: Any) -> Any:
        made.append({"case": case, "name": name, "words": words, **how})
        done = {**LOADED, "p50_ms": 5.0, "p95_ms": 8.0 if name == "alone" else 12.0}
        return done if name != "dbos" else {**done, "per_second": 6.0}

    monkeypatch.setattr(Bench, "once", once)
    return made


def bench(**how: Any) -> Bench:
    return Bench(Options(cases=(), rounds=1, peers=("chain_threads", "dbos"), **how))


def test_the_short_form_is_the_saturated_service_of_a_second(asked):
    made = slow.slow(bench(is_quick=True))

    assert list(made["slow"]) == ["c2_1s_above"]
    assert made["ratios"]["slow_c2_1s_above/dbos"] == 1.5
    assert {one["name"] for one in asked} == {"ours", "chain_threads", "dbos"}
    # One and a half times what 40 calls at once can do, and as long again to end.
    assert [one["words"] for one in asked] == [["loaded", "150", "15", "40"]] * 3
    assert asked[0]["variables"] == {
        "BENCH_SERVICE_SECONDS": "1", "BENCH_CHILDREN": "2", "BENCH_WORKFLOW": "bench_remote",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("only", "names"),
    [
        ("c2_1s", ["c2_1s_below", "c2_1s_at", "c2_1s_above"]),
        ("c16_3s_at", ["c16_3s_at"]),
        ("", list(slow.SETTINGS)),
    ],
)
def test_parts_are_chosen_by_their_names(only, names, asked):
    assert list(slow.slow(bench(only=only))["slow"]) == names


def test_orders_one_by_one_come_by_what_can_be_done(asked, monkeypatch):
    monkeypatch.setattr(arriving, "FIGURES", ("orders",))
    monkeypatch.setattr(arriving, "_worst", list)
    arriving.paced(bench(is_quick=True))

    words = [one["words"] for one in asked]
    assert words == [["capacity", "500", "2"], ["paced", "4", "9", "20", "2", "0"]]


def test_overload_is_twice_what_there_is_room_for(asked):
    made = slow.overload(bench())

    assert list(made["overload"]) == ["services", "machine"]
    assert asked[0]["words"] == ["loaded", "3600", "20", "390"]


def test_a_ratio_of_the_quick_agent_is_of_one_round(asked):
    made = slow.beside(bench())

    assert made["beside"]["p95_ratio"] == 1.5
    assert [one["words"] for one in asked] == [
        ["beside", "30", "bench_remote", "0"],
        ["beside", "30", "bench_remote", "15"],
    ]
    assert {one["contender"] for one in asked} == {"ours"}


def test_orders_of_ours_without_an_end_fail_the_run_and_keep_their_figures(asked, monkeypatch):
    monkeypatch.setitem(LOADED, "ended", 149)
    one = bench(is_quick=True)

    made = slow.slow(one)

    assert made["slow"]["c2_1s_above"]["ours"]["per_second"] == 9.0
    assert one.wrong == ["slow_c2_1s_above: ours: 149 of 150 orders have ended"]


def test_the_report_begins_with_what_users_have():
    table = {"ours": {**LOADED, "calls_most": 40}, "dbos": None}
    shown = text.render(
        found(
            slow={"c2_1s_above": table},
            overload={"services": {"ours": {**LOADED, "held_percent": 97.0}}},
            beside={"alone": None, "beside": None, "p95_ratio": 1.5},
            steady={"20": table},
            ratios={"slow_c2_1s_above/dbos": None},
        )
    )

    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "ours 150 of 150 9 - - 39 40 8 - - - everything" in lines
    assert "Calls of 1 s, room for 40 (`-c 2`), 15 orders a second" in lines
    heads = (
        "Bars",
        "Calls of 1 s",
        "More than the services",
        "Steps of a quick agent",
        "\n20 orders a second",
    )
    assert sorted(heads, key=shown.index) == list(heads)


@pytest.mark.parametrize(
    ("measured", "says", "verdict"),
    [
        ({"slow": {"c2_1s_above": {"ours": {"calls_at_once": 35.9}}}}, "calls at once", "missed"),
        ({"slow": {"c2_1s_above": {"ours": {"calls_at_once": 36.0}}}}, "calls at once", "met"),
        ({"ratios": {"slow_c2_1s_above/dbos": 1.2}}, "orders/s, times DBOS", "met"),
        ({"ratios": {"slow_c2_1s_above/chain_threads": 1.2}}, "chain on threads", "stretch"),
        ({"beside": {"p95_ratio": 2.1}}, "p95 of a quick agent's", "missed"),
        ({"overload": {"machine": {"ours": {"held_percent": 94.9}}}}, "done/s in the", "missed"),
        ({"overload": {"services": {"ours": {"held_percent": 95.0}}}}, "done/s in the", "met"),
    ],
)
def test_the_bars_of_slow_services(measured, says, verdict):
    judged = [one["verdict"] for one in found(**measured)["bars"] if says in one["says"]]

    assert verdict in judged
    assert {*judged} <= {verdict, "not measured"}
