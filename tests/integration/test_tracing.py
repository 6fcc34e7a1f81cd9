"""One order is one trace, with its retry, its fall-back and its undo."""

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent, Transient
from workers.http import trace_headers
from workers.testing import pass_time


@pytest.fixture
def spans(monkeypatch) -> InMemorySpanExporter:
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return spans


def refuse(call: Call) -> dict[str, Any]:
    raise Permanent("full", "no van left", no_effect=True)


def test_an_order_is_one_trace(spans, wire):
    told: list[str] = []

    def ship(call: Call) -> dict[str, Any]:
        told.append(trace_headers()["traceparent"].split("-")[1])
        if call.attempt == 2:
            raise Transient("busy", "busy")
        return {"parcel": 1}

    def decline(call: Call) -> dict[str, Any]:
        raise Permanent("declined", "declined", no_effect=True)

    # The carrier refuses, the other one is busy once; then the payment fails for good.
    toy.script.update({"toy.alpha": refuse, "toy.beta": ship, "toy.gamma": decline})
    with trace.get_tracer("shop").start_as_current_span("POST /orders"):
        process = submit("toy_fallback_undo", subject="Toy 1", input={})
    for _ in range(3):
        wire.run_until_idle()
        pass_time(seconds=600)
    process.refresh_from_db()
    assert process.state == "compensated"

    ours = [span for span in spans.get_finished_spans() if span.name != "POST /orders"]
    assert [(span.name, span.attributes.get("sas.fault")) for span in ours if span.attributes] == [
        ("call toy.alpha", "full"),
        ("call toy.beta", "busy"),
        ("call toy.beta", None),
        ("call toy.gamma", "declined"),
        ("call toy.other_undoer", None),
    ]
    assert ours[0].name == "submit toy_fallback_undo"
    traces = {f"{span.context.trace_id:032x}" for span in ours if span.context}
    assert traces == {process.uid.hex} == set(told)
