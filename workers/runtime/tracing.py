"""The trace of a process: its id is the process's ``uid``, so none is stored or sent along.

An idempotency key begins with the id.  Services get it in the header ``traceparent`` (W3C Trace
Context).  If OpenTelemetry is installed and set up, submissions and calls are spans of the trace.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any
from uuid import UUID

from workers.exceptions import Fault

trace: Any
try:
    from opentelemetry import propagate, trace

    # A project may have an older version than the extra requires, which must not break anything.
    trace = trace if hasattr(trace.Span, "add_link") else None
except ImportError:  # the extra is not installed
    trace = None

_KEY = re.compile(r"([0-9a-f]{32}):")
_traceparent: ContextVar[str] = ContextVar("traceparent of the call", default="")


def trace_id(key: str) -> str:
    """Return the trace id in an idempotency key; empty: the key is not one of ours."""
    match = _KEY.match(key)
    return match[1] if match else ""


@contextmanager
def call_span(name: str, key: str, attempt: int) -> Iterator[None]:
    """Make one call of an agent the parent of all that this thread sends and traces in a block."""
    hex_id = trace_id(key)
    if not hex_id:
        yield
        return
    span_id = blake2b(f"{key}:{attempt}".encode(), digest_size=8).hexdigest()
    token = _traceparent.set(f"00-{hex_id}-{span_id}-01")
    try:
        if trace is None:
            yield
            return
        attributes = {"sas.agent": name, "sas.key": key, "sas.attempt": attempt}
        with _tracer().start_as_current_span(
            f"call {name}", _context(hex_id), attributes=attributes
        ):
            yield
    finally:
        _traceparent.reset(token)


def headers() -> dict[str, str]:
    """Return the headers that pass the trace to a service; empty outside a call."""
    if trace is not None and trace.get_current_span().get_span_context().is_valid:
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return carrier
    traceparent = _traceparent.get()
    return {"traceparent": traceparent} if traceparent else {}


def note_fault(fault: Fault) -> None:
    """Mark the call's span as failed, with the fault's code."""
    if trace is not None:
        span = trace.get_current_span()
        span.set_attribute("sas.fault", fault.code)
        span.set_status(trace.StatusCode.ERROR, fault.code)


def note_submission(workflow: str, uids: Sequence[UUID]) -> None:
    """Begin the traces of new processes, linked with their submitter's trace."""
    if trace is None:
        return
    submitter = trace.get_current_span()
    context = submitter.get_span_context()
    links = [trace.Link(context)] if context.is_valid else []
    for uid in uids:
        span = _tracer().start_span(f"submit {workflow}", _context(uid.hex), links=links)
        span.end()
        submitter.add_link(span.get_span_context(), {"sas.workflow": workflow})


def _tracer() -> Any:
    return trace.get_tracer("workers")


def _context(hex_id: str) -> Any:
    """Return a parent for the spans of a trace; no span is recorded for the process itself."""
    flags = trace.TraceFlags.SAMPLED if _is_sampled(hex_id) else trace.TraceFlags.DEFAULT
    parent = trace.SpanContext(
        int(hex_id, 16), int(hex_id[16:], 16), is_remote=True, trace_flags=trace.TraceFlags(flags)
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(parent))


def _is_sampled(hex_id: str) -> bool:
    """Ask the project's sampler as for a trace's first span: later spans follow their parent."""
    sampler = getattr(trace.get_tracer_provider(), "sampler", None)
    if sampler is None:
        return True
    # A ratio sampler decides by the lower half, whose first bits are the same in each uid.
    number = int(blake2b(hex_id.encode(), digest_size=16).hexdigest(), 16)
    return bool(sampler.should_sample(None, number, "process").decision.is_sampled())
