"""The JSON, the bars, and what people are shown of both."""

import json

import pytest

from benchmarks import report, result
from benchmarks.bars import BARS
from benchmarks.bench import Bench
from benchmarks.catalogue import CASES
from benchmarks.options import Options
from benchmarks.report import docs, scaling, text
from tests.benchmarks.results import found

FILLED = {
    "ours": {"per_second": 2000.0, "cpu_ms": 0.5, "messages": 4.0},
    "celery_chain": {"per_second": 400.0},
    "dbos": None,
}


def verdicts(**measured: object) -> dict[str, str]:
    return {one["says"]: one["verdict"] for one in found(**measured)["bars"]}


def test_every_case_has_a_key_and_is_null_until_it_is_measured():
    keys = (
        "slow overload beside paced starved beside_long rated outage stack sustained steady latency"
        " filled http apply submission keys lists fan_out sweep recovery costs growth"
        " idle_cpu_percent embedded redis memory_mb cpu_ms_per_order"
    )
    assert result.empty() == {**dict.fromkeys(keys.split()), "ratios": {}}
    assert set(result.RUN) == set(CASES)


def test_benchmark_result_names_machine_and_missing_cases():
    bench = Bench(Options(cases=(), database="sqlite", broker="none"))
    bench.raw.append({"case": "apply", "round": 1, "name": "ours", "steps_per_second": 1.0})
    bench.missing["filled: dbos"] = "not installed"

    whole = result.complete(result.empty(), bench)

    assert {key: whole[key] for key in ("on", "is_quick", "missing", "notes", "wrong")} == {
        "on": "sqlite+none",
        "is_quick": False,
        "missing": {"filled: dbos": "not installed"},
        "notes": [],
        "wrong": [],
    }
    assert whole["rounds"] == bench.raw
    assert set(whole["machine"]) == {
        *("cores", "model", "memory_gb", "system", "python", "at", "packages", "servers")
    }
    assert whole["machine"]["packages"]["celery"].startswith("5.")
    json.dumps(whole)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(6.29, "missed"), (6.3, "met"), (11.9, "met"), (12.0, "stretch"), (None, "not measured")],
)
def test_a_bar_is_met_at_its_bound(ratio, verdict):
    ratios = {"filled/dbos": ratio}

    assert verdicts(ratios=ratios)["times DBOS"] == verdict


@pytest.mark.parametrize(("p50", "verdict"), [(1.6, "met"), (1.61, "missed")])
def test_a_limit_is_met_at_its_bound(p50, verdict):
    assert verdicts(ratios={"latency/restate": p50})["p50, times Restate"] == verdict


def test_a_bar_of_production_is_not_judged_elsewhere():
    measured = {**found(ratios={"filled/dbos": 99.0}), "on": "postgresql+redis"}
    of_dbos = next(bar for bar in BARS if bar.says == "times DBOS")

    assert of_dbos.verdict(measured) == "not measured"


def test_no_error_is_allowed_at_all():
    errors = "SQLite: errors 'database is locked'"

    assert [
        verdicts(embedded={"transitions_per_second": 400.0, "locked_errors": count})[errors]
        for count in (0, 1)
    ] == ["met", "missed"]


def test_the_terminal_shows_dashes_for_what_has_no_figure():
    shown = text.render(
        found(
            filled=FILLED,
            ratios={"filled/celery_chain": 5.0, "filled/dbos": None},
            missing={"filled: dbos": "not installed"},
        )
    )

    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "ours 2,000 0.5 - - - 4 - - everything" in lines
    assert "Celery chain, prefork, one message ahead 400 - - - - - 5 - nothing" in lines
    assert "DBOS, through its queue - - - - - - - - everything" in lines
    assert "filled: dbos not installed" in lines
    assert "\x1b" not in shown


def test_what_comes_from_outside_is_escaped_on_the_page(tmp_path):
    whole = found(
        filled=FILLED,
        missing={"filled: dbos": "<script>alert('x')</script> & more"},
        wrong=["<b>broken</b>"],
    )

    report.write(tmp_path / "made", whole)

    page = (tmp_path / "made" / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; more" in page
    assert "A &lt;fast&gt; CPU" in page
    assert "&lt;b&gt;broken&lt;/b&gt;" in page
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert 'aria-label="A queue that was filled first, in orders/s"' in page
    assert json.loads((tmp_path / "made" / "report.json").read_text()) == whole


def test_only_what_stands_between_the_markers_is_written(tmp_path):
    page, source = tmp_path / "page.md", tmp_path / "run.json"
    page.write_text(f"before\n{docs.BEGIN}\nold\n{docs.END}\nafter\n")
    source.write_text(json.dumps(found(filled=FILLED)))

    docs.write(source, page)
    once = page.read_text()
    docs.write(source, page)

    assert page.read_text() == once
    assert once.startswith(f"before\n{docs.BEGIN}\n\nMeasured on 2026-01-02: 2 cores")
    assert once.endswith(f"{docs.END}\nafter\n")
    assert "| Celery chain, prefork, one message ahead | 400 | - |" in once
    assert "old" not in once


def test_a_page_without_markers_is_left_alone(tmp_path):
    page, source = tmp_path / "page.md", tmp_path / "run.json"
    page.write_text("no figures here\n")
    source.write_text("{}")

    with pytest.raises(SystemExit, match="has no markers"):
        docs.write(source, page)

    assert page.read_text() == "no figures here\n"


def test_a_thousand_times_the_load_is_calculated_from_what_an_order_cost():
    costs = {"scheduler": 0.6, "agents": 1.2, "postgres": 2.4, "rabbitmq": 0.3, "beat": 0.1}

    light = {"case": "steady_5", "name": "ours", "cpu_ms_per_order": {"scheduler": 9.0}}
    other = {"case": "steady_100", "name": "dbos", "cpu_ms_per_order": {"scheduler": 9.0}}
    ours = {"case": "steady_100", "name": "ours", "cpu_ms_per_order": costs}

    calculated = scaling.table({"rounds": [light, ours, other]})

    assert calculated is not None
    assert calculated.rows == [
        ("10", "1", "1", "1", "1", "1", "34"),
        ("100", "1", "1", "1", "1", "1", "334"),
        ("1,000", "1", "2", "4", "1", "1", "3,334"),
        ("10,000", "10", "20", "40", "5", "2", "33,334"),
    ]
    assert scaling.table({"rounds": [light]}) is None
    assert scaling.table({"rounds": [{**ours, "case": "filled"}]}) is None
