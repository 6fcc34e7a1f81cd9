"""The health page, the doctor's page and the last hour on the index: what they say, to whom."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.admin.conftest import alert_about, order_in_error, staff
from workers.desk.admin.health import doctor_page, figures, marks
from workers.desk.models import Incident, ProbeResult, Release
from workers.desk.operate import health
from workers.desk.rules import latency
from workers.desk.rules.minutes import begin
from workers.desk.states import Span
from workers.desk.store import gauges, incidents, minutes, probe_results
from workers.desk.store.probe_results import ProbeOutcome
from workers.runtime.json_text import encode_document
from workers.store import leases
from workers.store.db import dialect
from workers.store.flow import flow_settings
from workers.supervisor import beat_schedule

HEALTH = "/admin/desk/minute/"
DOCTOR = "/admin/desk/proberesult/"
AGENT = "payment.charge"
MINUTE = timedelta(minutes=1)


def fare(now: datetime | None = None) -> datetime:
    """Have an hour behind it in which an agent got slower and failed; return where it ends."""
    beat_schedule.ensure_flow()
    until = begin(now or timezone.now(), Span.MINUTE)
    for place in range(20):
        _minute(until - (20 - place) * MINUTE, AGENT, {"ok": 30, "expired": place % 2}, 0.1 + place)
        _minute(until - (20 - place) * MINUTE, "", {"taken": 12, "ended": 11, "failed": 1})
    minutes.sum_up_around([until - place * MINUTE for place in range(1, 21)])
    gauges.take(until - MINUTE)
    leases.is_due(health.HEALTH, 0)
    leases.set_cursor(health.HEALTH, int(until.timestamp()))
    for _ in range(2):
        probe_results.keep(
            [
                ProbeOutcome(
                    "queues.are_read", "error", [_finding("error", "nobody reads sas.agents")]
                ),
                ProbeOutcome("database.answers", "ok", [_finding("ok", "PostgreSQL answers")]),
                ProbeOutcome("database.holds_every_name", "ok", []),
            ]
        )
    Release.objects.create(name="1.4.2", seen_at=until - 5 * MINUTE)
    flow_settings.set_flow(AGENT, {"window": 7}, actor="operator:ann", reason="calm")
    return until


def _minute(at: datetime, agent: str, counts: dict[str, int], seconds: float = 0.0) -> None:
    calls = {str(latency.bucket_of(seconds)): counts["ok"]} if agent else {}
    dialect.execute(
        "INSERT INTO desk_minute (span, at, agent, counts, calls, waits, workers)"
        " VALUES (60, %s, %s, %s, %s, %s, 2)",
        [
            *(dialect.instant_text(at), agent, encode_document(counts)),
            *(encode_document(calls), encode_document({})),
        ],
    )


def _finding(level: str, what: str) -> dict[str, Any]:
    return {"level": level, "what": what, "why": f"why {level}", "remedy": f"do {level}"}


def text(answer: HttpResponse) -> str:
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


@pytest.fixture
def looker(db) -> Client:
    """Somebody who may see health, and nothing else."""
    return allowed("view_minute")


def allowed(*codenames: str) -> Client:
    from django.contrib.auth.models import Permission

    user = get_user_model().objects.create_user("looker", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def test_the_page_says_how_each_agent_fares(operator):
    fare()
    html = text(operator.get(HEALTH))
    for said in (
        "Everything together",
        "20 per minute",
        f"?range=1h&amp;agent={AGENT}",
        "no reply in time",
        "nobody reads sas.agents",
        "new code: 1.4.2",
        "The flow of an agent was set · payment.charge · ann",
    ):
        assert said in html, said
    assert "nothing rolls them up" not in html


@pytest.mark.parametrize("name", ["1h", "24h", "30d", "nonsense"])
def test_each_range_is_drawn_and_told_as_a_table(operator, name):
    fare()
    html = text(operator.get(HEALTH, {"range": name, "agent": AGENT}))
    range_ = figures.range_named(name)
    # 20 minutes of figures; of few columns so many are shown that they can be read.
    columns = 20 if range_.name == "1h" else figures.LEAST_COLUMNS
    table = html.partition("sas-figures")[2].partition("</table>")[0]
    assert table.count("<tr>") == columns + 1
    for chart in ("results", "calls", "waits", "backlog", "oldest", "breaker"):
        assert f"sas-series-{chart}" in html, chart
    assert html.count("<title>") >= 6 * columns
    assert html.count("sas-s-ok") >= 1


def test_figures_are_those_that_were_counted(operator):
    until = fare()
    frame = figures.Frame(figures.range_named("1h"), until)
    agent = figures.of_agent(figures.read(frame), AGENT)
    assert agent.counts["ok"] == 600
    assert (agent.counts["expired"], agent.bad, agent.total) == (10, 10, 610)
    # Of the minutes that were counted.
    assert agent.rate == pytest.approx(610 / 20)
    assert agent.calls["p50"] == pytest.approx(9.1, rel=latency.ERROR)
    together = figures.together(figures.read(frame))
    assert [column.rates["taken"] for column in together[-20:]] == [12.0] * 20
    assert sum(column.rates["taken"] for column in together) == 240
    assert together[-1].level is not None
    assert together[-2].level is None


def test_a_column_under_way_is_no_dip():
    until = begin(timezone.now(), Span.HOUR) + 3 * MINUTE
    fare(until)
    frame = figures.Frame(figures.range_named("24h"), until)
    assert frame.end == begin(until, Span.TEN_MINUTES) + timedelta(minutes=10)
    together = figures.together(figures.read(frame))
    assert together[-1].rates["taken"] == 12.0


def test_health_page_shows_all_agents_for_unknown_agent(operator):
    fare()
    html = text(operator.get(HEALTH, {"agent": "nobody.knows"}))
    assert "Everything together" in html
    assert "nobody.knows" not in html


def test_figures_that_end_are_told_so(operator):
    fare(timezone.now() - timedelta(minutes=30))
    assert "nothing rolls them up" in text(operator.get(HEALTH))
    assert "The figures end at" in text(operator.get("/admin/"))


def test_a_fresh_installation_says_so(operator):
    assert "There are no figures of agents yet." in text(operator.get(HEALTH))
    assert "The doctor has not looked yet." in text(operator.get(DOCTOR))


def test_incidents_are_marks_for_who_may_see_them(operator, looker):
    until = fare()
    alert_about(order_in_error(), code="process_error")
    incidents.collect()
    title = f"/admin/desk/incident/{Incident.objects.latest('pk').pk}/change/"
    assert title in text(operator.get(HEALTH))
    html = text(looker.get(HEALTH))
    assert title not in html
    assert "The flow of an agent was set" not in html
    assert "new code: 1.4.2" in html
    frame = figures.Frame(figures.range_named("1h"), until)
    user = get_user_model().objects.get(username="operator")
    kept = marks.read(frame, user, "stock.reserve")
    assert not [mark for mark in kept if AGENT in mark.text]


def test_the_doctor_s_page_has_the_worst_first_with_what_to_do(operator):
    fare()
    html = text(operator.get(DOCTOR))
    for said in ("nobody reads sas.agents", "why error", "do error", "holds every name"):
        assert said in html, said
    assert html.index("nobody reads") < html.index("PostgreSQL answers")
    assert "should each minute" not in html


def test_a_probe_without_a_look_for_long_is_told_so(operator):
    fare()
    old = timezone.now() - doctor_page.STALE - timedelta(seconds=1)
    ProbeResult.objects.filter(name="database.answers").update(looked_at=old)
    html = text(operator.get(DOCTOR))
    assert html.count("not since") == 1
    assert "should each minute" not in html
    ProbeResult.objects.update(looked_at=old)
    assert "should each minute" in text(operator.get(DOCTOR))


def test_the_index_shows_the_last_hour(operator, looker):
    fare()
    for url in ("/admin/", "/admin/orders/order/needs/", "/admin/desk/incident/desk/"):
        html = text(operator.get(url))
        assert "Counted since" in html, url
        assert re.search(r"<strong>12</strong> taken per minute", html), url
        assert "p95 of calls" in html, url
        assert html.count('class="sas-spark"') == 6, url
    assert "taken per minute" in text(looker.get("/admin/"))


def test_who_may_not_look_sees_nothing_of_it(db):
    fare()
    stranger = allowed("view_order")
    for url in (HEALTH, DOCTOR):
        assert stranger.get(url).status_code == 403, url
        assert stranger.get(url, headers={"HX-Request": "true"}).status_code == 403, url
        assert Client().get(url).status_code == 302, url
    assert "taken per minute" not in text(stranger.get("/admin/"))


def test_a_poll_is_answered_with_nothing_until_there_is_something(operator, monkeypatch):
    until = fare()
    monkeypatch.setattr(dialect, "frozen_at", until + timedelta(seconds=5))
    for url in (HEALTH, f"{HEALTH}?range=24h&agent={AGENT}", DOCTOR):
        first = operator.get(url, headers={"HX-Request": "true"})
        assert (first.status_code, b"<html" in first.content) == (200, False), url
        seen = {"HX-Request": "true", "X-Seen": first["X-Seen"]}
        with CaptureQueriesContext(connection) as queries:
            assert operator.get(url, headers=seen).status_code == 204, url
        assert len(queries) <= 5, url
        page = operator.get(url).content.decode()
        assert f'data-seen="{first["X-Seen"]}"'.replace("+", "&#x2B;") in page.replace(
            "+", "&#x2B;"
        )
    leases.set_cursor(health.HEALTH, int(until.timestamp()) + 60)
    assert operator.get(url, headers=seen).status_code == 200


@pytest.mark.parametrize(
    "url", [HEALTH, f"{HEALTH}?range=30d", f"{HEALTH}?range=24h&agent={AGENT}", DOCTOR]
)
def test_a_page_takes_few_queries(url):
    fare()
    client = staff("owner")
    client.get(url)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    assert len(captured) < 15, [query["sql"][:100] for query in captured.captured_queries]


def test_the_strip_costs_the_index_two_queries(operator):
    fare()
    operator.get("/admin/")
    with CaptureQueriesContext(connection) as captured:
        operator.get("/admin/")
    of_strip = [
        query["sql"]
        for query in captured.captured_queries
        if re.search("SELECT at, .* FROM desk_|'health'", query["sql"])
    ]
    assert len(of_strip) == 2


def test_the_index_says_how_old_its_figures_are(operator):
    until = fare()
    html = text(operator.get("/admin/"))
    strip = html.partition('id="strip-title"')[2].partition("</section>")[0]
    assert re.search(
        rf'Figures of <time class="sas-age" datetime="{re.escape(until.isoformat())}"', strip
    )


def test_figures_that_stand_still_look_dead(operator, monkeypatch):
    until = fare()
    monkeypatch.setattr(dialect, "frozen_at", until + timedelta(minutes=20))

    html = text(operator.get("/admin/"))

    strip = html.partition('class="sas-strip')[2].partition("</section>")[0]
    assert strip.startswith(" sas-dead")
    assert re.findall(r"<strong>([^<]*)</strong> ", strip) == ["?"] * 6
    assert "The hour before" in strip
    assert "nobody knows how it is now" in strip
    assert "The last hour" not in strip


@pytest.mark.parametrize("minutes", [1, 5, 30, 59, 60, 90])
def test_chart_begins_with_the_figures_and_says_since_when(minutes):
    until = begin(timezone.now(), Span.MINUTE)
    frame = figures.Frame(figures.range_named("1h"), until)
    first = until - timedelta(minutes=minutes)

    cut = frame.cut(first)

    assert len(cut.columns) == min(max(minutes, figures.LEAST_COLUMNS), 60)
    assert cut.end == frame.end
    assert cut.begin <= max(first, frame.begin)
    assert cut.first == (first if minutes < 60 else None)
    assert len(cut.gathered([(first, "x")])) == len(cut.columns)


def test_health_chart_has_no_rate_before_first_sample():
    fare()
    frame = figures.Frame(figures.range_named("24h"), begin(timezone.now(), Span.MINUTE))
    columns = figures.together(figures.read(frame))
    rates = figures.since_known(columns, [column.rates["taken"] for column in columns])
    assert len(rates) == figures.LEAST_COLUMNS
    assert (rates[0], rates[-1]) == (None, 12.0)
    assert figures.since_known(columns[:1], [0.0]) == [None]


def test_commands_of_the_doctor_are_shown_as_code(operator):
    found = _finding("error", "a <b> is `manage.py migrate`d, 1 ` alone")
    probe_results.keep([ProbeOutcome("queues.are_read", "error", [found])])
    html = text(operator.get(DOCTOR))
    assert "a &lt;b&gt; is <code>manage.py migrate</code>d, 1 ` alone" in html
