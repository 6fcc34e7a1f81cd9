"""Placing, following and cancelling orders."""

import re
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import register_converter
from django.urls.converters import UUIDConverter
from ninja import Header, Query, Router, Status
from ninja.errors import HttpError
from pydantic import AfterValidator, Field

import workers
from orders import log_fields, tokens
from orders.api import reading, waiting
from orders.api.access import Token, client_of
from orders.api.body import received
from orders.consumer.message import TOKEN
from orders.models import Order
from orders.returning import ReturnRefused, accept_return
from orders.schemas import JournalOut, OrderIn, OrderOut, OrdersOut, Problem, Reference
from orders.submission import Customer, Line, place_order
from workers import StateError
from workers.http import strict_json
from workers.states import ProcessState


class OrderIdConverter(UUIDConverter):
    """A UUID in an address, in lower or upper case."""

    regex = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"


register_converter(OrderIdConverter, "order_id")
router = Router(tags=["orders"])
#: Below the `timeout` of `gunicorn.conf.py` and the usual timeouts of proxies.
LONGEST_WAIT_SECONDS = 30
#: Retry-After when there was no place to wait.
FULL_SECONDS = 5
PROBLEMS: dict[int, Any] = dict.fromkeys((400, 401, 403, 422, 429, 503), Problem)
BODY_PROBLEMS: dict[int, Any] = {411: Problem, 413: Problem, 415: Problem}


def _no_token(key: str) -> str:
    # Keys are stored; tokens must never be.
    if TOKEN.search(key):
        raise ValueError("contains a token; send a key of your own instead")
    return key


def _cursor(text: str) -> str:
    if not CURSOR.fullmatch(text):
        raise ValueError("is no cursor; send the next of the page before")
    return text


CURSOR = re.compile(r"[0-9]{1,18}")
Key = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$"),
    AfterValidator(_no_token),
]
Cursor = Annotated[
    str,
    Field(json_schema_extra={"pattern": f"^{CURSOR.pattern}$"}),
    AfterValidator(_cursor),
]


@router.post(
    "/orders",
    auth=Token(tokens.SUBMIT),
    response={200: OrderOut, 201: OrderOut, **BODY_PROBLEMS, **PROBLEMS},
    summary="Place an order",
    operation_id="place_order",
)
def place(
    request: HttpRequest,
    response: HttpResponse,
    body: OrderIn,
    idempotency_key: Annotated[Key, Header(alias="Idempotency-Key")],
) -> Any:
    """Accept an order. It is durable once this answers 201, whatever state the broker is in.

    Sent again with the same key and the same body it answers 200 with the first order; with
    another body 422, naming the first order.
    """
    client = client_of(request)
    order, is_new = place_order(
        Customer(body.customer.name, body.customer.email, body.customer.address),
        [Line(line.sku, line.quantity) for line in body.lines],
        submission_key=idempotency_key,
        source=Order.Source.API,
        submitter=client.submitter,
        reference=body.reference,
        reply_to=body.reply_to,
        callback_url=body.callback_url,
        body_hash=strict_json.fingerprint(received(request)),
    )
    log_fields.bind(order)
    response["Location"] = f"{request.path}/{order.public_id}"
    if is_new:
        return Status(201, reading.accepted(order))
    return Status(200, reading.detail(order))


@router.get(
    "/orders",
    auth=Token(tokens.READ),
    response={200: OrdersOut, **PROBLEMS},
    summary="List your orders",
    operation_id="list_orders",
)
def list_orders(
    request: HttpRequest,
    state: ProcessState | None = None,
    reference: Reference | None = None,
    after: Cursor | None = None,
    limit: int = Query(50, ge=1, le=200),
) -> Any:
    """Return your orders, newest first; `next` asks for the page after this one."""
    orders, cursor = reading.page(
        client_of(request), state=state, reference=reference, after=after, limit=limit
    )
    return {"orders": orders, "next": cursor}


@router.get(
    "/orders/{order_id:public_id}",
    auth=Token(tokens.READ),
    response={200: OrderOut, 404: Problem, **PROBLEMS},
    summary="Follow an order",
    operation_id="show_order",
)
def show(
    request: HttpRequest,
    response: HttpResponse,
    public_id: UUID,
    wait: float = Query(0, ge=0, le=LONGEST_WAIT_SECONDS),
) -> Any:
    """Return where an order stands; with `wait`, once it has changed or the time is up.

    Where too many requests wait already it answers at once, with `Preference-Applied: wait=0`
    and, in `Retry-After`, when to ask again.
    """
    client = client_of(request)
    order = reading.own(client, public_id)
    if not wait:
        return reading.detail(order)
    with waiting.places.taken(client) as is_free:
        if is_free:
            return reading.when_changed(order, wait)
    response["Preference-Applied"] = "wait=0"
    response["Retry-After"] = str(FULL_SECONDS)
    return reading.detail(order)


@router.get(
    "/orders/{order_id:public_id}/journal",
    auth=Token(tokens.READ),
    response={200: JournalOut, 404: Problem, **PROBLEMS},
    summary="What happened to an order",
    operation_id="show_journal",
)
def journal(
    request: HttpRequest,
    public_id: UUID,
    after: int = Query(0, ge=0, le=2_147_483_647),
    limit: int = Query(200, ge=1, le=1000),
) -> Any:
    """Return what happened, numbered without gaps; `after` asks for what came later."""
    order = reading.own(client_of(request), public_id)
    return {"events": list(reading.events(order, after, limit))}


@router.post(
    "/orders/{order_id:public_id}/cancel",
    auth=Token(tokens.OPERATE),
    response={202: OrderOut, 404: Problem, 409: Problem, **PROBLEMS},
    summary="Cancel an order",
    operation_id="cancel_order",
)
def cancel(request: HttpRequest, public_id: UUID) -> Any:
    """Have everything undone that was done. Refused once it is final or past undoing."""
    client = client_of(request)
    order = reading.own(client, public_id)
    if order.process.outcome != ProcessState.CANCELLED:
        try:
            workers.cancel(
                order.process_id, actor=client.submitter, reason="cancelled by the client"
            )
        except StateError as refusal:
            raise HttpError(409, str(refusal)) from None
    return Status(202, reading.detail(order))


@router.post(
    "/orders/{order_id:public_id}/return",
    auth=Token(tokens.OPERATE),
    response={202: OrderOut, 404: Problem, 409: Problem, **PROBLEMS},
    summary="Ask for a return",
    operation_id="return_order",
)
def send_back(request: HttpRequest, public_id: UUID) -> Any:
    """Begin the return of an order; `money` shows the refund once it was made.

    Refused before the order is processed, and while a return of it is open or was refunded.
    """
    client = client_of(request)
    order = reading.own(client, public_id)
    try:
        accept_return(order, actor=client.submitter)
    except ReturnRefused as refusal:
        raise HttpError(409, str(refusal)) from None
    return Status(202, reading.detail(order))
