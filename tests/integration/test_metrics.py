"""Figures for Prometheus: read from what is kept, and never falling."""

from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.conftest import NOW
from tests.toyflow import agents
from workers.client import operations
from workers.client.submission import submit
from workers.desk.models import Minute
from workers.desk.operate import health
from workers.desk.rules import latency
from workers.desk.rules.minutes import KEPT
from workers.desk.states import Span
from workers.desk.store import totals
from workers.exceptions import Permanent
from workers.models import Flow, Step
from workers.ops import metrics
from workers.ops.metrics import registry
from workers.store.flow import holds

MINUTE = timedelta(minutes=1)
Sample = tuple[str, tuple[str, ...]]


def samples() -> dict[Sample, float]:
    """Return all figures by name and the values of their labels, which are in ABC order."""
    families = text_string_to_metric_families(registry.exposition().decode())
    return {
        (one.name, tuple(one.labels.values())): one.value
        for family in families
        for one in family.samples
    }


def test_what_became_of_processes_and_calls_is_counted(wire, clock):
    agents.script["toy.beta"] = _refuse
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    clock.advance(seconds=90)
    health.run(seconds=60)

    found = samples()

    assert found["sas_processes_total", ("submitted", "toy_line")] == 1
    assert found["sas_calls_total", ("toy.alpha", "ok")] == 1
    assert found["sas_calls_total", ("toy.beta", "permanent")] == 1
    assert found["sas_call_seconds_count", ("toy.alpha",)] == 1
    assert found["sas_call_seconds_bucket", ("toy.alpha", "+Inf")] == 1
    process.refresh_from_db()
    assert found["sas_processes_open", (process.state, "toy_line")] == 1
    assert ("sas_steps_pending", ("toy.alpha",)) in found
    assert ("sas_room", ("toy.alpha",)) in found
    assert found["sas_build_info", tuple(_labels("sas_build_info"))] == 1


def test_counters_begin_at_0_for_all_that_the_code_knows():
    found = samples()
    for event in ("submitted", "processed", "compensated", "cancelled", "error"):
        assert found["sas_processes_total", (event, "toy_line")] == 0
    for outcome in ("ok", "refused", "permanent", "transient", "unavailable", "expired"):
        assert found["sas_calls_total", ("toy.alpha", outcome)] == 0
    for name in ("claims_resent_total", "claims_released_total", "worker_deaths_total"):
        assert found[f"sas_{name}", ("toy.alpha",)] == 0
    for name in ("call_seconds", "claim_wait_seconds"):
        assert found[f"sas_{name}_bucket", ("toy.alpha", "+Inf")] == 0


def test_counters_of_what_the_code_no_longer_knows_are_complete(clock):
    Minute.objects.create(agent="gone", at=NOW - MINUTE, counts={"ok": 2}, events={"resent": 1})
    Minute.objects.create(agent="", at=NOW - MINUTE, events={"error former": 3})
    found = samples()
    assert (
        found["sas_calls_total", ("gone", "ok")],
        found["sas_calls_total", ("gone", "expired")],
    ) == (2, 0)
    assert found["sas_processes_total", ("error", "former")] == 3
    assert found["sas_processes_total", ("submitted", "former")] == 0


def due(agent: str = "toy.alpha") -> float:
    return samples()["sas_steps_due", (agent,)]


def test_due_steps_are_those_that_more_workers_could_call(toy, clock):
    flow = Flow.objects.filter(agent="toy.alpha")
    flow.update(window=2)
    processes = [toy() for _ in range(3)]
    assert due() == 2  # its window
    flow.update(window=10)
    assert due() == 3
    operations.pause(processes[0].pk, actor="operator:ann", reason="stocktaking")
    assert due() == 2
    later = NOW + timedelta(hours=1)
    Step.objects.filter(process=processes[1], state="pending").update(not_before=later)
    assert due() == 1  # the other is postponed


@pytest.mark.parametrize("kind", ["everything", "agent", "step"])
def test_steps_that_are_held_are_not_due(toy, clock, kind):
    name = {"everything": "", "agent": "toy.alpha", "step": "one"}[kind]
    toy()
    holds.hold(kind, name, actor="operator:ann", reason="stocktaking", now=NOW)
    assert due() == 0


def test_steps_behind_a_breaker_are_not_due(toy, clock):
    for _ in range(3):
        toy()
    flow = Flow.objects.filter(agent="toy.alpha")
    flow.update(opened_at=NOW, open_until=NOW + timedelta(seconds=30))
    assert due() == 0
    clock.advance(seconds=31)
    assert due() == 1  # the call that asks whether it is back


def _labels(name: str) -> list[str]:
    return [labels[0] for (found, labels), _ in samples().items() if found == name]


def _refuse(*_: object) -> None:
    raise Permanent("no", "never")


def write(at_hours: float, count: int, span: Span = Span.MINUTE, **columns: object) -> None:
    Minute.objects.create(
        agent="toy.alpha",
        at=NOW + timedelta(hours=at_hours),
        span=span,
        counts={"ok": count},
        calls={"8": count},
        **columns,
    )


def total() -> int:
    (one,) = totals.until_now(NOW)
    return one.counts["ok"]


def test_counters_are_carried_forward_and_never_fall():
    for hours, count in ((-30, 1), (-3.5, 2), (-2.5, 4), (-1, 8)):
        write(hours, count, events={"resent": count})
    assert total() == 15

    assert totals.carry_forward(NOW)
    assert not totals.carry_forward(NOW)

    assert total() == 15
    # What is carried forward may go.
    Minute.objects.filter(span=Span.MINUTE, at__lt=NOW - timedelta(hours=2)).delete()
    assert total() == 15
    assert totals.carry_forward(NOW + timedelta(hours=2))
    assert Minute.objects.filter(span=Span.EVER).count() == 1
    assert total() == 15
    (one,) = totals.until_now(NOW)
    assert (one.events, one.calls) == ({"resent": 15}, {8: 15})


def test_what_two_carry_forward_at_once_is_counted_once():
    write(-3, 5)
    totals.carry_forward(NOW)
    (row,) = Minute.objects.filter(span=Span.EVER).values_list("at", "agent", "counts")
    # Another one that read before this was written has the same to write.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(totals, "_newest", iter([None, None]).__next__)
        assert totals.carry_forward(NOW)
    assert [row] == [*Minute.objects.filter(span=Span.EVER).values_list("at", "agent", "counts")]
    assert total() == 5


def test_the_sum_of_all_time_is_not_pruned():
    assert Span.EVER not in KEPT


def test_bounds_are_powers_of_two_and_cover_what_is_in_them():
    buckets, total = latency.cumulated({latency.bucket_of(0.0015): 3, latency.bucket_of(1.0): 2})
    covered = dict(buckets)
    assert (covered["0.001"], covered["0.002"], covered["0.512"]) == (0, 3, 3)
    assert (covered["1.024"], covered["+Inf"]) == (5, 5)
    assert total == pytest.approx(3 * 0.0015 + 2, rel=latency.ERROR)


def test_an_application_adds_its_own(monkeypatch):
    monkeypatch.setattr(metrics, "own_figures", [*metrics.own_figures])
    monkeypatch.setattr(registry, "own_figures", metrics.own_figures)
    metrics.register_gauge("toy_queue", "What waits", lambda: 7)
    assert samples()["toy_queue", ()] == 7
    # Figures of two apps that have one name are one.
    metrics.register_gauge("sas_room", "What is there", lambda: 9)
    assert registry.exposition().count(b"# TYPE sas_room gauge") == 1
    assert samples()["sas_room", ()] == 9


def test_a_scrape_asks_as_much_whatever_there_is(django_assert_max_num_queries):
    for hours in range(-2, 0):
        write(hours, 1)
    registry.exposition()
    with django_assert_max_num_queries(20):  # type: ignore[attr-defined]
        registry.exposition()


class TestWhoMayRead:
    """A token where there is one, else this machine, and nobody through a proxy."""

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 200),
            ({"REMOTE_ADDR": "::1"}, 200),
            ({"REMOTE_ADDR": "10.1.2.3"}, 401),
            ({"REMOTE_ADDR": ""}, 401),
            ({"HTTP_X_FORWARDED_FOR": "10.1.2.3"}, 401),
            ({"HTTP_HOST": "127.0.0.1"}, 200),
            ({"HTTP_HOST": "[::1]:8000"}, 200),
            # Forwarded by stunnel, HAProxy in tcp mode or socat, which add no header.
            ({"HTTP_HOST": "shop.example.org"}, 401),
            ({"HTTP_HOST": "10.1.2.3:8000"}, 401),
            ({"HTTP_HOST": ""}, 401),
        ],
    )
    def test_without_a_token(self, client, headers, status):
        answer = client.get("/metrics", **{"HTTP_HOST": "localhost:8000", **headers})
        assert answer.status_code == status
        assert (b"sas_build_info" in answer.content) is (status == 200)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("SECURE_PROXY_SSL_HEADER", ("HTTP_X_FORWARDED_PROTO", "https")),
            ("USE_X_FORWARDED_HOST", True),
        ],
    )
    def test_a_project_behind_a_proxy_trusts_no_address(self, client, settings, name, value):
        setattr(settings, name, value)
        # As a plain forwarder passes it on.
        assert client.get("/metrics").status_code == 401
        settings.SAS_METRICS_TOKEN = "right"  # type: ignore[attr-defined]
        assert client.get("/metrics", HTTP_AUTHORIZATION="Bearer right").status_code == 200

    @pytest.mark.parametrize(
        ("shown", "status"),
        [("Bearer right", 200), ("Bearer wrong", 401), ("right", 401), ("", 401), ("\xe4", 401)],
    )
    def test_with_a_token(self, client, settings, shown, status):
        settings.SAS_METRICS_TOKEN = "right"  # type: ignore[attr-defined]
        address = {"REMOTE_ADDR": "10.1.2.3"}
        answer = client.get("/metrics", HTTP_AUTHORIZATION=shown, **address)
        assert answer.status_code == status

    def test_by_any_name_and_plain_http(self, client, settings):
        settings.SECURE_SSL_REDIRECT = True  # type: ignore[attr-defined]
        settings.SAS_METRICS_TOKEN = "right"  # type: ignore[attr-defined]
        shown = {"HTTP_AUTHORIZATION": "Bearer right"}
        assert client.get("/metrics", HTTP_HOST="10.1.2.3:8000", **shown).status_code == 200
