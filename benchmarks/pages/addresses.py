"""The addresses that are measured: every list, filter, search, order, poll and deep page."""

from collections.abc import Iterator
from urllib.parse import urlencode

from orders.models import Order
from workers.models import Process, Step
from workers.states import ProcessState

INDEX = "/admin/"
ORDERS, PROCESSES = "/admin/orders/order/", "/admin/workers/process/"
NEEDS = ("someone", "error", "alert", "expired")
#: Beside orders and processes.
LISTS = (
    "/admin/workers/alert/",
    "/admin/workers/alert/?is=open",
    "/admin/workers/alert/?code=process_error",
    "/admin/workers/alert/?q=order",
    "/admin/workers/sink/",
    "/admin/workers/sink/?state=undeliverable",
    "/admin/workers/sink/?q=acme",
    "/admin/workers/flow/",
    "/admin/workers/hold/",
    "/admin/workers/lease/",
    "/admin/orders/deadletter/",
    "/admin/orders/deadletter/?state__exact=open",
    "/admin/orders/deadletter/?q=acme",
    "/admin/orders/product/",
    "/admin/orders/apiclient/",
    "/admin/workers/process/causes/",
    "/admin/workers/process/waiting/",
)


def addresses() -> Iterator[tuple[str, bool]]:
    """Return each address, and whether it is asked for as a poll does."""
    yield INDEX, False
    yield f"{ORDERS}needs/", True
    for base in (ORDERS, PROCESSES):
        for query in (*_filters(), *_pages(base)):
            for is_poll in (False, True):
                yield base + (f"?{query}" if query else ""), is_poll
    for query in _order_queries():
        yield f"{ORDERS}?{query}", False
    for workflow in ("fulfilment", "return"):
        yield f"{PROCESSES}?workflow={workflow}", False
    for term in ("Order", "order 4711", "no such thing", _uid()):
        yield f"{PROCESSES}?{urlencode({'q': term})}", False
    for address in LISTS:
        yield address, False
        yield address, "?" not in address
        yield address + ("&" if "?" in address else "?") + "_facets=True", False
    for state in ("processed", "error", "pending", "compensated"):
        order = Order.objects.filter(process__state=state).order_by("-number").first()
        if order is not None:
            yield f"{ORDERS}{order.number}/change/", False
            yield f"{ORDERS}{order.number}/live/", True
            yield f"{PROCESSES}{order.process_id}/change/", False


def _filters() -> Iterator[str]:
    yield ""
    yield "_facets=True"
    for need in NEEDS:
        yield f"needs={need}"
    for state in ProcessState.values:
        yield f"state={state}"
    yield "step=charge_payment"
    yield "step=refund_payment"
    yield "agent=payment.charge"
    yield "fault=http_400"
    yield "needs=someone&state=error"
    yield "paused=yes"
    yield "at=pending%3Apayment.charge"


def _pages(base: str) -> Iterator[str]:
    """Return deep pages, and every column that a list can be sorted by."""
    yield from ("p=2", "p=200", "p=10000")
    sortable = (3, 9) if base == ORDERS else (8,)
    for column in sortable:
        yield from (f"o={column}", f"o=-{column}")


def _order_queries() -> Iterator[str]:
    order = Order.objects.exclude(reference="").order_by("number")[1000:1001].first()
    terms = [
        "Ada",
        "Ada H",
        "Hofer",
        "Chloé Dubois",
        "nobody of that name",
        "花子",
        "customer4711@example.org",
    ]
    if order is not None:
        key = Step.objects.filter(process=order.process_id).values_list(
            "idempotency_key", flat=True
        )
        terms += [
            *(str(order.number), order.customer_email, order.reference, order.submission_key),
            *(str(order.public_id), key[0]),
        ]
    for term in terms:
        yield urlencode({"q": term})
    yield urlencode({"q": "Ada", "needs": "someone"})
    yield "source__exact=queue"
    yield "created_at__gte=2026-01-01+00%3A00%3A00%2B00%3A00"


def _uid() -> str:
    newest = Process.objects.order_by("-pk").first()
    return "" if newest is None else str(newest.uid)
