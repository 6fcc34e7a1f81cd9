"""The trace of a process: its id is the process's, with or without OpenTelemetry."""

import importlib
from uuid import UUID

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, Sampler, TraceIdRatioBased
from uuid_utils.compat import uuid7

from workers.exceptions import Permanent
from workers.runtime import tracing

UID = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
KEY = f"{UID.hex}:2:1"


def provider_of(sampler: Sampler | None = None) -> tuple[TracerProvider, InMemorySpanExporter]:
    spans, provider = InMemorySpanExporter(), TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider, spans


@pytest.fixture
def spans(monkeypatch) -> InMemorySpanExporter:
    provider, spans = provider_of()
    # As OpenTelemetry has it once a project has set it up; that can be done once in a process.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return spans


class TestWithoutOpenTelemetry:
    @pytest.fixture(autouse=True)
    def _not_installed(self, monkeypatch) -> None:
        monkeypatch.setattr(tracing, "trace", None)

    def test_a_service_is_told_the_process_and_the_attempt(self):
        with tracing.call_span("payment.charge", KEY, 1):
            first = tracing.headers()["traceparent"]
        with tracing.call_span("payment.charge", KEY, 2):
            second = tracing.headers()["traceparent"]
        version, found, span, flags = first.split("-")
        assert (version, found, len(span), flags) == ("00", UID.hex, 16, "01")
        assert second.split("-")[1] == UID.hex
        assert second != first

    def test_outside_a_call_nothing_is_told(self):
        with tracing.call_span("payment.charge", KEY, 1):
            pass
        assert tracing.headers() == {}

    def test_foreign_idempotency_key_sends_no_trace_headers(self):
        with tracing.call_span("payment.charge", "k-1", 1):
            assert tracing.headers() == {}

    def test_faults_and_submissions_are_not_told(self):
        tracing.note_fault(Permanent("no", "no"))
        tracing.note_submission("fulfilment", [UID])


def test_a_call_is_a_span_of_its_process_and_a_service_is_told_it(spans):
    with tracing.call_span("payment.charge", KEY, 3):
        told = tracing.headers()["traceparent"]
    (span,) = spans.get_finished_spans()
    assert span.name == "call payment.charge"
    assert span.context is not None
    assert told == f"00-{UID.hex}-{span.context.span_id:016x}-01"
    assert span.attributes == {"sas.agent": "payment.charge", "sas.key": KEY, "sas.attempt": 3}


def test_a_span_says_what_failed(spans):
    with tracing.call_span("payment.charge", KEY, 1):
        tracing.note_fault(Permanent("declined", "the card of Zelda was declined"))
    (span,) = spans.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (
        trace.StatusCode.ERROR,
        "declined",
    )
    assert "Zelda" not in span.to_json()


def test_a_submission_and_the_process_know_each_other(spans):
    with trace.get_tracer("shop").start_as_current_span("POST /orders"):
        tracing.note_submission("fulfilment", [UID])
    submitted, request = spans.get_finished_spans()
    assert submitted.name == "submit fulfilment"
    assert submitted.context is not None
    assert request.context is not None
    assert f"{submitted.context.trace_id:032x}" == UID.hex
    assert [link.context for link in submitted.links] == [request.context]
    assert [link.context for link in request.links] == [submitted.context]


def test_what_is_not_sampled_is_told_as_that(monkeypatch):
    provider, spans = provider_of(ParentBased(ALWAYS_OFF))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with tracing.call_span("payment.charge", KEY, 1):
        assert tracing.headers()["traceparent"].endswith("-00")
    assert spans.get_finished_spans() == ()


def test_a_share_of_all_processes_is_kept(monkeypatch):
    provider, spans = provider_of(ParentBased(TraceIdRatioBased(0.25)))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    for _ in range(400):
        uid = uuid7().hex
        # All calls of a process, or none.
        for attempt in (1, 2):
            with tracing.call_span("payment.charge", f"{uid}:2:1", attempt):
                pass
    kept = [f"{span.context.trace_id:032x}" for span in spans.get_finished_spans() if span.context]
    assert 50 < len(set(kept)) < 150
    assert len(kept) == 2 * len(set(kept))


def test_one_that_is_too_old_is_left_alone(monkeypatch):
    with monkeypatch.context() as patch:
        patch.delattr(trace.Span, "add_link")
        importlib.reload(tracing)
        assert tracing.trace is None
    importlib.reload(tracing)
    assert tracing.trace is trace


def test_what_is_installed_and_not_set_up_changes_nothing(monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    with tracing.call_span("payment.charge", KEY, 1):
        assert tracing.headers()["traceparent"].split("-")[1] == UID.hex
    tracing.note_submission("fulfilment", [UID])
